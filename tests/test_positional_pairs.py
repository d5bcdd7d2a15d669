"""Positional pairs: exact on their tree, found where they are, and nowhere else; from tables and from counts."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from oddshift.attackers import sparse_law
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.positional_pairs import PositionalPairs, Tie, fit_positional_pairs, keys_of, repeats
from oddshift.attackers.sparse_law import SparseLaw
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space

K = 3
SPACE = Space(np.arange(float(K))[:, None])


def sparse(table, law):
    """A table of laws as counted shares without a rest."""
    return SparseLaw(csr_array(table), np.zeros((K, 1)), law)


def tied(joint, gain):
    """A tie whose two directions agree on one joint law."""
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    return Tie(sparse(joint / first[:, None], second), sparse((joint / second).T, first), gain)


@pytest.fixture(autouse=True, params=["tables", "counts"])
def estimate(request, monkeypatch):
    if request.param == "counts":
        monkeypatch.setattr(sparse_law, "TABLE_POINTS", 0)


def documents_of(draw, n, points=8, seed=0):
    rng = np.random.default_rng(seed)
    space = Space(np.random.default_rng(9).normal(size=(points, 2)))
    records = Records.from_documents(space, [draw(rng) for _ in range(n)])
    return knowledge(Exponential(space, 1.5), one_tier(space), records)


def test_a_chain_of_two_ties_is_read_as_by_enumeration():
    """Places 0-2 and 2-4 are tied; 1 and 3 are not, and hear nothing."""
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.ones(K * K)).reshape(K, K)
    joint = (joint + joint.T) / 2  # the same law at every place
    law = PositionalPairs({("lag", 2, 0): tied(joint, 0.5), ("ss", 1, 3): tied(np.full((K, K), 1 / 9), 0.1)})
    records = Records.from_documents(SPACE, [[0, 1, 2, 0, 1], [2, 2, 1, 1, 0]])
    known = knowledge(Exponential(SPACE, 1.0), one_tier(SPACE), records)
    release = perturb(records, known.mechanism, known.tiers, rng)
    (block,) = law.terms(known, release)
    step, first = joint / joint.sum(axis=1, keepdims=True), joint.sum(axis=1)
    for document in range(2):
        seen = np.exp(known.mechanism.log_columns(release.outputs[5 * document : 5 * document + 5]))
        for t in (0, 2, 4):
            found = np.zeros(K)
            for x in product(range(K), repeat=3):
                others = np.prod([seen[s, x[s // 2]] for s in (0, 2, 4) if s != t])
                found[x[t // 2]] += first[x[0]] * step[x[0], x[1]] * step[x[1], x[2]] * others
            told = np.log(found / first)
            gap = block.context[block.positions == 5 * document + t][0] - told
            np.testing.assert_allclose(gap, gap[0], atol=1e-12)


def test_the_stronger_tie_wins_and_circles_are_cut():
    law = PositionalPairs({("lag", 2, 0): tied(np.full((K, K), 1 / 9), 0.1), ("se", 0, 0): tied(np.eye(K) / K, 0.9)})
    assert [edge[:2] for edge in law.tree(3)] == [(0, 2)]
    assert law.tree(3)[0][2].gain == 0.9
    assert {edge[:2] for edge in law.tree(5)} == {(0, 4), (0, 2), (1, 3)}
    assert law.tree(1) == []


def skipping(rng):
    """Each value is the one two before it, moved by one, 9 times in 10."""
    x = list(rng.integers(8, size=2))
    while len(x) < 7:
        x.append((x[-2] + 1) % 8 if rng.random() < 0.9 else int(rng.integers(8)))
    return x


def test_a_skip_is_found_at_its_distance():
    found = fit_positional_pairs(documents_of(skipping, 300))
    table = csr_array(found.ties["lag", 2, 0].ahead.own).toarray()
    assert (table.argmax(axis=1) == (np.arange(8) + 1) % 8).all()
    assert {edge[:2] for edge in found.tree(5)} >= {(0, 2), (1, 3), (2, 4)}


def test_ends_are_found_in_documents_of_several_lengths():
    def draw(rng):
        x = rng.integers(8, size=rng.integers(4, 8))
        x[-1] = (x[0] + 3) % 8
        return x

    found = fit_positional_pairs(documents_of(draw, 600))
    assert max(found.ties, key=lambda key: found.ties[key].gain) == ("se", 0, 0)
    assert (0, 6) in {edge[:2] for edge in found.tree(7)}


@pytest.mark.parametrize("seed", range(3))
def test_independent_secrets_are_not_tied(seed):
    assert len(fit_positional_pairs(documents_of(lambda rng: rng.integers(8, size=6), 400, seed=seed)).ties) <= 1


def test_places_that_a_pair_so_far_apart_does_not_tie_are_left_loose():
    """Places 1 and 4 are tied, 0 and 3 as far apart are not."""

    def draw(rng):
        x = rng.integers(8, size=5)
        x[4] = (x[1] + 3) % 8
        return x

    found = fit_positional_pairs(documents_of(draw, 600))
    assert [edge[:2] for edge in found.tree(5)] == [(1, 4)]
    assert PositionalPairs(found.ties, frozenset({("ss", 1, 4), ("ss", 0, 3)})).tree(5)[0][2] is found.ties["ss", 1, 4]


def test_a_pair_of_places_has_a_name_from_each_end():
    assert list(keys_of(0, 19, 20)) == [("se", 0, 0)]
    assert list(keys_of(0, 1, 20)) == [("ss", 0, 1)]
    assert list(keys_of(18, 19, 20)) == [("ee", 1, 0)]
    assert list(keys_of(9, 11, 20)) == []


def test_one_topic_for_a_document_is_left_to_cooccurrence():
    """Values of one half go together at any distance, so no distance tells more than another."""
    found = fit_positional_pairs(documents_of(lambda rng: 4 * rng.integers(2) + rng.integers(4, size=6), 400))
    assert len(found.ties) <= 1


def test_repeated_pairs_are_told_from_pairs_at_random():
    rng = np.random.default_rng(0)
    p, q, held = rng.integers(50, size=600), rng.integers(50, size=600), np.arange(600) % 5 == 0
    assert not repeats(p, q, held, 50)
    assert repeats(p, (p + 7) % 50, held, 50)
