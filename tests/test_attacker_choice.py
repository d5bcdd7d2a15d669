"""Attackers as a question names them: what `"all"` means for some data, what is left out, and what is fitted again."""

from types import SimpleNamespace

import pytest

import oddshift as od
from oddshift.adapt import AdaptSettings
from oddshift.app.attacker_choice import named_attackers, refittable
from oddshift.app.configuration import parse_config
from oddshift.attackers import ATTACKERS
from oddshift.attackers.controls import Own
from oddshift.attackers.fitting import NOT_IN_ALL
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
    assert any("the data have no public context W" in line and "portfolio+W" in line for line in notes)
    wordy, _ = named_attackers((ALL,), prepared(WORDY), ASKED)
    assert wordy[:2] == DEFAULT_ATTACKERS
    assert set(wordy) - set(names) == {"portfolio+W"}


def test_a_known_law_is_read_too():
    assert "exact" in named_attackers((ALL,), prepared(prior_of=object), ASKED)[0]


def test_the_default_is_the_portfolio_and_what_is_named_next_to_all_stays():
    assert named_attackers(DEFAULT_ATTACKERS, prepared(), ASKED) == (("portfolio",), ())
    assert named_attackers(DEFAULT_ATTACKERS, prepared(WORDY), ASKED) == (DEFAULT_ATTACKERS, ())
    assert named_attackers(("plugin",), prepared(), ASKED) == (("plugin",), ())
    assert named_attackers((ALL, "plugin"), prepared(), ASKED)[0] == ("portfolio", "plugin")


def test_attackers_are_fitted_again_under_the_name_they_were_asked_by():
    """Some call themselves by another name than the registry's: they are fitted on fewer documents too."""
    own, exact, given = Own(WORLD.known, name="other"), Own(WORLD.known, name="exact"), Own(WORLD.known)
    asked = []
    found = refittable(["plugin", "exact", given], [own, exact, given], lambda name, _known: asked.append(name) or own)
    assert isinstance(found[0], Refittable)
    assert found[0].fit(WORLD.known) is own
    assert asked == ["plugin"]
    assert found[1:] == [exact, given]
