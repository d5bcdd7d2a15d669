"""Attackers as a question names them: what `"all"` means for some data, what is left out, and what is fitted again."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

import oddshift as od
from oddshift.adapt import AdaptSettings
from oddshift.app.attacker_choice import ALL_SECONDS, named_attackers, refittable
from oddshift.app.configuration import parse_config
from oddshift.app.resources import CpuLimit
from oddshift.attackers import ATTACKERS
from oddshift.attackers.controls import Own
from oddshift.attackers.fitting import COSTS, NOT_IN_ALL, AttackerCost, in_order_of_cost, seconds_of
from oddshift.attackers.learning_size import Refittable
from oddshift.audit import AuditSettings
from oddshift.audit.settings import ALL, DEFAULT_ATTACKERS
from oddshift.model.records import Split
from worlds import ring, with_words

WORLD = ring(documents=40, length=3)
WORDY = with_words(ring(documents=40, length=3))
ASKED = AuditSettings(epsilon=1.0, delta=0.1)


def prepared(world=WORLD, **changes):
    fit = world.known.fit
    return SimpleNamespace(
        **{"split": Split(fit=fit, select=fit, certify=fit, by="document"), "prior_of": None, **changes}
    )


def limit(seconds):
    return CpuLimit(seconds, time.process_time())


def test_all_is_a_value_of_the_option_everywhere():
    assert AuditSettings(epsilon=1.0, attackers="all").attackers == (ALL,)
    assert AdaptSettings(epsilon=1.0, delta=0.1, attackers="all").attackers == (ALL,)
    text = '[data]\nkind = "people"\n[mechanism]\nepsilon = 1.0\n[audit]\ndelta = 0.1\nattackers = "all"\n'
    config = parse_config(text, "a test")
    assert config.audit.attackers == config.adapt.attackers == (ALL,)
    with pytest.raises(od.InvalidInput, match="expected a tuple of names, or 'all'"):
        AuditSettings(epsilon=1.0, attackers="portfolio")


def test_all_means_every_attacker_that_suits_the_data():
    names, notes = named_attackers((ALL,), prepared(), ASKED)
    assert names[0] == "portfolio"
    assert set(names) == {n for n in ATTACKERS if n not in NOT_IN_ALL and not n.endswith("+W")} - {"exact"}
    assert any("the data have no public context W" in line and "lstm+W" in line for line in notes)
    wordy, _ = named_attackers((ALL,), prepared(WORDY), ASKED)
    assert wordy[:2] == DEFAULT_ATTACKERS
    assert set(wordy) - set(names) == {"portfolio+W", "lstm+W"}


def test_a_known_law_is_read_too():
    assert "exact" in named_attackers((ALL,), prepared(prior_of=object), ASKED)[0]


def test_without_torch_networks_are_left_out_and_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    names, notes = named_attackers((ALL,), prepared(), ASKED)
    assert names == ("portfolio", "counts")
    assert any("`attackers` is not installed: lstm" in line for line in notes)


def test_what_does_not_fit_the_seconds_is_left_out_and_named():
    names, notes = named_attackers((ALL,), prepared(), ASKED, limit(6.0))
    assert names[0] == "portfolio"
    assert "lstm" not in names
    (dear,) = [line for line in notes if "CPU s" in line]
    assert "lstm (about" in dear
    some, _ = named_attackers((ALL,), prepared(), ASKED, limit(10_000.0))
    assert set(names) < set(some)


def test_under_a_limit_the_default_is_all_and_otherwise_the_portfolio():
    assert named_attackers(DEFAULT_ATTACKERS, prepared(), ASKED) == (("portfolio",), ())
    assert named_attackers(DEFAULT_ATTACKERS, prepared(WORDY), ASKED) == (DEFAULT_ATTACKERS, ())
    names, _ = named_attackers(DEFAULT_ATTACKERS, prepared(), ASKED, limit(10_000.0))
    assert "lstm" in names
    assert named_attackers(("plugin",), prepared(), ASKED, limit(10_000.0)) == (("plugin",), ())


def test_what_is_named_next_to_all_stays():
    names, _ = named_attackers((ALL, "plugin"), prepared(), ASKED, limit(6.0))
    assert names[-1] == "plugin"


def test_attackers_are_fitted_again_under_the_name_they_were_asked_by():
    """Networks call themselves by another name than the registry's: they are fitted on fewer documents too."""
    own, exact, given = Own(WORLD.known, name="informed-lstm"), Own(WORLD.known, name="exact"), Own(WORLD.known)
    asked = []
    found = refittable(["lstm", "exact", given], [own, exact, given], lambda name, _known: asked.append(name) or own)
    assert isinstance(found[0], Refittable)
    assert found[0].fit(WORLD.known) is own
    assert asked == ["lstm"]
    assert found[1:] == [exact, given]


def test_costs_grow_with_the_data_and_cover_every_attacker():
    assert set(COSTS) == {name for name in ATTACKERS if name not in NOT_IN_ALL}
    split = prepared().split
    small, costs = seconds_of("lstm", split, 1), {name: seconds_of(name, split, None) for name in COSTS}
    assert 0 < small < costs["lstm"] < ALL_SECONDS
    assert seconds_of("of another package", split, None) == costs["portfolio"]
    ordered = in_order_of_cost(list(COSTS), costs)
    assert np.all(np.diff([costs[name] for name in ordered]) >= 0)
    cost = AttackerCost(1.0, 1e-3, 1e-6, 1e-6, epochs=10)
    assert cost.seconds(1_000, 0, 100, 2) == pytest.approx(1.75 * (1.0 + 2 * 1_000 * (1e-3 + 1e-4)))
