"""From a configuration to Records: one reader, one split, a codec that is fitted on the fit part alone."""

import numpy as np
import pytest

from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import digest
from oddshift.data.codecs import CODECS, PlaceSettings, TableSettings, TextSettings, VectorSettings

TABLE = 'kind = "table"\npath = "t.csv"\nnumeric = ["age"]\ncategorical = ["city"]\n'


def loaded(data, folder):
    config = parse_config(f"[data]\n{data}\n[mechanism]\nepsilon = 1.0\n", "test", folder)
    return prepare_configured(config), config


def table(folder, ages, cities):
    rows = "\n".join(f"{age},{city}" for age, city in zip(ages, cities, strict=True))
    (folder / "t.csv").write_text(f"age,city\n{rows}\n")


def test_values_of_other_parts_change_nothing_that_was_learned(tmp_path):
    """Points, scales and categories used to come from all rows, the certified ones included."""
    ages, cities = list(range(20, 60)), ["oslo", "rome"] * 20
    table(tmp_path, ages, cities)
    first, config = loaded(TABLE, tmp_path)
    is_fit = np.isin(np.arange(40), first.split.fit.sources)
    assert 10 < is_fit.sum() < 30
    others = [age if fit else 1000 + age for age, fit in zip(ages, is_fit, strict=True)]
    elsewhere = [city if fit else "lima" for city, fit in zip(cities, is_fit, strict=True)]
    table(tmp_path, others, elsewhere)
    second, _ = loaded(TABLE, tmp_path)
    for made in (first, second):
        assert [digest(part) for part in made.codec.to_policy()] == [digest(p) for p in first.codec.to_policy()]
    np.testing.assert_array_equal(first.split.fit.space.points, second.split.fit.space.points)
    outside = [note for note in second.notes if note not in first.notes]
    assert len(outside) == 2  # each column is named
    assert set(first.notes) <= set(second.notes)
    assert config.data.settings.kind == "table"


def test_the_codec_encodes_the_file_as_the_audit_did(tmp_path):
    table(tmp_path, [20, 31, 42, 53, 64, 75], ["oslo", "rome", "oslo", "rome", "oslo", "rome"])
    made, _ = loaded(TABLE, tmp_path)
    again = made.codec.encode({"age": ["20", "31", "42", "53", "64", "75"], "city": ["oslo", "rome"] * 3})
    whole = np.concatenate([part.points for part in (made.split.fit, made.split.select, made.split.certify)])
    assert sorted(whole.tolist()) == sorted(again.records.points.tolist())


def test_cells_of_a_column_are_read_together_part_by_part(tmp_path):
    table(tmp_path, [20, 31, 42, 53, 64, 75], ["oslo", "rome", "oslo", "rome", "oslo", "rome"])
    config = parse_config(f"[data]\n{TABLE}\n[mechanism]\nepsilon = 1.0\n", "test", tmp_path)
    assert config.data.settings == TableSettings(numeric=("age",), categorical=("city",))


def test_a_bad_cell_is_named_with_its_file(tmp_path):
    table(tmp_path, [20, 31, "x", 53], ["oslo"] * 4)
    with pytest.raises(InvalidInput, match=r"^t\.csv: column 'age' at row \d is not a number"):
        loaded(TABLE, tmp_path)


def test_too_few_rows_and_missing_columns(tmp_path):
    table(tmp_path, [], [])
    with pytest.raises(InvalidInput, match=r"t\.csv has 0 records, expected at least 1"):
        loaded(TABLE, tmp_path)
    (tmp_path / "t.csv").write_text("age\n1\n2\n3\n")
    with pytest.raises(InvalidInput, match=r"t\.csv has no column 'city' among its 1"):
        loaded(TABLE, tmp_path)


SECTIONS = {
    "text": ('kind = "text"\npath = "x.csv"\nvectors = "v.npz"\nis_public = true\n'
             'detectors = [{kind = "patterns"}, {kind = "capitals"}, {kind = "words", path = "w.txt", label = "X"}]'),
    "table": 'kind = "table"\npath = "x.csv"\nnumeric = ["a"]',
    "location": 'kind = "location"\npath = "x.csv"',
    "vectors": 'kind = "vectors"\npath = "x.npz"',
}  # fmt: skip
DEFAULTS = {
    "table": TableSettings(numeric=("a",)),
    "location": PlaceSettings(),
    "vectors": VectorSettings(),
}


@pytest.mark.parametrize("kind", sorted(CODECS))
def test_a_section_without_options_gives_the_defaults_of_the_codec(kind):
    """The defaults of a configuration and those of Python cannot differ."""
    settings = parse_config(f"[data]\n{SECTIONS[kind]}\n[mechanism]\nepsilon = 1.0\n", "test").data.settings
    if kind != "text":
        assert settings == DEFAULTS[kind]
        return
    assert [d.kind for d in settings.detectors] == ["patterns", "capitals", "words"]
    assert settings.detectors[2].label == "X"
    expected = TextSettings(is_public=True, vectors="v.npz", detectors=settings.detectors)
    assert settings == expected
