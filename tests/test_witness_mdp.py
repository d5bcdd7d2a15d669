"""Somebody else's mechanism: broken ones are caught well above their claim, correct ones never."""

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.evidence.witness import recheck, witness_mdp
from oddshift.model.space import Space

CLAIM = 4.0
POINTS = np.random.default_rng(0).normal(size=(200, 12)) * 0.3
SPACE = Space(POINTS)


def exponential(rate):
    logs = -rate * SPACE.distances
    channel = np.exp(logs - logs.max(axis=1, keepdims=True))
    channel /= channel.sum(axis=1, keepdims=True)
    table = np.cumsum(channel, axis=1)

    def sample(index, rng):
        return (rng.random(len(index))[:, None] > table[index]).sum(axis=1).clip(max=len(table) - 1)

    with np.errstate(divide="ignore"):
        full = np.log(channel)
    gaps = np.stack([np.abs(full - row).max(axis=1) for row in full])
    return sample, float((gaps / (SPACE.distances + np.diag(np.full(len(gaps), np.inf)))).max())


def noise(radius, project):
    def sample(index, rng):
        direction = rng.normal(size=(len(index), POINTS.shape[1]))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        noisy = POINTS[index] + direction * radius(len(index), rng)[:, None]
        if not project:
            return noisy
        return np.argmin((POINTS**2).sum(axis=1) - 2 * noisy @ POINTS.T, axis=1)

    return sample


def right_radius(n, rng):
    return rng.gamma(POINTS.shape[1], 1 / CLAIM, n)


def wrong_radius(n, rng):
    return rng.exponential(1 / CLAIM, n)  # the radius law of one dimension, used in twelve


def hunt(sample, seed=0, **changes):
    terms = {"explore": 1000, "confirm": 20_000, "pairs": 30, **changes}
    return witness_mdp(sample, SPACE, CLAIM, rng=np.random.default_rng(seed), **terms)


def test_wrong_sensitivity_is_certified_well_above_the_claim():
    sample, truth = exponential(3 * CLAIM)
    found = hunt(sample)
    assert found.shown
    assert 2 * CLAIM < found.lower_bound < truth
    recheck(found)


@pytest.mark.parametrize("project", [True, False])
def test_wrong_radius_law_is_certified_well_above_the_claim(project):
    found = hunt(noise(wrong_radius, project))
    assert found.shown
    assert found.lower_bound > 1.7 * CLAIM


def test_words_are_outputs_too():
    sample, truth = exponential(3 * CLAIM)
    found = hunt(lambda index, rng: np.array([f"word{y}" for y in sample(index, rng)]))
    assert 2 * CLAIM < found.lower_bound < truth


@pytest.mark.parametrize("seed", range(5))
def test_correct_mechanisms_are_never_accused(seed):
    sample, truth = exponential(CLAIM / 2)
    assert truth <= CLAIM
    found = hunt(sample, seed)
    assert not found.shown
    assert 0 < found.lower_bound < truth
    assert found.sentence.startswith("Undecided")
    for project in (True, False):
        assert not hunt(noise(right_radius, project), seed).shown


def test_lower_bounds_hold_when_the_claim_is_the_truth():
    sample, truth = exponential(CLAIM / 2)
    exceeded = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = witness_mdp(sample, SPACE, truth, explore=300, confirm=1000, pairs=10, rng=rng)
        exceeded += found.lower_bound > truth
    assert exceeded <= 6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hunt(lambda index, rng: [1, 2]), r"gave outputs of shape \(2,\) for 1000 points"),
        (lambda: hunt(noise(right_radius, True), explore=3), "explore=3"),
        (lambda: hunt(lambda index, rng: np.zeros((len(index), 3))), r"outputs of shape \(3,\)"),
        (
            lambda: witness_mdp(lambda i, g: i, Space([[0.0]]), 1.0, rng=np.random.default_rng()),
            "a space of 1 point",
        ),
        (lambda: hunt(lambda index, rng: 1), r"gave outputs of shape \(\)"),
        (lambda: witness_mdp(lambda i, g: i, [[0.0]], 1.0, rng=np.random.default_rng()), "space is a list"),
        (lambda: witness_mdp(lambda i, g: i, SPACE, 1.0, rng=None), "rng is a NoneType"),
        (lambda: witness_mdp(lambda i, g: i, SPACE, 0.0, rng=np.random.default_rng()), "epsilon=0.0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
