"""The first screen of a result: may I publish it, what can still be learned, and what is it good for?

Three answers for somebody who decides about a release and has no time for its statistics. They come before any detail,
and the first of them follows the worst thing that a reader of the release can do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from oddshift.adapt.result import Adaptation
from oddshift.adapt.settings import AdaptSettings
from oddshift.app.report.guesses import Guessed
from oddshift.app.report.wording import (
    exceeding,
    found_sentence,
    missed_sentence,
    number,
    percent,
    reasons_of_doubt,
    withheld_reason,
    without_noise,
)
from oddshift.audit import Audit
from oddshift.audit.claims import NOTHING_LEARNED
from oddshift.audit.release_use import DataFate, KindFate
from oddshift.audit.settings import AuditSettings
from oddshift.audit.verdict import shown_violations
from oddshift.data.codecs.text.surrogates import NAMES
from oddshift.model.nouns import Nouns, nouns_of

QUESTIONS = (
    "May I publish it?",
    "What can still be learned, and what is still in the clear?",
    "What is it good for?",
)
"""What the first screen answers, in this order."""

FATE_HEAD = ("kind", "found", "with noise", "unchanged", "marked", "left")
"""What is said of each kind: `unchanged` are among those with noise."""

_BLOCKS = 30  # the longest bar in a terminal


@dataclass(frozen=True)
class FirstScreen:
    """Three answers, each a few sentences, and the numbers behind them.

    `state` is `certified`, `violated` or `undecided`: the colour of the first answer. `basis` has what the first answer
    rests on and what its limit means, `worst` the tier that is guessed best, `kept` the share of information that the
    release keeps: both are drawn as bars.
    """

    state: str
    publish: str
    learned: tuple[str, ...]
    nouns: Nouns
    fate: DataFate | None
    guessed: tuple[Guessed, ...]
    worst: Guessed | None
    basis: tuple[str, ...] = ()
    worth: tuple[str, ...] = ()
    kept: float | None = None

    @property
    def answers(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every question with the sentences that answer it."""
        return tuple(zip(QUESTIONS, ((self.publish, *self.basis), self.learned, self.worth), strict=True))

    @property
    def steps(self) -> tuple[tuple[str, float], ...]:
        """Right first guesses about the worst tier, for each thing that a reader may see."""
        return () if self.worst is None else self.worst.steps(self.nouns)

    def lines(self) -> Iterator[str]:
        """Every question, and below it the sentences of its answer."""
        bars = ((), self._guess_bars, self._kept_bar)
        for (question, (first, *rest)), drawn in zip(self.answers, bars, strict=True):
            yield question
            yield from (f"  {line}" for line in (first, *drawn, *rest))

    @property
    def _guess_bars(self) -> tuple[str, ...]:
        wide = max((len(name) for name, _ in self.steps), default=0)
        return tuple(f"  {name:<{wide}}  {percent(share):>6}  {_bar(share)}" for name, share in self.steps)

    @property
    def _kept_bar(self) -> tuple[str, ...]:
        """What is kept, between plain marks and the original."""
        full = _bar(max(0.0, self.kept or 0.0))
        return () if self.kept is None else (f"  marks 0% |{full:·<{_BLOCKS}}| 100% the original",)

    @property
    def fate_rows(self) -> list[tuple[str, ...]]:
        """One row for each kind, and one for all where there are several."""
        kinds = () if self.fate is None else self.fate.kinds
        every = [self.fate.total] if self.fate is not None and len(kinds) > 1 else []
        return [_cells(kind) for kind in (*kinds, *every)]

    @property
    def guess_head(self) -> tuple[str, ...]:
        """The head of the table of guesses."""
        seen = ("before any release", f"{self.nouns.public} alone", "one release", "together")
        return ("tier", *seen, "upper bound", "worst pairs")

    @property
    def guess_rows(self) -> list[tuple[str, ...]]:
        """One row for each tier."""
        return [row.cells for row in self.guessed]

    @property
    def explained(self) -> str:
        """What the table of guesses shows."""
        return (
            f"First guesses that are right: with nothing but how frequent {self.nouns.values} are, from the release of "
            f"one secret, and from all releases of a {self.nouns.record}. Worst pairs: how often two candidates are "
            "distinguished beyond ε, whether one of them is the truth or not."
        )


