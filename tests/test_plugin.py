"""The plug-in and exact attackers against enumeration, on chains small enough for it."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import oddshift as od
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.chain import ChainLaw, fit_plugin
from oddshift.attackers.controls import Null, Own, exact_attacker
from oddshift.attackers.estimated_chain import EstimatedChain
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.sparse_law import SparseLaw
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.tiers import Tiers

K, LENGTH = 5, 4


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    space = od.Space(rng.normal(size=(K, 2)))
    step = rng.dirichlet(np.full(K, 0.3), size=K) + 0.01
    step /= step.sum(axis=1, keepdims=True)
    first = rng.dirichlet(np.ones(K))
    chain = od.Markov(first, step, LENGTH)
    documents = [_draw(first, step, rng) for _ in range(40)]
    return space, chain, Records.from_documents(space, documents)


def _draw(first, step, rng):
    values = [int(rng.choice(len(first), p=first))]
    for _ in range(LENGTH - 1):
        values.append(int(rng.choice(len(first), p=step[values[-1]])))
    return values


def _shifts(attacker, release):
    rows = np.full((len(release.outputs), K), np.nan)
    for block in attacker.beliefs(release):
        rows[block.positions] = block.shift
    return rows


def _expected(chain, em, release):
    rows = []
    for document in range(len(release)):
        outputs = release.outputs[release.offsets[document] : release.offsets[document + 1]]
        posteriors = od.log_posterior(chain, [em.log_matrix] * LENGTH, outputs)
        rows += [p - np.log(m) for p, m in zip(posteriors, chain.marginals, strict=True)]
    return np.array(rows)


def _same_up_to_a_constant(a, b):
    return np.ptp(a - b, axis=1).max()


def test_plugin_with_the_true_chain_is_forward_backward(model):
    space, chain, records = model
    em, tiers = od.Exponential(space, 2.0), one_tier(space)
    known = knowledge(em, tiers, records)
    first = chain.initial
    step = SparseLaw(csr_array(chain.transitions[0]), np.zeros((K, 1)), first)
    release = perturb(records, em, tiers, np.random.default_rng(1))
    found = _shifts(LawAttacker(known, ChainLaw(EstimatedChain((step,), first)), "chain"), release)
    assert _same_up_to_a_constant(found, _expected(chain, em, release)) < 1e-12


def test_exact_attacker_is_forward_backward(model):
    space, chain, records = model
    em, tiers = od.Exponential(space, 2.0), one_tier(space)
    release = perturb(records, em, tiers, np.random.default_rng(1))
    found = _shifts(exact_attacker(knowledge(em, tiers, records), lambda length: chain), release)
    assert _same_up_to_a_constant(found, _expected(chain, em, release)) < 1e-12


def test_exact_attacker_conditions_on_public_tiers(model):
    """With public tiers the shift is relative to the prior given the tiers: checked against the restricted table."""
    space, chain, records = model
    em = od.Exponential(space, 2.0)
    tiers = Tiers([0, 0, 0, 1, 1], names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    release = perturb(records, em, tiers, np.random.default_rng(1))
    found = _shifts(exact_attacker(knowledge(em, tiers, records), lambda length: chain), release)
    outputs, labels = release.outputs[:LENGTH], release.position_tiers[:LENGTH]
    table = chain.joint_table().copy()
    for t, label in enumerate(labels):
        allowed = (tiers.labels == label).reshape([-1 if axis == t else 1 for axis in range(LENGTH)])
        table = table * allowed
    seen = table.copy()
    for t, y in enumerate(outputs):
        seen = seen * np.exp(em.log_matrix[:, y]).reshape([-1 if axis == t else 1 for axis in range(LENGTH)])
    for t, label in enumerate(labels):
        others = tuple(axis for axis in range(LENGTH) if axis != t)
        index = np.flatnonzero(tiers.labels == label)
        shift = np.log(seen.sum(axis=others)[index]) - np.log(table.sum(axis=others)[index])
        assert np.ptp(found[t, index] - shift) < 1e-10


def test_a_single_position_leaks_exactly_its_own_release(model):
    space, _, records = model
    em, tiers = od.Exponential(space, 2.0), one_tier(space)
    known = knowledge(em, tiers, records)
    alone = Records.from_documents(space, [[k] for k in range(K)])
    release = perturb(alone, em, tiers, np.random.default_rng(3))
    own = _shifts(Own(known), release)
    attacker = fit_plugin(known)
    assert _same_up_to_a_constant(_shifts(attacker, release), own) < 1e-9


def test_null_shifts_nothing(model):
    space, _, records = model
    em, tiers = od.Exponential(space, 2.0), one_tier(space)
    release = perturb(records, em, tiers, np.random.default_rng(3))
    assert not _shifts(Null(knowledge(em, tiers, records)), release).any()


def test_plugin_estimates_the_toy_from_1000_pairs():
    """The exact joint leakage is 1.8457; the bigram estimated from 1,000 clean pairs comes within .01."""
    space = od.Space([[0.0], [1.0]])
    channel = od.Channel(space, np.log([[0.72, 0.28], [0.28, 0.72]]), outputs=space)
    rng = np.random.default_rng(0)
    table = np.array([[0.01, 0.49], [0.49, 0.01]])
    cells = rng.choice(4, size=1000, p=table.ravel())
    fit = Records.from_documents(space, [[int(c // 2), int(c % 2)] for c in cells])
    known = knowledge(channel, one_tier(space), fit)
    attacker = fit_plugin(known)
    release = perturb(fit, channel, one_tier(space), rng)
    shifts = np.concatenate([b.shift for b in attacker.beliefs(release)])
    assert np.abs(shifts[:, 0] - shifts[:, 1]).max() == pytest.approx(1.845681, abs=0.01)


def test_beliefs_come_in_blocks_that_the_number_of_documents_does_not_enlarge(model, monkeypatch):
    space, _, records = model
    em, tiers = od.Exponential(space, 2.0), one_tier(space)
    attacker = fit_plugin(knowledge(em, tiers, records))
    release = perturb(records, em, tiers, np.random.default_rng(1))
    whole = _shifts(attacker, release)
    monkeypatch.setattr("oddshift.attackers.chain._BLOCK_ENTRIES", 2 * LENGTH * K)
    assert {len(block.positions) for block in attacker.beliefs(release)} == {2 * LENGTH}
    assert _shifts(attacker, release) == pytest.approx(whole)
