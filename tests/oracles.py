"""Slow, obvious versions of what the library computes: loops over every case, straight from the definitions."""

import itertools
import math

import numpy as np


def table_of(prior):
    """Pr[x_1..x_L] as an array with one axis for each position, from the prior's own parts only."""
    if hasattr(prior, "table"):
        return np.array(prior.table)
    sizes = prior.sizes
    table = np.zeros(sizes)
    for secrets in np.ndindex(*sizes):
        if hasattr(prior, "initial"):
            weight = prior.initial[secrets[0]]
            for t in range(1, len(secrets)):
                weight *= prior.transitions[t - 1][secrets[t - 1], secrets[t]]
        else:
            weight = math.prod(prior.marginals[t][x] for t, x in enumerate(secrets))
        table[secrets] = weight
    return table


def joint_with(table, channels, outputs, target):
    """Pr[X_target = x, y = outputs] for every x, by summing over all secrets."""
    result = np.zeros(table.shape[target])
    for secrets in np.ndindex(*table.shape):
        weight = table[secrets]
        for t, (x, y) in enumerate(zip(secrets, outputs, strict=True)):
            weight *= channels[t][x, y]
        result[secrets[target]] += weight
    return result


def posterior(table, channels, outputs, target):
    joint = joint_with(table, channels, outputs, target)
    return joint / joint.sum()


def marginal(table, target):
    return table.sum(axis=tuple(t for t in range(table.ndim) if t != target))


def shift(before_a, before_b, after_a, after_b):
    """|ln (after_a/after_b) − ln (before_a/before_b)| with the conventions of mPL for excluded values."""
    if after_a == 0 and after_b == 0:
        return 0.0
    if after_a == 0 or after_b == 0:
        return math.inf
    return abs(math.log(after_a) - math.log(after_b) - math.log(before_a) + math.log(before_b))


def mpl(before, after, distances):
    n = len(before)
    result = np.zeros((n, n))
    for a, b in itertools.permutations(range(n), 2):
        result[a, b] = shift(before[a], before[b], after[a], after[b]) / distances[a][b]
    return result


def observations(channels):
    return itertools.product(*(range(c.shape[1]) for c in channels))


def largest(table, channels, distances, target):
    """The largest mPL over all pairs and all outputs that can occur."""
    worst, before = 0.0, marginal(table, target)
    for outputs in observations(channels):
        joint = joint_with(table, channels, outputs, target)
        if joint.sum() > 0:
            worst = max(worst, mpl(before, joint / joint.sum(), distances).max())
    return worst


def rate(table, channels, distances, target, epsilon, law):
    """Pr[mPL > ε] with the pair from its law and the outputs from theirs."""
    before = marginal(table, target)
    n, total = len(before), 0.0
    for outputs in observations(channels):
        joint = joint_with(table, channels, outputs, target)
        if joint.sum() == 0:
            continue
        beyond = mpl(before, joint / joint.sum(), distances) > epsilon + 1e-10
        if law == "uniform":
            total += joint.sum() * beyond.sum() / (n * (n - 1))
        elif law == "anchored":
            total += sum(joint[x] * beyond[x].sum() / (n - 1) for x in range(n))
        else:
            total += joint.sum() * beyond.any()
    return total


def epsilon(matrix, distances, groups=None):
    """The largest |log ratio|/d of a matrix of probabilities, over pairs inside a group."""
    worst = 0.0
    for group in groups or [range(len(matrix))]:
        for a, b in itertools.combinations(group, 2):
            for y in range(matrix.shape[1]):
                p, q = matrix[a, y], matrix[b, y]
                if p == q:
                    continue
                if p == 0 or q == 0 or distances[a][b] == 0:
                    return math.inf
                worst = max(worst, abs(math.log(p) - math.log(q)) / distances[a][b])
    return worst


def log_epsilon(log_matrix, distances, groups=None):
    """As `epsilon`, from logarithms, where probabilities are out of the range of floats."""
    worst = 0.0
    for group in groups or [range(len(log_matrix))]:
        for a, b in itertools.combinations(group, 2):
            for p, q in zip(log_matrix[a], log_matrix[b], strict=True):
                if p != q:
                    worst = max(worst, abs(p - q) / distances[a][b] if math.isfinite(p - q) else math.inf)
    return worst


