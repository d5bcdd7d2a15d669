"""The terminal's words and tables, from stored values alone."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from oddshift.app.display import attackers_table, choice_line, comparison_table, headline, show_adaptation, show_audit
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


@pytest.mark.parametrize(
    ("state", "start"),
    [("certified", "CERTIFIED:"), ("violated", "VIOLATED: Pr["), ("undecided", "UNDECIDED (counts as not certified):")],
)
def test_the_headline_begins_with_the_state_and_never_passes_an_undecided_one(found, state, start):
    line = headline(replace(found, verdict=replace(found.verdict, state=state)))
    assert line.startswith(start)
    assert f"Pr[mPL > 1.5] <= {found.settings.delta:g}" in line
    first = found.deciding_rates[0].claim
    assert f"level {found.settings.alpha:g}; worst: " in line
    assert f"in tier {first.tier} by attacker {first.attacker}" in line


def test_without_a_delta_the_headline_says_so(found):
    assert "no delta was stated" in headline(replace(found, settings=replace(found.settings, delta=None)))


def few_tiers(found):
    """The same audit as if it had no more than two tiers."""
    attackers = tuple(replace(row, tiers=row.tiers[:2]) for row in found.attackers)
    return replace(found, tier_names=found.tier_names[:2], attackers=attackers)


def test_many_tiers_stand_below_one_another(found):
    rows = cells(attackers_table(found))
    assert len(found.tier_names) == 5
    assert [row[4] for row in rows[1:6]] == list(found.tier_names)
    assert [row[0] for row in rows[1::5]] == [row.name for row in found.attackers]
    assert rows[0][2:] == ["gain over own", "by reading together", "tier", "top-1", "anchored"]
    last = found.attackers[-1]
    assert rows[-1][3] == ""
    assert rows[-5][3] == f"{last.joint_gain:+.3f} ± {last.joint_gain_error:.3f}"
    assert rows[-1][5:] == [f"{last.tiers[-1].top1:.1%}", f"{last.tiers[-1].anchored:.2%}"]


def test_a_comparison_of_many_tiers_has_a_row_for_each(found):
    adapted = made_up_adaptation()
    names = ("PERSON", "ORG", "DATE")
    wide = [replace(c, outcome=replace(c.outcome, scales=(*c.outcome.scales, 1.0))) for c in adapted.compared]
    rows = cells(comparison_table(replace(adapted, tier_names=names, compared=tuple(wide), constant_outputs=3)))
    assert [row[4] for row in rows[1:4]] == list(names)
    assert [row[5] for row in rows[1:4]] == [f"{scale:.4g}" for scale in wide[0].outcome.scales]
    assert rows[3][6:] == ["-", "-"]  # nothing was measured of this tier
    assert rows[-1][:4] == ["one constant output of each kind", "-", f"{adapted.constant_loss:.4f}", "3"]


def test_every_attacker_has_a_row_and_every_tier_its_columns(found):
    found = few_tiers(found)
    rows = cells(attackers_table(found))
    assert [row[0] for row in rows[1:]] == [row.name for row in found.attackers]
    for tier in found.tier_names:
        assert f"{tier} top-1" in rows[0]
        assert f"{tier} anchored" in rows[0]
    own = next(row for row in found.attackers if row.name == "own")
    shown = rows[1 + [row.name for row in found.attackers].index("own")]
    assert shown[1] == f"{own.log_score:.3f}"
    assert shown[2].startswith("+0.000")
    place = rows[0].index(f"{found.tier_names[0]} top-1")
    assert shown[place] == f"{own.tiers[0].top1:.1%}"


def test_a_tier_that_an_attacker_says_nothing_about_is_a_dash(found):
    silent = replace(found.attackers[0], tiers=())
    rows = cells(attackers_table(replace(found, attackers=(silent, *found.attackers[1:]))))
    assert rows[1][-2:] == ["-", "-"]


def test_secret_tiers_have_a_column_for_pairs_across(found):
    found = few_tiers(found)
    assert not any("across" in name for name in cells(attackers_table(found))[0])
    secret = cells(attackers_table(replace(found, tiers_are_public=False)))
    assert sum("across" in name for name in secret[0]) == len(found.tier_names)
    assert secret[1][secret[0].index(f"{found.tier_names[0]} across")] == "-"


def test_an_attacker_that_still_learns_is_named_in_the_headline_with_the_wording_of_its_state(found):
    wording = "certified for an attacker with 120 training records, not for a better one"
    reason = (
        "attacker plugin has not settled: PERSON 0.01 from 60 training records, 0.02 from 120; 240 might reach 0.04"
    )
    grows = [
        replace(e, certificate=replace(e.certificate, state="undecided", upper=0.04,
                claim=replace(e.certificate.claim, withheld=reason, may_violate=True, unsaturated=120)))
        if e.certificate.claim.pair_law == "anchored" else e
        for e in found.evidence
    ]  # fmt: skip
    parts = tuple(e.certificate for e in grows if e.certificate.claim.pair_law == "anchored")
    quiet = {"lowers": (0.0,) * len(parts), "accusing": (True,) * len(parts)}
    held = replace(found, evidence=tuple(grows), strongest="own",
                   verdict=replace(found.verdict, parts=parts, state="undecided", **quiet))  # fmt: skip
    line = headline(held)
    assert line.startswith(f"{wording.capitalize()} (counts as not certified): Pr[mPL > 1.5] <= ")
    assert line.endswith(f": {reason}")
    assert "attacker own" not in line
    assert held.state == "undecided"
    assert f"]: {wording}" in printed(show_audit, held)


def test_the_attacker_with_the_worst_bound_stands_in_bold(found):
    found = few_tiers(found)
    styles = [row.style for row in attackers_table(found).rows]
    names = [row.name for row in found.attackers]
    bold = [name for name, style in zip(names, styles, strict=True) if style == "bold"]
    assert bold == [found.row(found.deciding_rates[0].claim.attacker).name]


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


def test_the_choice_line_names_scales_only_when_they_are_certified():
    assert "at scales PII x0.7, PoII x0.9 (anchored pairs" in choice_line(made_up_adaptation())
    failed = choice_line(made_up_adaptation(chosen=None))
    assert failed.startswith("UNDECIDED (counts as not certified): no scales were certified")
    assert "x0.7" not in failed
    proposed = choice_line(replace(made_up_adaptation(chosen=None), proposed=(0.7, 0.9)))
    assert proposed.endswith("; proposed without a certificate: PII x0.7, PoII x0.9")
    asked = replace(made_up_adaptation().settings, success={"PII": 0.2}, advantage={"*": 0.1})
    capped = choice_line(replace(made_up_adaptation(), settings=asked))
    assert "in every tier, right first guesses <= 0.2 (PII), advantage <= 0.1 (*) at scales" in capped


def test_the_comparison_has_every_release_and_what_is_certified_in_bold():
    found = made_up_adaptation()
    table = comparison_table(found)
    rows = cells(table)
    assert rows[0][:5] == ["release", "scales", "exact ε", "loss", "outputs"]
    assert [row[0] for row in rows[1:]] == [*(row.name for row in found.compared), "one constant output"]
    assert rows[-1][3:5] == [f"{found.constant_loss:.4f}", "1"]
    chosen = "AmPL, remapped" if found.remapped else "AmPL"
    assert [row[0] for row, line in zip(rows[1:], table.rows, strict=True) if line.style == "bold"] == [chosen]
    first = found.compared[0].outcome
    assert rows[1][3] == f"{first.loss:.4f}"
    assert rows[1][5] == f"{100 * first.tiers[0].rate:.2f}±0.40%"


def test_an_unknown_exact_epsilon_is_a_dash_and_a_missing_tier_too():
    found = made_up_adaptation()
    row = replace(found.compared[0], outcome=replace(found.compared[0].outcome, tiers=()), exact_epsilon=None)
    shown = cells(comparison_table(replace(found, compared=(row,))))[1]
    assert shown[2] == "-"
    assert shown[5:] == ["-"] * 4


def test_an_adaptation_says_over_which_pairs_its_exact_epsilon_is():
    found = made_up_adaptation()
    assert "over pairs of one tier" in printed(show_adaptation, found)
    assert "over all pairs" in printed(show_adaptation, replace(found, tiers_are_public=False))
    assert "One release on its own: the exact epsilon is 1.1000." in printed(show_adaptation, found)
    assert "exact epsilon 1.1" not in printed(show_adaptation, replace(found, exact_epsilon=None))
