"""Attackers as a question names them: which ones that means for some data, and how they are fitted.

`"all"` stands for every attacker of the registry that suits the data; those that are left out are named.

Whether one network for all scales may stand for networks trained at each: two of those are trained, to see.

The loop of the paper steps along the slope of a rate. A network for all scales that is too weak at the largest shows
no slope, and the loop then stays where it is or walks the wrong way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from oddshift.adapt import AdaptSettings
from oddshift.app.resources import Means
from oddshift.attackers import ATTACKERS, UNTRAINED, FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.fitting import NOT_IN_ALL, PAPER_CONTROLS
from oddshift.attackers.learning_size import Refittable
from oddshift.audit import AuditSettings
from oddshift.audit.settings import ALL, DEFAULT_ATTACKERS
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.data.codecs import read_vectors
from oddshift.data.preparation import Prepared
from oddshift.mechanisms.named import Family
from oddshift.model.release import perturb

AskedAttacker = str | Attacker
"""An attacker by its name in `ATTACKERS`, or the fitted object itself."""


def fit_attackers(
    asked: Sequence[AskedAttacker],
    known: Knowledge,
    prepared: Prepared,
    settings: AuditSettings | AdaptSettings,
    options: FitOptions,
    *,
    means: Means | None = None,
) -> list[Attacker]:
    """Attackers by name, fitted on the fit part unless `means` has them, and attackers that were given as they are."""
    known_law = replace(
        options, prior_of=prepared.prior_of, embedding=_seen_embedding(settings.paper.embedding, prepared)
    )
    work = means or Means()
    fitted: list[Attacker] = []
    for place, name in enumerate(asked):
        work.progress("fitting attackers", place, len(asked))
        if not isinstance(name, str):
            fitted.append(name)
            continue
        fit = ATTACKERS.find(name, "audit.attackers")
        seeds = [settings.seed, 2, place]
        key = _fit_key(name, known, seeds, options)
        if key not in work.fits:
            work.fits[key] = fit(known, np.random.default_rng(seeds), known_law)
        fitted.append(work.fits[key])
    return fitted


def _seen_embedding(path: str, prepared: Prepared) -> FloatArray | None:
    """The words in another embedding, at the mean norm that they have in the mechanism's; None where none is named."""
    if not path:
        return None
    if prepared.names is None:
        raise InvalidInput(f"paper.embedding={path!r} with data of kind {prepared.kind}, expected words")
    rows, has = read_vectors(path).look_up(prepared.names)
    if not has.any():
        raise InvalidInput(f"{path} has a vector for none of {len(has)} words")
    other = np.asarray(rows, dtype=np.float64)
    other[~has] = other[has].mean(axis=0)
    own = np.linalg.norm(prepared.split.fit.space.points, axis=1).mean()
    return np.asarray(other * (own / np.linalg.norm(other, axis=1).mean()))


def _fit_key(name: str, known: Knowledge, seeds: list[int], options: FitOptions) -> str:
    """Everything that determines a fit: the attacker, what it knows, the seeds, and the limits of any training."""
    limits = (options.epochs, options.width, options.max_seconds, options.scale_range, options.paper)
    return fingerprint(("fit", name, known, seeds, () if name in UNTRAINED else limits))


def named_attackers(
    asked: Sequence[AskedAttacker],
    prepared: Prepared,
    settings: AuditSettings | AdaptSettings,
) -> tuple[tuple[AskedAttacker, ...], tuple[str, ...]]:
    """The attackers that a question means for these data, and lines that say which ones were left out and why.

    Controls at the same T go with attackers in paper mode. Default attackers that read W are left out silently where
    the data have no W.
    """
    names = (asked,) if isinstance(asked, str) else tuple(asked)
    in_paper_mode = any(isinstance(name, str) and name.startswith("paper-") for name in names)
    if in_paper_mode and isinstance(settings, AuditSettings) and settings.paper.temperature == "fixed":
        names = (*names, *(control for control in PAPER_CONTROLS if control not in names))
    if ALL in names:
        return _every_one(names, prepared)
    if names == DEFAULT_ATTACKERS and prepared.split.fit.context is None:
        return tuple(name for name in DEFAULT_ATTACKERS if not name.endswith("+W")), ()
    return names, ()


