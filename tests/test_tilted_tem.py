"""TEM with tilted noise: weights give its channel back, also where plain draws see nothing, and keep their bounds."""

import numpy as np
import pytest
from studies.tilted_race import SLOWED, TiltedRace
from studies.tilted_tem import FAILED, TiltedTem, radius_of
from studies.wall_channels import tem_channel
from studies.wall_points import WORDS

from oddshift.model.space import Space

EPSILON = 4.0
NAMES = [f"w{k}" for k in range(len(WORDS))]


def stand_in(vectors, epsilon=EPSILON):
    """A mechanism with the definition of TEM that draws its noise from numpy as the package does."""
    radius = radius_of(len(vectors), epsilon)

    def replace_word(word):
        gaps = np.linalg.norm(vectors - vectors[int(word[1:])], axis=1)
        inside = np.flatnonzero(gaps <= radius)
        scores = np.append(-gaps[inside], -radius + 2 * np.log(len(gaps) / len(inside)) / epsilon)
        noise = [np.random.gumbel(0, 2 / epsilon) for _ in scores]  # noqa: NPY002 (as the package does)
        best = int(np.argmax(scores + noise))
        if best < len(inside):
            return f"w{inside[best]}"
        return np.random.choice([f"w{k}" for k in np.flatnonzero(gaps > radius)])  # noqa: NPY002

    return replace_word


@pytest.fixture
def tilted(monkeypatch):
    for name in ("gumbel", "choice"):  # what TiltedTem replaces comes back after the test
        monkeypatch.setattr(np.random, name, getattr(np.random, name))
    return lambda vectors, epsilon=EPSILON: TiltedTem(stand_in(vectors), NAMES[: len(vectors)], vectors, epsilon)


def test_weights_give_back_probabilities_of_one_in_ten_million(tilted):
    logs = tem_channel(Space(WORDS), EPSILON)
    outputs, weights, most = zip(*tilted(WORDS).draw(42, 12_000), strict=True)
    outputs, weights, most = np.array([int(y[1:]) for y in outputs]), np.exp(weights), np.exp(most)
    assert (weights <= most * (1 + 1e-9)).all()
    mass = np.bincount(outputs, weights=weights, minlength=len(WORDS)) / len(weights)
    gaps, radius = Space(WORDS).distances[42], radius_of(len(WORDS), EPSILON)
    within, beyond = (gaps > radius - 0.3) & (gaps <= radius), (gaps > radius) & (gaps <= radius + 0.3)
    for band in (within, beyond):
        truth = np.exp(logs[42, :-1])[band]
        assert truth.max() < 1e-5
        assert mass[band].sum() == pytest.approx(truth.sum(), rel=0.15)
        assert (np.exp(most_of(outputs, most, band)) < 1e3 * truth.min()).all()
    assert mass[42] == pytest.approx(np.exp(logs[42, 42]), rel=0.2)


def most_of(outputs, most, band):
    return np.log(most[band[outputs]])


def test_failures_are_weighed_too(tilted):
    few = WORDS[:10]
    outputs, weights, _ = zip(*tilted(few).draw(0, 8000), strict=True)
    failed = np.exp(np.array(weights)[np.array(outputs) == FAILED]).sum() / 8000
    assert failed == pytest.approx(np.exp(tem_channel(Space(few), EPSILON)[0, -1]), rel=0.15)


def test_a_mechanism_that_draws_otherwise_is_told(tilted):
    with pytest.raises(RuntimeError, match=r"TEM drew Gumbel noise \(0, 0.5\), its definition says \(0, 1.0\)"):
        tilted(WORDS[:10], 2.0).draw(0, 1)
    short = tilted(WORDS[:10])
    short.replace_word = lambda word: word
    with pytest.raises(RuntimeError, match="TEM drew 0 times, its definition says 11"):
        short.draw(0, 1)


def test_the_race_keeps_its_largest_weights():
    race = TiltedRace(np.array([0.0, -1.0, -14.0]), 0, np.array([2]), np.array([0.9]))
    rng, heaviest, total = np.random.default_rng(0), 0.0, 0.0
    for _ in range(4000):
        _, noise = race.draw(rng)
        weight = np.exp(race.log_weight(noise, np.zeros(1)))
        assert weight <= 10 * (1 + 1e-9)
        if np.argmin(np.log(noise) - race.log_rates) == 2:
            heaviest, total = max(heaviest, weight), total + weight
    assert heaviest <= np.exp(race.log_most[0])
    assert race.log_most[0] == pytest.approx(-np.log(0.9 * SLOWED * race.rates[0]))
    truth = np.exp(-14.0) / np.exp(race.log_rates).sum()
    assert total / 4000 == pytest.approx(truth, rel=0.1)
