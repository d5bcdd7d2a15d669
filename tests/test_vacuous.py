"""Vacuous releases: which ones are, in numbers, and that neither an audit nor an adaptation certifies one."""

import numpy as np
import pytest

import oddshift as od
from oddshift.adapt import AdaptSettings
from oddshift.app.run import Run
from oddshift.audit import AuditSettings
from oddshift.audit.claims import TierValues
from oddshift.audit.verdict import GuessValues, Seen, is_vacuous, vacuous_reason
from oddshift.base.errors import InvalidInput
from oddshift.data.preparation import prepare
from oddshift.mechanisms import MechanismSettings


def votes(rows=600, seed=0):
    """Two columns of few values that are hard to guess and do not depend on each other."""
    rng = np.random.default_rng(seed)
    return od.table({"vote": rng.choice(list("abc"), rows).tolist(), "side": rng.choice(list("xyz"), rows).tolist()})


def guesses(tier, right, before, units=100):
    after, prior = (np.repeat([1.0, 0.0], [round(units * s), units - round(units * s)]) for s in (right, before))
    return GuessValues(TierValues(tier, after, 0), TierValues(tier, prior, 0))


@pytest.mark.parametrize(
    ("right", "before", "expected"),
    [(1.0, 0.5, True), (0.9, 0.5, True), (0.89, 0.1, False), (0.95, 0.93, False), (1.0, 1.0, False), (0.97, 0.9, True)],
)
def test_nearly_everything_is_guessed_and_was_not_before(right, before, expected):
    assert is_vacuous(right, before) is expected


def test_the_reason_names_the_tiers_and_the_strongest_guesses():
    calm = Seen(None, (), (guesses(0, 0.4, 0.3), guesses(1, 0.92, 0.3)))
    keen = Seen(None, (), (guesses(0, 0.5, 0.3), guesses(1, 0.98, 0.3)))
    said = vacuous_reason([calm, keen], ["age", "vote"])
    assert said == "most first guesses are right: vote 98% (before any release 30%)"
    assert not vacuous_reason([Seen(None, (), (guesses(0, 0.5, 0.3),))], ["age"])


def test_the_shares_are_part_of_the_question():
    assert is_vacuous(0.8, 0.5, (0.8, 0.5))
    assert not is_vacuous(0.95, 0.5, (0.99, 0.5))
    assert not is_vacuous(0.95, 0.9, (0.9, 0.8))
    seen = [Seen(None, (), (guesses(0, 0.7, 0.3),))]
    assert vacuous_reason(seen, ["age"], (0.6, 0.5)).endswith("age 70% (before any release 30%)")
    for settings in (AuditSettings, AdaptSettings):
        for limits in ((0.0, 0.5), (0.9, 1.1), (0.9,)):
            with pytest.raises(InvalidInput, match="expected two shares in"):
                settings(epsilon=1.0, delta=0.05, vacuous=limits)


def audited(epsilon, **more):
    settings = AuditSettings(epsilon=epsilon, delta=0.05, independent=True, attackers=("portfolio",), **more)
    return Run(prepare(votes(), 0), MechanismSettings(calibrated=True)).audit(settings).result


def test_a_large_budget_is_not_certified_even_when_independence_is_declared():
    sure, fair = audited(50.0), audited(1.0)
    assert sure.row("own").tiers[0].anchored == 0.0, "no pair exceeds such a budget, and yet all is given away"
    assert sure.state == "undecided"
    assert any("most first guesses" in part.claim.withheld for part in sure.verdict.parts)
    assert set(sure.release.vacuous) == {"vote", "side"}
    assert fair.state == "certified"
    assert fair.release.vacuous == ()
    assert audited(1.0, vacuous=(0.3, 0.01)).state == "undecided", "a stricter rule withholds more"
    laws = [(c.claim.tier, c.claim.pair_law) for c in sure.certificates]
    assert len(set(laws)) == len(laws)
    deciding = [c for c in sure.certificates if c.claim.pair_law == "anchored"]
    assert {c.state for c in deciding} == {"undecided"}, "nothing withheld is shown as certified"


def test_an_adaptation_takes_no_vacuous_scales():
    settings = AdaptSettings(
        epsilon=50.0, delta=0.05, independent=True, grid=(0.01, 0.5, 1.0), documents=100, attackers=("portfolio",)
    )
    found = Run(prepare(votes(), 0), MechanismSettings(calibrated=True)).adapt(settings)
    tried = {tested.scales: tested for tested in found.result.sequence}
    assert found.result.chosen is None or max(found.result.chosen) < 0.5
    assert any("most first guesses" in tested.failed for tested in tried.values())
    if found.result.guarantee == "certified":
        assert found.result.release.vacuous == ()
