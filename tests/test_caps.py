"""Caps on right guesses: which tier each name is about, and what is refused."""

from types import SimpleNamespace

import pytest

from oddshift.audit import AuditSettings
from oddshift.audit.claims import TierCaps, caps_of_tiers
from oddshift.base.errors import InvalidInput
from oddshift.model.tiers import Tiers

KINDS = Tiers(
    [0, 1, 2, 3],
    names=("PERSON", "ORG", "NORP", "DATE"),
    scales=(0.5, 0.5, 1.0, 1.0),
    is_public=True,
    levels=(0, 0, 1, 1),
)


def caps(success, tiers=KINDS, advantage=None):
    found = caps_of_tiers(SimpleNamespace(success=success, advantage=advantage or {}), tiers)
    return [row.success for row in found]


def test_a_tier_a_level_and_everything_by_name():
    assert caps({}) == [None] * 4
    assert caps({"ORG": 0.1}) == [None, 0.1, None, None]
    assert caps({"PII": 0.2}) == [0.2, 0.2, None, None]
    assert caps({"PoII": 0.2}) == [None, None, 0.2, 0.2]
    assert caps({"*": 0.3}) == [0.3] * 4


def test_the_most_specific_name_decides():
    assert caps({"*": 0.5, "PII": 0.2, "ORG": 0.1}) == [0.2, 0.1, 0.5, 0.5]


def test_a_tier_of_that_name_comes_before_a_level():
    two = Tiers([0, 1], names=("names", "PII"), scales=(1.0, 1.0), is_public=True)
    assert caps({"PII": 0.2}, two) == [None, 0.2]


def test_success_and_advantage_stand_side_by_side():
    found = caps_of_tiers(SimpleNamespace(success={"PII": 0.2}, advantage={"DATE": 0.1}), KINDS)
    assert (found[0], found[3]) == (TierCaps(0.2, None), TierCaps(None, 0.1))


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(InvalidInput, match="success names 'CITY', expected some of PERSON, ORG, NORP, DATE, PII"):
        caps({"CITY": 0.2})


@pytest.mark.parametrize("wrong", [{"PII": 0.0}, {"PII": 1.0}, {"PII": "0.2"}, {"": 0.2}, 0.2, {1: 0.2}])
def test_what_is_not_a_share_by_name_is_refused(wrong):
    for name in ("success", "advantage"):
        with pytest.raises(InvalidInput, match=name):
            AuditSettings(epsilon=1.0, **{name: wrong})
