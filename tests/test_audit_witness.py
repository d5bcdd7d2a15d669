"""The guess game of an audit: shows what leaks, hardly ever what does not, and says how many documents it lacks."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import oddshift as od
from oddshift.app.attacker_choice import fit_attackers
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.app.demo import PEOPLE
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import Own, exact_attacker
from oddshift.audit import AuditSettings, audit
from oddshift.audit.witness_search import search_witness
from oddshift.mechanisms.named import build_mechanism
from oddshift.model.release import one_tier
from worlds import ring

K, LENGTH = 6, 4


def world(documents, strength, seed=0):
    """Walks round a circle of six words, the mechanism at ε = 1, and the true attacker of that walk."""
    base = ring(words=K, length=LENGTH, documents=documents, strength=strength, seed=seed).known
    space = base.mechanism.space
    order = np.random.default_rng(7).permutation(K)
    step = np.full((K, K), (1 - strength) / K)
    step[np.arange(K), order] += strength
    law = od.Markov(np.full(K, 1 / K), step, LENGTH)
    split = base.fit.split(rng=np.random.default_rng(1))
    known = knowledge(od.Exponential(space, 1.0), one_tier(space), split.fit)
    return split, known, exact_attacker(known, lambda length: law), law


def largest(known, law):
    """The true sup of mPL, over all places."""
    channels = [known.mechanism.log_matrix] * LENGTH
    return max(od.exact_leakage(law, channels, known.mechanism.space.distances, place).joint for place in range(LENGTH))


def test_what_leaks_is_shown_and_stays_below_the_truth():
    split, known, exact, law = world(4000, 0.98)
    found, lacking = search_witness(exact, split, known, AuditSettings(epsilon=0.6))
    assert found.shown
    assert lacking == ""
    assert 0.6 < found.lower_bound < largest(known, law)


def test_the_true_leakage_is_hardly_ever_exceeded():
    """At ε = sup mPL a violation is shown wrongly with probability at most 5 %; the attacker's fault is no excuse."""
    split, known, exact, law = world(600, 0.9)
    shown = bold = 0
    for seed in range(30):
        asked = AuditSettings(epsilon=largest(known, law), seed=seed)
        shown += bool((found := search_witness(exact, split, known, asked)[0]) and found.shown)
        bold += bool((found := search_witness(Bold(exact), split, known, asked)[0]) and found.shown)
    assert shown <= 5  # Pr[Bin(30, .05) > 5] < .01
    assert bold <= 5


@dataclass(frozen=True)
class Bold:
    """An attacker that is far too sure."""

    attacker: object
    name: str = "bold"
    with_context: bool = False

    def beliefs(self, release):
        for block in self.attacker.beliefs(release):
            yield type(block)(block.positions, 4.0 * block.shift, block.log_prior)


def test_an_attacker_cannot_use_the_own_release():
    """Independent secrets: the context says nothing, so what Bold reads from the own output must not count."""
    split, known, _, _ = world(1500, 0.0)
    exact = known.mechanism.exact_epsilon
    shown = 0
    for seed in range(10):
        found, _ = search_witness(Bold(Own(known)), split, known, AuditSettings(epsilon=1.001 * exact, seed=seed))
        assert sum(found.counts[1::2]) > 50  # it does guess
        shown += found.lower_bound > exact
    assert shown <= 2  # Pr[Bin(10, .05) > 2] < .012; with the real output in its place all ten are wrong


def test_the_bound_is_never_below_one_release():
    split, known, exact, _ = world(60, 0.5)
    for attacker in (exact, Own(known)):
        found, _ = search_witness(attacker, split, known, AuditSettings(epsilon=3.0))
        assert found.lower_bound >= known.mechanism.exact_epsilon
        assert found.single_epsilon == known.mechanism.exact_epsilon


