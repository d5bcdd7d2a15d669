"""The opening of a result: one sentence for everyone, what happened to the data, and what attackers achieve.

It comes before any certificate: a certificate is about the secrets that were found, and means little without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oddshift.adapt.result import Adaptation
from oddshift.app.report.wording import number, percent
from oddshift.audit import Audit
from oddshift.audit.replacement_counts import DataFate, KindFate

FATE_HEAD = ("kind", "found", "perturbed", "unchanged", "marked", "left")
"""What is said of each kind: `unchanged` are among the perturbed ones."""

GUESS_HEAD = ("tier", "before any release", "one release", "together", "upper bound", "worst pairs beyond ε")
"""Shares of secrets whose first guess is right, and of units where any pair of candidates exceeds ε."""

EXPLAINED = (
    "Right first guesses: before anything is released, from the release of that secret alone, and from all releases of "
    "a document together. Worst pairs: how often some pair of candidates exceeds ε, whether it holds the truth or not."
)


@dataclass(frozen=True)
class Guessed:
    """First guesses about one tier, and its worst pairs; None where nothing was measured or certified."""

    tier: str
    before: float
    alone: float
    together: float
    most: float | None
    worst: float | None

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        shares = (self.before, self.alone, self.together)
        rest = ("-" if value is None else percent(value) for value in (self.most, self.worst))
        return (self.tier, *(percent(share) for share in shares), *rest)


@dataclass(frozen=True)
class Opening:
    """A headline, what happened to the data, what attackers achieve, and what the budget means.

    `searched` says that a detector had to find the secrets, and may have missed some.
    """

    headline: str
    fate: DataFate | None
    guessed: tuple[Guessed, ...]
    meaning: str
    searched: bool = True

    @property
    def fate_rows(self) -> list[tuple[str, ...]]:
        """One row for each kind, and one for all where there are several."""
        kinds = () if self.fate is None else self.fate.kinds
        every = [self.fate.total] if self.fate is not None and len(kinds) > 1 else []
        return [_cells(kind) for kind in (*kinds, *every)]

    @property
    def guess_rows(self) -> list[tuple[str, ...]]:
        """One row for each tier."""
        return [row.cells for row in self.guessed]

    def lines(self) -> Iterator[str]:
        """What happened to the data, and what the budget means, in sentences."""
        yield from self.happened
        if self.meaning:
            yield self.meaning

    def by_kind(self) -> Iterator[str]:
        """The same for each kind, and the guesses about each tier, a line each."""
        for kind in () if self.fate is None else self.fate.kinds:
            counts = f"{kind.found:,} found, {kind.perturbed:,} perturbed ({kind.unchanged:,} unchanged)"
            yield f"  {kind.name}: {counts}, {kind.marked:,} marked, {kind.left:,} left"
        for row in self.guessed:
            tier, before, alone, together, most, worst = row.cells
            shares = f"{before} before any release -> {alone} from one release -> {together} together"
            rest = f"upper bound {most}, worst pairs beyond epsilon {worst}"
            yield f"  {tier} guessed at the first attempt: {shares} ({rest})"

    @property
    def happened(self) -> tuple[str, ...]:
        """What was found and what became of it; and what may have been missed, where somebody had to look."""
        if self.fate is None:
            return ()
        missed = (missed_sentence(self.fate),) if self.searched else ()
        return (found_sentence(self.fate), *missed)


def opening_of_audit(audit: Audit) -> Opening:
    """The opening of an audit."""
    found = sorted((c.mean, c.claim.tier) for c in audit.certificates if c.claim.pair_law == "worst")
    worst = {tier: mean for mean, tier in found}  # the largest of each tier comes last
    guessed = tuple(
        Guessed(g.tier, g.before.mean, g.alone.mean, g.together.mean, g.together.upper, worst.get(g.tier))
        for g in audit.guesses
    )
    said = _guesses_in_words(guessed, is_certified=audit.state == "certified")
    asked = audit.settings
    starts = {
        "certified": f"Protected as asked: an attacker who reads whole documents {said}",
        "violated": f"Not protected as asked: an attacker who reads whole documents {said}",
        "undecided": f"Not settled, which is not a pass: an attacker who reads whole documents {said}",
    }
    headline = starts[audit.state] if guessed else _plain(audit.state)
    meaning = _meaning(audit.fate, asked.epsilon, audit.detector)
    return Opening(f"{headline}.", audit.fate, guessed, meaning, _is_searched(audit.detector))


def opening_of_adaptation(found: Adaptation) -> Opening:
    """The opening of an adaptation: the release under the policy, where there is one."""
    guessed = tuple(Guessed(t.tier, t.before, t.alone, t.together, t.upper, t.worst) for t in found.left)
    meaning = _meaning(found.fate, found.settings.epsilon, found.detector)
    if found.guarantee == "proved":
        said = f"Proved: {found.proof}; {cost_in_words(found)}."
        return Opening(said, found.fate, guessed, meaning, _is_searched(found.detector))
    if found.scales is None or not guessed:
        said = "No noise that was tried could be certified, so there is no policy and nothing is released."
        said = said if found.scales is None else f"{_plain(found.state)}."
        return Opening(said, found.fate, guessed, meaning, _is_searched(found.detector))
    start = "Certified" if found.chosen is not None else "Measured only, which is not a pass"
    said = _guesses_in_words(guessed, is_certified=found.chosen is not None)
    return Opening(
        f"{start}: under this policy an attacker who reads whole documents {said}; {cost_in_words(found)}.",
        found.fate,
        guessed,
        meaning,
        _is_searched(found.detector),
    )


def cost_in_words(found: Adaptation) -> str:
    """What the policy costs, next to the mechanism before it was adapted."""
    mine, plain = found.choice("AmPL, remapped" if found.remapped else "AmPL"), found.choice("EM")
    loss = found.loss if found.loss is not None or mine is None else mine.loss
    if loss is None:
        return "its cost was not measured"
    before = "" if plain is None else f" ({number(plain.loss)} before adapting)"
    constant = f", where {found.constant_name} costs {number(found.constant_loss)}"
    return f"the cost is an expected loss of {number(loss)}{before}{constant}{_marks_in_words(found, loss)}"


def _marks_in_words(found: Adaptation, loss: float) -> str:
    if found.fate is None or not found.fate.marked_share:
        return ""
    share, whole = percent(found.fate.marked_share), number(found.loss_with_marks(loss))
    return f", and {whole} when the {share} of words that become marks count as {found.constant_name}"


def found_sentence(fate: DataFate) -> str:
    """What was found and what became of it."""
    all_of = fate.total
    same = all_of.unchanged / all_of.perturbed if all_of.perturbed else 0.0
    said = f"Of {all_of.found:,} sensitive words that were found, {all_of.perturbed:,} are perturbed"
    said += f" ({all_of.unchanged:,} of them, {percent(same)}, come out unchanged)"
    rest = [(all_of.marked, "replaced by a mark"), (all_of.left, "function words that are left")]
    return f"{said}{''.join(f', {count:,} {what}' for count, what in rest if count)}."


def missed_sentence(fate: DataFate) -> str:
    """How many names may have been missed."""
    if fate.recall is None:
        return "How many sensitive words were missed was not measured; what is missed is released in the clear."
    low, high = fate.recall
    return (
        f"Of {fate.planted} public names put into these texts, {fate.recalled} were found: between "
        f"{percent(1.0 - high)} and {percent(1.0 - low)} of such names are missed, and released in the clear."
    )


def _guesses_in_words(guessed: tuple[Guessed, ...], *, is_certified: bool) -> str:
    """The tier that is guessed best: at most how often where that is certified, else how often it was."""
    if not guessed:
        return "was not measured"
    worst = max(guessed, key=lambda row: row.together if row.most is None else row.most)
    share = percent(worst.together)
    if is_certified and worst.most is not None:
        share = f"at most {percent(worst.most)}"
    which = "all" if worst.tier == "all" else f"the {worst.tier}"  # data without levels have one tier, all
    return f"guesses {share} of {which} words at the first attempt ({percent(worst.before)} before any release)"


def _is_searched(detector: str) -> bool:
    """Whether a detector looked for the secrets; otherwise they were given."""
    return not detector.startswith("none (")


def _plain(state: str) -> str:
    return {
        "certified": "Protected as asked",
        "proved": "Proved",
        "violated": "Not protected as asked",
        "undecided": "Not settled, which is not a pass",
    }[state]


def _meaning(fate: DataFate | None, epsilon: float, detector: str) -> str:
    odds = None if fate is None else fate.odds(epsilon)
    if fate is None or odds is None or fate.nearest is None:
        return ""
    where = ", in the tier where that is largest" if len(fate.kinds) > 1 and not _is_searched(detector) else ""
    return (
        f"Within ε = {number(epsilon)}, all releases together multiply the odds between a word and its nearest "
        f"alternative (at a median distance of {number(fate.nearest)}{where}) by at most {number(odds)}."
    )


def _cells(kind: KindFate) -> tuple[str, ...]:
    share = f" ({percent(kind.unchanged / kind.perturbed)})" if kind.perturbed else ""
    rest = (f"{kind.marked:,}", f"{kind.left:,}")
    return (kind.name, f"{kind.found:,}", f"{kind.perturbed:,}", f"{kind.unchanged:,}{share}", *rest)
