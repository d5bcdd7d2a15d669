"""A policy applied in memory: new data is encoded as when it was audited, and released through the mechanism."""

import os
from dataclasses import replace

import numpy as np
import pytest

import encoding
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceSettings, TableSettings, TextSettings, VectorSettings, WordVectors
from oddshift.data.detectors import Gazetteer, Patterns, Pipeline
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential, Mask, Tiered, build_mechanism
from oddshift.mechanisms.remap import Remap
from oddshift.model.release import draw_once
from oddshift.model.space import Space
from oddshift.protect import Sanitizer, os_uniforms, seeded_uniforms
from oddshift.protect.noise import Draws
from oddshift.protect.policies import load_policy, make_policy, save_policy

TEXTS = (
    "Ann met Bob Lee in New York.",
    "The nurse called Bob Lee, 212-555-0123.",
    "Bob met the nurse twice; Ann did not.",
)
NAMES = ("ann", "bob", "new", "york", "nurse", "lee", "will")


def prepared(texts=TEXTS, **settings):
    vectors = WordVectors(NAMES, np.arange(14, dtype=np.float32).reshape(7, 2) ** 1.5)
    tiers = {"tier_names": ("PII", "PoII"), "tier_of": {"PERSON": "PII", "NAME": "PII", "JOB": "PoII"}}
    listed = Gazetteer({"ann": "PERSON", "bob": "PERSON", "nurse": "JOB", "zed": "PERSON"})
    detectors = [listed, Gazetteer(["New York", "Bob Lee"]), Patterns()]
    chosen = TextSettings(is_public=True, **tiers, **settings)
    return encoding.text(texts, vectors, detectors, chosen)


def text_policy(made, mechanism=None):
    return made.policy(mechanism or Exponential(made.space, 0.1))


def far_policy(made):
    """A policy whose noise is too small to change anything: what it releases shows what it found."""
    return text_policy(made, Exponential(made.encoded.records.space, 1e6))


def test_texts_are_released_as_the_modality_releases_them(tmp_path):
    made = prepared()
    encoded, policy = made.encoded, text_policy(made)
    save_policy(tmp_path, policy)
    released = Sanitizer.seeded_for_experiments(load_policy(tmp_path), 5).texts(TEXTS)
    once = draw_once(encoded.records)
    z = seeded_uniforms(5)(len(once.records.points))
    drawn = policy.mechanism().invert(once.records.points, z)
    assert tuple(released) == encoded.texts(drawn[once.position])


def test_names_of_several_words_and_numbers_of_a_form_are_one_secret_in_new_texts():
    sanitizer = Sanitizer(far_policy(prepared()))
    shown = sanitizer.texts(["bob lee went to new York with 415-555-0199.", "The zed, York."])
    assert shown == ["Bob Lee went to New York with [PHONE_NUMBER].", "The [PERSON], York."]


def test_found_words_without_a_point_are_marked_or_refused():
    made = prepared()
    assert Sanitizer(text_policy(made)).texts(["Quux!  Zed 212-555-0123"]) == ["Quux!  [PERSON] [PHONE_NUMBER]"]
    refusing = replace(made.codec, settings=replace(made.codec.settings, unknown="refuse"))
    refusing = make_policy(refusing, Exponential(made.space, 0.1), made.tiers)
    with pytest.raises(InvalidInput, match="1 of them of unseen types, expected none"):
        Sanitizer(refusing).texts(["Quux! 212-555-0129"])


def test_what_is_not_sensitive_stays_byte_for_byte():
    texts = ["", " \t\n", "twice ;  in\r\nthe.", "met"]
    assert Sanitizer(text_policy(prepared())).texts(texts) == texts


def test_a_mask_policy_masks():
    made = prepared()
    mask = text_policy(made, Mask(made.encoded.records.space))
    assert Sanitizer(mask).texts(["Ann met the nurse."]) == ["[PERSON] met the [JOB]."]


def test_one_more_detector_finds_more_names(data):
    texts = (*TEXTS, "Smith will.", "He will leave soon")
    sanitizer = Sanitizer(far_policy(prepared(texts)))
    ner = Pipeline(data / "ner" / "en_core_web_sm_ner", workers=1, is_cached=False)
    more = Sanitizer(sanitizer.policy, detector=ner)
    text = "He met Adam Smith in the New York."
    assert sanitizer.texts([text]) == ["He met Adam Smith in the New York."]
    assert more.texts([text]) == ["He met [PERSON] in the New York."]


