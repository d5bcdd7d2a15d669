"""The same secrets released several times: against enumeration, and an audit of it against the exact leakage."""

import itertools

import numpy as np
import pytest

import oddshift as od
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import exact_attacker
from oddshift.audit import AuditSettings
from oddshift.audit.auditing import audit_releases
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import MechanismSettings
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.mechanisms.named import scale_family
from oddshift.model.records import Records
from oddshift.model.release import one_tier

SPACE = od.Space([[0.0], [1.0], [2.5]])
ONE = od.Exponential(SPACE, 1.0, od.Space([[0.0], [1.0], [2.0], [3.0]]))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_rows_columns_and_epsilon_are_those_of_all_tuples(k):
    made = od.Composition(ONE, k)
    tuples = list(itertools.product(range(4), repeat=k))
    slow = np.array([[sum(row[y] for y in outputs) for outputs in tuples] for row in ONE.log_matrix])
    assert made.log_matrix == pytest.approx(slow, abs=1e-12)
    outputs = np.arange(made.n_outputs)[::-1]
    assert made.log_columns(outputs) == pytest.approx(slow.T[::-1], abs=1e-12)
    assert made.candidate_columns(outputs, np.array([2, 0])) == pytest.approx(slow.T[::-1][:, [2, 0]], abs=1e-12)
    assert made.exact_epsilon == pytest.approx(true_epsilon(slow, SPACE.distances), rel=1e-12)
    assert made.claimed_epsilon == k * ONE.claimed_epsilon
    directed = [[max(a - b) for b in slow] for a in slow]
    assert made.log_ratios(np.arange(3)) == pytest.approx(np.array(directed), abs=1e-12)


@pytest.mark.parametrize("draw", ["sample", "invert"])
def test_draws_follow_the_product_law(draw):
    made, index = od.Composition(ONE, 3), np.full(60_000, 1)
    rng = np.random.default_rng(0)
    drawn = made.sample(index, rng) if draw == "sample" else made.invert(index, rng.random(len(index)))
    share = np.bincount(drawn, minlength=64) / len(drawn)
    law = np.exp(made.log_matrix[1])
    assert np.abs(share - law).max() <= 4.5 * np.sqrt(law.max() / len(drawn))
    again = [made.invert(index[:50], np.linspace(0, 0.99, 50)).tolist() for _ in range(2)]
    assert again[0] == again[1]


def test_the_audit_of_k_releases_meets_the_exact_rate_of_the_toy():
    """delta(k) of two mirrored secrets, by enumeration of every output; the joint leakage stays below the proof."""
    space = od.Space([[0.0], [1.0]])
    flip = od.Channel(space, np.log([[0.72, 0.28], [0.28, 0.72]]))
    law = od.Markov([0.5, 0.5], [[0.02, 0.98], [0.98, 0.02]], 2)
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 4000)
    second = np.where(rng.random(4000) < 0.98, 1 - first, first)
    split = Records.from_documents(space, list(np.column_stack([first, second]))).split(rng=rng)
    known = knowledge(flip, one_tier(space), split.fit)
    settings = AuditSettings(epsilon=1.5, delta=0.3, worst_positions=5)
    found = audit_releases(split, known, lambda there: [exact_attacker(there, lambda _: law)], settings, most=3)
    assert [row.releases for row in found] == [1, 2, 3]
    for row in found:
        rows = [od.Composition(flip, row.releases).log_matrix] * 2
        exact = od.exact_leakage(law, rows, space.distances)
        truth = exact.rate(1.5, "anchored")
        assert row.lower <= truth <= row.upper
        assert row.rate == pytest.approx(truth, abs=0.06)
        assert row.budget == row.releases * flip.claimed_epsilon
        assert exact.single == pytest.approx(row.releases * flip.exact_epsilon)
        assert exact.joint <= row.proven
    assert found[0].rate < found[1].rate < found[2].rate


def test_a_setting_asks_for_an_audit_of_several_releases():
    rng = np.random.default_rng(0)
    data = od.embeddings(rng.normal(size=(6, 2))[rng.integers(0, 6, 300)])
    found = od.audit(data, mechanism=MechanismSettings(releases=2), epsilon=1.0, delta=0.4, attackers=["plugin"])
    assert found.result.mechanism.startswith("Composition(")
    assert found.result.claimed_epsilon == 2.0
    assert found.policy is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: od.Composition(ONE, 0), "releases=0"),
        (lambda: od.Composition(SPACE, 2), "inner is a Space"),
        (lambda: od.Composition(ONE, 32), "releases=32 of 4 outputs"),
        (lambda: MechanismSettings(releases=0), "releases=0"),
        (lambda: scale_family(MechanismSettings(releases=2), SPACE, one_tier(SPACE), 1.0), r"mechanism\.releases=2"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
