"""The guess game on the context alone: exact by enumeration, fair at the boundary, stored and checked again."""

import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oddshift as od
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.evidence import witness as w
from oddshift.evidence.certificates import WitnessEvidence, save_evidence, verify, verify_file
from oddshift.evidence.witness import GuessGroup
from oddshift.mechanisms.epsilon import log_ratios

OWN = math.log(0.72 / 0.28)
JOINT = 1.845680886021875


@dataclass(frozen=True)
class Model:
    """A joint prior (K, ..., K) over L secrets, a channel (K, Y) for each, distances between values of the first."""

    prior: np.ndarray
    channels: tuple[np.ndarray, ...]
    distances: np.ndarray

    def likelihood(self):
        """P(y | X_1 = a) as (K, number of joint outputs)."""
        law = contexts(self)
        return np.concatenate([own[:, None] * law for own in self.channels[0].T], axis=1)

    def sup(self):
        """Exact sup mPL of the first secret, over all pairs and joint outputs."""
        logs = np.log(self.likelihood())
        gaps = np.abs(logs[:, None] - logs[None]).max(axis=2)
        return float((gaps / (self.distances + np.diag([np.inf] * len(logs)))).max())


def random_model(rng):
    """A model with two or three secrets of two or three values."""
    positions, size = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    prior = rng.dirichlet(np.full(size**positions, 0.7)).reshape((size,) * positions) + 0.01
    channels = tuple(rng.dirichlet(np.full(size, 1.0), size=size) * 0.94 + 0.06 / size for _ in range(positions))
    points = np.cumsum(rng.uniform(0.4, 1.5, size))
    return Model(prior / prior.sum(), channels, np.abs(points[:, None] - points[None]))


def expit(x):
    return 1 / (1 + math.exp(-x))


