"""Back-off: hand-computed rows, the leave-one-out score against removing each observation, and mixing weights.

Broader laws that read the metric: rows are laws, near points come first, and no point is predicted from itself.


Steps between places: kernels by hand, and vehicles whose movement the default attackers read.
"""

import numpy as np
import pytest

import oddshift as od
from oddshift.app.run import Run
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.backoff import (
    STEPS,
    Backoff,
    backed_off,
    fit_backoff,
    is_spatial,
    local_laws,
    measured_steps,
    mixing_weights,
    neighbour_laws,
    observations,
    onward_laws,
    step_laws,
)
from oddshift.attackers.chain_laws import fit_chain
from oddshift.attackers.portfolio import DENSE_POINTS, STEP_POINTS, place_parts
from oddshift.audit import AuditSettings
from oddshift.data.preparation import prepare
from oddshift.mechanisms import MechanismSettings
from oddshift.model.space import Space


def test_rows_by_hand():
    """Counts 3, 1, 0 with discount .5, strength 2 and a flat base: kinds 2, so (2 + 1)/3 is spread."""
    row = Backoff(0.5, 2.0).rows(np.array([[3.0, 1.0, 0.0]]), np.full((1, 3), 1 / 3))
    np.testing.assert_allclose(row, [[(2.5 + 1) / 6, (0.5 + 1) / 6, 1 / 6]])


def test_a_row_without_counts_is_the_broader_law():
    base = np.array([[0.2, 0.8]])
    np.testing.assert_allclose(Backoff(0.3, 5.0).rows(np.zeros((1, 2)), base), base)


def removed_one_by_one(context, value, backoff, base, values):
    total = 0.0
    for k in range(len(value)):
        rest = np.arange(len(value)) != k
        counts = np.zeros((context.max() + 1, values))
        np.add.at(counts, (context[rest], value[rest]), 1)
        total += np.log(backoff.rows(counts, base)[context[k], value[k]])
    return total


@pytest.mark.parametrize("backoff", [Backoff(0.0, 1.0), Backoff(0.4, 3.0), Backoff(0.8, 0.3)])
def test_the_score_leaves_one_out(backoff):
    rng = np.random.default_rng(0)
    context, value = rng.integers(3, size=40), rng.integers(4, size=40) // 2
    base = np.array([[0.4, 0.3, 0.2, 0.1]])
    seen = observations(context, value, 3, 4)
    expected = removed_one_by_one(context, value, backoff, base, 4)
    assert backoff.score(seen, base[0, seen.value]) == pytest.approx(expected)


def test_deterministic_contexts_are_trusted_and_random_ones_are_not():
    rng = np.random.default_rng(0)
    context = rng.integers(10, size=300)
    base = np.full(10, 0.1)
    sure = fit_backoff(seen := observations(context, context, 10, 10), base[seen.value])
    unsure = fit_backoff(seen := observations(context, rng.integers(10, size=300), 10, 10), base[seen.value])
    assert sure.strength < 1.0
    assert unsure.strength >= 100.0


def test_no_observation_is_no_reason_to_fail():
    empty = observations(np.zeros(0, int), np.zeros(0, int), 2, 3)
    assert fit_backoff(empty, np.zeros(0)).strength > 0
    np.testing.assert_allclose(backed_off(empty, np.zeros((2, 3)), [np.full((2, 3), 1 / 3)]), 1 / 3)
    np.testing.assert_allclose(mixing_weights(np.zeros((0, 2)), np.zeros(0)), 0.5)


def test_weights_find_the_law_that_made_the_data():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(6), size=2)
    value = rng.choice(6, size=6_000, p=0.7 * laws[0] + 0.3 * laws[1])
    weights = mixing_weights(laws.T[value], np.ones(len(value)))
    np.testing.assert_allclose(weights, [0.7, 0.3], atol=0.1)


