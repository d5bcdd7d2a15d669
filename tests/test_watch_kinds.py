"""Watching texts and trips: quiet under the topic mix of the audit, and an alarm when it shifts."""

import numpy as np
import pytest
from studies.watch import WORLDS, Watched, delay_cells, simulated_delay, simulated_false, watched

import oddshift as od


@pytest.mark.parametrize("kind", WORLDS)
def test_a_shift_of_topics_is_found_in_texts_and_trips(kind, tmp_path):
    world, rng = WORLDS[kind], np.random.default_rng(3)
    data = world.make(300, world.quiet, rng)
    od.audit(data, epsilon=world.epsilon, delta=0.1, attackers=["plugin"], seed=0).save(tmp_path / "run")
    quiet = od.watch(tmp_path / "run", [world.make(40, world.quiet, rng) for _ in range(2)], reference=data)
    assert (quiet.state, quiet.units) == ("quiet", (40,) * 2)
    assert quiet.series[0].name.startswith("rate")
    new = [world.make(200, world.shifted, rng) for _ in range(2)]
    found = od.watch(tmp_path / "run", new)
    assert (found.state, found.counted) == ("alarm", 2)
    assert all(alarm.window > 2 for alarm in found.alarms)
    again = od.watch(tmp_path / "run", new)  # as after a crash: what was counted is not counted again
    assert (again.counted, again.known, again.series) == (0, 2, found.series)


def test_the_study_counts_alarms_and_documents(monkeypatch):
    monkeypatch.setattr("studies.watch.REFERENCE", 200)
    found = watched(WORLDS["trips"], seed=1, quiet=1, shifted=5)
    assert isinstance(found, Watched)
    assert not found.is_false
    assert found.after > found.before
    assert 0 < found.any_alarm <= 250


def test_simulated_watches_rarely_alarm_and_find_a_doubled_rate(monkeypatch):
    monkeypatch.setattr("studies.watch.WINDOWS", 20)
    assert simulated_false(runs=10) <= 0.1
    documents = simulated_delay(5, 0.6, runs=5)
    assert (documents > 0).all()
    assert documents.max() <= 1500


def test_delays_of_watches_that_found_nothing_are_not_averaged():
    assert delay_cells(np.array([100, 0, 300])) == ["2 of 3 found", "", ""]
    assert delay_cells(np.array([100, 200, 300])) == ["200", "280", "300"]
