"""Witnesses from records: a guess game on fresh documents, which trusts no attacker and no model of the secrets.

Documents are compared only within a stratum (same length, same public tiers) and at one place, where what is known
beforehand is the same. The attacker says from the *other* outputs of a document which of two secrets it had there, or
abstains; what the own release adds is computed from the mechanism (evidence.witness.context_game has the proof). The
output at the place itself is replaced by a decoy, drawn for one of the two secrets by a coin of its own, so that no
attacker can use the real one. Places, pairs and stakes are frozen on the select split; only rounds of the certify split
count. Every document is used once, and only one of each user. An attacker that reads W cannot play: documents of
different W are not exchangeable.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge
from oddshift.attackers.paired_log_score import one_document_each
from oddshift.audit.settings import AuditSettings
from oddshift.audit.witness_rounds import POOL, Rounds, draw_pairs, joined, pairs_of, played, promises
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.logarithms import log_sum
from oddshift.evidence.witness import ContextWitness, context_witness
from oddshift.model.records import Records, Split
from oddshift.model.release import Release, perturb

TRUSTS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25)
"""How far an attacker's lean is trusted; chosen by the growth of the select rounds."""

FEWEST = 4
"""Smallest number of select documents in a stratum for a place to be frozen in it."""

REFERENCES = 64
"""Number of select documents of a place that estimate what a pair promises; a performance setting."""

QUANTILE_80 = 0.8416
"""Normal quantile of the power behind `needs about`."""

Stratum = tuple[int, ...]
"""Length of a document, and the tiers of its positions when they are public."""

Members = Mapping[Stratum, IntArray]


@dataclass(frozen=True, eq=False, repr=False)
class _Place:
    """A place of a stratum with the context terms of its select documents, over the values that occur there."""

    stratum: Stratum
    place: int
    values: IntArray
    context: FloatArray

    def over(self, values: IntArray) -> FloatArray:
        """Context terms of a few select documents over some of the values."""
        return self.context[:REFERENCES, np.searchsorted(self.values, values)]


def search_witness(
    attacker: Attacker, split: Split, known: Knowledge, settings: AuditSettings
) -> tuple[ContextWitness, str]:
    """Freeze the rule on the select split, play on the certify split; the result is a witness, and what is missing if
    it is undecided.

    What is missing is the number of certify documents like these that would decide, if the attacker is calibrated; it
    is empty when a violation is shown.

    **Guarantee**: the lower bound is too high with probability at most `settings.alpha`, whatever the attacker.
    """
    single, epsilon = known.mechanism.exact_epsilon, settings.epsilon
    terms = {"single_epsilon": single, "alpha": settings.alpha, "epsilon": epsilon}
    if not np.isfinite(single):
        return context_witness([], **terms, event="one release alone is without bound"), ""
    seeds = [np.random.default_rng(s) for s in np.random.SeedSequence([settings.seed, 7]).spawn(2)]
    select, certify = (_independent(part, rng) for part, rng in zip((split.select, split.certify), seeds, strict=True))
    places, trust = _freeze(attacker, select, certify, known, epsilon=epsilon, rng=seeds[0])
    rounds = _play(attacker, certify, known, epsilon, places, rng=seeds[1])
    what = f"guess of attacker {attacker.name} from the other outputs, at {len(places)} frozen places"
    found = context_witness(rounds.groups(epsilon, trust), **terms, event=what)
    return found, "" if found.shown else _lacking(rounds.promise(epsilon, trust), len(certify), settings)


def _lacking(promised: tuple[float, float], documents: int, settings: AuditSettings) -> str:
    """How many certify documents would show a violation four times out of five: n·g − z·√(n·v) = ln(1/a)."""
    growth, variance = (part / documents for part in promised)
    if growth <= 1e-12:
        return "undecided: no two records with the same length and order of tiers were distinguished beyond epsilon"
    spread = QUANTILE_80 * math.sqrt(variance)
    needs = math.ceil(((spread + math.sqrt(spread**2 - 4 * growth * math.log(settings.alpha))) / (2 * growth)) ** 2)
    if needs <= documents:
        hoped = f"about {needs} records should be enough if the attacker is calibrated"
        return f"undecided: {hoped}, but its guesses on {documents} records were not good enough"
    enough = f"about {needs} records to certify on are needed if the attacker is calibrated"
    return f"undecided: {enough}, there are {documents}"