def test_many_pairs_are_compared_on_some_of_them(monkeypatch):
    """The choice on a tenth of the pairs scores, on all of them, about as well as the best choice."""
    rng = np.random.default_rng(0)
    context = rng.integers(100, size=5_000)
    value = (context + rng.geometric(0.3, size=5_000)) % 50
    seen, flat = observations(context, value, 100, 50), np.full(50, 0.02)
    best = fit_backoff(seen, flat[seen.value])
    monkeypatch.setattr("oddshift.attackers.backoff.SCORED", len(seen.count) // 10)
    chosen = fit_backoff(seen, flat[seen.value])
    scores = [each.score(seen, flat[seen.value]) / 5_000 for each in (best, chosen, Backoff(0.0, 1e4))]
    assert scores[1] > scores[0] - 0.02
    assert scores[2] < scores[0] - 0.3  # a choice can be much worse


LINE = Space(np.arange(9.0)[:, None])
FLAT = np.full(9, 1 / 9)


def test_near_points_follow_each_other():
    for law in local_laws(LINE, FLAT):
        np.testing.assert_allclose(law.sum(axis=1), 1.0)
        assert (np.diff(law[0]) < 0).all()


def test_a_point_that_never_occurs_gets_no_mass():
    law = np.where(np.arange(9) == 4, 0.0, 1 / 8)
    for made in (*local_laws(LINE, law), *neighbour_laws(LINE, np.zeros((9, 9)), law), *onward_laws(LINE, law)):
        assert not made[:, 4].any()
        assert np.isfinite(made).all()


def test_neighbours_stand_in_and_a_point_never_predicts_itself():
    counts = np.zeros((9, 9))
    counts[4, 0] = 100.0
    for law in neighbour_laws(LINE, counts, FLAT):
        np.testing.assert_allclose(law.sum(axis=1), 1.0)
        assert law[3].argmax() == 0
        assert law[4, 0] < 0.2  # its own counts are left out, and no other point has any


def test_the_same_step_again():
    for law in onward_laws(LINE, FLAT):
        rows = law.reshape(9, 9, 9)
        assert rows[0, 3].argmax() == 6
        assert rows[5, 4].argmax() == 3
        np.testing.assert_allclose(law.sum(axis=1), 1.0)


def test_without_coordinates_a_step_means_nothing():
    assert onward_laws(Space.from_distances(1.0 - np.eye(9)), FLAT) == []


WAYS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def vehicles(count=110, fixes=30, blocks=24, street=0.5, mean=0.08, seed=0):
    """Vehicles along the streets of a square city: exponential steps, mostly straight on at a crossing."""
    rng = np.random.default_rng(seed)
    rows = []
    for vehicle in range(count):
        at, way = rng.integers(0, blocks + 1, 2) * street, int(rng.integers(4))
        for fix in range(fixes):
            rows.append((f"v{vehicle}", 1_600_000_000 + 86_400 * vehicle + 60 * fix, *at))
            at, way = _driven(at.astype(float), way, rng.exponential(mean), (street, blocks * street), rng)
    user, moment, north, east = zip(*rows, strict=True)
    lat = 37.98 + np.array(north) / 111.195
    lon = 23.73 + np.array(east) / (111.195 * np.cos(np.radians(37.98)))
    return {"user": list(user), "timestamp": list(moment), "lat": lat.round(6).tolist(), "lon": lon.round(6).tolist()}


def _driven(at, way, left, city, rng):
    street, size = city
    while left > 1e-9:
        axis = int(WAYS[way][0] == 0)
        sign = WAYS[way][axis]
        ahead = (np.floor(at[axis] / street + 1e-9) + 1 if sign > 0 else np.ceil(at[axis] / street - 1e-9) - 1) * street
        gap = abs(ahead - at[axis])
        if not -1e-9 <= ahead <= size + 1e-9:
            way = (way + 2) % 4
        elif left < gap:
            at[axis] += sign * left
            left = 0.0
        else:
            at[axis], left = ahead, left - gap
            turn = rng.random()
            way = way if turn < 0.6 else (way + 1) % 4 if turn < 0.8 else (way + 3) % 4
    return at, way


def test_step_laws_are_exponential_in_the_distance():
    line = od.Space(np.arange(200.0)[:, None])
    law = np.full(200, 1 / 200)
    found = step_laws(line, law)
    assert len(found) == 2 * len(STEPS)
    for k, step in enumerate(STEPS):
        row = found[2 * k][100]
        np.testing.assert_allclose(row.sum(), 1.0)
        assert row[101] / row[100] == pytest.approx(np.exp(-1.0 / step), rel=1e-3)
        np.testing.assert_allclose(found[2 * k + 1], found[2 * k])  # a uniform law adds nothing


def test_measured_steps_are_those_that_were_taken():
    line = od.Space(np.arange(50.0)[:, None])
    law, counts = np.full(50, 0.02), np.zeros((50, 50))
    counts[np.arange(48), np.arange(2, 50)] = 3.0  # always two ahead
    plain, _ = measured_steps(line, counts, law)
    assert plain[20, 22] == pytest.approx(0.5, abs=0.01)  # the distance alone does not say the direction
    assert plain[20, 18] == pytest.approx(0.5, abs=0.01)
    assert measured_steps(line, 0.0 * counts, law) == []
    assert measured_steps(od.Space(np.eye(50)), counts, law) == []


def test_only_places_take_steps_and_steps_are_short():
    law = np.full(50, 0.02)
    assert step_laws(od.Space(np.random.default_rng(0).normal(size=(50, 20))), law) == []
    assert not is_spatial(od.Space(np.eye(4)))
    assert is_spatial(od.Space([[0.0, 1.0], [1.0, 2.0]], "manhattan"))
    few = od.Space(np.arange(5.0)[:, None])
    assert step_laws(few, np.full(5, 0.2)) == [], "among five points no step is short"


def test_steps_of_a_walk_are_found_from_few_trips():
    rng = np.random.default_rng(1)
    line = od.Space(np.arange(500.0)[:, None])
    walks = [np.clip(250 + np.cumsum(rng.integers(-1, 2, 30)) + rng.integers(-200, 200), 0, 499) for _ in range(60)]
    records = od.Records.from_documents(line, walks)
    tiers = od.Tiers(np.zeros(500, dtype=int), names=("all",), scales=(1.0,), is_public=True)
    known = knowledge(od.Exponential(line, 1.0), tiers, records)
    step = fit_chain(known).steps[0]
    far = np.abs(np.arange(500)[:, None] - np.arange(500))
    assert (step * (far <= 1)).sum(axis=1).mean() > 0.85, "steps of one, learned where nobody was"
    np.testing.assert_allclose(step.sum(axis=1), 1.0)


@pytest.mark.parametrize(("points", "reads"), [(DENSE_POINTS, 0), (DENSE_POINTS + 1, 1), (STEP_POINTS + 1, 0)])
def test_steps_are_read_between_places_too_many_for_regimes_and_not_too_many(points, reads):
    line = od.Space(np.arange(float(points))[:, None])
    tiers = od.Tiers(np.zeros(points, dtype=int), names=("all",), scales=(1.0,), is_public=True)
    known = knowledge(od.Exponential(line, 1.0), tiers, od.Records.from_documents(line, [[0, 1]] * 4))
    assert len(place_parts(known)) == reads


def test_the_default_attackers_follow_vehicles():
    data = od.trajectories(vehicles(), settings={"trip": "", "cell_km": 0.5, "every": 60})
    settings = AuditSettings(epsilon=3.0, delta=0.05, attackers=("portfolio",))
    found = Run(prepare(data, 0), MechanismSettings(calibrated=True)).audit(settings).result
    assert found.row("own").tiers[0].top1 < 0.4
    assert found.row("portfolio").tiers[0].top1 >= 0.5
    assert found.row("portfolio").tiers[0].anchored > 0.9
    assert found.state == "violated"
