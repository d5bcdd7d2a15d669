"""Proven upper bounds on joint leakage: they need a model of the dependence, and no attacker.

For every output, ln P(y|a)/P(y|b) ≤ d_l(a, b) + Φ(a, b): what the own release can say, and at most Φ from the context.
d_t(x, x') = max_y ln M_t(y|x)/M_t(y|x') is the exact privacy metric of position t, d_⊕ its sum over the context, and
P_a the law of the context given X_l = a. Every number found by a solver is turned into a bound by weak duality or by
a feasible coupling, never read off the solver, and is rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, one_of, whole
from oddshift.base.errors import InvalidInput, TooLarge
from oddshift.base.logarithms import log
from oddshift.leakage.exact import check_matrices
from oddshift.leakage.mpl import separated
from oddshift.leakage.transport import bottleneck, log_lipschitz_ratio, soft_coupling
from oddshift.mechanisms.epsilon import check_distances, log_ratios, per_distance
from oddshift.model.prior import Independent, Markov, Prior

CONTEXT_LIMIT = 256
"""Largest number of joint values of the context for couplings and the linear programme."""

_TINY = 1e-290  # stands above every likelihood that underflowed
_OVER = 1e-13  # nats
_UP = 1.0 + 1e-12  # a bound may be too large by rounding, never too small


@dataclass(frozen=True, eq=False)
class _Model:
    """A checked model, split at its target."""

    prior: Prior
    ratios: list[FloatArray]
    matrices: list[FloatArray]
    target: int

    @property
    def others(self) -> list[int]:
        """The positions of the context."""
        return [t for t in range(len(self.ratios)) if t != self.target]

    @property
    def diameter(self) -> float:
        """Σ over the context of max d_t."""
        return float(sum(self.ratios[t].max() for t in self.others))


def upper_bound(
    prior: Prior,
    log_matrices: Sequence[npt.ArrayLike],
    distances: npt.ArrayLike,
    target: int = 0,
    method: str = "lp",
) -> float:
    """Return a proven upper bound on the joint mPL about X_target.

    `diameter` needs no prior; `tv` and `prior` use only how far apart the context's laws are; `w_infinity`,
    `coupling` and `lp` weigh both (lp is the tightest, on small contexts); `hmm` is for Markov priors of any length.

    **Guarantee**: at least the exact joint leakage, under the stated prior. Order: exact ≤ lp ≤ coupling ≤
    w_infinity ≤ diameter; tv and prior are valid but not ordered against the couplings.

    >>> from oddshift.model.prior import Joint
    >>> em = np.log([[0.72, 0.28], [0.28, 0.72]])
    >>> round(upper_bound(Joint([[0.01, 0.49], [0.49, 0.01]]), [em, em], [[0, 1], [1, 0]]), 6)
    1.845681
    """
    one_of(method, "method", list(METHODS))
    matrices = check_matrices(prior, log_matrices)
    whole(target, "target", 0, len(matrices) - 1)
    spaced = separated(check_distances(distances, prior.sizes[target]))
    model = _Model(prior, [log_ratios(m) for m in matrices], matrices, target)
    context = METHODS[method](model) if model.others else np.zeros(spaced.shape)
    np.fill_diagonal(context, 0.0)  # a value does not differ from itself, even where the bound is infinite
    if model.others:
        context += _OVER  # the exact leakage, a longer sum of logarithms, may round up to more than 0
    return float(per_distance(model.ratios[target] + context, spaced).max()) * _UP


def _diameter(model: _Model) -> FloatArray:
    size = model.prior.sizes[model.target]
    return np.full((size, size), model.diameter)


def _tv(model: _Model) -> FloatArray:
    """ln(1 + η(e^r − 1)), η = TV(P_a, P_b), r the diameter: move only the mass that differs, each by at most r."""
    laws = _decisive_context(model)
    spread_of_laws = 0.5 * np.abs(laws[:, None, :] - laws[None, :, :]).sum(axis=2) * _UP
    r = model.diameter
    if np.isinf(r):
        return np.where(spread_of_laws > 0, np.inf, 0.0)
    return np.logaddexp(log(1.0 - np.minimum(spread_of_laws, 1.0)), log(spread_of_laws) + r)


def _prior_only(model: _Model) -> FloatArray:
    """D_∞(P_a‖P_b): even seeing the context itself would reveal no more."""
    return log_ratios(log(_decisive_context(model)))


def _w_infinity(model: _Model) -> FloatArray:
    return _pairwise(model, bottleneck)


def _coupling(model: _Model) -> FloatArray:
    return _pairwise(model, lambda p, q, d: min(soft_coupling(p, q, d), bottleneck(p, q, d)))


def _lp(model: _Model) -> FloatArray:
    return _pairwise(model, log_lipschitz_ratio)


def _hmm(model: _Model) -> FloatArray:
    """Λ(a, b) = max_y max over β within the next Λ of ln Σ T(a,i)M(y|i)β_i / Σ T(b,i)M(y|i)β_i, on both sides."""
    prior = model.prior
    if isinstance(prior, Independent):
        return np.zeros((prior.sizes[model.target],) * 2)
    if not isinstance(prior, Markov):
        raise InvalidInput(f"method='hmm' with {prior!r}, expected a Markov or Independent prior")
    left = [(t, prior.backward[t]) for t in range(model.target)]
    right = [(t, prior.transitions[t - 1]) for t in range(len(model.matrices) - 1, model.target, -1)]
    return _messages(model, left) + _messages(model, right)


def _messages(model: _Model, order: list[tuple[int, FloatArray]]) -> FloatArray:
    """The largest log ratio of a message towards the target, from the far end inwards."""
    size = model.prior.sizes[model.target]
    spread = np.zeros((size, size))
    for t, kernel in order:
        after = np.zeros((size, size))
        for a, b in _ordered(size):
            after[a, b] = max(
                log_lipschitz_ratio(kernel[a] * above, kernel[b] * below, spread) for below, above in _seen(model, t)
            )
        spread = after
    return spread


def _seen(model: _Model, t: int) -> list[tuple[FloatArray, FloatArray]]:
    """For every output its likelihood rescaled to a peak of 1, below and above what underflow may have cost."""
    columns = model.matrices[t].T
    peaks = columns.max(axis=1, keepdims=True)
    rescaled = np.exp(columns - np.where(np.isneginf(peaks), 0.0, peaks))
    return list(zip(rescaled, np.where(np.isneginf(columns), 0.0, np.maximum(rescaled, _TINY)), strict=True))


METHODS: dict[str, Callable[[_Model], FloatArray]] = {
    "diameter": _diameter,
    "tv": _tv,
    "prior": _prior_only,
    "w_infinity": _w_infinity,
    "coupling": _coupling,
    "lp": _lp,
    "hmm": _hmm,
}


def _decisive_context(model: _Model) -> FloatArray:
    """P_a over the part of the context that depends on X_target, (K, values): for a chain, its two neighbours."""
    prior, target = model.prior, model.target
    if isinstance(prior, Markov):
        laws = np.ones((prior.sizes[target], 1))
        if target > 0:
            laws = (laws[:, :, None] * prior.backward[target - 1][:, None, :]).reshape(len(laws), -1)
        if target < len(prior.sizes) - 1:
            laws = (laws[:, :, None] * prior.transitions[target][:, None, :]).reshape(len(laws), -1)
        return laws
    if isinstance(prior, Independent):
        return np.ones((prior.sizes[target], 1))
    return _context_law(prior, target)


def _context_law(prior: Prior, target: int) -> FloatArray:
    table = np.moveaxis(prior.joint_table(), target, 0)
    rows = table.reshape(len(table), -1)
    return rows / rows.sum(axis=1, keepdims=True)


def _pairwise(model: _Model, bound: Callable[[FloatArray, FloatArray, FloatArray], float]) -> FloatArray:
    """Φ(a, b) for every ordered pair, from the laws of the whole context and d_⊕ between its values."""
    if isinstance(model.prior, Independent):
        return np.zeros((model.prior.sizes[model.target],) * 2)
    values = float(np.prod([model.prior.sizes[t] for t in model.others], dtype=np.float64))
    if values > CONTEXT_LIMIT:
        raise TooLarge(
            f"the context has {values:.3g} joint values, expected at most {CONTEXT_LIMIT} for couplings and lp; "
            "method='hmm' (Markov), 'tv', 'prior' or 'diameter' would work"
        )
    laws = _context_law(model.prior, model.target)
    spread = np.zeros((1, 1))
    for t in model.others:
        both = spread[:, None, :, None] + model.ratios[t][None, :, None, :]
        spread = both.reshape(len(spread) * len(model.ratios[t]), -1)
    result = np.zeros((len(laws), len(laws)))
    for a, b in _ordered(len(laws)):
        result[a, b] = min(bound(laws[a], laws[b], spread), model.diameter)  # the slack of a matching may exceed it
    return result


def _ordered(size: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(size) for b in range(size) if a != b]
