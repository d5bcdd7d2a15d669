"""A certificate: what one value for each independent document says about a claim.

Three states: `certified` (upper bound ≤ δ), `violated` (lower bound of the same method > δ), `undecided`, never a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, finite, one_of, whole
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.bounds import METHODS, Clustering, Method, decision, design_effect
from oddshift.bounds.checks import bracket, error_level, unit_values
from oddshift.evidence.certificates.claim import AnyClaim, Claim, SuccessClaim
from oddshift.model.nouns import nouns_of, units_in_words

DEFAULT_METHOD = "betting"
"""Valid for fractions, at any stopping time, in any order."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """The bounds, state and sentence of a claim. Each bound is one-sided, at level `alpha`.

    `documents` counted, `excluded` had no position of the tier. `design_effect` and `effective_n` describe how much the
    pairs of one document resemble each other (None when their numbers were not given); no bound divides by them.

    **Guarantee**: the state is wrong with probability at most `alpha` (whatever the truth, only one of `certified` and
    `violated` can be wrong), for independent documents that played no part in choosing mechanism, attacker or claim.
    """

    claim: AnyClaim
    method: str
    alpha: float
    documents: int
    excluded: int
    mean: float
    lower: float
    upper: float
    pvalue: float | None
    design_effect: float | None
    effective_n: float | None
    state: str

    @property
    def state_in_words(self) -> str:
        """The state; where only growth with more documents prevents a certificate, that is the state's wording."""
        return not_saturated(self.claim.unsaturated) if self.lacks_saturation else self.state

    @property
    def lacks_saturation(self) -> bool:
        """Whether it is certified but for an attacker that still learns from more documents."""
        limit = self.claim.limit
        return bool(self.claim.unsaturated) and limit is not None and self.upper <= limit

    @property
    def sentence(self) -> str:
        """One sentence in the allowed wording: how often the procedure errs, never how probable the truth is."""
        return f"{self._verdict()} {self._terms()}"

    def _verdict(self) -> str:
        c, what = self.claim, self.claim.quantity
        errs = f"{c.basis}; this procedure errs with probability at most {self.alpha:g}"
        if c.withheld and self.state == "undecided":
            return f"{self.state_in_words.capitalize()} (counts as not certified): {c.withheld}."
        if c.limit is None:
            missing = "delta" if isinstance(c, Claim) else "cap"
            return f"No {missing} was stated: {what} <= {c.stated(self.upper):.6g}, {errs}."
        limit = f"{c.stated(c.limit):g}"
        if self.state == "certified":
            return f"Certified: {what} <= {limit}, {errs}."
        if self.state == "violated":
            return f"Violated: {what} > {limit}, {errs}."
        return f"Undecided (counts as not certified): {what} <= {limit} is neither shown nor refuted, {c.basis}."

    def _terms(self) -> str:
        c = self.claim
        counted = units_in_words(c.unit, c.detector)
        assumed = f" Assumed: {'; '.join(c.assumptions)}." if c.assumptions else ""
        return (
            f"Bounds [{c.stated(self.lower):.6g}, {c.stated(self.upper):.6g}], each one-sided at level {self.alpha:g} "
            f"by {self.method}, mean {c.stated(self.mean):.6g} over {self.documents} independent units ({counted}; "
            f"{self.excluded} without the tier). About {c.subject}; {nouns_of(c.detector).in_clear}."
            f"{assumed}"
        )


