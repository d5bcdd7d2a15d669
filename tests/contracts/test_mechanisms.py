"""Every registered mechanism keeps the same promises; a new one only adds its line to EXAMPLES."""

import numpy as np
import pytest

import oracles
from oddshift import Space, Tiers
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log
from oddshift.mechanisms import MECHANISMS

RNG = np.random.default_rng(2024)
CLOUD = Space(RNG.normal(size=(9, 3)))
LINE = Space(1.5 * np.arange(9.0)[:, None])
PUBLIC = Tiers([0, 0, 0, 0, 1, 1, 1, -1, -1], names=("PII", "PoII"), scales=(0.4, 0.9), is_public=True)
SECRET = Tiers(PUBLIC.labels, names=PUBLIC.names, scales=PUBLIC.scales, is_public=False)
WORDS = ("an", "at", "cat", "car", "care", "a", "tea", "eat", "hat")


def cloud_channel(space):
    rows = np.random.default_rng(5).dirichlet(np.ones(6), len(space))
    return MECHANISMS["channel"](space, log(np.insert(rows, 3, 0.0, axis=1)))


EXAMPLES = {
    "channel": lambda new: cloud_channel(CLOUD),
    "deletion": lambda new: new(CLOUD, 0.3),
    "exponential": lambda new: new(CLOUD, 1.3),
    "geometric": lambda new: new(LINE, 0.4),
    "mask": lambda new: new(CLOUD),
    "noise_character": lambda new: new(CLOUD, WORDS, 0.4, "abct"),
    "optimal": lambda new: new(LINE, 0.8, np.full(9, 1 / 9), "euclidean"),
    "path": lambda new: new(CLOUD, SECRET, 2.0),
    "projected_laplace": lambda new: new(LINE, 0.7),
    "randomized_response": lambda new: new(CLOUD, 1.1),
    "substitution": lambda new: new(CLOUD, 0.6, 3),
    "tiered": lambda new: new(CLOUD, PUBLIC, 2.0),
    "tem": lambda new: new(CLOUD, 2.0, 2.5),
    "truncated": lambda new: new(CLOUD, 2.0, 1.5),
}

VARIANTS = {
    "exponential, other outputs": lambda: MECHANISMS["exponential"](CLOUD, 1.3, Space(RNG.normal(size=(14, 3)))),
    "exponential, more outputs": lambda: MECHANISMS["exponential"](
        CLOUD, 1.3, Space(np.vstack([np.random.default_rng(1).normal(size=(4, 3)), CLOUD.points]))
    ),
    "exponential, precomputed": lambda: MECHANISMS["exponential"](Space.from_distances(1.0 - np.eye(5)), 1.8),
    "tiered, secret": lambda: MECHANISMS["tiered"](CLOUD, SECRET, 2.0),
    "tiered, keeps tier": lambda: MECHANISMS["tiered"](CLOUD, PUBLIC, 2.0, keeps_tier=True),
    "exponential, weighted": lambda: MECHANISMS["exponential"](CLOUD, 1.3, weights=np.arange(9.0)),
    "tiered, other outputs": lambda: MECHANISMS["tiered"](CLOUD, PUBLIC, 2.0, Space(RNG.normal(size=(14, 3)))),
    "truncated, other outputs": lambda: MECHANISMS["truncated"](CLOUD, 2.0, 1.5, Space(RNG.normal(size=(14, 3)))),
    "deletion of everything": lambda: MECHANISMS["deletion"](CLOUD, 1.0),
    "one point": lambda: MECHANISMS["exponential"](Space([[2.0]]), 1.0),
}

MADE = {name: EXAMPLES[name](new) for name, new in MECHANISMS.items() if name in EXAMPLES}
MADE |= {name: make() for name, make in VARIANTS.items()}
everyone = pytest.mark.parametrize("mechanism", MADE.values(), ids=MADE.keys())


def groups(mechanism):
    """The pairs that count, said independently of the library: pairs of one tier when tiers are public."""
    tiers = getattr(mechanism, "tiers", None)
    if tiers is None or not tiers.is_public or type(mechanism).__name__ == "PathExponential":
        return [range(len(mechanism.space))]
    return [np.flatnonzero(tiers.labels == label) for label in np.unique(tiers.labels)]


def test_every_registered_mechanism_has_an_example():
    assert set(MECHANISMS) == set(EXAMPLES)


def test_every_entry_is_final_and_named_once():
    once = [kind for name, kind in MECHANISMS.items() if name != "tem"]
    assert len(set(once)) == len(once)
    assert MECHANISMS["tem"] is MECHANISMS["truncated"], "the same mechanism with the radius of its paper"
    assert not any(a in b.__mro__[1:] for a in MECHANISMS.values() for b in MECHANISMS.values())


