"""Weighted arms: levels on the safe side, bounds that hold, counts that are checked."""

import math
from dataclasses import replace

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.bounds import betting_lower, betting_upper
from oddshift.evidence.certificates import WitnessEvidence, save_evidence, verify, verify_file
from oddshift.evidence.witness import recheck, weighted_arms, witness_of
from oddshift.evidence.witness.importance import LEVELS, MOST_DRAWS, STEP, levels_above, levels_below


def shares_of(counts):
    return np.repeat(np.append(0.0, np.exp(-STEP * np.arange(len(counts) - 1))), counts)


def test_levels_round_to_the_safe_side():
    logs = -np.sort(np.random.default_rng(0).exponential(3.0, 5000))[:4900]
    exact = np.sort(np.exp(logs))
    low, high = np.sort(shares_of(levels_below(logs))), np.sort(shares_of(levels_above(logs)))
    assert (low <= exact).all()
    assert (exact <= high).all()
    assert (high <= low * math.exp(2 * STEP)).all()
    edge = -STEP * np.arange(LEVELS)
    assert (np.sort(shares_of(levels_below(edge))) <= np.sort(np.exp(edge))).all()
    assert (np.sort(shares_of(levels_above(edge))) >= np.sort(np.exp(edge))).all()


def test_the_lowest_weights_vanish_given_a_and_stay_given_b():
    tiny = np.array([-17.0, -600.0])
    assert levels_below(tiny)[0] == 2
    assert levels_above(tiny)[-1] == 2
    assert len(levels_below(tiny)) == len(levels_above(tiny)) == LEVELS + 1
    assert levels_below(np.empty(0)).sum() == levels_above(np.empty(0)).sum() == 0


def test_the_bound_is_that_of_its_two_arms():
    low = betting_lower([1.0] * 300 + [0.0] * 700, 0.025) * 1e-6
    high = betting_upper([1.0] * 50 + [math.exp(-STEP)] * 50 + [0.0] * 900, 0.025) * 1e-8
    counts = [700, 300, 0, 900, 50, 50]
    assert weighted_arms(counts, (math.log(1e-6), math.log(1e-8)), 2.0, 0.05) == pytest.approx(math.log(low / high) / 2)
    assert weighted_arms([1000, 0, 900, 100], (0.0, 0.0), 1.0, 0.05) == 0.0


def test_bounds_err_in_few_runs_where_both_arms_are_alike():
    """Half of the runs would err if the bounds were estimates."""
    rng, wrong, runs = np.random.default_rng(0), 0, 400
    for _ in range(runs):
        arms = [rng.random(200) * (rng.random(200) < 0.3) for _ in range(2)]
        logs = [np.log(arm[arm > 0]) for arm in arms]
        counts = levels_below(logs[0]), levels_above(logs[1])
        for count, arm in zip(counts, arms, strict=True):
            count[0] += int((arm == 0).sum())
        wrong += weighted_arms(np.concatenate(counts).tolist(), (0.0, 0.0), 1.0, 0.2) > 0
    assert wrong <= 0.2 * runs


def test_a_weighted_witness_is_computed_again_and_tells_tampering():
    found = witness_of(
        "weighted_arms", (500, 500, 900, 100), (2.0,), alpha=0.05, epsilon=1.0, log_scales=(-13.8, -18.4), tried=3
    )
    assert found.shown
    recheck(found)
    assert found.lower_bound == weighted_arms(found.counts, found.log_scales, 2.0, 0.05 / 3)


@pytest.mark.parametrize(
    ("counts", "scales", "message"),
    [
        ((5, 1, 6), (0.0, 0.0), "3 counts, expected two equal halves"),
        ((5, 6), (0.0, 0.0), "2 counts, expected two equal halves"),
        ((1,) * (2 * LEVELS + 4), (0.0, 0.0), "1028 counts"),
        ((0, 0, 6, 1), (0.0, 0.0), "0 draws in an arm"),
        ((MOST_DRAWS, 1, 6, 1), (0.0, 0.0), "10000001 draws in an arm"),
        ((5, -1, 6, 1), (0.0, 0.0), "counts has -1"),
        ((5, 1, 6, 1), (0.0,), "log_scales"),
        ((5, 1, 6, 1), (0.0, math.nan), "log_scales has NaN"),
    ],
)
def test_what_no_draws_could_have_given_is_refused(counts, scales, message):
    with pytest.raises(InvalidInput, match=message):
        weighted_arms(counts, scales, 1.0, 0.05)
    with pytest.raises(InvalidInput, match=message):
        witness_of("weighted_arms", counts, (1.0,), alpha=0.05, epsilon=1.0, log_scales=scales)


@pytest.mark.parametrize("name", ["w.json", "w.npz"])
def test_a_stored_weighted_witness_is_verified_and_a_changed_scale_is_not(tmp_path, name):
    found = witness_of("weighted_arms", (90, 50, 90, 10), (2.0,), alpha=0.05, epsilon=1.0, log_scales=(-3.0, -9.0))
    kept = WitnessEvidence(witness=found, mechanism_hash="mechanism-1", split_hash="split-1")
    save_evidence(tmp_path / name, kept)
    assert verify_file(tmp_path / name).holds
    assert found.lower_bound > 0
    assert not verify(replace(kept, witness=replace(found, log_scales=(-3.0, -10.0)))).holds


def test_scales_belong_to_weighted_arms_alone():
    with pytest.raises(InvalidInput, match="2 log_scales do not fit the game two_arm"):
        witness_of("two_arm", (5, 9, 1, 9), (1.0,), alpha=0.05, epsilon=1.0, log_scales=(0.0, 0.0))
