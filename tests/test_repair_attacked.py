"""Attackers that read the repaired values guess no better than one that reads what was drawn, in five known worlds."""

import numpy as np
import pytest
from studies.world_laws import WORLDS
from studies.worlds import exact_attacker

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.repair import Repair, fit_law
from oddshift.mechanisms import Exponential
from oddshift.model.cost import cost_of
from oddshift.model.release import one_tier, perturb

FIT, LEARN, TEST = 1_000, 4_000, 1_500


def guesses_of(attacker, release):
    """The likeliest value of every position."""
    found = np.empty(len(release.outputs), dtype=np.int64)
    for block in attacker.beliefs(release):
        found[block.positions] = (block.shift + block.log_prior).argmax(axis=1)
    return found


def learned(keys, truth, asked, points):
    """The commonest truth next to each key among documents that the attacker knows; −1 for keys it has never seen."""
    counts = np.zeros((max(keys.max(), asked.max()) + 1, points))
    np.add.at(counts, (keys, truth), 1.0)
    return np.where(counts[asked].any(axis=1), counts[asked].argmax(axis=1), -1)


def attacks(shown, truth, asked, points):
    """First guesses by the shown value, by what the attacker knows to stand behind it, and behind it and a neighbour.

    Arrays of (documents, positions).
    """
    yield "as shown", asked
    own = np.stack([learned(shown[:, t], truth[:, t], asked[:, t], points) for t in range(shown.shape[1])], axis=1)
    yield "own", own
    for step in (-1, 1):
        keys, wanted = (each * points + np.roll(each, step, axis=1) for each in (shown, asked))
        pairs = learned(keys.ravel(), truth.ravel(), wanted.ravel(), points).reshape(own.shape)
        yield f"with neighbour {step}", np.where(pairs < 0, own, pairs)


@pytest.mark.parametrize("name", WORLDS)
def test_who_reads_the_repaired_values_guesses_no_better(name):
    world, rng = WORLDS[name](1), np.random.default_rng(5)
    tiers, mechanism, points = one_tier(world.space), Exponential(world.space, 1.5), len(world.space)
    known = knowledge(mechanism, tiers, world.records(FIT, rng))
    law = fit_law(known, 10)
    train, test = (world.records(n, rng) for n in (LEARN, TEST))
    drawn = [perturb(each, mechanism, tiers, rng) for each in (train, test)]
    truth, asked = (each.points.reshape(len(each), -1) for each in (train, test))
    reader = (guesses_of(exact_attacker(world, known), drawn[1]).reshape(asked.shape) == asked).mean(axis=1)
    best = 0.0
    for mode in ("best", "typical"):
        repair = Repair(law, (mode,), cost_of("euclidean"))
        shown = [repair(known, each, rng).reshape(-1, truth.shape[1]) for each in drawn]
        for what, guess in attacks(shown[0], truth, shown[1], points):
            right = (guess == asked).mean(axis=1)
            error = (right - reader).std() / np.sqrt(len(asked))
            assert right.mean() <= reader.mean() + 3.0 * error, (mode, what)
            best = max(best, right.mean())
    assert best > 1.5 / points  # the attacks on the repaired values do learn something