@everyone
def test_rows_are_probabilities(mechanism):
    matrix = mechanism.log_matrix
    assert matrix.shape == (len(mechanism.space), mechanism.n_outputs)
    assert matrix.dtype == np.float64
    assert not np.isnan(matrix).any()
    assert matrix.max() <= 1e-12
    assert np.exp(matrix).sum(axis=1) == pytest.approx(np.ones(len(matrix)), abs=1e-12)
    assert mechanism.outputs is None or len(mechanism.outputs) == mechanism.n_outputs


@everyone
def test_the_claim_holds_for_every_pair_that_counts(mechanism):
    claim, matrix, far = mechanism.claimed_epsilon, mechanism.log_matrix, mechanism.space.distances
    if np.isinf(claim):
        return
    for group in groups(mechanism):
        for a in group:
            for b in group:
                possible = np.isfinite(matrix[a]) | np.isfinite(matrix[b])
                assert np.abs(matrix[a, possible] - matrix[b, possible]).max() <= claim * far[a, b] + 1e-9


@everyone
def test_exact_epsilon_is_the_largest_ratio(mechanism):
    expected = oracles.log_epsilon(mechanism.log_matrix, mechanism.space.distances, groups(mechanism))
    assert mechanism.exact_epsilon == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert mechanism.exact_epsilon <= mechanism.claimed_epsilon * (1 + 1e-9)


