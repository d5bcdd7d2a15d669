"""Few candidates: fewer columns, nearly the same score and weights."""

import numpy as np
import pytest

from oddshift.attackers import candidate_sampling as few
from oddshift.attackers.candidate_sampling import few_candidates
from oddshift.attackers.paired_log_score import Units
from oddshift.attackers.term_weights import ContextTerms, likeliest_weights
from oddshift.base.logarithms import log_sum


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(few, "LIKELY", 4)
    monkeypatch.setattr(few, "DRAWN", 3)


def test_the_likeliest_candidates_and_the_truth_stay_and_draws_stand_for_the_others(small):
    """Ten candidates: three likely ones and the truth stay; of six alike, every second one is drawn for two."""
    base = np.array([[5.0, 4.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -9.0]])
    found, (term,), truth = few_candidates(base, [0.0 * base], np.array([9]))
    assert sorted(found[0, :4]) == [-9.0, 3.0, 4.0, 5.0]
    assert found[0, truth[0]] == -9.0
    np.testing.assert_allclose(found[0, 4:], np.log(2.0))
    assert not term.any()


def test_the_sum_at_the_first_idea_is_exact_and_impossible_candidates_are_not_drawn(small):
    rng = np.random.default_rng(0)
    base, term = rng.normal(size=(20, 30)), rng.normal(size=(20, 30))
    base[:, 5:9] = -np.inf
    found, (less,), truth = few_candidates(base, [term], np.zeros(20, dtype=np.int64))
    np.testing.assert_allclose(log_sum(found + 0.25 * less), log_sum(base + 0.25 * term))
    np.testing.assert_allclose(found[np.arange(20), truth], base[:, 0])
    assert np.isfinite(found[:, 4:]).all()


def test_where_nothing_is_left_draws_have_no_mass(small):
    base = np.full((1, 9), -np.inf)
    base[0, :3] = 0.0
    found, _, _ = few_candidates(base, [np.zeros((1, 9))], np.array([1]))
    assert np.isneginf(found[0, 4:]).all()
    assert log_sum(found)[0] == pytest.approx(np.log(3.0))


def test_weights_are_nearly_those_of_all_candidates(monkeypatch):
    """300 candidates in 60 columns, most of the mass outside the likeliest ones."""
    monkeypatch.setattr(few, "LIKELY", 30)
    monkeypatch.setattr(few, "DRAWN", 30)
    rng = np.random.default_rng(0)
    n, size = 3_000, 300
    base = rng.normal(size=(n, size))
    terms = [rng.normal(size=(n, size)), rng.normal(size=(n, size))]
    law = np.exp(base + 0.4 * terms[0] + 0.9 * terms[1])
    truth = (np.cumsum(law / law.sum(axis=1, keepdims=True), axis=1) < rng.random((n, 1))).sum(axis=1)
    units = Units(np.arange(n), n)
    whole = likeliest_weights(ContextTerms(base, tuple(terms), truth, units), np.zeros(2))
    fewer, less, column = few_candidates(base, terms, truth)
    assert fewer.shape == (n, 60)
    part = likeliest_weights(ContextTerms(fewer, tuple(less), column, units), np.zeros(2))
    np.testing.assert_allclose(part, whole, atol=0.05)


def test_blocks_of_rows_give_the_whole(small, monkeypatch):
    rng = np.random.default_rng(1)
    base, term = rng.normal(size=(25, 12)), rng.normal(size=(25, 12))
    truth = rng.integers(12, size=25)
    whole = few_candidates(base, [term], truth)
    monkeypatch.setattr(few, "_TOGETHER", 40)
    part = few_candidates(base, [term], truth)
    for one, other in ((whole[0], part[0]), (whole[1][0], part[1][0]), (whole[2], part[2])):
        np.testing.assert_array_equal(one, other)