def test_a_release_without_bound_needs_no_game():
    split, known, _, _ = world(60, 0.5)
    with np.errstate(divide="ignore"):
        open_channel = od.Channel(known.mechanism.space, np.log(np.eye(K)))
    bare = knowledge(open_channel, known.tiers, split.fit)
    found, lacking = search_witness(Own(bare), split, bare, AuditSettings(epsilon=3.0))
    assert found.lower_bound == np.inf
    assert found.shown
    assert lacking == ""


def test_the_demo_corpus_is_shown_to_leak_with_the_documents_there_are():
    config = parse_config(PEOPLE, "demo", None)
    prepared = prepare_configured(config)
    space, split = prepared.split.fit.space, prepared.split
    known = knowledge(build_mechanism(config.mechanism, space, prepared.tiers, 1.5), prepared.tiers, split.fit)
    exact = fit_attackers(["exact"], known, prepared, config.audit, FitOptions())[0]
    for seed in range(3):
        found, lacking = search_witness(exact, split, known, replace(config.audit, seed=seed))
        assert 1.5 < found.lower_bound < 5
        assert lacking == ""


def test_an_undecided_witness_says_how_many_documents_it_needs_and_that_many_suffice():
    split, known, exact, _ = world(150, 0.95)
    found, lacking = search_witness(exact, split, known, AuditSettings(epsilon=1.2))
    assert not found.shown
    assert lacking.startswith("undecided: about ")
    assert lacking.endswith("there are 30")
    needs = int(lacking.split()[2])
    assert needs > 30
    more, known, exact, _ = world(10 * needs, 0.95, seed=3)  # a fifth of them certify: twice what is needed
    assert search_witness(exact, more, known, AuditSettings(epsilon=1.2))[0].shown


def test_nothing_to_compare_is_said():
    split, known, _, _ = world(30, 0.9)
    found, lacking = search_witness(Own(known), split, known, AuditSettings(epsilon=5.0))
    assert found.counts == ()
    assert found.lower_bound == known.mechanism.exact_epsilon
    assert "distinguished beyond epsilon" in lacking


def test_distances_do_not_name_a_pair_of_secrets():
    split, known, exact, _ = world(2000, 0.98)
    found, _ = search_witness(exact, split, known, AuditSettings(epsilon=0.8))
    real = np.unique(known.mechanism.space.distances)
    assert all(d / real[real <= d + 1e-9].max() <= 1.02 + 1e-9 for d in found.distances)
    assert all((np.log(d) / np.log(1.02)).round(6) % 1 in (0, 1) for d in found.distances)


def test_an_attacker_that_reads_the_context_does_not_play():
    split, known, exact, _ = world(1000, 0.95)
    reader = Bold(exact, name="reader", with_context=True)
    result = audit(split, known, [exact, reader], AuditSettings(epsilon=0.8, worst_positions=10))
    assert "attacker exact" in result.witness.event


@pytest.mark.parametrize("is_public", [True, False])
def test_strata_are_lengths_and_public_tiers(is_public):
    tiers = od.Tiers(np.arange(K) % 2, names=("a", "b"), scales=(1.0, 1.0), is_public=is_public)
    base = ring(words=K, length=None, documents=900, tiers=tiers).known
    split = base.fit.split(rng=np.random.default_rng(1))
    known = knowledge(base.mechanism, tiers, split.fit)
    found, _ = search_witness(Own(known), split, known, AuditSettings(epsilon=0.2))
    # 4 lengths; with public tiers 2 + 4 + 8 + 16 of them, some too rare for a place
    places = int(found.event.split("at ")[1].split()[0])
    assert places == 4 if not is_public else 4 < places <= 30


def test_one_document_of_each_user_plays():
    split, known, exact, _ = world(4000, 0.98)
    users = replace(split, certify=replace(split.certify, users=np.arange(len(split.certify)) // 8))
    alone, _ = search_witness(exact, split, known, AuditSettings(epsilon=0.6))
    found, _ = search_witness(exact, users, known, AuditSettings(epsilon=0.6))
    assert sum(found.counts[1::2]) < sum(alone.counts[1::2]) / 4
    assert sum(found.counts[1::2]) <= 100
