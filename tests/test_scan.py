"""The scan of an attacker against the truth: every number of it by loops over pairs, straight from the definitions."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest

from oddshift.attackers.attacker import Beliefs
from oddshift.attackers.controls import Null, Own
from oddshift.audit.beliefs import TierBeliefs, tier_beliefs
from oddshift.audit.scan import BINS, HISTOGRAM_SPAN, Budget, scan, scores
from oddshift.base.errors import InvalidInput
from oddshift.model.tiers import Tiers
from worlds import ring, two_tiers

EPSILON = 0.8
WORDS = 8


@dataclass(frozen=True, eq=False)
class Made:
    """Shifts and priors that were drawn beforehand, given in blocks that mix tiers and documents."""

    shift: np.ndarray
    log_prior: np.ndarray
    name: str = "made"
    with_context: bool = True

    def beliefs(self, release):
        order = np.random.default_rng(5).permutation(len(release.outputs))
        for start in range(0, len(order), 50):
            part = order[start : start + 50]
            yield Beliefs(part, self.shift[part], self.log_prior[part])


@pytest.fixture(scope="module", params=["one tier", "public tiers", "secret tiers"])
def case(request):
    tiers = {"one tier": None, "public tiers": two_tiers(), "secret tiers": two_tiers(is_public=False)}[request.param]
    world = ring(length=None, documents=40, tiers=tiers)
    rng, size = np.random.default_rng(3), (len(world.release.outputs), WORDS)
    attacker = Made(rng.normal(size=size), np.log(rng.dirichlet(np.ones(WORDS), size[0])))
    budget = Budget(world.known.mechanism, world.known.tiers, EPSILON)
    return world, attacker, budget


def candidates_of(world, position):
    """The points that a position may hold for all the attacker knows."""
    tiers = world.known.tiers
    if not tiers.is_public:
        return list(range(WORDS))
    return [x for x in range(WORDS) if tiers.labels[x] == tiers.labels[world.secrets.points[position]]]


def leakage(world, attacker, position, a, b):
    distance = np.linalg.norm(world.known.mechanism.space.points[a] - world.known.mechanism.space.points[b])
    return abs(attacker.shift[position, a] - attacker.shift[position, b]) / distance


def posterior(world, weights, position):
    """Shares of the candidates, in the order of their points."""
    inside = np.exp(weights[candidates_of(world, position)])
    return dict(zip(candidates_of(world, position), inside / inside.sum(), strict=True))


def test_the_anchored_rate_counts_pairs_that_hold_the_truth(case):
    world, attacker, budget = case
    found = scan(attacker, world.release, world.secrets, budget, np.random.default_rng(0))
    for position, truth in enumerate(world.secrets.points):
        others = [x for x in candidates_of(world, position) if x != truth]
        leaks = [leakage(world, attacker, position, truth, x) for x in others]
        assert found.anchored[position] == pytest.approx(np.mean([leak > EPSILON for leak in leaks]))
        assert found.details.largest[position] == pytest.approx(max(leaks))
        assert found.details.mean[position] == pytest.approx(np.mean(leaks))


def test_log_scores_and_ranks_are_those_of_bayes_rule(case):
    world, attacker, budget = case
    found = scan(attacker, world.release, world.secrets, budget, np.random.default_rng(0))
    columns = world.known.mechanism.log_columns(world.release.outputs)
    for position, truth in enumerate(world.secrets.points):
        after = posterior(world, attacker.log_prior[position] + attacker.shift[position], position)
        alone = posterior(world, attacker.log_prior[position] + columns[position], position)
        assert found.scores.log_score[position] == pytest.approx(-np.log(after[truth]))
        assert found.scores.own_score[position] == pytest.approx(-np.log(alone[truth]))
        assert found.rank[position] == sum(share > after[truth] for share in after.values())
        assert found.hit[position] == (after[truth] == max(after.values()))
    again = scores(attacker, world.release, world.secrets, budget)
    np.testing.assert_array_equal(again.log_score, found.scores.log_score)
    np.testing.assert_array_equal(again.own_score, found.scores.own_score)


def test_a_release_that_says_nothing_leaves_the_first_guess_as_it_was(case):
    world, attacker, budget = case
    flat = np.zeros_like(attacker.shift)
    found = scan(Made(flat, flat), world.release, world.secrets, budget, np.random.default_rng(0))
    np.testing.assert_array_equal(found.rank, 0)
    expected = [1.0 / len(candidates_of(world, position)) for position in range(len(flat))]
    np.testing.assert_allclose(found.hit, expected)
    np.testing.assert_array_equal(found.hit, found.prior_hit)


class Turning:
    """Takes the place of random numbers: every draw is the same, so that all of them can be tried in turn."""

    def __init__(self, draw):
        self.draw = draw

    def integers(self, low, high, size):
        assert low <= self.draw < high
        return np.full(size, self.draw)


def test_the_uniform_rate_is_unbiased_over_all_its_draws(case):
    world, attacker, budget = case
    sizes = {len(candidates_of(world, position)) for position in range(len(world.secrets.points))}
    (n,) = sizes
    drawn = [
        scan(attacker, world.release, world.secrets, budget, Turning(k), laws=("uniform",), detailed=False).rate(
            "uniform"
        )
        for k in range(1, n)
    ]
    expected = [
        np.mean([leakage(world, attacker, p, a, b) > EPSILON for a, b in permutations(candidates_of(world, p), 2)])
        for p in range(len(world.secrets.points))
    ]
    np.testing.assert_allclose(np.mean(drawn, axis=0), expected, atol=1e-12)


def test_the_histogram_counts_every_compared_pair_in_its_bin(case):
    world, attacker, budget = case
    found = scan(attacker, world.release, world.secrets, budget, np.random.default_rng(0)).details.histogram
    tier_of, width = world.secrets.tier_of_position(world.known.tiers), HISTOGRAM_SPAN * EPSILON / BINS
    expected = np.zeros((len(world.known.tiers), BINS + 1))
    pairs = np.zeros(len(world.known.tiers))
    for position, truth in enumerate(world.secrets.points):
        for other in candidates_of(world, position):
            if other != truth:
                leak = leakage(world, attacker, position, truth, other)
                expected[tier_of[position], min(BINS, int(leak / width))] += 1
                pairs[tier_of[position]] += 1
    assert np.abs(found[0] - expected).sum() <= 2  # a leak on an edge may fall to either side
    np.testing.assert_array_equal(found[0].sum(axis=1), pairs)
    np.testing.assert_array_equal(found[1].sum(axis=1), pairs)  # as many are compared under the uniform law


def test_pairs_across_tiers_are_counted_only_where_tiers_are_secret(case):
    world, attacker, budget = case
    across = scan(attacker, world.release, world.secrets, budget, np.random.default_rng(0)).details.across[:, 0]
    labels = world.known.tiers.labels
    for position, truth in enumerate(world.secrets.points):
        inside = candidates_of(world, position)
        beyond = [
            x for x in inside
            if x != truth and labels[x] != labels[truth] and leakage(world, attacker, position, truth, x) > EPSILON
        ]  # fmt: skip
        assert across[position] == pytest.approx(len(beyond) / (len(inside) - 1))
    assert across.any() == (not world.known.tiers.is_public)


def test_the_first_guess_before_any_release_is_the_likeliest_candidate(case):
    world, attacker, budget = case
    found = scan(attacker, world.release, world.secrets, budget, np.random.default_rng(0)).prior_hit
    for position, truth in enumerate(world.secrets.points):
        before = posterior(world, attacker.log_prior[position], position)
        assert found[position] == (before[truth] == max(before.values()))


def test_a_diagnostic_rate_is_measured_against_the_scaled_budget():
    tiers = Tiers(np.arange(WORDS) // 4, names=("PII", "PoII"), scales=(0.25, 1.0), is_public=True)
    world = ring(length=3, documents=20, tiers=tiers)
    attacker = Made(np.random.default_rng(1).normal(size=(360, WORDS)), np.zeros((360, WORDS)))
    found = scan(
        attacker, world.release, world.secrets, Budget(world.known.mechanism, tiers, EPSILON), np.random.default_rng(0)
    )
    scale = np.array([0.25, 1.0])[tiers.labels[world.secrets.points]]
    for position, truth in enumerate(world.secrets.points):
        others = [x for x in candidates_of(world, position) if x != truth]
        beyond = [leakage(world, attacker, position, truth, x) > scale[position] * EPSILON for x in others]
        assert found.details.diagnostic[position] == pytest.approx(np.mean(beyond))


def test_only_what_was_asked_for_is_there(case):
    world, attacker, budget = case
    plain = scan(
        attacker, world.release, world.secrets, budget, np.random.default_rng(0), laws=("anchored",), detailed=False
    )
    assert plain.uniform is None
    with pytest.raises(InvalidInput, match="law='uniform' was not scanned"):
        plain.rate("uniform")
    with pytest.raises(InvalidInput, match="law='worst' was not scanned"):
        plain.rate("worst")
    with pytest.raises(InvalidInput, match="the scan has no detail"):
        _ = plain.details


def test_beliefs_are_joined_with_the_truth_of_their_own_position(case):
    world, attacker, _ = case
    seen = []
    for block in tier_beliefs(attacker, world.release, world.secrets, world.known.tiers):
        np.testing.assert_array_equal(block.index[block.truth], world.secrets.points[block.positions])
        np.testing.assert_array_equal(block.shift, attacker.shift[np.ix_(block.positions, block.index)])
        seen.extend(block.positions)
    assert sorted(seen) == list(range(len(world.secrets.points)))


def block_of(prior, truth):
    """Beliefs about one position with this prior and no release."""
    rows = np.array([prior], dtype=np.float64)
    return TierBeliefs(np.array([0]), 0, np.arange(len(prior)), np.zeros_like(rows), rows, np.array([truth]))


@pytest.mark.parametrize(
    ("prior", "truth", "hit"),
    [
        ([0.0, 0.0, 0.0, 0.0], 2, 0.25),
        ([1.0, 0.0, 0.0], 0, 1.0),
        ([1.0, 0.0, 0.0], 1, 0.0),
        ([1.0, 1.0, 0.0], 1, 0.5),
        ([-np.inf, 0.0], 0, 0.0),
    ],
)
def test_equally_likely_candidates_share_a_guess(prior, truth, hit):
    assert block_of(prior, truth).prior_hit[0] == hit


def test_an_impossible_value_leaks_but_two_of_them_do_not_differ():
    world = ring(length=1, documents=20)
    shift = np.zeros((120, WORDS))
    shift[:, 4:] = -np.inf
    found = scan(Made(shift, np.zeros((120, WORDS))), world.release, world.secrets,
                 Budget(world.known.mechanism, world.known.tiers, EPSILON), np.random.default_rng(0))  # fmt: skip
    np.testing.assert_allclose(found.anchored, 4 / 7)  # each possible value against the four impossible ones
    low = world.secrets.points < 4
    assert found.scores.log_score[low] == pytest.approx(np.log(4))
    assert (found.scores.log_score[~low] > 1e20).all()


@dataclass(frozen=True, eq=False)
class Wrong:
    """Breaks one promise of an attacker."""

    way: str
    name: str = "wrong"
    with_context: bool = False

    def beliefs(self, release):
        n = len(release.outputs)
        positions = np.arange(n - 1 if self.way == "left out" else n)
        shift = np.zeros((len(positions), WORDS - 1 if self.way == "shape" else WORDS))
        shift[0, 0] = {"nan": np.nan, "infinite": np.inf}.get(self.way, 0.0)
        prior = np.full(WORDS, np.nan if self.way == "prior" else 0.0)
        yield Beliefs(positions, shift, prior)


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("shape", r"attacker wrong gave shifts of shape \(\d+, 7\), expected \(\d+, 8\)"),
        ("nan", "attacker wrong gave NaN or infinite beliefs"),
        ("infinite", "attacker wrong gave NaN or infinite beliefs"),
        ("prior", "attacker wrong gave NaN or infinite beliefs"),
        ("left out", "attacker wrong left out positions"),
    ],
)
@pytest.mark.parametrize("measure", [scan, scores])
def test_an_attacker_that_breaks_its_promise_is_named(way, said, measure):
    world = ring(length=2, documents=20)
    budget = Budget(world.known.mechanism, world.known.tiers, EPSILON)
    more = (np.random.default_rng(0),) if measure is scan else ()
    with pytest.raises(InvalidInput, match=said):
        measure(Wrong(way), world.release, world.secrets, budget, *more)


def test_a_tier_of_one_point_has_nothing_to_compare():
    tiers = Tiers([0] + [1] * (WORDS - 1), names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
    world = ring(length=4, documents=40, tiers=tiers)
    found = scan(Own(world.known), world.release, world.secrets, Budget(world.known.mechanism, tiers, 1e-6),
                 np.random.default_rng(0))  # fmt: skip
    alone = world.secrets.tier_of_position(tiers) == 0
    assert alone.any()
    for rates in (found.anchored[alone], found.uniform[alone], found.details.histogram[:, 0]):
        assert not rates.any()
    assert found.anchored[~alone].all()
    assert (found.hit[alone] == 1.0).all()  # it is known before any release


def test_a_control_that_ignores_the_release_leaks_nothing():
    world = ring(length=3, documents=30)
    budget = Budget(world.known.mechanism, world.known.tiers, 1e-9)
    found = scan(Null(world.known), world.release, world.secrets, budget, np.random.default_rng(0))
    assert not found.anchored.any()
    assert not found.uniform.any()
    assert not found.details.largest.any()


def test_one_release_never_exceeds_its_exact_epsilon():
    world = ring(length=3, documents=30)
    exact = world.known.mechanism.exact_epsilon
    budget = Budget(world.known.mechanism, world.known.tiers, exact)
    found = scan(Own(world.known), world.release, world.secrets, budget, np.random.default_rng(0))
    assert not found.anchored.any()
    assert found.details.largest.max() <= exact * (1 + 1e-9)
