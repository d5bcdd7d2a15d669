"""The crossing: close to the boundary of the goals, as good as a full grid, with few points however many tiers."""

from itertools import combinations_with_replacement
from types import SimpleNamespace

import numpy as np
import pytest

from oddshift.adapt import AdaptSettings, Goals, crossing
from oddshift.adapt.evaluation import rounded_scales
from oddshift.adapt.result import ScaledOutcome, TierOutcome
from oddshift.adapt.search import EXCHANGES, FINAL, LADDER, STEPS, TARGET, _Search, ordered
from oddshift.model.tiers import Tiers

DELTA = 0.1
GOALS = Goals(DELTA, {})


class Surface:
    """Rates and losses by formula: rate_k = strength_k·Σ_j leak_kj·s_j², loss = Σ_j cost_j·(1 − s_j)²."""

    def __init__(self, strength, leak, cost, grid=(0.1, 0.25, 0.5, 0.75, 1.0)):
        self.strength, self.leak, self.cost = np.asarray(strength), np.asarray(leak), np.asarray(cost)
        n = len(self.cost)
        self.tiers = Tiers(np.arange(n), names=[f"t{k}" for k in range(n)], scales=(1.0,) * n, is_public=True)
        settings = AdaptSettings(epsilon=1.0, delta=DELTA, grid=grid)
        known = SimpleNamespace(tiers=self.tiers)
        self.experiment = SimpleNamespace(
            settings=settings,
            known=known,
            scales_of=self.tiers.scales_of_levels,
            loss=lambda scales: self.outcome(scales).loss,
        )
        self.known = {}

    def outcomes(self, wanted, what="scales"):
        scales = [rounded_scales(s) for s in wanted]
        self.known.update({s: self.outcome(s) for s in scales})
        return [self.known[s] for s in scales]

    def outcome(self, scales):
        s = np.array(scales)
        rates = self.strength * (self.leak @ s**2)
        tiers = tuple(
            TierOutcome(tier=name, rate=float(rate), rate_error=0.0, top1=0.0, top1_error=0.0, loss=0.0)
            for name, rate in zip(self.tiers.names, rates, strict=True)
        )
        loss = float(self.cost @ (1 - s) ** 2)
        return ScaledOutcome(
            scales=tuple(scales),
            admissible=bool((np.diff(s) >= 0).all()),
            tiers=tiers,
            loss=loss,
            plain_loss=loss,
            effective_outputs=9.0,
            gain=1.0,
            gain_error=0.1,
        )

    def least_loss(self, outcomes):
        return min(p.loss for p in outcomes if p.admissible and GOALS.strain(p, share=TARGET) <= 1.0)


def mixed(n, own, seed=0):
    """Tiers that leak about themselves (`own`) and about each other; the first cost most."""
    rng = np.random.default_rng(seed)
    leak = own * np.eye(n) + (1 - own) * rng.dirichlet(np.ones(n), size=n)
    return Surface(rng.uniform(0.1, 1.0, n), leak, rng.dirichlet(np.ones(n)))


@pytest.mark.parametrize("own", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("n", "seed"), [(2, 0), (2, 1), (3, 2), (3, 3)])
def test_the_loss_is_at_most_one_percent_above_that_of_a_full_grid(n, own, seed):
    made = mixed(n, own, seed)
    crossing(made, GOALS)
    fine = np.linspace(0.1, 1.0, {2: 46, 3: 19}[n])
    full = [made.outcome(s) for s in combinations_with_replacement(fine, n)]
    assert made.least_loss(made.known.values()) <= 1.01 * made.least_loss(full)


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_the_number_of_points_grows_like_the_number_of_tiers(n):
    made = mixed(n, 0.5)
    crossing(made, GOALS)
    assert len(made.known) <= STEPS + FINAL + len(LADDER) + (len(EXCHANGES) * (n + STEPS) if n > 1 else 0)


def test_eight_tiers_take_at_most_four_times_the_points_of_two():
    counts = {}
    for n in (2, 8):
        everyone = [mixed(n, own, seed) for own in (0.2, 0.8) for seed in range(4)]
        for made in everyone:
            crossing(made, GOALS)
        counts[n] = np.mean([len(made.known) for made in everyone])
    assert counts[8] <= 4 * counts[2]


def test_one_level_ends_just_below_the_limit():
    """rate = s² ≤ TARGET·δ, so that the crossing lies at √(.7·.1)."""
    made = Surface([1.0], [[1.0]], [1.0])
    ladder = crossing(made, GOALS)
    limit = (TARGET * DELTA) ** 0.5
    rung = ladder[LADDER.index(1.0)].scales[0]
    assert 0.95 * limit <= rung <= limit
    assert [p.scales[0] for p in ladder] == pytest.approx([rung * step for step in LADDER], abs=0.006)


def test_the_last_steps_end_where_no_step_of_a_hundredth_lowers_the_loss():
    """One level: the crossing is the largest scale of two decimals within the limit."""
    made = Surface([1.0], [[1.0]], [1.0])
    crossing(made, GOALS)
    best = min((p for p in made.known.values() if GOALS.strain(p, share=TARGET) <= 1.0), key=lambda p: p.loss)
    assert best.scales[0] == np.floor(100 * (TARGET * DELTA) ** 0.5) / 100


def test_the_last_steps_exchange_noise_between_two_levels():
    """Both levels leak alike and the second costs more: (.25, .27) keeps the goal that (.26, .27) does not."""
    made = Surface([1.0, 1.0], [[0.5, 0.5], [0.5, 0.5]], [0.3, 0.7])
    made.outcomes([(0.26, 0.26)])
    search = _Search(made, GOALS)
    search.final_steps()
    found = search.best()
    assert (0.25, 0.27) in made.known
    assert found.loss < made.outcome((0.26, 0.26)).loss
    assert len(made.known) <= 1 + FINAL
    assert all(scales[0] <= scales[1] for scales in made.known)


def test_nothing_is_searched_where_the_largest_scales_keep_the_goals():
    made = Surface([0.01, 0.01], np.eye(2), [0.5, 0.5])
    ladder = crossing(made, GOALS)
    assert ladder[-1].scales == (1.0, 1.0)
    assert set(made.known) == {p.scales for p in ladder}


def test_where_no_scales_keep_the_goals_the_smallest_are_shown():
    made = Surface([50.0, 50.0], np.eye(2), [0.5, 0.5])
    ladder = crossing(made, GOALS)
    assert {p.scales for p in ladder} == {(0.1, 0.1)}
    assert len(made.known) <= STEPS + 1


def test_levels_share_their_scale():
    made = mixed(3, 0.5)
    made.tiers = Tiers([0, 1, 2], names=["t0", "t1", "t2"], scales=(1.0,) * 3, is_public=True, levels=(0, 0, 1))
    made.experiment.known.tiers, made.experiment.scales_of = made.tiers, made.tiers.scales_of_levels
    crossing(made, GOALS)
    assert all(scales[0] == scales[1] for scales in made.known)


def test_scales_are_put_in_order_from_the_least_sensitive_on():
    assert ordered(np.array([0.5, 0.9, 0.4, 0.8])).tolist() == [0.4, 0.4, 0.4, 0.8]
    assert ordered(np.array([0.2, 0.2])).tolist() == [0.2, 0.2]