def _every_one(
    names: tuple[AskedAttacker, ...], prepared: Prepared
) -> tuple[tuple[AskedAttacker, ...], tuple[str, ...]]:
    """Every registered attacker that can read these data, the default ones first, and what was named besides."""
    suitable = [n for n in ATTACKERS if n not in NOT_IN_ALL and (n != "exact" or prepared.prior_of is not None)]
    unread = [n for n in suitable if n.endswith("+W") and prepared.split.fit.context is None]
    taken = [n for n in (*DEFAULT_ATTACKERS, *suitable) if n not in unread]
    notes = [f"attackers left out because the data have no public context W: {', '.join(unread)}"] if unread else []
    return tuple(dict.fromkeys((*taken, *(n for n in names if n != ALL)))), tuple(notes)


def refittable(
    asked: Sequence[AskedAttacker], fitted: Sequence[Attacker], fit: Callable[[str, Knowledge], Attacker]
) -> list[Attacker | Refittable]:
    """Attackers that were fitted by name, together with how; others, and one that knows the law, unchanged."""
    return [
        Refittable(attacker, partial(fit, name)) if isinstance(name, str) and name != "exact" else attacker
        for name, attacker in zip(asked, fitted, strict=True)
    ]


LEAST_SLOPE, MOST_SLOPE = 0.5, 2.0
"""The rise of the amortised network has to lie between these multiples of that of networks trained at both scales."""

NO_RISE = 0.01
"""Rises below this on both sides are none."""


@dataclass(frozen=True)
class AmortisedCheck:
    """Shares of uniform pairs beyond ε at the smallest and the largest scale, by both kinds of networks."""

    attacker: str
    scales: tuple[float, float]
    amortised: tuple[float, float]
    retrained: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Whether the share rises with the scale about as much.

        >>> AmortisedCheck("paper-rnn", (0.1, 1.0), (0.10, 0.11), (0.10, 0.19)).holds
        False
        >>> AmortisedCheck("paper-rnn", (0.1, 1.0), (0.10, 0.17), (0.10, 0.19)).holds
        True
        """
        mine, theirs = (high - low for low, high in (self.amortised, self.retrained))
        if max(abs(mine), abs(theirs)) < NO_RISE:
            return True
        return mine * theirs > 0 and LEAST_SLOPE <= mine / theirs <= MOST_SLOPE

    @property
    def sentence(self) -> str:
        """Both shares of both networks."""
        (low, high), (mine_low, mine_high), (low_rate, high_rate) = self.scales, self.amortised, self.retrained
        return (
            f"{self.attacker} was fitted once for all scales: {mine_low:.1%} of uniform pairs beyond epsilon at scale "
            f"{low:g} and {mine_high:.1%} at {high:g}, where networks trained at those scales have {low_rate:.1%} and "
            f"{high_rate:.1%}"
        )


def check_amortised(
    named: Sequence[AskedAttacker],
    fitted: Sequence[Attacker],
    prepared: Prepared,
    asked: AdaptSettings,
    family: Family,
) -> tuple[str, ...]:
    """A line for each network of the paper that was fitted once, which is refused unless it rises as others do."""
    names = {name for name in named if isinstance(name, str) and name.startswith("paper-")} - set(PAPER_CONTROLS)
    if not names:
        return ()
    from oddshift.attackers.paper import Paper, share_beyond

    scales, said = (min(asked.grid), max(asked.grid)), []
    if scales[0] == scales[1]:
        return ()
    plain = FitOptions(epochs=asked.epochs, paper=asked.paper)
    for name, attacker in zip(named, fitted, strict=True):
        if name not in names or not isinstance(attacker, Paper):
            continue
        shares = []
        for scale in scales:
            tiers = prepared.tiers.with_scales((scale,) * len(prepared.tiers))
            known = knowledge(family(tiers), tiers, prepared.split.fit)
            release = perturb(prepared.split.select, known.mechanism, known.tiers, np.random.default_rng(asked.seed))
            alone = fit_attackers([name], known, prepared, asked, plain)[0]
            assert isinstance(alone, Paper)
            shares.append([share_beyond(each, release, asked.epsilon) for each in (attacker.against(known), alone)])
        (low, alone_low), (high, alone_high) = shares
        found = AmortisedCheck(name, scales, (low, high), (alone_low, alone_high))
        if not found.holds:
            raise InvalidInput(f"{found.sentence}; expected adapt.retrain = true, or more epochs")
        said.append(found.sentence)
    return tuple(said)
