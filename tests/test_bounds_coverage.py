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