def certify(
    values_per_document: npt.ArrayLike,
    claim: AnyClaim,
    alpha: float,
    method: str = DEFAULT_METHOD,
    *,
    trials: npt.ArrayLike | None = None,
    excluded: int = 0,
) -> Certificate:
    """Certify a claim from one value in [0, 1] for each independent document: the fraction of its pairs that violate ε.

    `trials` (optional) is the number of pairs behind each fraction; it is used for the design effect only. Bounds that
    cross are refused; a withheld claim, which decides nothing, shows the wider pair. A bound that excludes the mean of
    the values, which an ordered method may give, is moved to that mean: a wider bound errs no more often.

    **Guarantee**: that of `Certificate`; `betting` also at any stopping time; `betting_plugin` for the order in which
    documents came; the others for a number of documents fixed beforehand.

    >>> claim = Claim(epsilon=1.0, delta=0.1, tier="PII", pair_law="anchored", attacker="plugin",
    ...               attacker_hash="ab12", with_context=True, detector="gazetteer")
    >>> c = certify([0.0] * 90 + [0.2] * 10, claim, alpha=0.05)
    >>> c.state, round(c.upper, 4), c.lower
    ('certified', 0.079, 0.0)
    """
    if not isinstance(claim, Claim | SuccessClaim):
        raise InvalidInput(f"claim is {a_kind(claim)}, expected a Claim")
    values, level = unit_values(values_per_document, "values_per_document"), error_level(alpha)
    chosen = METHODS[one_of(method, "method", list(METHODS))]
    found = chosen.lower(values, level), chosen.upper(values, level)
    narrow = (min(found), max(found)) if claim.withheld else bracket(*found)
    mean, spread = float(values.mean()), clustering(values, trials)
    lower, upper = min(narrow[0], mean), max(narrow[1], mean)
    return Certificate(
        claim=claim,
        method=method,
        alpha=level,
        documents=len(values),
        excluded=whole(excluded, "excluded", 0),
        mean=mean,
        lower=lower,
        upper=upper,
        pvalue=None if claim.limit is None else _pvalue(chosen, values, claim.limit, level),
        design_effect=spread.design_effect if spread else None,
        effective_n=spread.effective_n if spread else None,
        state=_state(claim, lower, upper),
    )


def _state(claim: AnyClaim, lower: float, upper: float) -> str:
    """The decision; a withheld claim is undecided, unless it may show a violation and does."""
    if not claim.withheld:
        return decision(lower, upper, claim.limit)
    is_shown = claim.may_violate and claim.limit is not None and lower > claim.limit
    return "violated" if is_shown else "undecided"


def not_saturated(documents: int) -> str:
    """The state of a claim that holds for an attacker with this number of documents, and perhaps for no better one.

    >>> not_saturated(3000)
    'certified for an attacker with 3000 training records, not for a better one'
    """
    return f"certified for an attacker with {documents} training records, not for a better one"


def _pvalue(method: Method, values: FloatArray, limit: float, alpha: float) -> float:
    """The p-value; 1 where the values of an ordered method have a mean above the limit, as its bound then has."""
    found = method.pvalue(values, limit, alpha)
    return 1.0 if method.ordered and float(values.mean()) > limit else found


@dataclass(frozen=True, kw_only=True)
class JointCertificate:
    """One verdict on several claims together, for example all tiers and all attackers.

    `accusing` says which parts may show a violation: a part of an attacker that may be too sure may not. `lowers` are
    the lower bounds of those parts at level alpha / K, K being their number, and 0 for the other parts.

    **Guarantee**: `certified` (every part at full alpha: intersection-union) and `violated` (some of the lower bounds
    exceeds its δ) are each wrong with probability at most `alpha`, under any dependence between parts.
    """

    parts: tuple[Certificate, ...]
    alpha: float
    lowers: tuple[float, ...]
    accusing: tuple[bool, ...]
    state: str

    @property
    def state_in_words(self) -> str:
        """The state; where every part is certified but for attackers that still learn, that is the state's wording."""
        growing = [part for part in self.parts if part.lacks_saturation]
        if self.state != "undecided" or not growing:
            return self.state
        if any(part.state != "certified" and not part.lacks_saturation for part in self.parts):
            return self.state
        return not_saturated(min(part.claim.unsaturated for part in growing))

    @property
    def sentence(self) -> str:
        """The joint verdict, then the parts."""
        names = ", ".join(f"{part.claim.tier}, attacker {part.claim.attacker}: {part.state}" for part in self.parts)
        state = f"{self.state_in_words}{' (counts as not certified)' if self.state == 'undecided' else ''}"
        return (
            f"Joint claim {state}: this procedure errs with probability at most {self.alpha:g} ({names}). "
            + " ".join(part.sentence for part in self.parts)
        )