def screen_of_audit(audit: Audit) -> FirstScreen:
    """The first screen of an audit: of the noise as it was configured."""
    nouns, best = nouns_of(audit.detector), {row.name: row for row in audit.attackers}
    found = sorted((c.mean, c.claim.tier) for c in audit.certificates if c.claim.pair_law == "worst")
    worst = {tier: mean for mean, tier in found}  # the largest of each tier comes last
    guessed = []
    for g in audit.guesses:
        name = g.together.claim.attacker
        public = best[name].before(g.tier) if name in best and best[name].with_context else None
        shares = (g.before.mean, public, g.alone.mean, g.together.mean, g.together.upper)
        guessed.append(Guessed(g.tier, *shares, worst.get(g.tier)))
    asked, state, tested = audit.settings, audit.state, ""
    if state == "certified" and audit.claimed_epsilon == 0.0:
        publish = "Yes, proved: what goes out in place of a secret does not depend on it."
    elif state == "certified":
        publish = f"Yes, certified at {percent(1.0 - asked.alpha)}: {_kept_claim(asked, nouns)}."
        tested = f"Tested on {audit.documents[2]:,} {nouns.records} that no attacker learned from."
    elif state == "violated":
        publish = (
            f"Not yet, because {nouns.records} that are read as a whole give too much away: {_beyond(audit, nouns)}."
        )
    else:
        publish = f"Not yet, because {_doubt(audit, nouns)}."
    made = _screen(state, publish, guessed, audit.fate, nouns, is_release=bool(audit.attackers))
    basis = tuple(filter(None, (tested, _meaning(audit.fate, asked.epsilon, nouns))))
    return replace(made, basis=basis, worth=tuple(_worth_of_audit(audit, nouns)))


def screen_of_adaptation(found: Adaptation) -> FirstScreen:
    """The first screen of an adaptation: of the release under its policy, where there is one."""
    nouns, asked = nouns_of(found.detector), found.settings
    guessed = [Guessed(t.tier, t.before, t.public, t.alone, t.together, t.upper, t.worst) for t in found.left]
    kind, state, tested = found.guarantee, "certified", ""
    if kind == "proved":
        publish = f"Yes, proved: {found.proof}."
    elif kind == "certified":
        publish = f"Yes, certified at {percent(1.0 - asked.alpha)}: {_kept_claim(asked, nouns)}."
        tested = f"Tested on {found.documents[2]:,} {nouns.records} that nothing was learned from or chosen on."
    elif found.scales is None:
        state, publish = "undecided", "Not yet, because no noise that was tried could be certified: there is no policy."
    else:
        why = found.basis or "it was measured, and not certified"
        state, publish = "undecided", f"Not yet, because the release is measured only: {why}."
    is_release, is_drawn = found.scales is not None, "noise" in found.forms or not found.forms
    made = _screen(state, publish, guessed, _with_names(found), nouns, is_release=is_release)
    if kind == "proved" and not is_drawn:
        made = replace(made, learned=(_beside(made.worst, nouns), *made.learned[made.worst is not None :]))
    said = (tested, _meaning(found.fate, asked.epsilon, nouns) if is_drawn else "")
    kept = found.kept if is_release and is_drawn else None
    worth = tuple(_worth_of_adaptation(found, nouns))
    return replace(made, basis=tuple(filter(None, said)), worth=worth, kept=kept)


def _with_names(found: Adaptation) -> DataFate | None:
    """What happened to the data, where the marks of kinds that are made up read as names too."""
    if found.fate is None:
        return None
    made_up = {tier.tier for tier in found.tiers if tier.form == "surrogate"} & NAMES
    kinds = (
        replace(kind, perturbed=kind.perturbed + kind.marked, marked=0) if kind.name in made_up else kind
        for kind in found.fate.kinds
    )
    return replace(found.fate, kinds=tuple(kinds))


def _screen(
    state: str, publish: str, guessed: list[Guessed], fate: DataFate | None, nouns: Nouns, *, is_release: bool
) -> FirstScreen:
    """The first two answers; no certificate saves the first one where a reader has most of a tier."""
    is_certified = state == "certified"
    worst = max(guessed, key=lambda row: (row.gains, row.reach if is_certified else row.together), default=None)
    readable = [row for row in guessed if row.is_readable]
    if readable and is_release and is_certified:
        state, publish = "undecided", _readable(max(readable, key=lambda row: row.reach), nouns)
    return FirstScreen(state, publish, tuple(_learned(worst, fate, nouns, state)), nouns, fate, tuple(guessed), worst)


def _bar(share: float) -> str:
    return "█" * round(_BLOCKS * share)


def _readable(worst: Guessed, nouns: Nouns) -> str:
    """The first answer where a reader has most of a tier, and what would help."""
    said = (
        f"Not yet, because a reader still guesses {percent(worst.together)} of {_tier_values(worst.tier, nouns)} right "
        f"({percent(worst.before)} before any release), although the limit that was asked for is kept."
    )
    if worst.public is not None and worst.together - worst.public < worst.public - worst.before:
        return f"{said} Most of that comes from {nouns.public}, which no noise changes: have more of them marked."
    cap = max(0.01, (1.0 - worst.before) / 4.0)
    return (
        f"{said} Ask for a smaller epsilon, or for a cap such as advantage = {{{json.dumps(worst.tier)} = {cap:.2f}}}."
    )


def _beside(worst: Guessed | None, nouns: Nouns) -> str:
    """What a reader has where nothing that is released depends on its secret."""
    said = f"From what stands in their place a reader learns nothing about single {nouns.values}"
    if worst is None:
        return f"{said}; what {nouns.public} tell was not measured." if nouns.is_searched else f"{said}."
    return f"{said}. {percent(worst.together)} of {_tier_values(worst.tier, nouns)} are guessed right without it:"


