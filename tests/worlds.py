"""Small worlds with a known joint law, for tests of attackers."""

from dataclasses import dataclass, replace

import numpy as np

from oddshift.attackers import candidate_sampling as sampled
from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.paired_log_score import choosing_units
from oddshift.attackers.term_weights import ContextTerms
from oddshift.base.logarithms import log_sum
from oddshift.mechanisms import Channel, Exponential
from oddshift.model.records import Context, Records, offsets_of
from oddshift.model.release import Release, one_tier, perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


@dataclass(frozen=True)
class World:
    """What an attacker knows, and fresh documents with their release."""

    known: Knowledge
    secrets: Records
    release: Release


def ring(words=8, length=4, documents=300, strength=0.9, *, tiers=None, epsilon=3.0, seed=0):
    """Words on a circle; each document walks round it, and starts anew with probability 1 − strength at every step."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(words) / words
    space = Space(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    order = np.random.default_rng(7).permutation(words)
    lengths = np.full(documents, length) if length else rng.integers(0, 5, documents)

    def draw(count):
        walks = []
        for size in np.resize(lengths, count):
            walk = [int(rng.integers(words))] if size else []
            while len(walk) < size:
                walk.append(int(order[walk[-1]] if rng.random() < strength else rng.integers(words)))
            walks.append(walk)
        return Records.from_documents(space, walks)

    tiers = one_tier(space) if tiers is None else tiers
    mechanism = Exponential(space, epsilon)
    fit, fresh = draw(documents), draw(120)
    return World(knowledge(mechanism, tiers, fit), fresh, perturb(fresh, mechanism, tiers, rng))


def two_tiers(words=8, is_public=True):
    """The first half of the words more sensitive than the second."""
    return Tiers(np.arange(words) // (words // 2), names=("PII", "PoII"), scales=(1.0, 1.0), is_public=is_public)


def context_of(tokens, offsets, symbols):
    """A public side by hand, without breaks."""
    return Context(
        tokens=np.array(tokens),
        offsets=np.array(offsets),
        symbols=symbols,
        breaks=np.zeros(len(tokens), dtype=np.bool_),
    )


def with_words(world, seed=3):
    """The same world with public words between the secrets, each a noisy hint at the secret before it."""
    known = replace(world.known, fit=hinted(world.known.fit, seed))
    secrets = hinted(world.secrets, seed + 1)
    return World(known, secrets, replace(world.release, context=secrets.context))


def hinted(records, seed):
    """A slot and a word for every secret; three times in four the word has the parity of the secret."""
    rng = np.random.default_rng(seed)
    hint = np.where(
        rng.random(len(records.points)) < 0.75, records.points % 2, rng.integers(2, size=len(records.points))
    )
    tokens = np.stack([np.full(len(hint), -1), hint], axis=1).ravel().astype(np.int64)
    context = Context(
        tokens=tokens,
        offsets=offsets_of(2 * records.lengths),
        symbols=("even", "odd"),
        breaks=np.zeros(len(tokens), dtype=np.bool_),
    )
    return replace(records, context=context)


TOY_JOINT = np.array([[0.01, 0.49], [0.49, 0.01]])
"""The paper's toy: two secrets that nearly always differ."""


def toy(pairs, seed=0):
    """The paper's toy: joint mPL 1.845681, single .944462."""
    space = Space([[0.0], [1.0]])
    mechanism = Channel(space, np.log([[0.72, 0.28], [0.28, 0.72]]))
    cells = np.random.default_rng(seed).choice(4, size=pairs, p=TOY_JOINT.ravel())
    fit = Records.from_documents(space, list(np.stack([cells // 2, cells % 2], axis=1)))
    return knowledge(mechanism, one_tier(space), fit)


def toy_leakage(attacker):
    """mPL of the first secret at outputs (y1, y2) = (0, 1), the worst of the toy."""
    release = Release(outputs=np.array([0, 1]), offsets=np.array([0, 2]), position_tiers=np.zeros(2, int), context=None)
    shift = gather(attacker, release)[0]
    return abs(shift[0, 0] - shift[0, 1])


def gather(attacker, release):
    """Shift and log prior of every position, (positions, points) each."""
    shift = prior = None
    for block in attacker.beliefs(release):
        if shift is None:
            shift = np.full((len(release.outputs), block.shift.shape[1]), np.nan)
            prior = np.full_like(shift, np.nan)
        assert np.isnan(shift[block.positions]).all(), "a position came twice"
        shift[block.positions] = block.shift
        prior[block.positions] = block.log_prior
    return shift, prior


def log_score(attacker, world, tiers=None):
    """Mean of −log posterior of the truth over the candidates."""
    shift, prior = gather(attacker, world.release)
    total = shift + prior
    tiers = world.known.tiers if tiers is None else tiers
    if tiers.is_public:
        mine = tiers.labels[world.secrets.points]
        total = np.where(tiers.labels[None, :] == mine[:, None], total, -np.inf)
    truth = total[np.arange(len(total)), world.secrets.points]
    return float(np.mean(log_sum(total) - truth))


def held_out_terms(parts, known, held_out, rng):
    """Terms of held-out positions as they are, in one set over all points, −inf outside the candidates."""
    chosen, release = sampled.held_out_release(known, held_out, sampled.FIT_POSITIONS, rng)
    shape = (len(chosen.points), len(known.log_prior))
    base, terms = np.full(shape, -np.inf), tuple(np.zeros(shape) for _ in parts)
    everything = np.ones(len(parts), dtype=np.bool_)
    for mine in sampled.terms_by_tier(parts, known, release, everything, sampled.prior_part(parts)):
        at = np.ix_(mine.positions, mine.points)
        base[at] = mine.own + mine.log_prior
        for whole, term in zip(terms, mine.terms, strict=True):
            whole[at] = term
    rows, units = np.flatnonzero(sampled.foreseeable(known, held_out)[chosen.points]), choosing_units(chosen)
    units = replace(units, of_position=units.of_position[rows])
    return ContextTerms(
        base[rows],
        tuple(term[rows] for term in terms),
        chosen.points[rows],
        units,
        sampled.parts_without_outputs(parts),
    )
