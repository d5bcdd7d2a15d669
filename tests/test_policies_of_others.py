"""Policies that hold a codec or a detector of another package: found by name, in the fingerprint, or refused."""

import json
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import oddshift as od
from added_package import forget, lay_out, shades_csv
from oddshift.app.results import why_no_policy
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput, NotInstalled
from oddshift.base.registry import StoredName
from oddshift.base.storage import load, save
from oddshift.data.codecs import CODECS, VectorCodec, VectorSettings
from oddshift.data.detectors import DETECTORS
from oddshift.data.detectors.storage import KeptByName
from oddshift.data.preparation import prepare
from oddshift.mechanisms import Exponential
from oddshift.protect import Sanitizer, seeded_uniforms
from oddshift.protect.policies import POLICY, VOCABULARY, load_policy, make_policy, save_policy
from oddshift.protect.policies.terms import PolicyTerms, PolicyVocabulary

TOLD = {"ann": "sails", "bob": "bakes", "eve": "plays", "max": "paints"}
LEVELS = {"levels": 6}


def posts(count=120, sign="#"):
    """Who does what, each between words of its own."""
    rng = np.random.default_rng(1)
    words = [f"{a}{b}" for a in ("red", "old", "far", "cold", "warm") for b in ("door", "tree", "road", "boat", "hill")]
    told = rng.choice([*TOLD], count)
    return [" ".join([*rng.choice(words, 5), sign + tag, TOLD[tag], *rng.choice(words, 5)]) for tag in told]


def tagged(texts, detector="hashtags"):
    asked = {"tokeniser": "plain", "count": 1, "fewest": 2, "trials": 0}
    return prepare(od.texts(texts, "from-text", [detector], settings=asked), seed=0)


def shaded(folder):
    return prepare(od.read(shades_csv(folder), kind="shades", settings=LEVELS), seed=0)


def policy_of(prepared, epsilon=1.0):
    return make_policy(prepared.codec, Exponential(prepared.codec.space, epsilon), prepared.codec.tiers)


@pytest.fixture(params=["codec", "detector"])
def kept(request, lantern, tmp_path):
    """A saved policy with a codec, or with a detector, of the package."""
    prepared = shaded(tmp_path) if request.param == "codec" else tagged(posts())
    home = tmp_path / "kept"
    save_policy(home, policy_of(prepared))
    return home


def test_a_detector_is_audited_adapted_kept_and_applied(lantern, tmp_path):
    asked = {"tokeniser": "plain", "count": 1, "fewest": 2}
    data = od.texts(posts(), "from-text", ["hashtags"], settings=asked)
    fixed = od.adapt(data, epsilon=1.0, delta=0.3, attackers=["portfolio"])
    assert (fixed.guarantee, fixed.why) == ("proved", "")  # one secret in each post: a bound holds for any law
    fixed.policy.save(tmp_path / "run")
    again = od.load_policy(tmp_path / "run")
    assert again.fingerprint == fixed.policy.fingerprint
    new = posts(40)
    released = again.apply(new)
    tags = [text.split("#")[1].split()[0] for text in released]
    assert set(tags) <= set(TOLD)
    assert tags != [text.split("#")[1].split()[0] for text in new]
    assert [text.split()[:5] for text in released] == [text.split()[:5] for text in new]
    (tmp_path / "new.csv").write_text("\n".join(["text", *new, ""]))
    assert again.protect(tmp_path / "new.csv", tmp_path / "out.csv").positions == {"TAG": 40}


def test_what_is_read_back_encodes_and_releases_as_before(kept):
    policy = load_policy(kept)
    first, second = policy, load_policy(kept)
    assert first.fingerprint == second.fingerprint
    assert first.codec.kind in {"shades", "text"}
    if first.codec.kind == "shades":
        assert (first.codec.settings.levels, first.kind) == (6, "shades")
        columns = {"picture": ["a", "a", "b"], "shade": ["7", "200", "90"]}
        encoded = first.codec.encode(columns)
        assert encoded.decode(encoded.records.points) == {"shade": [0, 204, 102]}
    else:
        one, other = (Sanitizer(p, uniforms=seeded_uniforms(3)).texts(posts(9)) for p in (first, second))
        assert one == other != posts(9)


def test_without_the_package_one_line_names_it(kept, lantern):
    sys.path.remove(str(lantern))
    forget()
    with pytest.raises(NotInstalled) as refused:
        load_policy(kept)
    message = str(refused.value)
    assert message.startswith(str(kept / POLICY))
    assert "of the package lantern is needed, which is not installed; expected lantern 1.0" in message
    assert "\n" not in message


