"""Preparation: what is independent of what, and what a split may separate.

Near-duplicate texts: what shares a unit, against a slow comparison of all pairs.

From a configuration to Records: one reader, one split, a codec that is fitted on the fit part alone.
"""

import random

import numpy as np
import pytest

import oddshift as od
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import digest
from oddshift.data.codecs import CODECS, PlaceSettings, TableSettings, TextSettings, VectorSettings
from oddshift.data.preparation import near_duplicates, prepare, prepare_records
from oddshift.model.tiers import Tiers

SETTINGS = {"tokeniser": "plain", "count": 1, "similar_percent": 0.0}


def corpus(documents, copies, seed=0):
    rng = np.random.default_rng(seed)
    names = [f"Name{letter}" for letter in "abcdefgh"]
    words = [f"word{k}" for k in range(60)]
    texts = [
        f"today {rng.choice(names)} met {rng.choice(names)} near " + " ".join(rng.choice(words, 12))
        for _ in range(documents)
    ]
    return texts * copies


def prepared(texts, users=None):
    return prepare(od.texts(texts, "from-text", ["capitals"], users, settings=SETTINGS), seed=0)


def test_copies_of_a_text_are_one_independent_unit():
    found = prepared(corpus(60, 10))
    parts = (found.split.fit, found.split.select, found.split.certify)
    assert sum(len(part) for part in parts) == 600
    assert sum(len(np.unique(part.clusters)) for part in parts) == 60
    assert any("540 of 600 documents nearly repeat another: 60 independent units" in note for note in found.notes)


def test_copies_never_stand_in_two_parts():
    found = prepared(corpus(30, 4))
    kept = [set(part.clusters.tolist()) for part in (found.split.fit, found.split.select, found.split.certify)]
    assert len(set.union(*kept)) == sum(len(units) for units in kept)


def test_a_certificate_counts_units_and_not_copies():
    data = od.texts(corpus(60, 10), "from-text", ["capitals"], settings=SETTINGS)
    audit = od.audit(data, epsilon=1.0, delta=0.5)
    assert max(certificate.documents for certificate in audit.certificates) <= 12


def test_texts_that_differ_are_units_of_their_own():
    found = prepared(corpus(60, 1))
    assert not any("nearly repeat" in note for note in found.notes)
    assert sum(len(part) for part in (found.split.fit, found.split.select, found.split.certify)) == 60


def test_users_decide_where_they_are_known():
    texts = corpus(60, 1)
    found = prepared(texts, users=[k // 6 for k in range(60)])
    assert found.split.by == "user"
    assert sum(len(np.unique(p.clusters)) for p in (found.split.fit, found.split.select, found.split.certify)) == 10


def test_records_by_hand_bring_their_tiers_or_have_one():
    secrets = od.Records.from_documents(od.Space([[0.0], [1.0]]), [[0, 1]] * 9)
    assert prepare_records(secrets, None, 0).tiers.names == ("all",)
    two = Tiers([0, 1], names=("a", "b"), scales=(1.0, 1.0), is_public=False)
    assert prepare_records(secrets, two, 0).tiers is two
    assert repr(prepare_records(secrets, two, 0)).startswith("Prepared(records, 5, 2, 2 to learn from")


WORDS = [f"word{k}" for k in range(400)]


def triples(text):
    words = text.lower().split()
    return {tuple(words[k : k + 3]) for k in range(len(words) - 2)}


def slow_groups(texts, similarity):
    """Connected components of all pairs that are similar enough."""
    sets = [triples(text) for text in texts]
    group = list(range(len(texts)))
    for a in range(len(texts)):
        for b in range(a):
            if len(sets[a] & sets[b]) / len(sets[a] | sets[b]) >= similarity:
                old, new = max(group[a], group[b]), min(group[a], group[b])
                group = [new if g == old else g for g in group]
    return group


def same_partition(one, two):
    return len(set(zip(one, two, strict=True))) == len(set(one)) == len(set(two))


def alike(seed, documents=60, copies=40):
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(30, 60))) for _ in range(documents)]
    for _ in range(copies):
        words = rng.choice(texts).split()
        if rng.random() < 0.5:
            words[rng.randrange(len(words))] = "changed"
        texts.append(" ".join(words))
    return texts


@pytest.mark.parametrize("seed", range(4))
def test_copies_are_found_as_by_comparing_all_pairs(seed):
    texts = alike(seed)
    assert same_partition(near_duplicates(texts).tolist(), slow_groups(texts, 0.8))


def test_fifty_copies_of_sixty_texts_are_sixty_units():
    texts = alike(1, documents=60, copies=0) * 50
    assert len(np.unique(near_duplicates(texts))) == 60


def test_case_and_punctuation_do_not_hide_a_copy():
    assert near_duplicates(["Ann met Bob in Oslo.", "ann met bob, in oslo", "Cid left Rome"]).tolist() == [0, 0, 1]


def test_short_texts_are_compared_as_a_whole():
    assert near_duplicates(["yes", "no", "Yes!", "yes sir"]).tolist() == [0, 1, 0, 2]


def test_texts_without_a_word_stay_apart():
    assert near_duplicates(["", "...", ""]).tolist() == [0, 1, 2]
    assert near_duplicates([]).tolist() == []


def test_the_threshold_counts():
    texts = ["a b c d e f g h i j", "a b c d e f g h i x"]  # 7 of 9 triples
    assert near_duplicates(texts, 0.7).tolist() == [0, 0]
    assert near_duplicates(texts, 0.8).tolist() == [0, 1]
    with pytest.raises(InvalidInput, match="similarity"):
        near_duplicates(texts, 1.5)


def test_it_repeats():
    texts = alike(9)
    assert near_duplicates(texts).tolist() == near_duplicates(texts).tolist()


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
