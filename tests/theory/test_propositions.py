"""The paper's propositions and lemmas, and the order of the proven bounds, on random channels and priors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from oddshift import (
    Channel,
    Exponential,
    Independent,
    Joint,
    Markov,
    PathExponential,
    RandomizedResponse,
    Remap,
    Space,
    Tiers,
    Truncated,
    exact_leakage,
    log_posterior,
    mpl,
    true_epsilon,
    upper_bound,
)
from oddshift.mechanisms import path_closure

few = settings(max_examples=25, deadline=None, derandomize=True)
many = settings(max_examples=60, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
sharpness = st.sampled_from([0.3, 1.0, 5.0])


def channel(rng, n, m, alpha=1.0):
    """Random rows, no probability below 1e-5."""
    rows = rng.dirichlet(np.full(m, alpha), n) + 1e-5
    return rows / rows.sum(axis=1, keepdims=True)


def metric(rng, n):
    return Space(rng.normal(size=(n, 2))).distances


def joint(rng, sizes, alpha=0.5):
    table = rng.dirichlet(np.full(int(np.prod(sizes)), alpha)).reshape(sizes) + 1e-4
    return Joint(table / table.sum())


def chain(rng, states, length, alpha=0.5):
    steps = rng.dirichlet(np.full(states, alpha), (length - 1, states)) + 1e-3
    return Markov(rng.dirichlet(np.ones(states)) * 0.9 + 0.1 / states, steps / steps.sum(-1, keepdims=True), length)


def logs(channels):
    return [np.log(c) for c in channels]


# Proposition 2: one release.


@many
@given(seeds, st.integers(2, 5), st.integers(1, 5), sharpness)
def test_the_largest_single_mpl_is_the_smallest_mdp_epsilon(seed, n, m, alpha):
    rng = np.random.default_rng(seed)
    rows, far, prior = channel(rng, n, m, alpha), metric(rng, n), rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n
    epsilon = true_epsilon(np.log(rows), far)
    assert epsilon == pytest.approx(oracles.epsilon(rows, far), rel=1e-9, abs=1e-12)
    leak = exact_leakage(Joint(prior), [np.log(rows)], far)
    assert leak.single == pytest.approx(epsilon, rel=1e-9, abs=1e-12)
    assert leak.joint == pytest.approx(oracles.largest(prior, [rows], far, 0), rel=1e-9, abs=1e-9)


@many
@given(seeds, st.integers(2, 4))
def test_the_prior_cancels(seed, n):
    rng = np.random.default_rng(seed)
    rows, far = channel(rng, n, 3), metric(rng, n)
    for y in range(3):
        leaks = []
        for _ in range(2):
            prior = rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n
            after = prior * rows[:, y]
            leaks.append(mpl(np.log(prior), np.log(after / after.sum()), far))
        assert leaks[0] == pytest.approx(leaks[1], rel=1e-8, abs=1e-9)


# Proposition 3: independent secrets, and how a shared Z breaks its proof.


@few
@given(seeds, st.integers(1, 3), sharpness)
def test_independent_secrets_leak_what_their_own_release_leaks(seed, length, alpha):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, length)
    prior = Independent([rng.dirichlet(np.ones(k)) * 0.9 + 0.1 / k for k in sizes])
    channels = [channel(rng, k, 2, alpha) for k in sizes]
    for target in range(length):
        far = metric(rng, sizes[target])
        truth = oracles.largest(oracles.table_of(prior), channels, far, target)
        single = oracles.epsilon(channels[target], far)
        assert truth == pytest.approx(single, rel=1e-8)
        for same in (prior, Joint(prior.joint_table())):
            leak = exact_leakage(same, logs(channels), far, target)
            assert leak.single == pytest.approx(single, rel=1e-9)
            assert leak.joint == pytest.approx(single, rel=1e-8)


def law_under_one_uniform(mechanism, length):
    """Pr[y | x] for all secrets and outputs when every position uses the SAME z: lengths of common intervals."""
    edges = np.unique(np.concatenate([[0.0], np.cumsum(np.exp(mechanism.log_matrix), axis=1).ravel().clip(0, 1)]))
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    n = len(mechanism.space)
    drawn = np.array([mechanism.invert(np.full(len(middles), x), middles) for x in range(n)])
    law = {}
    for secrets in np.ndindex(*[n] * length):
        for k, width in enumerate(widths):
            outputs = tuple(int(drawn[x, k]) for x in secrets)
            law[secrets, outputs] = law.get((secrets, outputs), 0.0) + width
    return law


def test_a_shared_uniform_leaks_without_bound_even_for_independent_secrets():
    space, epsilon = Space([[0.0], [1.0]]), 0.5
    mechanism = Exponential(space, epsilon)
    law = law_under_one_uniform(mechanism, 2)
    prior = np.array([0.5, 0.5])

    def likelihood(x, y, shared):
        if shared:
            return sum(prior[other] * law.get(((x, other), y), 0.0) for other in range(2))
        own = np.exp(mechanism.log_matrix)
        return own[x, y[0]] * (prior @ own[:, y[1]])

    shifts = dict.fromkeys((True, False), 0.0)
    for shared in shifts:
        for y in np.ndindex(2, 2):
            after = np.array([likelihood(x, y, shared) for x in range(2)])
            if after.sum() > 1e-12:
                shifts[shared] = max(shifts[shared], oracles.mpl(prior, after / after.sum(), space.distances).max())
    assert shifts[False] <= epsilon
    assert shifts[True] == np.inf  # y = (0, 1) cannot come from x = 0: one z would have to fall on both sides


# Proposition 1: post-processing.


@few
@given(seeds, sharpness)
def test_a_stochastic_function_of_the_outputs_cannot_raise_the_largest_mpl(seed, alpha):
    rng = np.random.default_rng(seed)
    sizes = (int(rng.integers(2, 4)), int(rng.integers(2, 4)))
    prior, far = joint(rng, sizes), metric(rng, sizes[0])
    channels = [channel(rng, k, 3, alpha) for k in sizes]
    after = [c @ channel(rng, 3, int(rng.integers(1, 4)), 0.5) for c in channels]
    for target, apart in ((0, far), (1, metric(rng, sizes[1]))):
        before = exact_leakage(prior, logs(channels), apart, target)
        processed = exact_leakage(prior, logs(after), apart, target)
        assert before.joint == pytest.approx(oracles.largest(prior.table, channels, apart, target), rel=1e-8)
        assert processed.joint == pytest.approx(oracles.largest(prior.table, after, apart, target), rel=1e-8, abs=1e-9)
        assert processed.joint <= before.joint * (1 + 1e-9) + 1e-9
        assert processed.single <= before.single * (1 + 1e-9) + 1e-9


@few
@given(seeds)
def test_a_function_of_the_whole_release_cannot_either(seed):
    rng = np.random.default_rng(seed)
    prior, far = joint(rng, (3, 2)), metric(rng, 3)
    channels = [channel(rng, 3, 2), channel(rng, 2, 2)]
    given_first = np.einsum("ab,ay,bz->ayz", prior.table, *channels).reshape(3, 4) / prior.marginals[0][:, None]
    mixed = given_first @ channel(rng, 4, 3, 0.5)
    assert true_epsilon(np.log(mixed), far) <= exact_leakage(prior, logs(channels), far).joint * (1 + 1e-9)


def test_the_rate_can_grow_where_the_maximum_shrinks():
    rows = np.array([[0.10, 0.19, 0.71], [0.01, 0.10, 0.89]])
    merged = np.array([[0.29, 0.71], [0.11, 0.89]])
    far, prior = [[0, 1], [1, 0]], Joint([0.5, 0.5])
    before, after = exact_leakage(prior, [np.log(rows)], far), exact_leakage(prior, [np.log(merged)], far)
    assert (before.joint, after.joint) == (pytest.approx(2.30, abs=5e-3), pytest.approx(0.97, abs=5e-3))
    assert before.rate(np.log(2.0)) == pytest.approx(0.055)
    assert after.rate(np.log(2.0)) == pytest.approx(0.20)


@few
@given(seeds, st.sampled_from(["cosine", "euclidean"]), st.sampled_from([0.3, 2.0, 8.0]))
def test_remapping_never_raises_the_exact_epsilon(seed, cost, epsilon):
    rng = np.random.default_rng(seed)
    space = Space(rng.normal(size=(6, 3)))
    inner = Exponential(space, epsilon)
    remap = Remap(inner, rng.dirichlet(np.ones(6)), cost)
    assert remap.exact_epsilon <= inner.exact_epsilon * (1 + 1e-9) + 1e-12
    assert remap.exact_epsilon == pytest.approx(oracles.log_epsilon(remap.log_matrix, space.distances), abs=1e-12)
    rows = np.exp(inner.log_matrix)
    expected = np.stack([rows[:, remap.destination == z].sum(axis=1) for z in range(6)], axis=1)
    assert np.exp(remap.log_matrix) == pytest.approx(expected, abs=1e-12)


# The two lemmas of the appendix.


@many
@given(seeds, st.integers(2, 5), st.integers(2, 5))
def test_cross_entropy_is_entropy_plus_expected_divergence(seed, n, m):
    rng = np.random.default_rng(seed)
    prior, rows, guess = rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n, channel(rng, n, m), channel(rng, m, n)
    loss = entropy = divergence = 0.0
    for y in range(m):
        p = np.exp(log_posterior(Joint(prior), [np.log(rows)], (y,))[0])
        weight = sum(prior[x] * rows[x, y] for x in range(n))
        loss -= sum(prior[x] * rows[x, y] * np.log(guess[y, x]) for x in range(n))
        entropy -= weight * sum(p * np.log(p))
        divergence += weight * sum(p * np.log(p / guess[y]))
    assert loss == pytest.approx(entropy + divergence, rel=1e-9)
    assert divergence >= -1e-12


@many
@given(seeds, st.integers(2, 5))
def test_mpl_is_lipschitz_in_the_posterior(seed, n):
    rng = np.random.default_rng(seed)
    gamma, far, prior = 0.02, metric(rng, n), rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n
    p, q = (gamma + (1 - n * gamma) * rng.dirichlet(np.full(n, 0.5)) for _ in range(2))
    gap = np.abs(mpl(np.log(prior), np.log(p), far) - mpl(np.log(prior), np.log(q), far))
    nearest = far[far > 0].min()
    assert gap.max() <= 2 / (gamma * nearest) * np.abs(p - q).sum() + 1e-9
    divergence = (p * np.log(p / q)).sum()
    assert gap.max() <= 2 * np.sqrt(2) / (gamma * nearest) * np.sqrt(max(divergence, 0.0)) + 1e-6


# Mechanisms.


@few
@given(seeds, st.integers(1, 12), st.sampled_from([0.01, 1.0, 30.0]))
def test_the_closed_form_of_the_exponential_mechanism_is_the_kernel(seed, n, epsilon):
    rng = np.random.default_rng(seed)
    space = Space(rng.normal(size=(n, 2)))
    more = Space(np.vstack([rng.normal(size=(5, 2)), space.points]))
    for mechanism in (
        Exponential(space, epsilon),
        Exponential(space, epsilon, more),
        Truncated(space, epsilon, 0.7),
        Truncated(space, epsilon, 0.7, more),
    ):
        kernel = true_epsilon(mechanism.log_matrix, space.distances)
        assert mechanism.exact_epsilon == pytest.approx(kernel, rel=1e-9, abs=1e-12)
        assert mechanism.exact_epsilon == pytest.approx(
            oracles.log_epsilon(mechanism.log_matrix, space.distances), rel=1e-9, abs=1e-12
        )
        assert mechanism.exact_epsilon <= epsilon * (1 + 1e-9)


@few
@given(seeds, st.integers(2, 14), st.integers(1, 4), st.booleans())
def test_the_path_metric_keeps_its_claim_between_all_pairs(seed, n, tiers, is_public):
    rng = np.random.default_rng(seed)
    space, epsilon = Space(rng.normal(size=(n, 2))), 3.0
    labels, scales = rng.integers(-1, tiers, n), np.sort(rng.uniform(0.05, 1.5, tiers))
    named = Tiers(labels, names=tuple("abcd"[:tiers]), scales=tuple(scales), is_public=is_public)
    mechanism = PathExponential(space, named, epsilon)
    scale = named.scale_of_points
    rates = (scale[:, None] + scale[None, :]) / 2
    closure = oracles.shortest_paths(rates * space.distances)
    assert path_closure(space.distances, scale) == pytest.approx(closure, rel=1e-12, abs=1e-12)
    for a in range(n):
        for b in range(n):
            ratio = np.abs(mechanism.log_matrix[a] - mechanism.log_matrix[b]).max()
            assert ratio <= epsilon * closure[a, b] + 1e-9
            assert closure[a, b] <= rates[a, b] * space.distances[a, b] + 1e-12
    assert mechanism.exact_epsilon == pytest.approx(
        oracles.log_epsilon(mechanism.log_matrix, space.distances), rel=1e-9, abs=1e-12
    )
    assert mechanism.exact_epsilon <= mechanism.claimed_epsilon * (1 + 1e-9)


def test_randomized_response_is_the_exponential_mechanism_at_twice_epsilon():
    discrete = Space.from_distances(1.0 - np.eye(5))
    response = RandomizedResponse(discrete, 0.9)
    assert response.log_matrix == pytest.approx(Exponential(discrete, 1.8).log_matrix, abs=1e-12)
    assert response.exact_epsilon == pytest.approx(0.9)


# Exact inference and the proven bounds.


@few
@given(seeds, st.integers(2, 3), st.integers(1, 4), sharpness)
def test_forward_backward_is_enumeration(seed, states, length, alpha):
    rng = np.random.default_rng(seed)
    prior = chain(rng, states, length, alpha)
    table = oracles.table_of(prior)
    channels = [channel(rng, states, 2, alpha) for _ in range(length)]
    outputs = tuple(int(y) for y in rng.integers(0, 2, length))
    fast, slow = (log_posterior(p, logs(channels), outputs) for p in (prior, Joint(table / table.sum())))
    for t in range(length):
        truth = oracles.posterior(table, channels, outputs, t)
        assert np.exp(fast[t]) == pytest.approx(truth, rel=1e-9)
        assert np.exp(slow[t]) == pytest.approx(truth, rel=1e-9)


@few
@given(seeds, st.integers(2, 3), st.integers(1, 4))
def test_the_leakage_of_a_chain_is_that_of_its_table(seed, states, length):
    rng = np.random.default_rng(seed)
    prior, far = chain(rng, states, length), metric(rng, states)
    channels = [channel(rng, states, 2) for _ in range(length)]
    table, target = oracles.table_of(prior), int(rng.integers(length))
    leaks = [exact_leakage(p, logs(channels), far, target) for p in (prior, Joint(table / table.sum()))]
    truth = oracles.largest(table, channels, far, target)
    budget = truth * rng.uniform(0.05, 0.95)
    for leak in leaks:
        assert leak.joint == pytest.approx(truth, rel=1e-8)
        assert leak.single == pytest.approx(oracles.epsilon(channels[target], far), rel=1e-8)
        (a, b), outputs = leak.witness
        after = oracles.posterior(table, channels, outputs, target)
        before = oracles.marginal(table, target)
        assert oracles.mpl(before, after, far)[a, b] == pytest.approx(truth, rel=1e-8)
        for law in ("uniform", "anchored", "worst"):
            expected = oracles.rate(table, channels, far, target, budget, law)
            assert leak.rate(budget, law) == pytest.approx(expected, abs=1e-9)
    assert leaks[0].rate(truth * (1 + 1e-9)) == 0.0


@few
@given(seeds, st.integers(2, 3), st.integers(2, 3), sharpness)
def test_the_order_of_the_proven_bounds(seed, states, length, alpha):
    rng = np.random.default_rng(seed)
    prior, far = chain(rng, states, length, alpha), metric(rng, states)
    channels = [channel(rng, states, 3, alpha) for _ in range(length)]
    target = int(rng.integers(length))
    exact = oracles.largest(oracles.table_of(prior), channels, far, target)
    methods = ("lp", "coupling", "w_infinity", "diameter", "tv", "prior", "hmm")
    bound = {m: upper_bound(prior, logs(channels), far, target, m) for m in methods}
    rounding = 1e-9 * (1 + exact)
    assert min(bound.values()) >= exact - rounding
    assert bound["lp"] <= bound["coupling"] + 1e-6 * (1 + exact)
    assert bound["coupling"] <= bound["w_infinity"] + rounding
    assert bound["w_infinity"] <= bound["diameter"] + rounding
    as_table = Joint(prior.joint_table())
    for method in methods[:-1]:
        same = upper_bound(as_table, logs(channels), far, target, method)
        assert same >= exact - rounding
        assert same >= bound[method] - 1e-6 * (1 + exact)  # a chain may say more about its own context


@few
@given(seeds, sharpness)
def test_bounds_hold_for_any_joint_table(seed, alpha):
    rng = np.random.default_rng(seed)
    sizes = tuple(int(k) for k in rng.integers(2, 4, 3))
    prior, target = joint(rng, sizes, alpha), int(rng.integers(3))
    far = metric(rng, sizes[target])
    channels = [channel(rng, k, int(rng.integers(1, 4)), alpha) for k in sizes]
    exact = oracles.largest(prior.table, channels, far, target)
    for method in ("lp", "coupling", "w_infinity", "diameter", "tv", "prior"):
        assert upper_bound(prior, logs(channels), far, target, method) >= exact * (1 - 1e-9) - 1e-12


def test_any_channel_is_a_mechanism():
    rows = channel(np.random.default_rng(0), 4, 3)
    space = Space(np.random.default_rng(1).normal(size=(4, 2)))
    assert Channel(space, np.log(rows)).exact_epsilon == pytest.approx(oracles.epsilon(rows, space.distances))
