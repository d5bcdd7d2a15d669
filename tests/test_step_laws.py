"""Steps between places: kernels by hand, and vehicles whose movement the default attackers read."""

import numpy as np
import pytest

import oddshift as od
from oddshift.app.run import Run
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.backoff import STEPS, is_spatial, measured_steps, step_laws
from oddshift.attackers.chain_laws import fit_chain
from oddshift.attackers.portfolio import DENSE_POINTS, STEP_POINTS, place_parts
from oddshift.audit import AuditSettings
from oddshift.data.preparation import prepare
from oddshift.mechanisms import MechanismSettings

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
