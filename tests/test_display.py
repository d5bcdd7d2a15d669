"""The terminal's words and tables, from stored values alone."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from oddshift.app.display import show_adaptation, show_audit
from oddshift.app.report.numbers import certainty_figures, leakage_figures, repair_figures
from oddshift.app.report.wording import percent
from reports import HOSTILE, complete, made_up_adaptation, small_audit


@pytest.fixture(scope="module")
def found():
    return small_audit()[0]


def printed(show, value):
    stream = io.StringIO()
    show(value, Console(file=stream, width=400))
    return stream.getvalue()


def test_a_tier_that_an_attacker_says_nothing_about_is_a_dash(found):
    silent = replace(found.attackers[0], tiers=())
    table = learned(replace(found, attackers=(silent, *found.attackers[1:])))
    assert table.rows[0][-2:] == ["-", "-"]


def learned(audit):
    return next(figure for figure in leakage_figures(audit) if figure.head[0] == "attacker")


def test_an_audit_prints_its_bounds_witness_notes_and_assumptions(found):
    text = printed(show_audit, complete(found))
    assert complete(found).witness.sentence in text
    assert "note: a note" in text
    assert " ".join(text.split()).endswith(found.assumptions[-1] + ".")
    known = {row[0]: row[1] for figure in certainty_figures(complete(found)) for row in figure.rows if len(row) == 2}
    assert known["proven"] == "at most 6, under the known law of the data"
    assert all(value in text for value in known.values())
    decides, further = text.split("For information: other pairs")
    for made in found.deciding_rates:
        assert f"{percent(made.lower)} to {percent(made.upper)}" in decides
    for made in found.further_rates:
        assert f"{made.claim.tier}, {made.claim.pair_law} pairs" in further


def test_names_from_a_user_are_not_read_as_marks_of_the_terminal(found):
    odd = "[bold red]x[/nothing]"
    text = printed(show_audit, replace(complete(found), warnings=(odd,), assumptions=(odd,), upper_basis=odd))
    assert text.count(odd) == 3
    assert HOSTILE in printed(show_adaptation, replace(made_up_adaptation(), warnings=(HOSTILE,)))


def test_an_adaptation_says_over_which_pairs_its_exact_epsilon_is():
    found = made_up_adaptation()
    assert "over pairs of one tier" in printed(show_adaptation, found)
    assert "over all pairs" in printed(show_adaptation, replace(found, tiers_are_public=False))
    assert "One release on its own: the exact epsilon is 1.1000." in printed(show_adaptation, found)
    assert "exact epsilon 1.1" not in printed(show_adaptation, replace(found, exact_epsilon=None))


def test_every_attacker_has_a_row_for_each_tier_and_the_one_with_the_worst_bound_is_bold(found):
    table, tiers = learned(found), list(found.tier_names)
    assert tuple(table.head[4:]) == ("tier", "top-1", "anchored")
    assert [row[4] for row in table.rows] == tiers * len(found.attackers)
    assert [row[0] for row in table.rows[:: len(tiers)]] == [row.name for row in found.attackers]
    for place, one in enumerate(found.attackers):
        shown = table.rows[place * len(tiers)]
        assert shown[1:4] == [
            f"{one.log_score:.3f}",
            f"{one.gain:+.3f} ± {one.gain_error:.3f}",
            f"{one.joint_gain:+.3f} ± {one.joint_gain_error:.3f}",
        ]
        assert shown[5:] == [f"{one.tiers[0].top1:.1%}", f"{one.tiers[0].anchored:.2%}"]
    bold = {table.rows[place][0] for place in table.bold}
    assert bold == {found.row(found.deciding_rates[0].claim.attacker).name}
    secret = learned(replace(found, tiers_are_public=False))
    assert secret.head[-1] == "across"
    assert secret.rows[0][-1] == "-"


def test_the_comparison_has_every_release_with_its_tiers_and_what_is_released_in_bold():
    found = made_up_adaptation()
    told = found.compared[0].outcome
    first = replace(found.compared[0], outcome=replace(told, tiers=told.tiers[1:]), exact_epsilon=None)
    found = replace(found, compared=(first, *found.compared[1:]))
    table = next(figure for figure in repair_figures(found) if figure.head[0] == "release")
    rows, tiers = table.rows, len(found.tier_names)
    assert [row[0] for row in rows[::tiers]] == [*(row.name for row in found.compared), found.constant_name]
    assert rows[0][1:] == ["-", f"{first.outcome.loss:.4f}", rows[0][3], found.tier_names[0], rows[0][5], "-", "-"]
    assert rows[-1][2:4] == [f"{found.constant_loss:.4f}", "1"]
    chosen = "AmPL, remapped" if found.remapped else "AmPL"
    assert {rows[place][0] for place in table.bold} == {chosen}
    second = found.compared[1].outcome.tiers[0]
    assert rows[tiers][6] == f"{100 * second.rate:.2f}±{100 * second.rate_error:.2f}%"
