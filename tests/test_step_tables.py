"""Tables of steps and the prior of places: trusted as far as they predict the trips of others."""

import numpy as np
import pytest

import oddshift as od
from oddshift.attackers.attacker import knowledge, place_law
from oddshift.attackers.spatial import step_table

SIZE = 12


def streets():
    """The crossings of a square city, half a kilometre apart."""
    row, column = np.divmod(np.arange(SIZE * SIZE), SIZE)
    return od.Space(np.stack([38.0 + 0.0045 * row, 23.7 + 0.0057 * column], axis=1), "haversine")


def walks(users, trips=3, fixes=30, seed=0):
    """Each user stays in a corner of his own, waits often and steps to a neighbour otherwise."""
    rng = np.random.default_rng(seed)
    documents, whose = [], []
    for user in range(users):
        home = rng.integers(0, SIZE, 2)
        for _ in range(trips):
            at, walk = home.copy(), []
            for _ in range(fixes):
                walk.append(int(at[0] * SIZE + at[1]))
                if rng.random() > 0.6:
                    at = np.clip(at + rng.integers(-1, 2, 2), np.maximum(home - 2, 0), np.minimum(home + 2, SIZE - 1))
            documents.append(walk)
            whose.append(user)
    return od.Records.from_documents(streets(), documents, users=whose)


def known_of(records):
    space = records.space
    tiers = od.Tiers(np.zeros(len(space), dtype=int), names=("all",), scales=(1.0,), is_public=True)
    return knowledge(od.Exponential(space, 2.0), tiers, records)


def log_loss(law, records):
    return -float(np.log(law[records.points]).mean())


def test_the_prior_of_few_users_predicts_another_user_better_than_their_counts():
    few, other = walks(8), walks(30, seed=1)
    allowed = np.ones(len(few.space), dtype=bool)
    counts = few.counts() + 0.5
    law = place_law(few, allowed, 0.5)
    assert law.sum() == pytest.approx(1.0)
    assert log_loss(law, other) < log_loss(counts / counts.sum(), other) - 0.2
    np.testing.assert_allclose(np.exp(known_of(few).log_prior), law)


def test_the_prior_of_one_user_is_the_counts_and_points_that_are_not_allowed_have_none():
    one = walks(1, trips=1)
    allowed = np.arange(len(one.space)) % 2 == 0
    law = place_law(one, allowed, 0.5)
    counts = np.where(allowed, one.counts() + 0.5, 0.0)
    np.testing.assert_allclose(law, counts / counts.sum())
    assert (place_law(walks(5), allowed, 0.5)[~allowed] == 0).all()


def test_steps_of_new_users_are_predicted_better_than_by_what_was_counted():
    few, other = walks(8), walks(30, seed=1)
    table = step_table(known_of(few))
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    same = other.document_of_position[1:] == other.document_of_position[:-1]
    before, after = other.points[:-1][same], other.points[1:][same]
    counts = np.full((len(few.space), len(few.space)), 0.5 / len(few.space))
    mine = few.document_of_position[1:] == few.document_of_position[:-1]
    np.add.at(counts, (few.points[:-1][mine], few.points[1:][mine]), 1.0)
    counted = counts / counts.sum(axis=1, keepdims=True)
    truth = 0.6 + 0.4 / 9  # waiting, of any step inside a corner
    loss, naive = (-np.log(t[before, after]).mean() for t in (table, counted))
    best = -(truth * np.log(truth) + (1 - truth) * np.log((1 - truth) / 8))
    assert loss < naive - 0.5
    assert loss < best + 0.35


def test_one_trip_alone_has_a_table_too():
    table = step_table(known_of(walks(1, trips=1)))
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
