"""The prior of places: trusted as far as it predicts the trips of others."""

import numpy as np
import pytest

import oddshift as od
from oddshift.attackers.attacker import knowledge, place_law

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
