"""The optimal mechanism against a dense solver, against its guarantee, and against known optima.

Pairs that stand for all pairs: their paths against the dilation that they claim.


Channels that are nearly private, made private: against the constraints themselves, and against what it costs.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput, TooLarge
from oddshift.mechanisms import optimal
from oddshift.mechanisms.channel import Geometric
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.interior_point import Solution
from oddshift.mechanisms.optimal import Optimal, greedy_spanner, made_private, not_implied, sparsest_needed
from oddshift.model.space import Space


def _grid(side):
    return Space([[i, j] for i in range(side) for j in range(side)])


def _uniform(space):
    return np.full(len(space), 1.0 / len(space))


def _dense_optimum(distances, epsilon, objective):
    """The program with every constraint at once."""
    from scipy.optimize import linprog

    n, m = objective.shape
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    inequality = np.zeros((len(pairs) * m, n * m))
    for k, (a, b) in enumerate(pairs):
        for y in range(m):
            inequality[k * m + y, a * m + y] = np.exp(-epsilon * distances[a, b])
            inequality[k * m + y, b * m + y] = -1.0
    rows = np.kron(np.eye(n), np.ones(m))
    right = np.zeros(len(inequality)) if pairs else None
    result = linprog(objective.ravel(), inequality if pairs else None, right, rows, np.ones(n), method="highs")
    assert result.status == 0
    return result.fun


@st.composite
def _problems(draw):
    n, m = draw(st.integers(2, 5)), draw(st.integers(1, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    space = Space(rng.normal(size=(n, 2)) * draw(st.sampled_from([0.3, 1.0, 3.0])))
    prior = rng.dirichlet(np.ones(n)) * 0.98 + 0.02 / n
    return space, draw(st.sampled_from([0.1, 0.7, 2.0])), prior, rng.uniform(-1.0, 2.0, size=(n, m))


@given(_problems())
@settings(max_examples=60, deadline=None)
def test_reaches_the_optimum_of_the_dense_program_within_its_own_gap(problem):
    space, epsilon, prior, costs = problem
    outputs = Space(np.arange(costs.shape[1])[:, None].astype(float))
    best = Optimal(space, epsilon, prior, costs, outputs=outputs)
    optimum = _dense_optimum(space.distances, epsilon, prior[:, None] * costs)
    assert best.lower_bound <= optimum + 1e-6  # the dense solver is feasible to 1e-7 only
    assert best.loss >= optimum - 1e-9
    assert best.gap <= 1e-5
    assert true_epsilon(best.log_matrix, space.distances) <= epsilon
    assert np.exp(best.log_matrix).sum(axis=1) == pytest.approx(1.0, abs=1e-12)


@given(_problems(), st.sampled_from([1.0, 1.2, 2.0, 5.0]))
@settings(max_examples=30, deadline=None)
def test_a_spanner_stays_private_for_all_pairs_and_its_bound_stays_valid(problem, dilation):
    space, epsilon, prior, costs = problem
    outputs = Space(np.arange(costs.shape[1])[:, None].astype(float))
    best = Optimal(space, epsilon, prior, costs, outputs=outputs, spanner=dilation)
    optimum = _dense_optimum(space.distances, epsilon, prior[:, None] * costs)
    assert best.lower_bound - 1e-6 <= optimum <= best.loss + 1e-9
    assert best.exact_epsilon <= epsilon


def test_a_precomputed_metric_with_a_cost_table():
    rng = np.random.default_rng(3)
    distances = rng.uniform(1.0, 2.0, size=(6, 6))
    distances = np.triu(distances, 1) + np.triu(distances, 1).T
    space, costs = Space.from_distances(distances), rng.random((6, 6))
    best = Optimal(space, 0.8, _uniform(space), costs)
    assert best.loss == pytest.approx(_dense_optimum(distances, 0.8, costs / 6), abs=1e-7)


def test_the_geometric_mechanism_is_optimal_on_two_points():
    line = Space([[0.0], [1.0]])
    best = Optimal(line, 1.3, [0.5, 0.5], "euclidean")
    assert best.log_matrix == pytest.approx(Geometric(line, 1.3).log_matrix, abs=1e-6)
    assert best.loss == pytest.approx(1.0 / (1.0 + np.exp(1.3)), abs=1e-8)


def test_a_five_by_five_grid_beats_the_exponential_mechanism():
    space = _grid(5)
    best = Optimal(space, 1.0, _uniform(space), "euclidean")
    em = Exponential(space, 1.0)
    assert best.loss < (np.exp(em.log_matrix) * space.distances).sum() / 25
    assert best.exact_epsilon <= 1.0
    assert best.relative_gap < 1e-6
    assert Optimal(space, 1.0, _uniform(space), "euclidean", spanner=1.5).loss >= best.loss - 1e-9


def test_the_known_optimum_of_the_eight_by_eight_grid():
    space = _grid(8)
    best = Optimal(space, 1.0, _uniform(space), "euclidean")
    assert best.loss == pytest.approx(1.44967, abs=5e-6)
    assert best.relative_gap < 1e-6
    assert best.exact_epsilon <= 1.0


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 30.0, 1e3])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_extreme_budgets_and_distances_stay_feasible_and_finite(epsilon, size):
    space = Space(np.array([[0.0], [1.0], [2.5], [4.0]]) * size)
    best = Optimal(space, epsilon, [0.1, 0.2, 0.3, 0.4], "euclidean")
    assert np.isfinite(best.log_matrix).all()
    assert best.exact_epsilon <= epsilon
    assert best.lower_bound <= best.loss
    assert best.gap <= 1e-4 * size


def test_one_point_takes_its_cheapest_output():
    best = Optimal(Space([[0.0]]), 1.0, [1.0], np.array([[3.0, 1.0, 2.0]]), outputs=Space([[0.0], [1.0], [2.0]]))
    assert best.loss == pytest.approx(1.0, abs=1e-6)
    assert best.exact_epsilon == 0.0


def test_equal_costs_have_no_gap():
    space = _grid(2)
    best = Optimal(space, 1.0, _uniform(space), np.full((4, 4), 2.0))
    assert best.loss == pytest.approx(2.0)
    assert best.gap == pytest.approx(0.0, abs=1e-8)


def test_the_loss_is_that_of_the_table_and_every_output_is_possible():
    space = Space([[0.0], [1.0], [3.0]])
    prior = np.array([0.2, 0.5, 0.3])
    best = Optimal(space, 0.9, prior, "euclidean")
    assert best.loss == pytest.approx((prior[:, None] * np.exp(best.log_matrix) * space.distances).sum())
    assert np.isfinite(best.log_matrix).all()
    assert not best.log_matrix.flags.writeable
    assert best.sample([0, 1, 2], np.random.default_rng(0)).shape == (3,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0.0}, "epsilon=0.0"),
        ({"epsilon": np.nan}, "epsilon=nan"),
        ({"prior": [0.5, 0.5]}, "prior has 2 entries, expected 3"),
        ({"prior": [0.5, 0.5, 0.0]}, "point 2 probability 0"),
        ({"prior": [0.5, 0.2, 0.2]}, "sums to 0.9"),
        ({"cost": "cosines"}, "cost='cosines'"),
        ({"cost": np.ones((2, 3))}, "shape"),
        ({"cost": np.full((3, 3), np.inf)}, "finite"),
        ({"spanner": 0.5}, "spanner=0.5"),
        ({"spanner": np.nan}, "spanner=nan"),
    ],
)
def test_bad_input_is_refused_with_its_value(change, message):
    arguments = {"epsilon": 1.0, "prior": [0.2, 0.3, 0.5], "cost": "euclidean", "spanner": None} | change
    with pytest.raises(InvalidInput, match=message):
        Optimal(
            Space([[0.0], [1.0], [2.0]]),
            arguments["epsilon"],
            arguments["prior"],
            arguments["cost"],
            spanner=arguments["spanner"],
        )


def test_a_large_program_is_refused_and_says_what_would_work():
    space = Space(np.arange(401.0)[:, None])
    with pytest.raises(TooLarge, match="fewer outputs"):
        Optimal(space, 1.0, _uniform(space), "euclidean")


def test_a_careless_solution_is_repaired_and_its_gap_shows_it(monkeypatch):
    line = Space([[0.0], [1.0], [2.0]])
    exact = optimal.cheapest_channel

    def careless(costs, ratios, tolerance):
        channel, multipliers = exact(costs, ratios, tolerance)
        return Solution(channel + np.array([[0.0, 0.0, 1e-3], [-1e-3, 0.0, 0.0], [0.0, 0.0, 0.0]]), 0.9 * multipliers)

    monkeypatch.setattr(optimal, "cheapest_channel", careless)
    best = Optimal(line, 1.0, [0.25, 0.5, 0.25], "euclidean")
    optimum = _dense_optimum(line.distances, 1.0, np.array([0.25, 0.5, 0.25])[:, None] * line.distances)
    assert best.exact_epsilon <= 1.0
    assert best.gap > 1e-4
    assert best.lower_bound < optimum < best.loss


def test_few_rows_give_a_wider_gap_that_still_holds_the_optimum(monkeypatch):
    space, prior = _grid(5), _uniform(_grid(5))
    exact = Optimal(space, 1.0, prior, "euclidean")
    monkeypatch.setattr(optimal, "_ROWS", 25 * 200)  # all pairs that others do not imply are 376
    few = Optimal(space, 1.0, prior, "euclidean")
    assert few.lower_bound < exact.lower_bound <= exact.loss < few.loss
    assert few.exact_epsilon <= 1.0
    assert few.relative_gap < 0.1


@pytest.mark.parametrize("prior", ["skewed", "uniform"])
def test_a_grid_of_scattered_points_under_any_prior_has_a_small_proven_gap(prior):
    rng = np.random.default_rng(8)
    space = Space(4.0 * rng.random((30, 2)))
    weights = rng.dirichlet(np.full(30, 0.5)) * 0.99 + 0.01 / 30 if prior == "skewed" else _uniform(space)
    best = Optimal(space, 1.0, weights, "euclidean")
    assert best.relative_gap < 1e-6
    assert best.exact_epsilon <= 1.0


def longest_detour(edges, distances):
    """The largest ratio between the shortest path along the edges (Floyd-Warshall) and the distance."""
    ways = np.where(edges, distances, np.inf)
    np.fill_diagonal(ways, 0.0)
    for stop in range(len(ways)):
        ways = np.minimum(ways, ways[:, stop, None] + ways[None, stop, :])
    apart = ~np.eye(len(ways), dtype=bool)
    return (ways[apart] / distances[apart]).max()


DISTANCES = Space(np.random.default_rng(0).random((30, 2))).distances
GRID = Space([[i, j] for i in range(6) for j in range(6)]).distances


def test_a_greedy_spanner_has_the_dilation_it_says():
    edges, stretch = greedy_spanner(DISTANCES, 1.4)
    assert longest_detour(edges, DISTANCES) == pytest.approx(stretch)
    assert stretch <= 1.4
    assert edges.sum() < 30 * 29 / 2


def test_a_spanner_that_reaches_its_limit_says_that_it_spans_nothing():
    assert greedy_spanner(DISTANCES, 1.4, limit=10).stretch == np.inf


def test_pairs_that_others_do_not_imply_keep_every_distance():
    edges = not_implied(GRID)
    assert longest_detour(edges, GRID) == pytest.approx(1.0, abs=1e-12)
    assert not edges[0, 2]  # the point between them lies on the way
    assert edges[0, 1]


@pytest.mark.parametrize("limit", [10_000, 400, 200, 80])
def test_the_finest_spanner_within_a_limit(limit):
    edges, stretch = sparsest_needed(GRID, limit)
    assert edges.sum() <= limit or stretch == 1.0
    assert (edges == edges.T).all()
    assert longest_detour(edges, GRID) == pytest.approx(stretch)


def test_fewer_edges_stretch_further_and_a_limit_below_a_tree_gives_a_tree():
    stretches = [sparsest_needed(GRID, limit).stretch for limit in (10_000, 400, 200)]
    assert stretches == sorted(stretches)
    assert stretches[0] == 1.0 < stretches[1]
    assert sparsest_needed(GRID, 4).edges.sum() == 2 * 35


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 0.3, 1.0, 40.0, 900.0]))
@settings(max_examples=40, deadline=None)
def test_any_rows_become_a_private_channel(seed, epsilon):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7, size=2)
    space = Space(rng.normal(size=(n, 2)))
    table = made_private(rng.dirichlet(np.ones(m), n), np.full(n, 1.0 / n), space.distances, epsilon)
    assert np.isfinite(table).all()
    assert np.exp(table).sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert true_epsilon(table, space.distances) <= epsilon


@pytest.mark.parametrize("error", [0.0, 1e-9, 1e-6, 1e-3])
def test_a_private_channel_moves_no_more_than_its_error(error):
    rng = np.random.default_rng(4)
    space = Space(rng.normal(size=(20, 2)))
    prior = np.full(20, 0.05)
    rows = np.exp(Exponential(space, 1.0).log_matrix)
    broken = rows * (1.0 + error * rng.uniform(-1.0, 1.0, rows.shape))
    epsilon = Exponential(space, 1.0).exact_epsilon
    table = made_private(broken / broken.sum(axis=1, keepdims=True), prior, space.distances, epsilon)
    moved = np.abs(np.exp(table) - rows).sum(axis=1).max()
    nearest = np.where(np.eye(20, dtype=bool), np.inf, space.distances).min()
    assert moved <= 10.0 * error / (1.0 - np.exp(-epsilon * nearest)) + 1e-9


def test_outputs_that_no_point_releases_stay_possible_from_all_of_them():
    table = made_private(
        np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0
    )
    assert np.isfinite(table).all()
    assert np.exp(table[:, 1]).max() < 1e-9


def test_negative_entries_count_as_nothing():
    table = made_private(
        np.array([[1.1, -0.1], [0.5, 0.5]]), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0
    )
    assert true_epsilon(table, [[0.0, 1.0], [1.0, 0.0]]) <= 1.0


def test_it_fills_up_until_the_exact_epsilon_agrees(monkeypatch):
    found = []

    def strict(table, distances):
        found.append(true_epsilon(table, distances))
        return found[-1] + 0.5  # as if rounding had cost half of the budget

    monkeypatch.setattr(optimal, "true_epsilon", strict)
    made_private(np.eye(2), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0)
    assert len(found) > 2
    assert found[-1] <= 0.5