def _independent(secrets: Records, rng: np.random.Generator) -> Records:
    """One document of each independent unit, because those of one user are not independent."""
    return secrets.take(np.sort(one_document_each(np.arange(len(secrets)), secrets, rng)))


def _strata(secrets: Records, known: Knowledge) -> Members:
    """The documents of every stratum."""
    labels = secrets.tier_of_position(known.tiers) if known.tiers.is_public else None
    members: dict[Stratum, list[int]] = defaultdict(list)
    for document, (a, b) in enumerate(zip(secrets.offsets[:-1].tolist(), secrets.offsets[1:].tolist(), strict=True)):
        members[(b - a, *(() if labels is None else labels[a:b].tolist()))].append(document)
    return {stratum: np.array(documents) for stratum, documents in members.items()}


def _freeze(
    attacker: Attacker,
    select: Records,
    certify: Records,
    known: Knowledge,
    *,
    epsilon: float,
    rng: np.random.Generator,
) -> tuple[list[_Place], float]:
    """The most promising place of each stratum, and how far the attacker can be trusted, from select documents."""
    best: dict[Stratum, tuple[float, _Place, Rounds]] = {}
    mine, theirs = _strata(select, known), _strata(certify, known)
    usable = {s: d for s, d in mine.items() if len(d) >= FEWEST and len(theirs.get(s, ())) > 1}
    for place in _places(attacker, select, certify, known, (usable, theirs), rng=rng):
        values = select.points[select.offsets[usable[place.stratum]] + place.place][:POOL]
        pairs = pairs_of(values, known)
        promised = promises(pairs, place.over(pairs.values), epsilon)
        drawn = draw_pairs(values, pairs, promised, rng)
        context = place.context[drawn[:, 0]][:, np.searchsorted(place.values, pairs.values)]
        rounds = played(values, drawn, pairs, context)
        worth = rounds.promise(epsilon, 1.0)[0] / max(1, len(rounds.lean))
        if place.stratum not in best or worth > best[place.stratum][0]:
            best[place.stratum] = worth, place, rounds
    together = joined([rounds for _, _, rounds in best.values()])
    trust = max(TRUSTS, key=lambda share: float(together.growth(epsilon, share).sum()))
    return [place for _, place, _ in best.values()], trust


def _places(
    attacker: Attacker,
    select: Records,
    certify: Records,
    known: Knowledge,
    members: tuple[Members, Members],
    *,
    rng: np.random.Generator,
) -> list[_Place]:
    """Every place of every usable stratum, with the context terms that the attacker finds in select documents."""
    usable, theirs = members
    spots: list[tuple[Stratum, int]] = [(s, place) for s in usable for place in range(s[0])]
    at = [select.offsets[usable[s][:POOL]] + place for s, place in spots]  # as many as are ever looked at
    values = [
        np.unique(np.append(select.points[at[k]], certify.points[certify.offsets[theirs[s]] + place]))
        for k, (s, place) in enumerate(spots)
    ]
    found = [np.zeros((len(at[k]), len(values[k]))) for k in range(len(spots))]
    spot, row = np.full(len(select.points), -1), np.zeros(len(select.points), dtype=np.int64)
    for k, positions in enumerate(at):
        spot[positions], row[positions] = k, np.arange(len(positions))
    release = perturb(select, known.mechanism, known.tiers, rng)
    if not spots:
        return []
    documents = np.unique(select.document_of_position[spot >= 0])
    positions = np.flatnonzero(np.isin(select.document_of_position, documents))
    some = release.take(documents)
    for block in _contexts(attacker, some, known, np.arange(len(positions))):
        for line, position in enumerate(positions[block.positions].tolist()):
            k = spot[position]
            found[k][row[position]] = block.over(line, values[k])
    return [_Place(s, place, values[k], found[k]) for k, (s, place) in enumerate(spots)]


@dataclass(frozen=True, eq=False, repr=False)
class _Context:
    """Context terms of some positions over `points`, which are in increasing order."""

    positions: IntArray
    points: IntArray
    values: FloatArray

    def over(self, line: int, points: IntArray) -> FloatArray:
        """Those of one position over some of the points; 0 for others, which it cannot hold."""
        place = np.minimum(np.searchsorted(self.points, points), len(self.points) - 1)
        return np.where(self.points[place] == points, self.values[line, place], 0.0)