def shortest_paths(weights):
    """Floyd-Warshall, three loops."""
    ways, n = np.array(weights, dtype=float), len(weights)
    for middle in range(n):
        for a in range(n):
            for b in range(n):
                ways[a, b] = min(ways[a, b], ways[a, middle] + ways[middle, b])
    return ways


def remap_costs(matrix, prior, costs):
    """Expected cost of releasing each output after each draw, (drawn, released), by loops."""
    n, m = matrix.shape
    result = np.zeros((m, costs.shape[1]))
    for y in range(m):
        weights = [prior[x] * matrix[x, y] for x in range(n)]
        for z in range(costs.shape[1]):
            result[y, z] = sum(weights[x] * costs[x, z] for x in range(n)) / sum(weights)
    return result


def path(table, channels, outputs):
    """The weight of the best joint value of all secrets, and that value."""
    weights = {
        secrets: table[secrets] * math.prod(channels[t][x, outputs[t]] for t, x in enumerate(secrets))
        for secrets in np.ndindex(*table.shape)
    }
    return max(weights.values()), weights


def lipschitz_ratio(p, q, spread):
    """max ln Σ p·g / Σ q·g over g(x) ≤ exp(spread[x, x'])·g(x'): the primal linear programme itself."""
    from scipy.optimize import linprog

    n = len(p)
    rows = []
    for a, b in itertools.permutations(range(n), 2):
        row = np.zeros(n)
        row[a], row[b] = math.exp(-spread[a, b]), -1.0
        rows.append(row)
    solved = linprog(-p, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=q[None, :], b_eq=[1.0], method="highs")
    return math.inf if solved.status == 3 else math.log(-solved.fun)


def w_infinity(p, q, spread):
    """The smallest w for which a coupling within distance w exists: one feasibility programme for each level."""
    from scipy.optimize import linprog

    n, m = len(p), len(q)
    sums = np.zeros((n + m, n * m))
    for a in range(n):
        for b in range(m):
            sums[a, a * m + b] = sums[n + b, a * m + b] = 1.0
    for level in sorted(set(spread.ravel())):
        caps = [(0, None) if spread[a, b] <= level else (0, 0) for a in range(n) for b in range(m)]
        solved = linprog(np.zeros(n * m), A_eq=sums, b_eq=np.concatenate([p, q]), bounds=caps, method="highs")
        if solved.status == 0:
            return float(level)
    return math.inf


def soft_coupling(p, q, spread):
    """ln min over couplings of max_x' Σ_x γ(x, x')·exp(spread)/q(x'), as a dense programme."""
    from scipy.optimize import linprog

    n, m = len(p), len(q)
    sums, caps = np.zeros((n + m, n * m + 1)), np.zeros((m, n * m + 1))
    for a in range(n):
        for b in range(m):
            sums[a, a * m + b] = sums[n + b, a * m + b] = 1.0
            caps[b, a * m + b] = math.exp(spread[a, b]) / q[b]
    caps[:, -1] = -1.0
    objective = np.zeros(n * m + 1)
    objective[-1] = 1.0
    solved = linprog(objective, A_ub=caps, b_ub=np.zeros(m), A_eq=sums, b_eq=np.concatenate([p, q]), method="highs")
    return math.log(solved.fun)


def inverse(row, z):
    """The paper's M~: the k whose interval [F_{k−1}, F_k) holds z, with the sums in exact arithmetic."""
    from fractions import Fraction

    weights = [Fraction(float(p)) for p in row]
    total, reached = sum(weights), Fraction(0)
    for k, weight in enumerate(weights):
        reached += weight / total
        if Fraction(float(z)) < reached:
            return k
    raise AssertionError("z is not below 1")


def law_of_cherries(cherries, points):
    """Pr[x_1..x_L] of places that each depend on earlier ones, as a full table: the product for every document."""
    table = np.zeros((points,) * len(cherries))
    for secrets in np.ndindex(*table.shape):
        table[secrets] = math.prod(c.law[(*(secrets[p] for p in c.parents), secrets[c.place])] for c in cherries)
    return table