def _learned(worst: Guessed | None, fate: DataFate | None, nouns: Nouns, state: str) -> Iterator[str]:
    """The tier that is guessed best, what was found and missed, and what was never looked at."""
    if worst is not None:
        most = "" if state != "certified" or worst.most is None else f" (at most {percent(worst.most)})"
        yield (
            f"Whoever reads a whole {nouns.record} guesses {percent(worst.together)}{most} of "
            f"{_tier_values(worst.tier, nouns)} right at the first attempt:"
        )
    if fate is not None:
        yield found_sentence(fate, nouns)
        if nouns.is_searched:
            yield missed_sentence(fate)
    yield f"{nouns.in_clear[:1].upper()}{nouns.in_clear[1:]}."


def _tier_values(tier: str, nouns: Nouns) -> str:
    """The values of one tier; data without levels have one tier, all."""
    return f"all {nouns.values}" if tier == "all" else f"the {tier} {nouns.values}"


def _kept_claim(asked: AuditSettings | AdaptSettings, nouns: Nouns) -> str:
    """What a certificate says: for every kind, how seldom a reader learns more than the limit."""
    most = percent(asked.delta or 0.0)
    return f"{exceeding(asked.epsilon)} in at most {most} of cases, whatever the kind of {nouns.value}"


def _beyond(audit: Audit, nouns: Nouns) -> str:
    """The violation that is shown: how often, and at least."""
    asked, worst = audit.settings, audit.deciding_rates[0]
    low = shown_violations(audit.verdict).get(worst.claim, worst.lower)
    found = f"{percent(worst.mean)} of cases (at least {percent(low)}), where you accept {percent(asked.delta or 0.0)}"
    return f"for {_tier_values(worst.claim.tier, nouns)}, {exceeding(asked.epsilon)} in {found}"


def _doubt(audit: Audit, nouns: Nouns) -> str:
    """Why an audit is undecided, without the names of attackers; the details have them."""
    if withheld_reason(audit) == NOTHING_LEARNED:
        return (
            f"no attacker that was tried learned anything from reading {nouns.records} as a whole, which proves "
            "nothing: a stronger one might"
        )
    if any(made.claim.unsaturated for made in audit.counting_rates):
        return f"attackers still learn more with every {nouns.record} they have seen: with more data they might succeed"
    return reasons_of_doubt(audit)


def _worth_of_audit(audit: Audit, nouns: Nouns) -> Iterator[str]:
    if audit.release is not None:
        yield f"As a table it has {audit.release.quality_in_words}."
    tasks = () if audit.use is None else audit.use.tasks
    for task in tasks:
        yield f"The task {task.name} is right in {percent(task.after)} of cases ({percent(task.before)} before)."
    if not tasks:
        yield (
            f"Everything but the sensitive {nouns.values} is as it was. What these still tell is measured by "
            "`oddshift adapt`, next to plain marks."
        )


def _worth_of_adaptation(found: Adaptation, nouns: Nouns) -> Iterator[str]:
    if found.scales is None:
        yield "Nothing is released."
        return
    if "surrogate" in found.forms and "noise" not in found.forms:
        stays = f"What stays are frequencies and, between columns, what at least 10 {nouns.records} show."
        rest = "All else is as it was." if nouns.is_searched else stays
        yield f"The sensitive {nouns.values} are made up, so that single ones say nothing. {rest}"
    elif set(found.forms) == {"mark"}:
        yield f"What was found becomes a mark: of these {nouns.values} nothing is kept, of all else everything."
    elif (kept := found.kept or 0.0) > 0.0:
        yield f"It keeps {percent(kept)} of what the sensitive {nouns.values} tell, where plain marks keep nothing:"
    else:
        yield f"No more than plain marks, which reveal less: a mark for each kind of {nouns.value} would do as well."
    yield from without_noise(found, nouns)
    if found.release is not None:
        yield f"As a table it has {found.release.quality_in_words}."


def _meaning(fate: DataFate | None, epsilon: float, nouns: Nouns) -> str:
    odds = None if fate is None else fate.odds(epsilon)
    if fate is None or odds is None or fate.nearest is None:
        return ""
    where = ", in the kind where that is largest," if len(fate.kinds) > 1 and not nouns.is_searched else ""
    return (
        f"Within that limit the odds between a typical {nouns.value} and its nearest alternative{where} change by a "
        f"factor of at most {number(odds)}."
    )


def _cells(kind: KindFate) -> tuple[str, ...]:
    share = f" ({percent(kind.unchanged / kind.perturbed)})" if kind.perturbed else ""
    rest = (f"{kind.marked:,}", f"{kind.left:,}")
    return (kind.name, f"{kind.found:,}", f"{kind.perturbed:,}", f"{kind.unchanged:,}{share}", *rest)