def _contexts(attacker: Attacker, release: Release, known: Knowledge, wanted: IntArray) -> Iterator[_Context]:
    """Context terms of the wanted positions: over candidates alone, where the attacker can do that."""
    method = getattr(attacker, "candidate_beliefs", attacker.beliefs)
    is_wanted = np.zeros(len(release.outputs), dtype=np.bool_)
    is_wanted[wanted] = True
    for block in method(release):
        lines = np.flatnonzero(is_wanted[block.positions])
        if len(lines):
            prior = block.log_prior if block.log_prior.ndim == 1 else block.log_prior[lines]
            few = replace(block, positions=block.positions[lines], shift=block.shift[lines], log_prior=prior)
            points = np.arange(len(known.log_prior)) if block.points is None else block.points
            yield _Context(few.positions, points, _context(few, release, known, points))


def _context(block: Beliefs, release: Release, known: Knowledge, points: IntArray) -> FloatArray:
    """c(x) = ln P(y_c|x)/P(y_c): the shift without the own term, such that its exponential has a prior mean of 1."""
    own = known.mechanism.candidate_columns(release.outputs[block.positions], points)
    with np.errstate(invalid="ignore"):
        context = np.where(np.isfinite(own), block.shift - own, 0.0)
    log_prior = np.broadcast_to(block.log_prior, context.shape)
    if release.position_tiers is not None:
        mine = known.tiers.labels[None, points] == release.position_tiers[block.positions][:, None]
        log_prior = np.where(mine, log_prior, -np.inf)
    return np.asarray(context - (log_sum(context + log_prior) - log_sum(log_prior))[:, None])


def _play(
    attacker: Attacker,
    certify: Records,
    known: Knowledge,
    epsilon: float,
    places: list[_Place],
    *,
    rng: np.random.Generator,
) -> Rounds:
    """Rounds at the frozen places; documents are paired before any release."""
    members, drawn = _strata(certify, known), []
    for place in places:
        documents = rng.permutation(members[place.stratum])
        for start in range(0, len(documents), POOL):
            pool = documents[start : start + POOL]
            at = certify.offsets[pool] + place.place
            values = certify.points[at]
            pairs = pairs_of(values, known)
            rounds = draw_pairs(values, pairs, promises(pairs, place.over(pairs.values), epsilon), rng)
            drawn.append((at, values, pairs, rounds))
    asked = np.array([at[picked] for at, _, _, rounds in drawn for picked in rounds[:, 0]], dtype=np.int64)
    others = np.array([pairs.values[k] for _, _, pairs, rounds in drawn for k in rounds[:, 1]], dtype=np.int64)
    wanted = [pairs.values for _, _, pairs, rounds in drawn for _ in rounds]
    context = _decoyed(attacker, certify, known, (asked, others), wanted, rng=rng)
    ends = np.cumsum([0, *(len(rounds) for _, _, _, rounds in drawn)])
    return joined(
        [
            played(values, rounds, pairs, np.array(context[a:b]).reshape(len(rounds), len(pairs.values)))
            for (_, values, pairs, rounds), a, b in zip(drawn, ends[:-1], ends[1:], strict=True)
        ]
    )


def _decoyed(
    attacker: Attacker,
    secrets: Records,
    known: Knowledge,
    asked: tuple[IntArray, IntArray],
    wanted: list[IntArray],
    *,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """Context terms at each asked position over the wanted values, from a fresh release whose own output is a decoy."""
    position, other = asked
    if not len(position):
        return []
    documents = secrets.document_of_position[position]  # distinct: every document is picked at most once
    some = secrets.take(documents)
    here = position - secrets.offsets[documents] + some.offsets[:-1]
    release = perturb(some, known.mechanism, known.tiers, rng)
    outputs = np.array(release.outputs)
    source = np.where(rng.random(len(here)) < 0.5, some.points[here], other)
    outputs[here] = known.mechanism.sample(source, rng)
    release = replace(release, outputs=outputs)
    row = np.full(len(some.points), -1)
    row[here] = np.arange(len(here))
    found: list[FloatArray] = [np.zeros(0)] * len(here)
    for block in _contexts(attacker, release, known, here):
        for line, k in enumerate(row[block.positions].tolist()):
            found[k] = block.over(line, wanted[k])
    return found
