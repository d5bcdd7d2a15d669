"""Small versions of the coverage and peeking studies; they fail if a bound stops covering."""

import math

import numpy as np
import pytest
from studies import coverage, peeking

from oddshift import bounds


@pytest.mark.parametrize("icc", [0.0, 0.3])
def test_every_shipped_method_covers(icc):
    runs = 250
    shares = coverage.cell(icc, 100, 0.1, runs)
    floor = 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)
    naive = shares.pop("pooled")
    assert min(shares.values()) >= floor
    assert naive < 0.85 if icc else naive > floor


def sorted_documents(rng):
    """Half of the documents never exceed the budget, half do in one case of five: as a file sorted by kind has them."""
    return np.concatenate([np.zeros(100), rng.random(100) < 0.2]).astype(float)


def test_the_default_of_one_shot_audits_covers_in_a_random_order_and_not_in_that_of_a_sorted_file():
    """Both sides of the plug-in bettor at the true mean .1; betting also holds for the sorted file."""
    rng, level, runs = np.random.default_rng(8), 0.05, 800
    above = {name: bounds.METHODS[name].pvalue for name in (bounds.ONE_SHOT, "betting")}
    missed = dict.fromkeys(("below", "above", "sorted", "betting"), 0)
    for _ in range(runs):
        documents = sorted_documents(rng)
        shuffled = rng.permutation(documents)
        missed["below"] += above[bounds.ONE_SHOT](shuffled, 0.1, level) <= level
        missed["above"] += above[bounds.ONE_SHOT](1.0 - shuffled, 0.9, level) <= level
        missed["sorted"] += above[bounds.ONE_SHOT](documents, 0.1, level) <= level
        missed["betting"] += above["betting"](documents, 0.1, level) <= level
    most = runs * level + 3 * math.sqrt(runs * level * (1 - level))
    assert max(missed["below"], missed["above"], missed["betting"]) <= most
    assert missed["sorted"] > 0.9 * runs


def test_a_frozen_sequence_of_plug_in_bounds_on_the_same_documents_errs_within_the_level():
    """Adaptation: the first candidates keep δ, the later ones do not; taking one of those is the error."""
    rng, level, runs, delta = np.random.default_rng(9), 0.05, 800, 0.1
    rates, wrong = (0.03, 0.05, 0.101, 0.102, 0.104), 0
    test = bounds.METHODS[bounds.ONE_SHOT].pvalue
    for _ in range(runs):
        common = rng.random(150)  # candidates are tried on the same documents, so their values go together
        taken = np.logical_and.accumulate([test((common < rate) * 1.0, delta, level) <= level for rate in rates])
        wrong += sum(taken) > 2
    assert wrong <= runs * level + 3 * math.sqrt(runs * level * (1 - level))
    assert wrong > 0


def test_peeking_after_every_document():
    betting, robbins, misused = peeking.rates(0.1, 0.0, runs=300, looks=1000)
    assert betting <= 0.065 + 2 * math.sqrt(0.05 * 0.95 / 300)
    assert robbins <= 0.065 + 2 * math.sqrt(0.05 * 0.95 / 300)
    assert misused > 0.15


def test_the_study_counts_the_same_errors_as_the_library():
    rng = np.random.default_rng(6)
    values = rng.binomial(20, 0.05, (15, 60)) / 20
    ever = peeking.betting_errs(values, 0.1)
    slow = [any(bounds.betting_upper(row[:t], 0.05) <= 0.1 for t in range(1, 61)) for row in values]
    assert ever.tolist() == slow
    zero_one = (rng.random((15, 60)) < 0.05).astype(float)
    slow = [any(bounds.robbins_upper(int(r[:t].sum()), t, 0.05) <= 0.1 for t in range(1, 61)) for r in zero_one]
    assert peeking.robbins_errs(zero_one, 0.1).tolist() == slow
    slow = [any(bounds.clopper_pearson_upper(int(r[:t].sum()), t, 0.05) <= 0.1 for t in range(1, 61)) for r in zero_one]
    assert peeking.clopper_pearson_errs(zero_one, 0.1).tolist() == slow
