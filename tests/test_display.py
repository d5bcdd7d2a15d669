"""The terminal's words and tables, from stored values alone."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from oddshift.app.display import attackers_table, comparison_table, show_adaptation, show_audit
from reports import HOSTILE, complete, made_up_adaptation, small_audit


@pytest.fixture(scope="module")
def found():
    return small_audit()[0]


def printed(show, value):
    stream = io.StringIO()
    show(value, Console(file=stream, width=400))
    return stream.getvalue()


def cells(table):
    """The table as rows of plain text, its head first."""
    columns = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def test_a_tier_that_an_attacker_says_nothing_about_is_a_dash(found):
    silent = replace(found.attackers[0], tiers=())
    rows = cells(attackers_table(replace(found, attackers=(silent, *found.attackers[1:]))))
    assert rows[1][-2:] == ["-", "-"]


def test_an_audit_prints_its_bounds_witness_notes_and_assumptions(found):
    text = printed(show_audit, complete(found))
    assert "Proved upper bound: joint leakage <= 6.0000 (under the known law of the data)." in text
    assert complete(found).witness.sentence in text
    assert "note: a note" in text
    assert " ".join(text.split()).endswith(found.assumptions[-1] + ".")
    decides, further = text.split("For information, not part of the verdict")
    for made in found.deciding_rates:
        assert f"{made.claim.tier}, attacker {made.claim.attacker}: {made.mean:.4f} in [{made.lower:.4f}" in decides
    for made in found.further_rates:
        assert f"{made.claim.tier}, {made.claim.pair_law} pairs: {made.mean:.4f}" in further
    assert "]: certified" not in further
    assert "]: violated" not in further
    bare = printed(show_audit, found)
    assert "Proved upper bound" not in bare


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
    table, tiers = attackers_table(found), list(found.tier_names)
    rows = cells(table)
    assert rows[0][4:] == ["tier", "top-1", "anchored"]
    assert [row[4] for row in rows[1:]] == tiers * len(found.attackers)
    assert [row[0] for row in rows[1 :: len(tiers)]] == [row.name for row in found.attackers]
    for place, one in enumerate(found.attackers):
        shown = rows[1 + place * len(tiers)]
        assert shown[1:4] == [
            f"{one.log_score:.3f}",
            f"{one.gain:+.3f} ± {one.gain_error:.3f}",
            f"{one.joint_gain:+.3f} ± {one.joint_gain_error:.3f}",
        ]
        assert shown[5:] == [f"{one.tiers[0].top1:.1%}", f"{one.tiers[0].anchored:.2%}"]
    bold = {rows[1 + place - place % len(tiers)][0] for place, row in enumerate(table.rows) if row.style == "bold"}
    assert bold == {found.row(found.deciding_rates[0].claim.attacker).name}
    secret = cells(attackers_table(replace(found, tiers_are_public=False)))
    assert secret[0][-1] == "across"
    assert secret[1][-1] == "-"


def test_the_comparison_has_every_release_with_its_tiers_and_what_is_released_in_bold():
    found = made_up_adaptation()
    first = replace(found.compared[0], outcome=replace(found.compared[0].outcome, tiers=()), exact_epsilon=None)
    found = replace(found, compared=(first, *found.compared[1:]))
    table = comparison_table(found)
    rows, tiers = cells(table), len(found.tier_names)
    assert [row[0] for row in rows[1::tiers]] == [*(row.name for row in found.compared), found.constant_name]
    assert rows[1][1:] == ["-", f"{first.outcome.loss:.4f}", rows[1][3], found.tier_names[0], rows[1][5], "-", "-"]
    assert rows[-1][2:4] == [f"{found.constant_loss:.4f}", "1"]
    chosen = [row.name == ("AmPL, remapped" if found.remapped else "AmPL") for row in found.compared]
    assert [row.style == "bold" for row in table.rows[::tiers]] == [*chosen, False]
    second = found.compared[1].outcome.tiers[0]
    assert rows[1 + tiers][6] == f"{100 * second.rate:.2f}±{100 * second.rate_error:.2f}%"
