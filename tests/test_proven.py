"""Proven bounds against exact leakage: never below it, given public tiers or not, and what they rest on is said."""

from itertools import product

import numpy as np
import pytest
from rich.console import Console

import oddshift as od
from oddshift.app.configured_runs import run_audit
from oddshift.app.display import show_audit
from oddshift.app.report.wording import number
from oddshift.attackers.attacker import knowledge
from oddshift.audit.proven import POINT_LIMIT, bound_under_chain, bound_without_law
from oddshift.base.errors import TooLarge
from oddshift.model.records import Records, Split
from oddshift.model.release import one_tier
from oddshift.model.tiers import Tiers

K, LENGTH = 5, 3
LABELS = np.array([0, 0, 1, 1, 1])


def world(seed, is_public, epsilon=1.0):
    """A random chain over words of two tiers, released by the exponential mechanism, in documents of three."""
    rng = np.random.default_rng(seed)
    space = od.Space(rng.normal(size=(K, 2)))
    tiers = Tiers(LABELS, names=("PII", "PoII"), scales=(1.0, 1.0), is_public=is_public)
    law = od.Markov(rng.dirichlet(np.ones(K)), rng.dirichlet(np.full(K, 0.4), size=K) * 0.99 + 0.01 / K, LENGTH)
    fit = Records.from_documents(space, [rng.integers(K, size=LENGTH) for _ in range(20)])
    split = Split(fit=fit, select=fit, certify=fit, by="document")
    return knowledge(od.Exponential(space, epsilon), tiers, fit), split, law


def given_tiers(table, labels):
    """The joint law given the tier of every position, over the points of those tiers, and which points these are."""
    inside = [np.flatnonzero(labels[t] == LABELS) for t in range(LENGTH)]
    part = table[np.ix_(*inside)]
    return od.Joint(part / part.sum()), inside


def compared(known, law):
    """Exact leakage and the bound from the prior alone, over all targets and, when tiers are public, all tiers."""
    channel, distances = known.mechanism.log_matrix, known.mechanism.space.distances
    if not known.tiers.is_public:
        cases = [(law, [np.arange(K)] * LENGTH)]
    else:
        cases = [given_tiers(law.joint_table(), labels) for labels in product((0, 1), repeat=LENGTH)]
    exact = plain = 0.0
    for prior, inside in cases:
        channels = [channel[points] for points in inside]
        for target, points in enumerate(inside):
            apart = distances[np.ix_(points, points)]
            exact = max(exact, od.exact_leakage(prior, channels, apart, target).joint)
            plain = max(plain, od.upper_bound(prior, channels, apart, target, method="prior"))
    return exact, plain


@pytest.mark.parametrize("is_public", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_never_below_the_exact_leakage(seed, is_public):
    known, split, law = world(seed, is_public)
    exact, plain = compared(known, law)
    found = bound_under_chain(known, split, lambda length: law)
    assert exact <= found.value <= min(plain, bound_without_law(known, split).value) * (1 + 1e-9)
    assert found.basis == "under the known law of the secrets, at most 3 read together"


@pytest.mark.parametrize("is_public", [True, False])
def test_with_little_noise_it_is_what_the_neighbours_themselves_would_say(is_public):
    known, split, law = world(2, is_public, epsilon=60.0)
    exact, plain = compared(known, law)
    assert exact <= bound_under_chain(known, split, lambda length: law).value == pytest.approx(plain)


def test_an_estimated_chain_is_no_fact():
    known, split, _ = world(0, is_public=False)
    found = bound_under_chain(known, split)
    assert found.is_estimated
    assert "estimated from the fit part" in found.basis
    assert not bound_without_law(known, split).is_estimated


@pytest.mark.parametrize("is_public", [True, False])
def test_impossible_steps_leave_what_noise_allows(is_public):
    known, split, _ = world(1, is_public)
    law = od.Markov(np.full(K, 0.2), 0.5 * np.roll(np.eye(K), 1, axis=1) + 0.5 * np.eye(K), LENGTH)
    found = bound_under_chain(known, split, lambda length: law).value
    assert 0 < found <= bound_without_law(known, split).value
    if not is_public:
        assert compared(known, law)[0] <= found


def test_what_is_too_large_is_refused_with_another_way():
    space = od.Space(np.arange(POINT_LIMIT + 1.0)[:, None])
    fit = Records.from_documents(space, [[0, 1], [2, 3]])
    known = knowledge(od.Exponential(space, 1.0), one_tier(space), fit)
    with pytest.raises(TooLarge, match="try 'diameter'"):
        bound_under_chain(known, Split(fit=fit, select=fit, certify=fit, by="document"))
    known, _, _ = world(0, is_public=True)
    long = Records.from_documents(known.mechanism.space, [np.zeros(16, dtype=int)])
    with pytest.raises(TooLarge, match="sequences of tiers"):
        bound_under_chain(known, Split(fit=long, select=long, certify=long, by="document"))


CONFIG = """
[data]
kind = "people"
documents = 60
by_kind = false
[mechanism]
epsilon = 1.5
[audit]
attackers = ["plugin"]
worst_positions = 5
"""


def test_a_configuration_asks_for_a_bound(tmp_path, capsys):
    chained = run_audit(CONFIG + 'upper = "chain"\n', tmp_path / "chained")
    assert [row.name for row in chained.attackers] == ["null", "own", "plugin"]
    assert chained.upper_basis == "under the known law of the secrets, at most 8 read together"
    any_law = run_audit(CONFIG + 'upper = "diameter"\n', tmp_path / "diameter")
    assert 1.5 < chained.upper_bound < any_law.upper_bound
    show_audit(chained, Console(width=200))
    assert f"at most {number(chained.upper_bound, 4)}, under the known law" in capsys.readouterr().out
    assert run_audit(CONFIG, tmp_path / "none").upper_bound is None
