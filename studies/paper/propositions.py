"""Each proposition and lemma of the paper on random channels, and its counterexample where it does not hold as used.

Every check returns `holds` for the statement as printed, `used` for the use that the paper makes of it where that
differs, the numbers behind it, and one sentence in `says`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.bounds import failure_exponent
from oddshift.leakage.exact import exact_leakage
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.tiered import Tiered
from oddshift.mechanisms.word_channels import Mask
from oddshift.model.prior import Independent, Joint
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from studies.paper.toy_values import toy_channel, toy_prior

TRIALS = 40
"""Random channels of each check."""

Check = Callable[[np.random.Generator], dict[str, Any]]


def random_channel(rng: np.random.Generator, n: int, m: int) -> FloatArray:
    """Rows of probabilities, none below 1e-4."""
    rows = rng.dirichlet(np.ones(m), n) + 1e-4
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def random_joint(rng: np.random.Generator) -> Joint:
    """A random law of two correlated secrets of three values each."""
    table = rng.dirichlet(np.full(9, 0.5)).reshape(3, 3) + 1e-3
    return Joint(table / table.sum())


def single_release(rng: np.random.Generator) -> dict[str, Any]:
    """Proposition: one release has bounded mPL exactly when the mechanism is mDP."""
    gaps = []
    for _ in range(TRIALS):
        rows, far = random_channel(rng, 4, 5), Space(rng.normal(size=(4, 2))).distances
        leak = exact_leakage(Joint(rng.dirichlet(np.ones(4)) * 0.9 + 0.025), [np.log(rows)], far)
        gaps.append(abs(leak.single - true_epsilon(np.log(rows), far)))
    return {"holds": max(gaps) < 1e-9, "largest_gap": max(gaps), "says": "The largest single mPL is the exact mDP ε."}


def independent_secrets(rng: np.random.Generator) -> dict[str, Any]:
    """Proposition: independent secrets leak jointly what each leaks alone; its proof shares one uniform Z."""
    gaps = []
    for _ in range(TRIALS):
        rows, far = [random_channel(rng, 3, 3) for _ in range(2)], Space(rng.normal(size=(3, 2))).distances
        prior = Independent([rng.dirichlet(np.ones(3)) * 0.9 + 0.1 / 3 for _ in range(2)])
        leak = exact_leakage(prior, [np.log(r) for r in rows], far)
        gaps.append(abs(leak.joint - leak.single))
    return {
        "holds": max(gaps) < 1e-9,
        "largest_gap": max(gaps),
        "shared_z_excluded_pairs": shared_uniform(),
        "says": "It holds with a fresh Z for each release. With the one Z that the proof writes, some outputs exclude "
        "a secret altogether, so that the leakage is unbounded.",
    }


def shared_uniform(epsilon: float = 0.5) -> int:
    """How many output pairs that can occur exclude a value of the first of two independent secrets, under one Z."""
    mechanism = Exponential(Space([[0.0], [1.0]]), epsilon)
    edge = np.exp(mechanism.log_matrix)[:, 0]  # y = 0 below it, for each secret
    cuts = np.unique(np.concatenate([[0.0], edge, [1.0]]))
    middles, widths = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    likelihood = np.zeros((2, 2, 2))  # first secret, y1, y2; the second secret is even
    for first in range(2):
        for second in range(2):
            for z, width in zip(middles, widths, strict=True):
                likelihood[first, int(z >= edge[first]), int(z >= edge[second])] += 0.5 * width
    possible = likelihood.sum(axis=0) > 1e-12
    return int((possible & (likelihood.min(axis=0) < 1e-12)).sum())


def post_processing(rng: np.random.Generator) -> dict[str, Any]:
    """Proposition: no function of the releases raises the largest mPL; the violation rate it can raise."""
    raised = []
    for _ in range(TRIALS):
        prior, far = random_joint(rng), Space(rng.normal(size=(3, 2))).distances
        rows, after = [random_channel(rng, 3, 4) for _ in range(2)], random_channel(rng, 4, 3)
        before = exact_leakage(prior, [np.log(r) for r in rows], far).joint
        raised.append(exact_leakage(prior, [np.log(r @ after) for r in rows], far).joint - before)
    example, one = np.array([[0.10, 0.19, 0.71], [0.01, 0.10, 0.89]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    merged = np.stack([example[:, 0] + example[:, 1], example[:, 2]], axis=1)
    plain, joined = (exact_leakage(Joint([0.5, 0.5]), [np.log(r)], one) for r in (example, merged))
    return {
        "holds": max(raised) <= 1e-9,
        "used": joined.rate(float(np.log(2))) <= plain.rate(float(np.log(2))),
        "largest_rise": max(raised),
        "rate_before": plain.rate(float(np.log(2))),
        "rate_after": joined.rate(float(np.log(2))),
        "largest_before": plain.joint,
        "largest_after": joined.joint,
        "says": "It holds for the largest mPL. It does not hold for the violation rate of PBmPL: merging two outputs "
        "lowers the largest mPL and raises the rate.",
    }


def concentration(rng: np.random.Generator) -> dict[str, Any]:
    """Proposition on sampling: 1 − 2exp(−2S(1−ξ)²δ²) needs independent triples; triples of one release are not."""
    observations, pairs, rate, runs = 569, 512 * 511 // 2, 0.088, 4_000
    beyond = rng.random((runs, observations)) < rate  # a release violates for all its pairs or for none
    measured = beyond.mean(axis=1)
    claimed = _error(observations * pairs, rate)
    wrong = float((measured * 1.05 < rate).mean())
    apart = rng.binomial(observations, rate, runs) / observations  # one triple of each release: those are independent
    return {
        "holds": float((apart * 1.05 < rate).mean()) <= _error(observations, rate),
        "used": wrong <= claimed,
        "triples": observations * pairs,
        "observations": observations,
        "claimed_error": claimed,
        "error": wrong,
        "says": "It holds for independent triples. It is applied to triples that share releases: where a release "
        "violates for all of its pairs or for none, the certificate errs far more often than it says.",
    }


def _error(samples: int, rate: float) -> float:
    """The error that the proposition states, at most 1."""
    return float(10 ** -np.clip(failure_exponent(samples, 1.05 * rate, 1 / 1.05), 0.0, 300.0))


def cross_entropy(rng: np.random.Generator) -> dict[str, Any]:
    """Lemma: cross-entropy is conditional entropy plus expected KL; the paper trains by squared error instead."""
    gaps = []
    for _ in range(TRIALS):
        true, learned = random_channel(rng, 6, 4), random_channel(rng, 6, 4)
        weight = rng.dirichlet(np.ones(6))
        loss = -(weight[:, None] * true * np.log(learned)).sum()
        entropy = -(weight[:, None] * true * np.log(true)).sum()
        kl = (weight[:, None] * true * np.log(true / learned)).sum()
        gaps.append(abs(loss - entropy - kl))
    return {"holds": max(gaps) < 1e-12, "largest_gap": max(gaps), "says": "An identity; it holds."}


def lipschitz(rng: np.random.Generator) -> dict[str, Any]:
    """Lemma: |mPL − estimate| ≤ 2/(γ·d)·‖p − q‖₁."""
    shares = []
    for _ in range(TRIALS * 25):
        true, learned = (rng.dirichlet(np.ones(4)) * 0.9 + 0.025 for _ in range(2))
        gamma = min(true.min(), learned.min())
        error = abs(abs(np.log(true[0] / true[1])) - abs(np.log(learned[0] / learned[1])))
        shares.append(error / (2 / gamma * np.abs(true - learned).sum()))
    return {
        "holds": max(shares) <= 1.0,
        "largest_share": max(shares),
        "says": "It holds, with half the constant to spare.",
    }


def faithful_audit(rng: np.random.Generator) -> dict[str, Any]:
    """Proposition: the audit converges. With squared error and a Gaussian softmax of fixed T it converges elsewhere."""
    channel = np.exp(toy_channel())
    law = np.einsum("ab,ay,bz->ayz", np.asarray(toy_prior().table), channel, channel)
    mean = law[1] / law.sum(axis=0)  # the best reconstruction of the first secret, a value in [0, 1]
    exact = np.abs(np.log(mean / (1 - mean)))
    estimate = np.abs(mean**2 - (1 - mean) ** 2)  # at T = 1; at T it is this over T
    best = float((estimate / exact).max()), float((estimate / exact).min())
    leak = exact_leakage(toy_prior(), [toy_channel()] * 2, np.array([[0.0, 1.0], [1.0, 0.0]])).joint
    return {
        "holds": abs(leak - float(exact.max())) < 1e-9,  # the limit of cross-entropy is the posterior itself
        "used": best[0] - best[1] < 1e-9,
        "exact": float(exact.max()),
        "limit_at_t_1": float(estimate.max()),
        "matching_t": list(best),
        "says": "Proved for cross-entropy, used with squared error. On the toy the limit of the paper's estimate is "
        "|2x̂ − 1|/T, which is the exact value for all releases under no single T.",
    }


def masking(rng: np.random.Generator) -> dict[str, Any]:
    """Statement: a placeholder carries no information, so that the posterior is the prior."""
    space = Space([[0.0], [1.0]])
    alone = exact_leakage(Joint([0.5, 0.5]), [Mask(space).log_matrix], space.distances).joint
    joint = exact_leakage(toy_prior(), [Mask(space).log_matrix, toy_channel()], space.distances).joint
    return {
        "holds": alone < 1e-12,
        "used": joint < 1e-12,
        "alone": alone,
        "with_a_correlated_release": joint,
        "says": "It holds for one masked secret alone. Where something correlated is released, that secret leaks.",
    }


def repeated_release(rng: np.random.Generator) -> dict[str, Any]:
    """Statement: no composition theorem is given for repeated releases; one secret released twice shows why."""
    single = exact_leakage(Joint([0.5, 0.5]), [toy_channel()], np.array([[0.0, 1.0], [1.0, 0.0]])).joint
    twice = exact_leakage(
        Joint([[0.5, 0.0], [0.0, 0.5]]), [toy_channel()] * 2, np.array([[0.0, 1.0], [1.0, 0.0]])
    ).joint
    return {
        "holds": True,
        "once": single,
        "twice": twice,
        "says": "The paper claims nothing here. A secret released twice leaks twice, so that the budgets add up.",
    }


def tiers(rng: np.random.Generator) -> dict[str, Any]:
    """Statement: levels with scales α_l protect each level at α_l·ε; between levels nothing bounds the leakage."""
    space, epsilon, scales = Space(rng.normal(size=(60, 5)) * 2), 2.5, (0.4, 0.9)
    labels = (np.arange(60) >= 30).astype(np.int64)
    both = [
        Tiered(space, Tiers(labels, names=("PII", "PoII"), scales=scales, is_public=public), epsilon).exact_epsilon
        for public in (True, False)
    ]
    return {
        "holds": both[0] <= epsilon * max(scales) + 1e-9,
        "used": both[1] <= epsilon * max(scales) + 1e-9,
        "inside_levels": both[0],
        "all_pairs": both[1],
        "budget": epsilon * max(scales),
        "says": "It holds for pairs of one level. For pairs of two levels the exact ε is larger than the budget.",
    }


def hidden_markov(rng: np.random.Generator) -> dict[str, Any]:
    """Commented-out example: transitions as count(w_i, w_j)/count(w_i), which is the chain read backwards."""
    space, exact, printed, rows = Space(rng.normal(size=(3, 2))), [], [], []
    for _ in range(TRIALS):
        chain, first = rng.dirichlet(np.full(3, 0.3), 3) + 1e-3, rng.dirichlet(np.ones(3)) + 1e-2
        joint = (first / first.sum())[:, None] * chain / chain.sum(axis=1, keepdims=True)
        wrong = joint / joint.sum(axis=0)  # P(x_l = i | x_{l-1} = j) as printed: the pair (j, i) over the count of i
        channel = [np.log(random_channel(rng, 3, 4)) for _ in range(2)]
        rows += list(wrong.sum(axis=1))
        exact.append(exact_leakage(Joint(joint), channel, space.distances).joint)
        shared = joint.sum(axis=1)[:, None] * wrong
        printed.append(exact_leakage(Joint(shared / shared.sum()), channel, space.distances).joint)
    return {
        "holds": max(abs(np.array(rows) - 1.0)) < 1e-9,
        "smallest_row": float(min(rows)),
        "largest_row": float(max(rows)),
        "exact": float(np.mean(exact)),
        "printed": float(np.mean(printed)),
        "says": "The count in the denominator is that of the word that follows, so that rows do not add up to 1; with "
        "the count of the word before it is the usual chain. Viterbi gives one sequence, and leakage needs posteriors: "
        "forward-backward gives them at the same cost, on every corpus here.",
    }


PROPOSITIONS: dict[str, Check] = {
    "post-processing": post_processing,
    "single-release": single_release,
    "independent-secrets": independent_secrets,
    "concentration": concentration,
    "faithful-audit": faithful_audit,
    "cross-entropy": cross_entropy,
    "lipschitz": lipschitz,
    "masking": masking,
    "repeated-release": repeated_release,
    "tiers": tiers,
    "hidden-markov": hidden_markov,
}
"""Every check by name: four propositions, two lemmas, and what the paper states without a number."""