def pmf(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def contexts(model):
    """P(y_c | X_1 = a) as (K, joint outputs of the others), by summing over everything."""
    law = model.prior / model.prior.sum(axis=tuple(range(1, model.prior.ndim)), keepdims=True)
    for channel in model.channels[1:]:
        law = np.tensordot(law, channel, axes=([1], [0]))
    return law.reshape(len(law), -1)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_joint_ratio_is_the_own_one_plus_the_context_one(seed):
    """The identity of the proof, on random models with two or three secrets."""
    model = random_model(np.random.default_rng(seed))
    joint, own = np.log(model.likelihood()), log_ratios(np.log(model.channels[0]))
    context = log_ratios(np.log(contexts(model)))
    for a, b in itertools.permutations(range(len(joint)), 2):
        assert (joint[a] - joint[b]).max() == pytest.approx(own[a, b] + context[a, b], abs=1e-12)
        assert context[a, b] >= 0


@pytest.mark.parametrize("seed", range(12))
def test_no_guess_from_the_context_beats_its_limit_at_the_true_leakage(seed):
    """Pr[guess g is right | y_c] ≤ expit(ε·d − own(g→o)) at ε = sup mPL, for every output and pair."""
    model = random_model(np.random.default_rng(100 + seed))
    sup, law = model.sup(), contexts(model)
    own = log_ratios(np.log(model.channels[0]))
    tightest = 0.0
    for g, o in itertools.permutations(range(len(law)), 2):
        right = law[g] / (law[g] + law[o])
        limit = expit(sup * model.distances[g, o] - own[g, o])
        assert right.max() <= limit + 1e-12
        tightest = max(tightest, right.max() / limit)
    assert tightest == pytest.approx(1.0, abs=1e-9)  # some pair reaches it, so the limit cannot be lowered


@pytest.mark.parametrize("stake", [0.1, 0.5, 0.98])
def test_evidence_has_mean_one_at_the_claim(stake):
    epsilon, groups = 1.2, ((1.0, 0.9, 3), (2.0, 1.1, 4))
    rights = [expit(epsilon * d - own) for d, own, _ in groups]
    mean = 0.0
    for counts in itertools.product(*(range(n + 1) for _, _, n in groups)):
        chance = math.prod(pmf(k, n, p) for k, (_, _, n), p in zip(counts, groups, rights, strict=True))
        rows = [GuessGroup(d, own, stake, k, n) for k, (d, own, n) in zip(counts, groups, strict=True)]
        mean += chance * math.exp(w.context_log_e(rows, epsilon))
    assert mean == pytest.approx(1.0, abs=1e-9)


def test_wrong_rejections_at_the_boundary_stay_within_the_level():
    """The toy at ε = its exact leakage: every guess sits on its limit, 4,000 experiments of 60 releases."""
    rng = np.random.default_rng(0)
    right = rng.binomial(60, expit(JOINT - OWN), 4000)
    counts, number = np.unique(right, return_inverse=True)  # equal counts give equal answers
    bets = np.array([w.context_lower([GuessGroup(1.0, OWN, 0.5, int(k), 60)], OWN, 0.05) > JOINT for k in counts])[
        number
    ]
    assert 0 < np.mean(bets) <= 0.05


def test_the_bound_is_the_largest_claim_rejected_and_never_below_one_release():
    rows = [GuessGroup(1.0, 0.9, 0.4, 34, 41), GuessGroup(2.0, 1.7, 0.2, 15, 17)]
    bound = w.context_lower(rows, 0.95, 0.05)
    assert w.context_log_e(rows, bound) >= math.log(20)
    assert w.context_log_e(rows, bound + 1e-6) < math.log(20)
    assert w.context_lower([GuessGroup(1.0, 0.9, 0.4, 20, 41)], 0.95, 0.05) == 0.95
    assert w.context_lower([], 0.95, 0.05) == 0.95
    assert w.context_lower(rows, math.inf, 0.05) == math.inf


@given(st.floats(0.1, 5), st.floats(0, 1), st.floats(0, 0.98), st.integers(0, 40), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_rounding_distances_up_and_own_sups_down_never_raises_the_bound(distance, share, stake, right, made):
    right, single = min(right, made), 1.0
    exact = GuessGroup(distance, share * distance, stake, right, made)
    coarse = exact._replace(distance=distance * 1.02, own_sup=exact.own_sup * 0.98)
    assert w.context_lower([coarse], single, 0.05) <= w.context_lower([exact], single, 0.05) + 1e-9


def test_own_sups_by_hand_and_against_the_exact_epsilon():
    space = od.Space(np.random.default_rng(0).normal(size=(12, 2)))
    em = od.Exponential(space, 1.5)
    own = log_ratios(em.log_matrix)
    slow = [[max(ra - rb for ra, rb in zip(a, b, strict=True)) for b in em.log_matrix] for a in em.log_matrix]
    assert own == pytest.approx(np.array(slow), abs=1e-12)
    ratios = own / (space.distances + np.diag(np.full(12, np.inf)))
    assert ratios.max() == pytest.approx(em.exact_epsilon, abs=1e-12)
    with np.errstate(divide="ignore"):
        assert log_ratios(np.log([[1.0, 0.0], [0.5, 0.5]])).tolist() == [[0.0, math.log(2)], [math.inf, 0.0]]


def found(epsilon=1.0):
    rows = [GuessGroup(1.0, 0.9, 0.4, 34, 41), GuessGroup(2.0, 1.7, 0.2, 15, 17)]
    return w.context_witness(rows, single_epsilon=0.95, alpha=0.05, epsilon=epsilon, event="a frozen rule")


def test_it_is_stored_with_what_is_needed_to_compute_it_again(tmp_path):
    stored = WitnessEvidence(witness=found(), mechanism_hash="mechanism-1", split_hash="split-1")
    mark = save_evidence(tmp_path / "w.json", stored)
    checked = verify_file(tmp_path / "w.json", expect=mark, require="shown")
    assert checked.holds
    assert checked.sentence == found().sentence
    for change in (
        {"lower_bound": 1.6},
        {"own_sups": (0.8, 1.7)},
        {"stakes": (0.4, 0.3)},
        {"counts": (35, 41, 15, 17)},
        {"single_epsilon": 1.7},
        {"distances": (1.1, 2.0)},
    ):
        assert not verify(replace(stored, witness=replace(found(), **change))).holds
    with pytest.raises(TamperedEvidence):
        w.recheck(replace(found(), alpha=0.2))


def test_a_witness_stored_before_this_game_still_verifies():
    old = verify_file(Path(__file__).parent / "fixtures" / "schema3" / "witness.json", require="shown")
    assert old.holds
    assert "guess_game, counts (61, 68)" in old.sentence


def test_sentences_say_what_was_counted_and_what_was_computed():
    assert found().sentence.startswith("Leakage above epsilon = 1 was shown")
    assert "49 of 58 guesses from the other outputs alone were right" in found().sentence
    assert found(3.0).sentence.startswith("Undecided")
    bare = w.context_witness([], single_epsilon=0.95, alpha=0.05, epsilon=1.0)
    assert "0.95 (the exact epsilon of one release; no guess from the other outputs was made)" in bare.sentence


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: w.context_lower([GuessGroup(1.0, -1.0, 0.5, 1, 2)], 1.0, 0.05), "own_sup=-1.0"),
        (lambda: w.context_lower([GuessGroup(1.0, math.inf, 0.5, 1, 2)], 1.0, 0.05), "own_sup=inf"),
        (lambda: w.context_lower([GuessGroup(1.0, 0.1, 0.5, 3, 2)], 1.0, 0.05), "correct=3"),
        (lambda: w.context_lower([GuessGroup(1.0, 0.5, 1.0, 1, 2)], 1.0, 0.05), "stake=1.0"),
        (
            lambda: w.context_lower([GuessGroup(1.0, 1.5, 0.5, 1, 2)], 1.0, 0.05),
            r"own_sup=1.5, .* \[0, 1 x 1\]",
        ),
        (lambda: w.context_lower([GuessGroup(0.0, 0.0, 0.5, 1, 2)], 1.0, 0.05), "distance=0.0"),
        (lambda: w.context_lower([], -1.0, 0.05), "single_epsilon=-1.0"),
        (lambda: w.context_lower([], math.nan, 0.05), "single_epsilon=nan"),
        (lambda: replace(found(), stakes=(0.4,)), "4 counts, 2 distances, 2 own sups and 1 stakes"),
        (lambda: replace(found(), lower_bound=-1.0), "lower_bound=-1.0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
