"""Channels of other packages' mechanisms, computed from their definitions, against their definitions simulated."""

import math

import numpy as np
import pytest
from studies.wall_channels import gumbel_scale, tem_channel, truncated_gumbel_channel
from studies.wall_points import WORDS

from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.model.space import Space

SPACE = Space(np.random.default_rng(0).normal(size=(8, 2)))


def simulated_gumbel(point, n, rng):
    gaps, size = SPACE.distances, len(SPACE)
    scale, limit = gumbel_scale(gaps, 4.0), gaps.max()
    order = np.argsort(gaps[point])
    outputs = []
    while len(outputs) < n:
        k = rng.poisson(math.log(size - 1))
        if k > size - 1:
            continue
        noise = np.empty(0)
        while len(noise) < k:
            more = rng.gumbel(0, scale, size)
            noise = np.append(noise, more[np.abs(more) <= limit])
        outputs.append(order[np.argmin(gaps[point][order[:k]] + noise[:k])] if k else point)
    return np.bincount(outputs, minlength=size) / n


@pytest.mark.parametrize("point", [0, 5])
def test_truncated_gumbel_is_what_its_definition_draws(point):
    channel = np.exp(truncated_gumbel_channel(SPACE, 4.0))
    assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    drawn = simulated_gumbel(point, 20_000, np.random.default_rng(1))
    assert np.abs(drawn - channel[point]).max() < 4 * math.sqrt(0.25 / 20_000)


@pytest.mark.parametrize("epsilon", [4.0, 60.0])
def test_no_epsilon_holds_for_truncated_gumbel(epsilon):
    logs = truncated_gumbel_channel(SPACE, epsilon)
    assert np.isneginf(logs).sum(axis=1).tolist() == [1] * len(SPACE)
    assert (np.argmin(logs, axis=1) == np.argmax(SPACE.distances, axis=1)).all()
    assert true_epsilon(logs, SPACE.distances) == np.inf


def test_the_formula_of_its_noise_has_no_meaning_for_four_on_the_words_of_the_wall():
    gaps = Space(WORDS).distances
    least = 2 * (1 + math.log(len(gaps))) / gaps[gaps > 0].min()
    assert least == pytest.approx(49.2, abs=0.1)
    assert gumbel_scale(gaps, 4.0) == pytest.approx(6.61, abs=0.01)


def test_the_rows_of_tem_sum_to_one_and_it_fails_only_where_no_word_is_beyond_the_radius():
    logs = tem_channel(Space(WORDS), 4.0)
    assert np.exp(logs).sum(axis=1) == pytest.approx(1.0)
    assert np.isneginf(logs[:, -1]).all()
    near = tem_channel(Space(WORDS[:10]), 4.0)
    assert np.isfinite(near[:, -1]).all()
