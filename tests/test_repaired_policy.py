"""A policy that repairs what it releases: stored without code, applied to values, files and streams alike."""

from dataclasses import replace

import numpy as np
import pytest

import oddshift as od
from oddshift.base.errors import InvalidInput
from oddshift.data.embedded import people
from oddshift.mechanisms import MECHANISMS, MechanismSettings
from oddshift.protect import ProtectSettings
from oddshift.protect.policies import make_policy
from oddshift.protect.release import ReleasePolicy, load_release_policy


@pytest.fixture(scope="module")
def corpus():
    return people(900, seed=4)


@pytest.fixture(scope="module")
def plain(corpus):
    asked = MechanismSettings(name="tiered", scales=corpus.tiers.scales, outputs="tier")
    mechanism = MECHANISMS["tiered"].configured(corpus.space, corpus.tiers, 1.2, asked)
    return ReleasePolicy(make_policy(corpus.codec, mechanism, corpus.tiers))


def changed(corpus, released):
    """The share of secrets of the two repaired tiers that come out as they were, and of the others."""
    old, new = (corpus.codec.on_columns(["text"]).encode({"text": texts}).records for texts in (corpus.texts, released))
    same = old.points == new.points
    level = np.array(corpus.tiers.levels)[corpus.tiers.labels[old.points]]
    return same[level == 1].mean(), same[level == 0].mean()


@pytest.mark.parametrize("mode", ["best", "typical"])
def test_a_stored_law_repairs_what_is_applied_and_what_is_protected(corpus, plain, mode, tmp_path):
    made = plain.repairing(mode, corpus.records, "public")
    assert made.policy.terms.repair.modes == ("drawn", "drawn", "drawn", mode, mode)
    assert made.policy.terms.repair.source == "public"
    policy = made.save(tmp_path / "policy")
    again = load_release_policy(tmp_path / "policy")
    assert again.fingerprint == policy.fingerprint != plain.fingerprint
    texts = list(corpus.texts)
    before, after = changed(corpus, plain.apply(texts)), changed(corpus, again.apply(texts))
    if mode == "best":
        assert after[0] > before[0] + 0.05
    assert abs(after[1] - before[1]) < 0.05  # the most sensitive tiers stay as they were drawn
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("text\n" + "\n".join(f'"{text}"' for text in texts[:300]) + "\n")
    done = again.protect(source, out, ProtectSettings(allow_uncertified=True))
    assert done.records == 300
    assert len(again.sanitizer.texts(texts[:1])) == 1  # one short text takes the same way


def test_a_damaged_law_is_refused(corpus, plain, tmp_path):
    plain.repairing("best", corpus.records.take(np.arange(300))).save(tmp_path)
    stored = bytearray((tmp_path / "repair.npz").read_bytes())
    stored[len(stored) // 2] ^= 1
    (tmp_path / "repair.npz").write_bytes(bytes(stored))
    with pytest.raises(InvalidInput, match=r"repair\.npz"):
        load_release_policy(tmp_path)
    (tmp_path / "repair.npz").unlink()
    with pytest.raises(InvalidInput, match="missing"):
        load_release_policy(tmp_path)


def test_a_release_teaches_its_own_law_where_it_is_large_enough(corpus, plain):
    policy = plain.repairing("typical")
    assert policy.policy.terms.repair.source == "release"
    with pytest.raises(InvalidInput, match="200"):
        policy.apply(list(corpus.texts[:5]))
    assert len(policy.apply(list(corpus.texts[:250]))) == 250
    assert len(policy.apply(list(corpus.texts[:5]))) == 5  # what the first release taught serves the next


def test_released_values_are_repaired_afterwards(corpus, plain):
    drawn = plain.apply(list(corpus.texts))
    repaired = od.repair(drawn, plain.repairing("best", corpus.records.take(np.arange(500))), "best")
    assert changed(corpus, repaired)[0] > changed(corpus, drawn)[0]
    with pytest.raises(InvalidInput, match="mode"):
        od.repair(drawn, plain, "likeliest")


def test_a_law_that_the_terms_do_not_name_is_refused(corpus, plain):
    made = plain.repairing("best", corpus.records.take(np.arange(300))).policy
    with pytest.raises(InvalidInput, match="law of repair"):
        replace(made, law=None)