def test_the_embedded_corpus_can_be_protected():
    corpus = people(40)
    mechanism = Exponential(corpus.space, 1e6)
    policy = make_policy(corpus.codec, mechanism, corpus.tiers)
    assert tuple(Sanitizer(policy).texts(corpus.texts)) == corpus.texts


TABLE = {"age": [20, 30, 41, 30], "city": ["oslo", "rome", "oslo", "rome"], "shop": ["a", "b", "a", "a"]}


def test_tables_come_back_from_the_nearest_points():
    asked = TableSettings(numeric=("age",), categorical=("city",), domains={"age": (20, 30, 41)})
    made = encoding.table(TABLE, asked)
    policy = made.policy(Exponential(made.space, 1e6))
    released = Sanitizer(policy).columns({"age": [29.5, 47], "city": ["rome", "oslo"]})
    assert released == {"age": [30.0, 41.0], "city": ["rome", "oslo"]}
    again = Sanitizer(policy).columns(TABLE)
    assert again == {"age": [20.0, 30.0, 41.0, 30.0], "city": TABLE["city"]}


def test_cells_that_fit_nowhere_are_refused_without_being_quoted():
    made = encoding.table(TABLE, TableSettings(numeric=("age",), categorical=("city",), unknown="refuse"))
    policy = made.policy(Exponential(made.space, 1.0))
    with pytest.raises(InvalidInput, match=r"column 'city' at row 2 holds a category that the policy does not know$"):
        Sanitizer(policy).columns({"age": [1, 2], "city": ["oslo", "secret"]})
    for bad in ("secret", "inf"):
        with pytest.raises(InvalidInput, match=r"column 'age' at row 1 is (not a number|infinite), expected"):
            Sanitizer(policy).columns({"age": [bad], "city": ["oslo"]})
    for missing in ("nan", None, "NA"):
        assert Sanitizer(policy).columns({"age": [missing], "city": ["oslo"]})["age"] == [missing]
    with pytest.raises(InvalidInput, match="has no column 'city' among its 1"):
        Sanitizer(policy).columns({"age": [1]})


def test_binned_columns_take_the_nearest_step():
    ages = list(np.linspace(0, 100, 201))
    made = encoding.table({"age": ages}, TableSettings(numeric=("age",), bins=10))
    policy = made.policy(Exponential(made.space, 1e6))
    released = Sanitizer(policy).columns({"age": [-5, 0, 9, 11, 94, 300]})
    assert released["age"] == [0, 0, 10, 10, 90, 100]
    assert Sanitizer(policy).points([0, 9]).tolist() == [0, 9]


