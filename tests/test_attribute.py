"""A label of the whole document can be predicted from releases that each say little."""

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.attribute import attribute_report, document_vectors, fit_attribute
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Deletion, Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space

SPACE = Space(np.random.default_rng(0).normal(size=(12, 3)))


def grouped(documents, lean, seed):
    """Documents of six secrets; those of group 1 prefer the second half of the points by `lean`."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=documents)
    half = (rng.random((documents, 6)) < np.where(labels == 1, 0.5 + lean, 0.5 - lean)[:, None]).astype(int)
    return Records.from_documents(SPACE, list(6 * half + rng.integers(6, size=half.shape))), labels


def run(lean, epsilon=2.0):
    fit, labels = grouped(600, lean, 0)
    known = knowledge(Exponential(SPACE, epsilon), one_tier(SPACE), fit)
    attacker = fit_attribute(known, labels, rng=np.random.default_rng(1))
    fresh, truth = grouped(400, lean, 2)
    release = perturb(fresh, known.mechanism, known.tiers, np.random.default_rng(3))
    return attribute_report(attacker, release, truth)


def test_a_label_that_shows_is_found():
    report = run(0.4)
    assert report.accuracy > 0.6
    assert report.gain > 3 * report.gain_error
    assert report.log_score == pytest.approx(report.prior_score - report.gain)


def test_a_label_that_does_not_show_costs_nothing():
    report = run(0.0)
    assert abs(report.accuracy - 0.5) < 0.1
    assert abs(report.gain) < 0.03


def test_less_noise_shows_more():
    assert run(0.4, epsilon=8.0).log_score < run(0.4, epsilon=0.5).log_score


def test_vectors_are_averages_of_posterior_means():
    fit = Records.from_documents(SPACE, [[0, 1], [], [2]])
    known = knowledge(Exponential(SPACE, 200.0), one_tier(SPACE), fit)  # hardly any noise: the mean is the point
    release = perturb(fit, known.mechanism, known.tiers, np.random.default_rng(0))
    vectors = document_vectors(known, release)
    np.testing.assert_allclose(vectors[0, :3], SPACE.points[[0, 1]].mean(axis=0), atol=1e-6)
    np.testing.assert_array_equal(vectors[1], 0.0)
    np.testing.assert_allclose(vectors[:, 3], np.log([3, 1, 2]))


def test_outputs_need_not_be_points():
    fit, labels = grouped(100, 0.5, 0)
    known = knowledge(Deletion(SPACE, 0.5), one_tier(SPACE), fit)
    attacker = fit_attribute(known, labels, rng=np.random.default_rng(1))
    release = perturb(fit, known.mechanism, known.tiers, np.random.default_rng(3))
    found = attacker.log_probabilities(release)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, atol=1e-5)
    assert np.isfinite(found).all()


def test_what_cannot_be_used_is_refused():
    fit, labels = grouped(20, 0.4, 0)
    known = knowledge(Exponential(SPACE, 1.0), one_tier(SPACE), fit)
    with pytest.raises(InvalidInput, match="labels"):
        fit_attribute(known, labels[:5], rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="at least 2"):
        fit_attribute(known, np.zeros(20, dtype=int), rng=np.random.default_rng(0))
    attacker = fit_attribute(known, labels, rng=np.random.default_rng(0))
    release = perturb(fit, known.mechanism, known.tiers, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="one for each document"):
        attribute_report(attacker, release, labels[:3])
