"""Witnesses from records: a guess game on fresh documents, which trusts no attacker and no model.

Documents are compared only within a stratum (same length, same public tiers) and at one place, where what is known
beforehand is the same. Two documents whose secrets there differ are paired by those secrets alone, near ones first; a
fair coin drops one, and the attacker says from the outputs of the other which of the two secrets it had, or abstains.
Places, distances and how sure a guess must be are frozen on the select split; only rounds of the certify split count.
Every document is used once, and one of each user. An attacker that reads W cannot play: documents of different W are no
fair pair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.gains import one_document_each
from oddshift.audit.audit_settings import AuditSettings
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.bounds import BETS
from oddshift.evidence.witness import Witness, pair_up, rounded_up, witness_of
from oddshift.model.records import Records, Split
from oddshift.model.release import perturb

SURE = (1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)
"""Multiples of ε·d that the attacker's lean must reach before it guesses."""

SOUGHT = (0.1, 0.75, 1.5)
"""ε·d at which pairs are sought; the first takes the nearest there are."""

FEWEST = 4
"""Select documents of a stratum below which no place is frozen in it."""

_LARGEST = 0.98  # bet for which a promise is computed: at 1 a single wrong guess costs everything

Stratum = tuple[int, ...]
"""Length of a document, and the tiers of its positions when they are public."""

Places = Mapping[Stratum, int]


@dataclass(frozen=True, eq=False, repr=False)
class _Rounds:
    """Documents that the coin kept: where their secret is, its value, that of the document dropped, and d of the two.

    `stratum` (a number among `strata`) and `place` say where the round was played; `lean` is the attacker's log odds
    for the truth.
    """

    strata: tuple[Stratum, ...]
    stratum: IntArray
    place: IntArray
    position: IntArray
    truth: IntArray
    other: IntArray
    distance: FloatArray
    lean: FloatArray

    def groups(self, kept: BoolArray) -> list[tuple[float, int, int]]:
        """(distance, correct, guesses) of the rounds kept, for each distance."""
        values, inverse = np.unique(self.distance[kept], return_inverse=True)
        right = np.bincount(inverse, weights=self.lean[kept] > 0, minlength=len(values)).astype(np.int64)
        guesses = np.bincount(inverse, minlength=len(values))
        return list(zip(values.tolist(), right.tolist(), guesses.tolist(), strict=True))

    def guessed(self, sure: float, epsilon: float) -> BoolArray:
        """Rounds in which the attacker is sure enough to guess."""
        made: BoolArray = np.abs(self.lean) >= sure * epsilon * self.distance
        return made

    def promise(self, epsilon: float) -> FloatArray:
        """Expected log growth of the evidence for each bet, (rounds, bets), if the attacker believes what it should.

        p·ln(1 + λ(1 − q)/q) + (1 − p)·ln(1 − λ), p = expit |lean|, q = expit(ε·d); the largest bet is held off 1.
        """
        wrong = 1.0 / (1.0 + np.exp(np.minimum(np.abs(self.lean), 700.0)))[:, None]
        bets = np.minimum(BETS, _LARGEST)
        win = np.log1p(bets * np.exp(-epsilon * self.distance)[:, None])
        return np.asarray((1.0 - wrong) * win + wrong * np.log1p(-bets))


@dataclass(frozen=True)
class _Rule:
    """What is frozen: how sure a guess must be and the place of each stratum; and the evidence that this promises."""

    promised: float
    sure: float
    places: Places


def search_witness(
    attacker: Attacker, split: Split, known: Knowledge, settings: AuditSettings
) -> tuple[Witness | None, str]:
    """Freeze the rule on the select split, play on the certify split; a witness, and what it lacks if it is undecided.

    None when no two documents can be compared. What is lacking is how many certify documents like these would decide,
    if the attacker believes what it should; empty when a violation is shown.

    **Guarantee**: the lower bound is too high with probability at most `settings.alpha`, whatever the attacker.
    """
    epsilon = settings.epsilon
    seeds = [np.random.default_rng(s) for s in np.random.SeedSequence([settings.seed, 7]).spawn(2)]
    select, certify = (_independent(part, rng) for part, rng in zip((split.select, split.certify), seeds, strict=True))
    tried = [
        _freeze(_play(attacker, select, known, sought=sought / epsilon, rng=seeds[0]), epsilon) for sought in SOUGHT
    ]
    best = int(np.argmax([rule.promised for rule in tried]))
    places = tried[best].places
    rounds = _play(attacker, certify, known, sought=SOUGHT[best] / epsilon, places=places, rng=seeds[1])
    made = rounds.guessed(tried[best].sure, epsilon)
    groups = rounds.groups(made)
    if not groups:
        return None, "undecided: no two documents of one length and one order of tiers are told apart beyond epsilon"
    found = witness_of(
        "pooled",
        tuple(number for _, right, guesses in groups for number in (right, guesses)),
        tuple(distance for distance, _, _ in groups),
        alpha=settings.alpha,
        epsilon=epsilon,
        event=f"guess of attacker {attacker.name} between the secrets of two documents, at {len(places)} frozen places",
    )
    growth = float(rounds.promise(epsilon)[made].sum(axis=0).max())
    return found, "" if found.shown else _lacking(growth, len(certify), settings)


