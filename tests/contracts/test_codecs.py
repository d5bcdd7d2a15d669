"""Every registered codec keeps the same promises: what comes in, what comes out, and what a policy remembers."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import digest, load, save
from oddshift.data.codecs import (
    CODECS,
    Codec,
    Encoded,
    PlaceSettings,
    TableSettings,
    TextSettings,
    VectorSettings,
    WordVectors,
)
from oddshift.data.detectors import Gazetteer, Patterns
from oddshift.mechanisms import Exponential
from oddshift.protect.policies import load_policy, make_policy, save_policy

VECTORS = WordVectors(("secretann", "secretbob", "secret", "eve"), np.eye(4, 3, dtype=np.float32) * 1.5 + 0.25)
DETECTORS = (
    Gazetteer(dict.fromkeys(("secretann", "secretbob", "quux"), "NAME")),
    Gazetteer(["Secret Eve"]),
    Patterns(),
)


@dataclass(frozen=True)
class Case:
    """Data of one kind. `fit` is what a codec learns from; every secret of it stands for itself.

    `other` differs from `fit` in its secrets alone: same tiers, same places, same pattern. `fresh` has values that no
    fit row has. `outside` are rows that must not change what is learned.
    """

    settings: Any
    fit: dict[str, list[Any]]
    other: dict[str, list[Any]]
    fresh: dict[str, list[Any]]
    options: dict[str, Any]


def _text():
    settings = TextSettings(is_public=True, tier_names=("PII",), tokeniser="plain", text=("title", "body"), user="who")
    fit = {
        "title": ["Secretann  met\tSecretbob", "", "Secret Eve", None],
        "body": ['"Secretbob", left.\r\n', "Nobody – came ", "and Secretann?", "met Secret Eve\n\n"],
        "who": ["u", "v", "u", "w"],
    }
    swapped = {"Secretann": "Secretbob", "Secretbob": "Secretann"}
    other = {
        name: [cell and " ".join(swapped.get(w, w) for w in cell.split(" ")) for cell in cells]
        for name, cells in fit.items()
    }
    other["title"][0] = "Secretbob  met\tSecretann"
    other["body"][0] = '"Secretann", left.\r\n'
    other["body"][2] = "and Secretbob?"
    fresh = {"title": ["Quux met", None], "body": ["SECRETANN! secret eve 415-555-0199", "left"], "who": ["x", "u"]}
    return Case(settings, fit, other, fresh, {"detectors": DETECTORS, "vectors": VECTORS})


def _table():
    grid = {"pay": (777.5, 888.5, 999.5)}
    settings = TableSettings(numeric=("pay",), categorical=("city",), group="who", public=("shop",), domains=grid)
    fit = {
        "pay": [777.5, 888.5, 999.5, 777.5],
        "city": ["secretoslo", "secretrome", "secretoslo", "secretrome"],
        "who": ["u", "v", "u", "u"],
        "shop": ["a", "b", "a", "b"],
    }
    other = {**fit, "pay": fit["pay"][::-1], "city": fit["city"][1:] + fit["city"][:1]}
    fresh = {"pay": [800.0, -5.0], "city": ["secretlima", "secretrome"], "who": ["x", "x"], "shop": ["a", "z"]}
    return Case(settings, fit, other, fresh, {})


def _location():
    settings = PlaceSettings(every=60.0)
    lat, lon = [39.98765, 40.1, 39.98765, 40.3], [116.31, 116.5, 116.31, 116.7]
    public = {"user": ["u", "u", "v", "u"], "trip": ["1", "1", "1", "1"]}
    public["timestamp"] = ["2008-10-01T00:00:00", "2008-10-01T00:05:00", "2008-10-01T00:00:00", "2008-10-01T00:05:10"]
    fit = {"lat": lat, "lon": lon, **public}
    other = {"lat": lat[::-1], "lon": lon[::-1], **public}
    fresh = {"lat": [41.0, 39.99], "lon": [117.0, 116.3], "user": ["x", "x"], "trip": ["9", "9"]}
    fresh["timestamp"] = ["2008-10-02T00:00:00", "2008-10-02T01:00:00"]
    return Case(settings, fit, other, fresh, {})


def _vectors():
    rows = [[777.5, 0.0], [888.5, 1.0], [777.5, 0.0], [0.25, 0.5]]
    groups = ["secretgroup", "b", "b", "c"]
    fit = {"vectors": rows, "group": groups}
    other = {"vectors": rows[::-1], "group": groups}
    fresh = {"vectors": [[700.0, 3.0], [1.0, 1.0]], "group": ["a", "a"]}
    return Case(VectorSettings(points="fit"), fit, other, fresh, {})


CASES = {
    "text": [_text],
    "table": [_table],
    "location": [_location],
    "vectors": [_vectors],
}


@pytest.fixture(params=[(kind, n) for kind in sorted(CODECS) for n in range(len(CASES[kind]))], ids=str)
def case(request):
    kind, number = request.param
    return CASES[kind][number]()


@pytest.fixture
def codec(case):
    return CODECS[case.settings.kind].fit(case.fit, case.settings, **case.options)


def plain(columns):
    """Columns as lists that can be compared."""
    return {n: [c.tolist() if isinstance(c, np.ndarray) else c for c in column] for n, column in columns.items()}


def kept(case, encoded, columns, name):
    cells = columns[name]
    return cells if encoded.keep is None else [c for c, k in zip(cells, encoded.keep, strict=True) if k]


def test_it_is_a_codec_with_settings_of_its_kind(case, codec):
    assert isinstance(codec, Codec)
    assert codec.kind == codec.settings.kind == case.settings.kind
    assert isinstance(case.settings, codec.settings_class)
    assert [type(part) for part in codec.to_policy()] == [codec.settings_class, codec.vocabulary_class]
    assert set(codec.released) <= set(codec.required) <= set(case.fit)
    assert len(codec.tiers.labels) == len(codec.space)


def test_what_is_not_perturbed_comes_back_byte_for_byte(case, codec):
    """Compared with the data that came in, not with another decoding."""
    encoded = codec.encode(case.fit)
    assert isinstance(encoded, Encoded)
    released = plain(encoded.decode(encoded.records.points))
    assert set(released) == set(codec.released)
    for name in codec.released:
        original = kept(case, encoded, case.fit, name)
        if codec.kind == "location":  # a cell stands for the places in it
            assert np.abs(np.subtract(released[name], original)).max() < 0.01
            again = {**case.fit, **{n: spread(encoded, released[n], case.fit[n]) for n in codec.released}}
            second = codec.encode(again)
            assert plain(second.decode(second.records.points)) == released
        else:
            assert released[name] == original


def spread(encoded, released, original):
    """Released cells put back into a whole column."""
    cells = iter(released)
    return [next(cells) if k else old for k, old in zip(encoded.keep, original, strict=True)]


def test_secrets_reach_the_release_through_outputs_only(case, codec):
    """Data that differ in their secrets alone look the same under the same outputs, and have the same context."""
    first, second = codec.encode(case.fit), codec.encode(case.other)
    assert first.records.points.tolist() != second.records.points.tolist(), "the case shows nothing"
    assert len(first.records.points) == len(second.records.points)
    rng = np.random.default_rng(3)
    for _ in range(5):
        outputs = rng.integers(0, len(codec.space), len(first.records.points))
        assert plain(first.decode(outputs)) == plain(second.decode(outputs))
    nothing = np.zeros(len(first.records.points), dtype=int)
    assert plain(first.decode(nothing, masked=True)) == plain(second.decode(nothing, masked=True))
    if first.records.context is not None:
        assert first.records.context.tokens.tolist() == second.records.context.tokens.tolist()
        assert first.records.context.symbols == second.records.context.symbols


def test_every_output_shows(case, codec):
    """A release follows its outputs: other outputs, another text."""
    encoded = codec.encode(case.fit)
    n = len(encoded.records.points)
    shown = [str(plain(encoded.decode(np.full(n, point)))) for point in range(len(codec.space))]
    assert len(set(shown)) == len(codec.space)


def test_a_policy_encodes_new_data_the_same_way(case, codec, tmp_path):
    mechanism = Exponential(codec.space, 1.0)
    save_policy(tmp_path, make_policy(codec, mechanism, codec.tiers))
    again = load_policy(tmp_path).codec
    assert type(again) is type(codec)
    for columns in (case.fit, case.other, case.fresh):
        first, second = codec.encode(columns), again.encode(columns)
        assert first.records.points.tolist() == second.records.points.tolist()
        assert first.records.offsets.tolist() == second.records.offsets.tolist()
        assert first.counts == second.counts
        outputs = np.zeros(len(first.records.points), dtype=int)
        assert plain(first.decode(outputs)) == plain(second.decode(outputs))
        only = again.encode({name: columns[name] for name in again.required})  # a release needs no more
        assert plain(only.decode(only.records.points)) == plain(first.decode(first.records.points))


def test_stored_terms_are_plain_and_give_the_same_digest(codec, tmp_path):
    settings, vocabulary = codec.to_policy()
    save(tmp_path / "settings.json", settings)
    save(tmp_path / "vocabulary.npz", vocabulary)
    assert digest(load(tmp_path / "settings.json", type(settings))) == digest(settings)
    assert digest(load(tmp_path / "vocabulary.npz", type(vocabulary))) == digest(vocabulary)
    again = type(codec).from_policy(settings, vocabulary, codec.space, codec.tiers)
    assert digest(again.to_policy()[0]) == digest(settings)
    assert digest(again.to_policy()[1]) == digest(vocabulary)


def test_fitting_never_sees_other_rows(case, codec):
    """A codec fitted on the same rows is the same, whatever it encodes in between; encoding teaches it nothing."""
    before = [digest(part) for part in codec.to_policy()], codec.space.points.tolist()
    codec.encode(case.fresh)
    codec.encode(case.other)
    again = CODECS[codec.kind].fit(case.fit, case.settings, **case.options)
    for made in (codec, again):
        assert ([digest(part) for part in made.to_policy()], made.space.points.tolist()) == before
    grown = {name: [*cells, *case.fresh[name]] for name, cells in case.fit.items()}
    more = CODECS[codec.kind].fit(grown, case.settings, **case.options)
    assert [digest(part) for part in more.to_policy()] != before[0] or more.space.points.tolist() != before[1]


def test_values_that_no_fit_row_has_are_never_released(case, codec):
    encoded = codec.encode(case.fresh)
    shown = str(plain(encoded.decode(encoded.records.points)))
    for secret in ("Quux", "415", "secretlima", "800.0", "41.0", "117.0", "700.0"):
        assert secret not in shown


def test_a_stream_reads_block_after_block_what_encode_reads_at_once(case, codec):
    whole = codec.encode(case.fit)
    rows = len(case.fit[codec.released[0]])
    stream, points, released = codec.stream(), [], {name: [] for name in codec.released}
    for row in range(rows):
        part = stream.encode({name: cells[row : row + 1] for name, cells in case.fit.items()}, first=row + 1)
        points += part.records.points.tolist()
        for name, cells in plain(part.decode(part.records.points)).items():
            released[name] += cells
    assert released == plain(whole.decode(whole.records.points))
    assert sorted(points) == sorted(whole.records.points.tolist())


def test_documents_know_the_rows_they_come_from(case, codec):
    encoded = codec.encode(case.fit)
    units, _ = case.settings.units(case.fit)
    assert len(encoded.rows) == len(encoded.records)
    assert len({units[row] for row in encoded.rows}) == len(set(units.tolist()))


def test_outputs_are_checked(codec, case):
    encoded = codec.encode(case.fit)
    with pytest.raises(InvalidInput, match="expected"):
        encoded.decode([0])
    with pytest.raises(InvalidInput, match="expected integers"):
        encoded.decode(np.full(len(encoded.records.points), 10_000))


def test_a_missing_column_is_named(codec, case):
    for name in codec.required:
        with pytest.raises(InvalidInput, match=f"no column '{name}'"):
            codec.encode({n: cells for n, cells in case.fit.items() if n != name})


def test_it_shows_no_secret(codec, case):
    encoded = codec.encode(case.fit)
    shown = [repr(v) for v in (codec, encoded, encoded.records, encoded.records.context, encoded.counts, codec.tiers)]
    shown += [repr(part) for part in codec.to_policy()] + list(codec.notes)
    for secret in ("secret", "777", "888", "39.98", "116"):
        assert secret not in " ".join(shown)


def test_the_context_fits_the_secrets(codec, case):
    records = codec.encode(case.fit).records
    if records.context is not None:
        assert len(records.context.slots) == len(records.points)
        assert len(records.context.offsets) == len(records.offsets)


def test_settings_are_read_from_plain_tables_and_refuse_unknown_keys(case):
    """A configuration file is parsed straight into them."""
    adapter = TypeAdapter(type(case.settings))
    table = {f.name: getattr(case.settings, f.name) for f in fields(case.settings)}
    assert adapter.validate_python(table) == case.settings
    with pytest.raises(ValidationError, match="nosuchkey"):
        adapter.validate_python({**table, "nosuchkey": 1})


def test_settings_are_frozen_values(case):
    assert replace(case.settings) == case.settings
    with pytest.raises(AttributeError):
        case.settings.is_public = False
