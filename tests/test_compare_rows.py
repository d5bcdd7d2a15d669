"""Rows of a comparison from values alone: differences, standard errors by hand, and what is warned of."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.app.compare import (
    _about,
    _asked_apart,
    _audits,
    _error,
    _listed,
    _plain,
    _rate,
    _read_apart,
    compare,
)
from oddshift.app.report.page_sections import Sources
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import save
from oddshift.evidence.witness import witness_of
from reports import made_up_adaptation, small_audit


@pytest.fixture(scope="module")
def found():
    return small_audit()[0]


def test_a_plain_row_is_second_less_first_and_infinities_have_no_difference():
    row = _plain("loss", 0.25, 0.75)
    assert (row.first, row.second, row.difference, row.error, row.paired) == ("0.2500", "0.7500", 0.5, None, False)
    assert _plain("epsilon", 1.0, np.inf).difference is None
    assert _plain("epsilon", np.nan, 1.0).difference is None


def test_lists_show_four_digits_and_a_dash_for_nothing():
    assert _listed((0.12345, 1.0)) == "0.1235, 1"
    assert _listed(None) == "-"
    assert _listed([None]) == "-"
    assert _listed(()) == "-"


def test_the_error_of_independent_means_adds_variances_over_sizes():
    one, two = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.5])
    expected = np.sqrt((1 / 3) / 4 + 0.125 / 2)
    assert _error([one, two]) == pytest.approx(expected)
    assert _error([one]) == pytest.approx(np.sqrt((1 / 3) / 4))


@pytest.mark.parametrize("values", [[0.5], [0.25, 0.25, 0.25]])
def test_values_too_alike_or_too_few_have_no_error(values):
    assert _error([np.array(values)]) is None
    assert _error([np.array([0.0, 1.0]), np.array(values)]) is None


def moved(item, shift, count=None):
    """Evidence with other values, and a certificate with their mean."""
    values = np.clip(item.values + shift, 0, 1)[:count]
    return replace(item, values=values, certificate=replace(item.certificate, mean=float(values.mean())))


def test_runs_over_the_same_documents_are_paired_only_where_values_are_in_their_order(found):
    for item in found.evidence:
        other = moved(item, np.linspace(0, 0.2, len(item.values)))
        row = _rate(item, other, True)
        law = item.certificate.claim.pair_law
        assert row.paired == (law in ("uniform", "anchored"))
        assert row.difference == pytest.approx(other.values.mean() - item.values.mean())
        gaps = other.values - item.values
        if row.paired:
            assert row.error == pytest.approx(gaps.std(ddof=1) / np.sqrt(len(gaps)))
        assert not _rate(item, other, False).paired
        assert not _rate(item, moved(item, 0.1, count=-1), True).paired


def test_pairing_tells_a_difference_that_independent_runs_would_hide(found):
    """The same shift for every document: paired, its error is far smaller than that of two independent means."""
    item = next(i for i in found.evidence if i.certificate.claim.pair_law == "anchored" and np.ptp(i.values) > 0)
    rng = np.random.default_rng(0)
    other = moved(item, 0.01 + 0.001 * rng.random(len(item.values)))
    assert _rate(item, other, True).error < 0.2 * _rate(item, other, False).error


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", 9.0), ("delta", 0.5), ("alpha", 0.01), ("method", "hoeffding")],
)
def test_every_setting_that_changes_the_question_is_warned_of(found, name, value):
    other = replace(found, settings=replace(found.settings, **{name: value}))
    assert list(_asked_apart(found, other)) == [f"{name} differs: {getattr(found.settings, name)} and {value}"]
    assert list(_asked_apart(found, found)) == []


def test_another_detector_is_warned_of(found):
    other = replace(found, detector="other")
    assert list(_asked_apart(found, other)) == [f"detector differs: {found.detector} and other"]


def test_other_tiers_and_attackers_are_warned_of(found):
    secret = replace(found, tiers_are_public=False)
    assert list(_asked_apart(found, secret)) == ["tiers are public in one run and secret in the other"]
    renamed = replace(found, tier_names=("a", "b"))
    assert list(_asked_apart(found, renamed)) == [f"tiers differ: {', '.join(found.tier_names)} and a, b"]
    first = found.deciding_rates[0].claim
    evidence = [
        replace(e, certificate=replace(e.certificate, claim=replace(first, attacker="other")))
        if e.certificate.claim == first
        else e
        for e in found.evidence
    ]
    others = replace(found, evidence=tuple(evidence))
    where = f"rate, {first.tier}, anchored pairs"
    assert list(_asked_apart(found, others)) == [f"{where} is by different attackers: {first.attacker} and other"]


def test_only_what_both_audits_have_is_compared(found):
    fewer = replace(found, evidence=found.evidence[:1], attackers=found.attackers[:1])
    names = [row.name for row in _audits(found, fewer, False)]
    assert sum(name.startswith("rate, ") for name in names) == 1
    tier, law, is_given = _about(found.evidence[0])
    assert not is_given
    assert f"rate, {tier}, {law} pairs" in names
    totals = [name for name in names if "gain over own" in name]
    assert [name.replace("gain by reading together", "gain over own") for name in names if "together" in name] == totals
    kept = found.attackers[0].name
    assert all(name.startswith(f"{kept}: ") for name in names if ": " in name)


def test_a_witness_of_one_run_stands_beside_a_dash(found):
    shown = replace(found, witness=witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0))
    bare = replace(found, witness=None)
    row = next(row for row in _audits(shown, bare, False) if row.name == "witnessed leakage")
    assert (row.first, row.second, row.difference) == ("1.485", "-", None)
    assert not any(row.name == "witnessed leakage" for row in _audits(bare, bare, False))


def test_adaptations_are_compared_by_state_scales_loss_and_rate(tmp_path):
    first, second = made_up_adaptation(), made_up_adaptation(chosen=None)
    for name, value in (("a", first), ("b", second)):
        (tmp_path / name).mkdir()
        save(tmp_path / name / "adaptation.npz", value)
    found = compare(tmp_path / "a", tmp_path / "b")
    rows = {row.name: row for row in found.rows}
    assert (rows["adapted"].first, rows["adapted"].second) == (first.state, second.state)
    assert (rows["scales"].first, rows["scales"].second) == ("0.7, 0.9", "-")
    assert "exact epsilon, adapted" not in rows
    assert rows["EM: expected loss"].difference == 0.0
    rate = rows["EM: rate, PII"]
    assert rate.error == pytest.approx(np.hypot(0.004, 0.004))
    assert not any(name.startswith("AmPL") for name in rows)
    assert found.documents == "different"
    assert any("mix data and method" in warning for warning in found.warnings)


def test_an_audit_and_an_adaptation_have_nothing_in_common(found, tmp_path):
    for name, file, value in (("a", "audit.npz", found), ("b", "adaptation.npz", made_up_adaptation())):
        (tmp_path / name).mkdir()
        save(tmp_path / name / file, value)
    with pytest.raises(InvalidInput, match="hold nothing of the same kind"):
        compare(tmp_path / "a", tmp_path / "b")


def test_other_units_and_other_ways_to_read_together_are_warned_of(found):
    claim = replace(found.evidence[0].certificate.claim, unit="user")
    first = replace(found.evidence[0], certificate=replace(found.evidence[0].certificate, claim=claim))
    by_user = replace(found, evidence=(first, *found.evidence[1:]))
    one = Sources("one", found, config="[data]")
    two = Sources("two", by_user, config='[data]\njoint_by = "user"\nrepeats = "each"')
    warned = list(_read_apart(one, two))
    assert warned[0].startswith("units differ: certificates count documents in one run and users in the other")
    assert warned[1:] == ["joint_by differs: document and user", "repeats differs: the default and each"]
    assert list(_read_apart(one, one)) == []
    assert list(_read_apart(one, Sources("bare", found))) == []