def certify_joint(
    values: Sequence[npt.ArrayLike],
    claims: Sequence[AnyClaim],
    alpha: float,
    method: str = DEFAULT_METHOD,
    *,
    trials: Sequence[npt.ArrayLike | None] | None = None,
    excluded: Sequence[int] | None = None,
    accusing: Sequence[bool] | None = None,
) -> JointCertificate:
    """Certify several claims together, one array of values for each; all of them may show a violation by default.

    **Guarantee**: that of `JointCertificate`.

    >>> def claim(tier):
    ...     return Claim(epsilon=1.0, delta=0.1, tier=tier, pair_law="anchored", attacker="plugin",
    ...                  attacker_hash="ab12", with_context=True, detector="gazetteer")
    >>> joint = certify_joint([[0.0] * 99, [0.5] * 99], [claim("PII"), claim("PoII")], 0.05)
    >>> joint.state, [part.state for part in joint.parts]
    ('violated', ['certified', 'violated'])
    """
    sizes = [None] * len(claims) if trials is None else list(trials)
    without = [0] * len(claims) if excluded is None else list(excluded)
    accuses = [True] * len(claims) if accusing is None else [bool(may) for may in accusing]
    if not claims or {len(values), len(sizes), len(without), len(accuses)} != {len(claims)}:
        raise InvalidInput(
            f"{len(values)} arrays of values for {len(claims)} claims, expected one for each, at least 1"
        )
    if any(claim.limit is None for claim in claims):
        raise InvalidInput("a part has delta=None, expected a delta for every part of a joint claim")
    rows = zip(values, claims, sizes, without, strict=True)
    parts = tuple(certify(v, claim, alpha, method, trials=size, excluded=left) for v, claim, size, left in rows)
    level = alpha / max(1, sum(accuses))
    lowers = tuple(_lower(METHODS[method], v, level) if may else 0.0 for v, may in zip(values, accuses, strict=True))
    return JointCertificate(
        parts=parts, alpha=float(alpha), lowers=lowers, accusing=tuple(accuses), state=joint_state(parts, lowers)
    )


def _lower(method: Method, values: npt.ArrayLike, level: float) -> float:
    """The lower bound, never above the mean."""
    array = unit_values(values)
    return min(method.lower(array, level), float(array.mean()))


def joint_state(parts: Sequence[Certificate], lowers: Sequence[float]) -> str:
    """Say `violated` when a part's lower bound exceeds its δ, `certified` when every part is, else `undecided`."""
    clear = [not part.claim.withheld or part.claim.may_violate for part in parts]
    broken = [low > (part.claim.limit or 1.0) for low, part in zip(lowers, parts, strict=True)]
    if any(ok and bad for ok, bad in zip(clear, broken, strict=True)):
        return "violated"
    return "certified" if all(part.state == "certified" for part in parts) else "undecided"


def clustering(values: FloatArray, trials: npt.ArrayLike | None) -> Clustering | None:
    """Design effect of the fractions `values`, each over its number of `trials`; None without trials."""
    if trials is None:
        return None
    sizes = finite(trials, "trials", 1)
    if sizes.shape != values.shape:
        raise InvalidInput(f"{len(sizes)} trials for {len(values)} values, expected one for each")
    violations = values * sizes
    if (np.abs(violations - np.round(violations)) > 1e-6).any():
        i = int(np.argmax(np.abs(violations - np.round(violations))))
        raise InvalidInput(f"values[{i}] * trials[{i}] = {float(violations[i])}, expected a whole number of violations")
    return design_effect(np.round(violations), sizes)