def test_another_version_is_refused(kept, lantern):
    lay_out(lantern, version="1.1")
    with pytest.raises(NotInstalled, match=r"is needed, and lantern 1\.1 is installed; expected lantern 1\.0"):
        load_policy(kept)


def test_the_fingerprint_covers_settings_version_and_what_was_learned(lantern, tmp_path, monkeypatch):
    prepared = shaded(tmp_path)
    first = policy_of(prepared)
    finer = replace(prepared.codec, settings=replace(prepared.codec.settings, picture="other"))
    marks = {first.fingerprint, policy_of(replace(prepared, codec=finer)).fingerprint}
    texts = tagged(posts())
    from lantern.hashtags import Hashtags

    (tags,) = (detector for detector in texts.codec.finders.detectors)
    assert isinstance(tags, Hashtags)
    marks.add(policy_of(texts).fingerprint)
    at = replace(texts.codec.finders, detectors=(replace(tags, sign="@"),))
    marks.add(policy_of(replace(texts, codec=replace(texts.codec, finders=at))).fingerprint)
    newer = StoredName(name="hashtags", package="lantern", version="2.0")
    monkeypatch.setattr(DETECTORS, "stored", lambda name: newer)
    marks.add(policy_of(texts).fingerprint)
    assert len(marks) == 5


def test_an_object_of_a_registered_class_is_kept_with_its_own_settings(lantern):
    from lantern.hashtags import Hashtags, HashtagSettings

    prepared = tagged(posts(sign="!"), Hashtags("!"))
    (kept,) = policy_of(prepared).vocabulary.codec.detectors
    assert kept == KeptByName(entry=DETECTORS.stored("hashtags"), settings=HashtagSettings(sign="!"))
    assert kept.entry == StoredName(name="hashtags", package="lantern", version="1.0")
    released = Sanitizer(policy_of(prepared, 0.01), uniforms=seeded_uniforms(1)).texts(posts(30, "!"))
    assert released != posts(30, "!")


def test_a_detector_that_is_not_registered_gives_no_policy(lantern):
    from lantern.hashtags import Hashtags, HashtagSettings

    @dataclass(frozen=True)
    class Silent(Hashtags):
        to_policy: ClassVar[None] = None

    @dataclass(frozen=True, kw_only=True)
    class OtherSettings(HashtagSettings):
        """Settings that no name leads to."""

    class Unnamed(Hashtags):
        def to_policy(self):
            return OtherSettings()

    for detector, reason in (
        (Silent(), r"cannot be kept in a policy, expected .* or a registered detector with to_policy\(\)"),
        (Unnamed(), r"cannot be kept in a policy: to_policy\(\) gives OtherSettings, expected registered settings"),
    ):
        prepared = tagged(posts(), detector)
        with pytest.raises(InvalidInput, match=reason):
            policy_of(prepared)
        assert "cannot be kept in a policy" in why_no_policy(prepared)


def test_a_detector_that_forgets_its_settings_gives_no_policy(lantern):
    """What the policy would find is compared with what was certified."""
    from lantern.hashtags import Hashtags, HashtagSettings

    class Forgetful(Hashtags):
        def to_policy(self):
            return HashtagSettings()

    assert why_no_policy(tagged(posts(), Hashtags())) == ""
    assert why_no_policy(tagged(posts(sign="!"), Forgetful("!"))) == (
        "made again from a policy, TextCodec finds other secrets than were certified"
    )


def test_a_codec_that_forgets_its_settings_gives_no_policy(lantern, tmp_path, monkeypatch):
    prepared = shaded(tmp_path)
    kind = type(prepared.codec)
    assert why_no_policy(prepared) == ""
    kept = kind.from_policy

    def reversed_scale(settings, vocabulary, space, tiers):
        return kept(settings, vocabulary, od.Space(space.points[::-1].copy()), tiers)

    monkeypatch.setattr(kind, "from_policy", reversed_scale)
    assert "ShadeCodec finds other secrets" in why_no_policy(prepared)


def test_settings_that_no_file_keeps_are_refused_in_one_line(lantern, tmp_path):
    prepared = shaded(tmp_path)
    for levels, reason in (({6}, "is a set, expected plain fields"), ("6", "is '6', expected int")):
        settings = replace(prepared.codec.settings)
        object.__setattr__(settings, "levels", levels)
        broken = replace(prepared.codec, settings=settings)
        with pytest.raises(InvalidInput, match=f"ShadeCodec cannot be kept in a policy: .*{reason}"):
            policy_of(replace(prepared, codec=broken))


def test_a_codec_that_its_name_does_not_lead_to_is_refused(lantern, tmp_path, monkeypatch):
    prepared = shaded(tmp_path)
    monkeypatch.setattr(type(prepared.codec), "kind", "hues")
    with pytest.raises(InvalidInput, match="its kind is 'hues', expected a registered name that leads to it"):
        policy_of(prepared)