def _lacking(growth: float, documents: int, settings: AuditSettings) -> str:
    """How many certify documents would show a violation: enough for ln(1/a), and for not knowing the best bet."""
    if growth <= 0.0:
        return f"undecided: no number of documents like these would be enough, has {documents} to certify on"
    needs = int(np.ceil((np.log(len(BETS)) - np.log(settings.alpha)) / growth * documents))
    return f"undecided: needs about {needs} documents to certify on if the attacker is calibrated, has {documents}"


def _independent(secrets: Records, rng: np.random.Generator) -> Records:
    """One document of each independent unit: those of one user know of each other."""
    return secrets.take(np.sort(one_document_each(np.arange(len(secrets)), secrets, rng)))


def _strata(secrets: Records, known: Knowledge) -> list[Stratum]:
    """The stratum of every document."""
    labels = secrets.tier_of_position(known.tiers) if known.tiers.is_public else None
    cuts = zip(secrets.offsets[:-1].tolist(), secrets.offsets[1:].tolist(), strict=True)
    return [(b - a, *(() if labels is None else labels[a:b].tolist())) for a, b in cuts]


def _play(
    attacker: Attacker,
    secrets: Records,
    known: Knowledge,
    *,
    sought: float,
    places: Places | None = None,
    rng: np.random.Generator,
) -> _Rounds:
    """Rounds at the frozen places, or at every place of every stratum; documents are paired before any release.

    Their secrets differ by a distance near `sought`, where there are such documents.
    """
    members: dict[Stratum, list[int]] = defaultdict(list)
    for document, stratum in enumerate(_strata(secrets, known)):
        members[stratum].append(document)
    drawn: list[FloatArray] = [np.zeros((0, 6))]
    for number, (stratum, documents) in enumerate(members.items()):
        for place in _tried(stratum, len(documents), places):
            at = secrets.offsets[np.array(documents)] + place
            values = secrets.points[at]
            left, right, distance = pair_up(values, secrets.space, sought, rng)
            heads = rng.random(len(left)) < 0.5
            kept, gone = np.where(heads, left, right), np.where(heads, right, left)
            where = np.full((len(left), 2), (number, place))
            drawn.append(np.column_stack([where, at[kept], values[kept], values[gone], rounded_up(distance)]))
    table = np.concatenate(drawn)
    stratum_of, place_of, position, truth, other = table[:, :5].T.astype(np.int64)
    lean = _leans(attacker, secrets, known, (position, truth, other), rng)
    return _Rounds(tuple(members), stratum_of, place_of, position, truth, other, table[:, 5], lean)


def _tried(stratum: Stratum, documents: int, places: Places | None) -> Sequence[int]:
    """Where a stratum of so many documents is played: at its frozen place, or at every one while none is frozen."""
    if places is not None:
        return [places[stratum]] if stratum in places else []
    return range(stratum[0]) if documents >= FEWEST else []


def _leans(
    attacker: Attacker,
    secrets: Records,
    known: Knowledge,
    asked: tuple[IntArray, IntArray, IntArray],
    rng: np.random.Generator,
) -> FloatArray:
    """The attacker's log odds of each position's truth against the other value, from a fresh release."""
    position, truth, other = asked
    if not len(position):
        return np.zeros(0)
    documents, row = np.unique(secrets.document_of_position[position], return_inverse=True)
    some = secrets.take(documents)
    position = position - secrets.offsets[documents][row] + some.offsets[row]
    leans = np.empty(len(position))
    for block in attacker.beliefs(perturb(some, known.mechanism, known.tiers, rng)):
        line = np.full(len(some.points), -1)
        line[block.positions] = np.arange(len(block.positions))
        mine = np.flatnonzero(line[position] >= 0)
        rows = line[position[mine]]
        leans[mine] = block.shift[rows, truth[mine]] - block.shift[rows, other[mine]]
    return np.nan_to_num(leans, nan=0.0)


def _freeze(rounds: _Rounds, epsilon: float) -> _Rule:
    """The rule that promises the most evidence on these rounds."""
    spots, spot = np.unique(np.column_stack([rounds.stratum, rounds.place]), axis=0, return_inverse=True)
    promise, best = rounds.promise(epsilon), (-np.inf, SURE[0], np.zeros(0, dtype=np.int64))
    for sure in SURE:
        made = rounds.guessed(sure, epsilon)
        totals = np.zeros((len(spots), promise.shape[1]))
        np.add.at(totals, spot[made], promise[made])
        for bet in totals.T:
            order = np.lexsort((bet, spots[:, 0]))  # the last of each stratum promises most
            last = order[np.append(np.diff(spots[order, 0]) != 0, True)] if len(order) else order
            if bet[last].sum() > best[0]:
                best = (float(bet[last].sum()), sure, last)
    return _Rule(best[0], best[1], {rounds.strata[s]: int(place) for s, place in spots[best[2]]})