@everyone
def test_blocks_of_rows_are_the_rows_of_the_matrix(mechanism):
    n = len(mechanism.space)
    for index in (np.array([n - 1]), np.arange(n)[::-1], np.array([0, 0, n // 2])):
        assert mechanism.log_likelihood(index) == pytest.approx(mechanism.log_matrix[index], rel=1e-12)


@everyone
def test_invert_is_the_papers_function(mechanism):
    rng = np.random.default_rng(11)
    probabilities = np.exp(mechanism.log_matrix)
    for point in (0, len(probabilities) - 1):
        row = probabilities[point]
        z = np.concatenate([[0.0, 1 - 2.0**-53], rng.random(60)])
        edges = np.cumsum(row) / row.sum()
        z = z[np.abs(z[:, None] - edges[None, :]).min(axis=1) > 1e-14]  # an edge itself is known to rounding only
        expected = [oracles.inverse(row, u) for u in z]
        assert mechanism.invert(np.full(len(z), point), z).tolist() == expected


def test_intervals_are_half_open():
    quarters = MECHANISMS["channel"](Space([[0.0]]), [[np.log(0.25), -np.inf, np.log(0.5), np.log(0.25), -np.inf]])
    z = [0.0, 0.25 - 2.0**-54, 0.25, 0.5, 0.75 - 2.0**-53, 0.75, 1 - 2.0**-53]
    assert quarters.invert([0] * 7, z).tolist() == [0, 0, 2, 2, 2, 3, 3]


@everyone
def test_the_same_seed_draws_the_same(mechanism):
    index = np.random.default_rng(0).integers(0, len(mechanism.space), 200)
    first = mechanism.sample(index, np.random.default_rng(42))
    assert first.dtype == np.int64
    assert first.tolist() == mechanism.sample(index, np.random.default_rng(42)).tolist()
    assert first.tolist() == mechanism.sampler().sample(index, np.random.default_rng(42)).tolist()
    assert first.tolist() == mechanism.invert(index, np.random.default_rng(42).random(200)).tolist()


@everyone
def test_sampled_frequencies_match(mechanism):
    from scipy.stats import chi2

    n, draws = len(mechanism.space), 1_000_000
    index = np.repeat(np.arange(n), draws // n)
    outputs = mechanism.sample(index, np.random.default_rng(99))
    probabilities = np.exp(mechanism.log_matrix)
    statistic, freedom = 0.0, 0
    for point in range(n):
        seen = np.bincount(outputs[index == point], minlength=mechanism.n_outputs)
        assert not seen[np.isneginf(mechanism.log_matrix[point])].any(), "an impossible output was drawn"
        expected = probabilities[point] * (draws // n)
        order = np.argsort(expected)
        small = order[np.cumsum(expected[order]) < 20]  # merged into the next cell
        cells = np.setdiff1d(order, small)
        hit, mean = seen[cells].astype(float), expected[cells].copy()
        hit[np.argmin(mean)] += seen[small].sum()
        mean[np.argmin(mean)] += expected[small].sum()
        statistic += ((hit - mean) ** 2 / mean).sum()
        freedom += len(cells) - 1
    assert freedom == 0 or chi2.sf(statistic, freedom) > 1e-4


@everyone
def test_edges_of_the_uniform_never_reach_impossible_outputs(mechanism):
    n = len(mechanism.space)
    for z in (0.0, 0.5, 1 - 2.0**-53):
        outputs = mechanism.invert(np.arange(n), np.full(n, z))
        assert np.isfinite(mechanism.log_matrix[np.arange(n), outputs]).all()


@pytest.mark.parametrize("name", EXAMPLES)
def test_block_sizes_never_change_a_result(name, monkeypatch):
    from oddshift.base import arrays

    whole = MADE[name]
    index, seed = np.random.default_rng(0).integers(0, 9, 100), 5
    before = whole.log_matrix, whole.exact_epsilon, whole.sample(index, np.random.default_rng(seed))
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", 7)
    cut = EXAMPLES[name](MECHANISMS[name])
    assert cut.log_matrix == pytest.approx(before[0], rel=1e-12)
    assert cut.exact_epsilon == pytest.approx(before[1], rel=1e-12)
    assert cut.sample(index, np.random.default_rng(seed)).tolist() == before[2].tolist()


@everyone
def test_nothing_in_nothing_out(mechanism):
    assert mechanism.sample([], np.random.default_rng(0)).tolist() == []


@everyone
def test_bad_calls(mechanism):
    n = len(mechanism.space)
    for index, z, message in (
        ([n], [0.5], rf"index has {n}, expected integers in \[0, {n}\)"),
        ([-1], [0.5], "index has -1"),
        ([0.5], [0.5], "expected 1 axis of integers"),
        ([0], [1.0], r"expected uniforms in \[0, 1\)"),
        ([0], [-0.1], r"expected uniforms in \[0, 1\)"),
        ([0], [np.nan], "z has NaN"),
        ([0], [0.5, 0.5], "z has 2 uniforms, expected 1, one for each point"),
    ):
        with pytest.raises(InvalidInput, match=message) as caught:
            mechanism.invert(index, z)
        assert "\n" not in str(caught.value)


@everyone
def test_repr_shows_no_point_and_no_word(mechanism):
    text = repr(mechanism)
    assert "\n" not in text
    assert len(text) < 300
    assert not any(f"{x:.4f}"[:-1] in text for x in CLOUD.points.ravel())
    assert not any(f"'{word}'" in text for word in WORDS)


@everyone
def test_resolution_is_stated(mechanism):
    assert mechanism.resolution == mechanism.n_outputs * 2.0**-53


def wide(scale):
    return Space(scale * np.array([[0.0, 0.0], [1e-6, 0.0], [0.3, 0.4], [1.0, 0.0]]))


WIDE = {
    "exponential": lambda new, s, e: new(wide(s), e),
    "geometric": lambda new, s, e: new(Space(s * np.arange(4.0)[:, None] / 3), e),
    "path": lambda new, s, e: new(wide(s), Tiers([0, 1, 1, 0], names="ab", scales=(0.4, 1.0), is_public=False), e),
    "randomized_response": lambda new, s, e: new(wide(s), e),
    "tiered": lambda new, s, e: new(wide(s), Tiers([0, 1, 1, 0], names="ab", scales=(0.4, 1.0), is_public=True), e),
    "tem": lambda new, s, e: new(wide(s), e, 0.25 * s),
    "truncated": lambda new, s, e: new(wide(s), e, 0.5 * s),
}


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e3])
def test_finite_and_normalised_over_twelve_orders_of_magnitude(name, scale, epsilon):
    mechanism = WIDE[name](MECHANISMS[name], scale, epsilon)
    matrix = mechanism.log_matrix
    assert np.isfinite(matrix).all()
    assert np.exp(matrix).sum(axis=1) == pytest.approx(np.ones(4), abs=1e-12)
    far = mechanism.space.distances
    rounding = 4e-15 / far[far > 0].min()  # a log ratio is known to about 1e-15, whatever ε·d is
    expected = oracles.log_epsilon(matrix, far, groups(mechanism))
    assert mechanism.exact_epsilon == pytest.approx(expected, rel=1e-6, abs=rounding)
    assert mechanism.exact_epsilon <= mechanism.claimed_epsilon * (1 + 1e-9) + rounding
    outputs = mechanism.sample(np.repeat(np.arange(4), 50), np.random.default_rng(1))
    assert outputs.min() >= 0
    assert outputs.max() < mechanism.n_outputs


@everyone
def test_averages_and_the_law_of_outputs_are_those_of_the_matrix(mechanism):
    matrix, rng = np.exp(mechanism.log_matrix), np.random.default_rng(3)
    values, law = rng.normal(size=(mechanism.n_outputs, 2)), rng.dirichlet(np.ones(len(mechanism.space)))
    np.testing.assert_allclose(mechanism.averages(values), matrix @ values, atol=1e-12)
    np.testing.assert_allclose(mechanism.law_of_outputs(law), law @ matrix, atol=1e-12)


@everyone
def test_columns_are_the_transposed_matrix(mechanism):
    outputs = np.arange(mechanism.n_outputs)[::-1]
    np.testing.assert_allclose(mechanism.log_columns(outputs), mechanism.log_matrix.T[outputs], rtol=1e-12)
    with pytest.raises(InvalidInput, match="outputs has -1"):
        mechanism.log_columns([-1])