def test_a_file_can_name_entries_only(kept, tmp_path):
    """A policy that names a module, a class or our own codec by name makes nothing of it and imports nothing."""
    terms, vocabulary = load(kept / POLICY, PolicyTerms), load(kept / VOCABULARY, PolicyVocabulary)
    before = set(sys.modules)
    for name in ("antigravity", "antigravity:geohash", "lantern.shades:ShadeCodec", "../shades", "text", "pipeline"):
        entry = StoredName(name=name, package="lantern", version="1.0")
        if policy_kind(terms) == "shades":
            save(kept / POLICY, replace(terms, data=replace(terms.data, codec=entry)))
        else:
            detectors = tuple(replace(each, entry=entry) for each in vocabulary.codec.detectors)
            save(kept / VOCABULARY, replace(vocabulary, codec=replace(vocabulary.codec, detectors=detectors)))
        with pytest.raises(InvalidInput) as refused:
            load_policy(kept)
        assert "\n" not in str(refused.value)
    assert set(sys.modules) == before


def policy_kind(terms):
    return "shades" if hasattr(terms.data, "codec") else "text"


def test_settings_and_vocabulary_of_two_codecs_do_not_go_together(lantern, tmp_path):
    policy = policy_of(shaded(tmp_path))
    vectors = VectorCodec.fit({"vectors": np.eye(3).tolist()}, VectorSettings(points="fit"))
    with pytest.raises(InvalidInput, match="the vocabulary is of another codec than the policy names"):
        type(policy)(replace(policy.terms, data=vectors.settings), policy.vocabulary)


def test_columns_that_the_codec_does_not_know_are_refused(lantern, tmp_path):
    policy_folder = tmp_path / "kept"
    save_policy(policy_folder, policy_of(shaded(tmp_path)))
    policy = od.load_policy(policy_folder)
    columns = {"picture": ["a", "a"], "shade": [7, 200], "owner": ["Ann", "Bob"]}
    with pytest.raises(InvalidInput, match=r"column 'owner' is not known to the policy .* allow it by name") as refused:
        policy.apply(columns)
    assert "Ann" not in str(refused.value)
    assert policy.apply(columns, clear=["owner"])["owner"] == ["Ann", "Bob"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Weights:
    """A vocabulary with an array, a mapping and a tuple."""

    weights: FloatArray
    names: tuple[str, ...]
    counts: dict[str, int]


@dataclass(frozen=True, eq=False, repr=False)
class WeightedCodec:
    """A codec of vectors that learned something else, too."""

    inner: VectorCodec
    learned: Weights

    kind: ClassVar[str] = "weighted"
    vocabulary_class: ClassVar[type[Weights]] = Weights

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        kind: ClassVar[str] = "weighted"
        scale: float = 1.0
        words: tuple[str, ...] = ("a",)

    settings_class: ClassVar[type[Settings]] = Settings
    settings: ClassVar[Settings] = Settings(scale=float("inf"))

    def to_policy(self):
        return self.settings, self.learned

    @classmethod
    def from_policy(cls, settings, vocabulary, space, tiers):
        assert settings == cls.settings
        return cls(VectorCodec(VectorSettings(), space, tiers), vocabulary)


def test_one_line_in_the_registry_is_enough_for_our_own_too(monkeypatch, tmp_path):
    """A codec in our own registry is kept by its name, without a version; arrays come back as they were."""
    monkeypatch.setitem(CODECS._own, "weighted", WeightedCodec)
    inner = VectorCodec.fit({"vectors": np.eye(3).tolist()}, VectorSettings(points="fit"))
    learned = Weights(weights=np.array([0.5, np.inf]), names=("x", "y"), counts={"x": 2})
    codec = WeightedCodec(inner, learned)
    made = make_policy(codec, Exponential(inner.space, 1.0), inner.tiers)
    save_policy(tmp_path, made)
    again = load_policy(tmp_path)
    assert again.fingerprint == made.fingerprint
    assert again.terms.data.codec == StoredName(name="weighted", package="oddshift", version="")
    assert again.codec.learned.weights.tolist() == [0.5, np.inf]
    assert (again.codec.learned.names, again.codec.learned.counts) == (("x", "y"), {"x": 2})
    said = json.loads((tmp_path / POLICY).read_text())["value"]["data"]["settings"]
    assert said == {"kind": "Settings", "scale": "inf", "words": ["a"]}
    learned.weights[0] = 0.25  # what was learned was copied, not frozen
    assert make_policy(codec, Exponential(inner.space, 1.0), inner.tiers).fingerprint != made.fingerprint