def places(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([39.9, 116.3]) + rng.normal(scale=0.05, size=(n, 2))


def test_places_are_led_to_the_cells_they_were_audited_in():
    lat, lon = places().T.tolist()
    fixes = {"lat": lat, "lon": lon, "user": ["u"] * 300}
    made = encoding.places(fixes, PlaceSettings(timestamp="", trip="", every=0.0))
    space, encoded = made.space, made.encoded
    policy = made.policy(Exponential(space, 1e6))
    shown = encoded.decode(encoded.records.points)
    assert np.array_equal(Sanitizer(policy).rows(places()), np.array([shown["lat"], shown["lon"]]).T)
    far = Sanitizer(policy).rows([[10.0, 10.0]])
    assert np.array_equal(far[0], space.points[space.nearest(np.array([[10.0, 10.0]]))[0]])


def test_vectors_are_led_to_the_nearest_point():
    made = encoding.vectors(np.eye(3), VectorSettings(is_public=False, points="fit"), tier=["a", "a", "b"])
    policy = made.policy(Tiered(made.space, made.tiers, 1e6))
    assert Sanitizer(policy).rows([[0.9, 0.1, 0.2], [0, 0, 5.0]]).tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(InvalidInput, match="rows has 2 columns, expected 3"):
        Sanitizer(policy).rows([[1.0, 2.0]])
    with pytest.raises(InvalidInput, match="texts needs a policy of kind text, this one is of kind vectors"):
        Sanitizer(policy).texts(["a"])
    masked = made.policy(Mask(made.space))
    assert np.isnan(Sanitizer(masked).rows([[0.9, 0.1, 0.2]])).all()


CONFIGS = {
    "people": 'kind = "people"\ndocuments = 40',
    "table": 'kind = "table"\npath = "t.csv"\nnumeric = ["age"]\ncategorical = ["city"]',
    "location": 'kind = "location"\npath = "g.csv"\nevery = 0.0',
    "vectors": 'kind = "vectors"\npath = "v.npz"\npoints = "fit"',
    "text": 'kind = "text"\npath = "w.csv"\nvectors = "e.npz"\nis_public = true\n'
    'detectors = [{kind = "words", path = "names.txt"}]',
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_kind_of_configuration_leads_to_a_policy(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{20 + i},{'oslo' if i % 2 else 'rome'}" for i in range(12))
    (tmp_path / "t.csv").write_text(f"age,city\n{rows}\n")
    fixes = "\n".join(f"u{i // 4},2008-10-01T00:{i:02d}:00,{40 + i / 50},116.3,{i // 4}" for i in range(12))
    (tmp_path / "g.csv").write_text(f"user,timestamp,lat,lon,trip\n{fixes}\n")
    np.savez(tmp_path / "v.npz", vectors=np.random.default_rng(0).normal(size=(12, 3)))
    np.savez(tmp_path / "e.npz", words=np.array(NAMES), vectors=np.eye(7, 3) + np.arange(7)[:, None])
    (tmp_path / "w.csv").write_text("text\n" + "".join(f"ann met bob of {k} {k} {k}\n" for k in range(12)))
    (tmp_path / "names.txt").write_text("ann\nbob\n")
    config = parse_config(f"[data]\n{CONFIGS[kind]}\n[mechanism]\nepsilon = 1e6\n", "test")
    loaded = prepare_configured(config)
    mechanism = build_mechanism(config.mechanism, loaded.split.fit.space, loaded.tiers, 1e6)
    save_policy(tmp_path / "run", make_policy(loaded.codec, mechanism, loaded.tiers))
    policy = load_policy(tmp_path / "run")
    assert policy.kind == ("text" if kind == "people" else kind)
    everyone = np.arange(len(policy.space))
    assert np.array_equal(Sanitizer(policy).points(everyone), everyone)


def test_outputs_follow_the_mechanism_whether_rows_are_kept_or_not():
    space = Space(np.random.default_rng(1).normal(size=(30, 3)))
    mechanism = Remap(Exponential(space, 1.5), np.full(30, 1 / 30))
    index = np.random.default_rng(2).integers(0, 30, 5000)
    expected = mechanism.invert(index, seeded_uniforms(4)(5000))
    for row_bytes in (0, 8 * 30 * 7, 10**6):
        draws = Draws(mechanism, seeded_uniforms(4), row_bytes)
        assert np.array_equal(np.concatenate([draws(index[:100]), draws(index[100:])]), expected), row_bytes


def test_noise_is_that_of_the_operating_system(monkeypatch):
    space = Space([[0.0], [1.0]])
    policy = encoding.vector_policy(Exponential(space, 1e-9))
    asked = []
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or real(n))
    outputs = Sanitizer(policy).points(np.zeros(4000, dtype=int))
    assert asked == [8 * 4000]
    assert 1700 < outputs.sum() < 2300


def test_uniforms_are_uniform_and_below_one(monkeypatch):
    z = os_uniforms(200_000)
    assert abs(np.histogram(z, bins=10, range=(0, 1))[0] / 20_000 - 1).max() < 0.05
    monkeypatch.setattr(os, "urandom", lambda n: b"\xff" * n)
    assert os_uniforms(1)[0] == 1.0 - 2.0**-53
    monkeypatch.setattr(os, "urandom", lambda n: b"\x00" * n)
    assert os_uniforms(1)[0] == 0.0


def test_two_calls_differ_and_a_seed_repeats():
    policy = text_policy(prepared())
    texts = list(TEXTS) * 20
    assert Sanitizer(policy).texts(texts) != Sanitizer(policy).texts(texts)
    twice = [Sanitizer.seeded_for_experiments(policy, 1).texts(texts) for _ in range(2)]
    assert twice[0] == twice[1]


def test_nothing_shows_a_secret():
    policy = text_policy(prepared())
    assert repr(Sanitizer(policy)) == "Sanitizer(Policy(text, 5 points, exponential, not certified))"
    with pytest.raises(InvalidInput, match="index has another value, expected"):
        Sanitizer(policy).points([77])
    assert "bob" not in repr(policy.vocabulary) + repr(policy.vocabulary.codec)
