"""Families of mechanisms, forms of a release, presets and rounds: each choice by hand, on a few points."""

from types import SimpleNamespace

import numpy as np
import pytest

from oddshift.adapt.evaluation import DIGITS, Measuring, rounded_scales
from oddshift.adapt.release_form import KEPT, ReleaseForm
from oddshift.adapt.result import ScaledOutcome, TierOutcome
from oddshift.adapt.rounds import CLEAR, PRESETS, rounds, weighted
from oddshift.adapt.settings import AdaptSettings
from oddshift.adapt.tier_forms import chosen_form
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Channel, Exponential, MechanismSettings, PathExponential, Tiered
from oddshift.mechanisms.named import SCALED, scale_family
from oddshift.mechanisms.utility import expected_loss
from oddshift.model.release import one_tier
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

SPACE = Space(np.random.default_rng(0).normal(size=(8, 2)))
PUBLIC, SECRET = (
    Tiers(np.arange(8) // 4, names=("PII", "PoII"), scales=(1.0, 1.0), is_public=public) for public in (True, False)
)
EM = MechanismSettings(name="exponential", epsilon=2.0)


@pytest.mark.parametrize(
    ("settings", "tiers", "kind"),
    [
        (EM, one_tier(SPACE), Exponential),
        (EM, PUBLIC, Tiered),
        (EM, SECRET, PathExponential),
        (MechanismSettings(name="path", epsilon=2.0), PUBLIC, PathExponential),
        (MechanismSettings(name="tiered", epsilon=2.0), PUBLIC, Tiered),
    ],
)
def test_the_family_follows_from_the_mechanism_and_from_who_knows_the_tiers(settings, tiers, kind):
    assert isinstance(scale_family(settings, SPACE, tiers, 2.0)(tiers), kind)


@pytest.mark.parametrize("name", ["laplace", "mask", "optimal"])
def test_a_mechanism_without_scales_cannot_be_adapted(name):
    with pytest.raises(InvalidInput, match=rf"mechanism\.name='{name}' has no scales to adapt, expected {SCALED[0]}"):
        scale_family(MechanismSettings(name=name, epsilon=2.0), SPACE, PUBLIC, 2.0)


def test_tiers_that_promise_nothing_across_are_refused_where_tiers_are_secret():
    with pytest.raises(InvalidInput, match="promises nothing across secret tiers, expected path"):
        scale_family(MechanismSettings(name="tiered", epsilon=2.0), SPACE, SECRET, 2.0)


@pytest.mark.parametrize("tiers", [PUBLIC, SECRET], ids=["public", "secret"])
@pytest.mark.parametrize("scale", [0.25, 0.5, 1.0])
def test_a_common_scale_is_a_share_of_the_budget(tiers, scale):
    made = scale_family(EM, SPACE, tiers, 2.0)(tiers.with_scales((scale, scale)))
    assert made.exact_epsilon <= scale * 2.0 * (1 + 1e-9)


def test_one_tier_at_a_scale_is_the_exponential_mechanism_at_that_share():
    tiers = one_tier(SPACE)
    made = scale_family(EM, SPACE, tiers, 2.0)(tiers.with_scales((0.5,)))
    np.testing.assert_allclose(made.log_matrix, Exponential(SPACE, 1.0).log_matrix)


def test_the_budget_of_the_mechanism_comes_before_that_of_the_question():
    tiers = one_tier(SPACE)
    own, asked = (scale_family(MechanismSettings(epsilon=e), SPACE, tiers, 3.0)(tiers) for e in (2.0, None))
    assert (own.epsilon, asked.epsilon) == (2.0, 3.0)


def test_a_calibrated_family_spends_at_scale_one_what_its_exact_epsilon_leaves_over():
    tiers = one_tier(SPACE)
    plain = scale_family(EM, SPACE, tiers, 2.0)(tiers)
    spent = scale_family(MechanismSettings(epsilon=2.0, calibrated=True), SPACE, tiers, 2.0)(tiers)
    assert plain.exact_epsilon < spent.exact_epsilon <= 2.0 * (1 + 1e-9)
    assert spent.exact_epsilon == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize(("outputs", "stays"), [("tier", True), ("all", False)])
def test_a_word_of_one_tier_becomes_one_of_its_tier_unless_asked_otherwise(outputs, stays):
    made = scale_family(MechanismSettings(epsilon=1.0, outputs=outputs), SPACE, PUBLIC, 1.0)(PUBLIC)
    across = np.exp(made.log_matrix)[:4, 4:].sum()
    assert (across == 0.0) == stays


def form_of(matrix, points, weights=None):
    space = Space(points)
    share = np.full(len(space), 1 / len(space)) if weights is None else np.asarray(weights)
    with np.errstate(divide="ignore"):
        return ReleaseForm(Channel(space, np.log(np.asarray(matrix)), outputs=space), share, "euclidean")


LINE = [[0.0], [1.0], [10.0]]
NOISY = [[0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]]


def settings(remap="auto"):
    return AdaptSettings(epsilon=1.0, delta=0.1, remap=remap)


def test_the_loss_of_a_form_is_the_expected_cost_by_hand():
    form = form_of(NOISY, LINE)
    by_point = [0.3 * 1 + 0.1 * 10, 0.3 * 1 + 0.1 * 9, 0.1 * 10 + 0.1 * 9]
    np.testing.assert_allclose(form.by_point, by_point)
    assert form.loss == pytest.approx(np.mean(by_point))
    assert form.loss == pytest.approx(expected_loss(form.mechanism, form.weights, "euclidean"))
    assert 1.0 <= form.effective_outputs <= 3.0


@pytest.mark.parametrize(
    ("asked", "override", "remapped", "reason"),
    [
        ("never", None, False, "not remapped, as asked"),
        ("auto", False, False, "not remapped, as asked"),
        ("always", None, True, "remapped, as asked"),
        ("never", True, True, "remapped, as asked"),
    ],
)
def test_what_is_asked_for_is_done_and_said(asked, override, remapped, reason):
    def never():
        raise AssertionError("the constant output does not decide here")

    found = chosen_form(form_of(NOISY, LINE), settings(asked), never, override)
    assert (found.remapped, found.reason) == (remapped, reason)
    assert (found.form is found.plain) == (not remapped)


def test_left_to_itself_the_form_of_less_loss_is_taken():
    swapped = form_of([[0.1, 0.8, 0.1], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], LINE)
    found = chosen_form(swapped, settings(), lambda: 99.0)
    assert found.remapped
    assert found.form.loss < found.plain.loss
    assert found.reason == f"remapped: loss {found.form.loss:.4f} instead of {found.plain.loss:.4f}"


def test_a_remapping_that_costs_as_much_as_a_constant_is_not_taken():
    found = chosen_form(form_of(NOISY, LINE), settings(), lambda: 0.0)
    assert (found.remapped, found.reason) == (False, "not remapped: one constant output would cost no more")


def test_a_remapping_that_collapses_is_not_taken():
    """Nearly uniform noise over many points: the best guess after any output is the middle."""
    points = np.linspace(-1.0, 1.0, 41)[:, None]
    uniform = np.full((41, 41), 1 / 41)
    found = chosen_form(form_of(uniform, points), settings(), lambda: 99.0)
    assert not found.remapped
    assert found.reason == "not remapped: 1.0 of 41.0 effective outputs would be left"
    assert KEPT * 41.0 > 1.0


def outcome(scales, rates=(0.1, 0.2), losses=(0.3, 0.5)):
    tiers = tuple(
        TierOutcome(tier=name, rate=rate, rate_error=0.0, top1=0.0, top1_error=0.0, loss=loss)
        for name, rate, loss in zip(("PII", "PoII"), rates, losses, strict=True)
    )
    return ScaledOutcome(scales=scales, admissible=True, tiers=tiers, loss=0.4, plain_loss=0.4, effective_outputs=9.0,
                         gain=1.0, gain_error=0.1)  # fmt: skip


@pytest.mark.parametrize(
    ("pooled", "counted", "value"),
    [
        (False, None, 2 * 0.2 + 3 * 0.4),
        (True, None, 2 * 0.15 + 3 * 0.4),
        (False, [0], 2 * 0.1 + 3 * 0.3),
        (True, [1], 2 * 0.2 + 3 * 0.5),
    ],
)
def test_an_objective_weighs_rate_and_loss_of_the_tiers_that_count(pooled, counted, value):
    asked = AdaptSettings(epsilon=1.0, delta=0.1, rate_weight=2.0, loss_weight=3.0, pooled=pooled)
    assert weighted(asked, counted)(outcome((1.0, 1.0))) == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "rate", "loss"),
    [("EM", 0.0, 0.0), ("AmPL", 5.0, 7.0), ("AmPL-U", 0.0, 7.0), ("AmPL-P", 5.0, 0.0), ("AmPL-1", 5.0, 7.0)],
)
def test_a_preset_puts_weights_to_nothing_and_keeps_the_others(name, rate, loss):
    found = PRESETS[name].settings(AdaptSettings(epsilon=1.0, delta=0.1, rate_weight=5.0, loss_weight=7.0))
    assert (found.rate_weight, found.loss_weight, found.objective) == (rate, loss, "weighted")


def test_a_preset_in_the_clear_starts_the_other_levels_there():
    assert PRESETS["AmPL"].start(3) == (1.0, 1.0, 1.0)
    assert PRESETS["AmPL-1-clear"].start(3) == (1.0, CLEAR, CLEAR)
    assert all(preset.meaning for preset in PRESETS.values())


class Bowl:
    """A search whose objective is (s_1 − a)² + (s_2 − b)², so that the way of the loop is known."""

    def __init__(self, bottom, **asked):
        self.settings = AdaptSettings(
            epsilon=1.0, delta=0.1, rate_weight=1.0, loss_weight=0.0, grid=(0.1, 1.0), **asked
        )
        self.known = SimpleNamespace(tiers=PUBLIC)
        self.bottom, self.experiment = np.asarray(bottom), self

    def scales_of(self, levels):
        return levels

    def outcomes(self, wanted, what):
        return [
            outcome(s, (float(((np.asarray(s) - self.bottom) ** 2).sum()), 0.0)) for s in map(rounded_scales, wanted)
        ]


def test_the_loop_goes_downhill_to_the_bottom_inside_the_box():
    bowl = Bowl((0.4, 0.8), rounds=30, first_step=0.4)
    path = list(rounds(bowl, lambda p: p.tiers[0].rate))
    assert path[0].outcome.scales == (1.0, 1.0)
    objectives = [step.objective for step in path]
    assert objectives == sorted(objectives, reverse=True)
    assert path[-1].outcome.scales == pytest.approx((0.4, 0.8), abs=0.03)
    assert path[-1].moved < bowl.settings.tolerance or len(path) == 30


def test_a_bottom_out_of_order_ends_at_the_nearest_ordered_scales():
    bowl = Bowl((0.8, 0.4), rounds=40, first_step=0.4)
    last = list(rounds(bowl, lambda p: p.tiers[0].rate))[-1]
    assert last.outcome.scales == pytest.approx((0.6, 0.6), abs=0.03)


def test_steps_shrink_and_levels_that_may_not_move_stay():
    bowl = Bowl((0.2, 0.2), rounds=6, first_step=0.3, decay=0.6, tolerance=1e-9)
    path = list(rounds(bowl, lambda p: p.tiers[0].rate, moving=[0]))
    assert {step.outcome.scales[1] for step in path} == {1.0}
    assert {step.gradient[1] for step in path} == {0.0}
    assert [step.step for step in path] == pytest.approx([0.3 / (t + 1) ** 0.6 for t in range(6)])


def test_levels_that_move_together_share_every_step():
    bowl = Bowl((0.2, 0.8), rounds=30, first_step=0.2)
    path = list(rounds(bowl, lambda p: p.tiers[0].rate, together=True))
    assert all(len(set(step.outcome.scales)) == len(set(step.gradient)) == 1 for step in path)
    assert path[-1].outcome.scales == pytest.approx((0.5, 0.5), abs=0.03)
    preset = PRESETS["AmPL-1-one-level"]
    assert list(preset.rounds(bowl))[-1].outcome.scales == pytest.approx((0.5, 0.5), abs=0.03)


def test_no_round_is_taken_where_none_is_asked_for():
    assert list(rounds(Bowl((0.2, 0.2), rounds=0), lambda p: p.tiers[0].rate)) == []


def test_a_loop_resumes_after_a_round_as_if_it_had_not_stopped():
    bowl = Bowl((0.4, 0.8), rounds=8, first_step=0.2, tolerance=1e-9)
    whole = list(rounds(bowl, lambda p: p.tiers[0].rate))
    rest = list(rounds(bowl, lambda p: p.tiers[0].rate, after=whole[2]))
    assert [step.outcome.scales for step in rest] == [step.outcome.scales for step in whole[3:]]


class Counting:
    """An experiment that counts how often scales are measured."""

    def __init__(self):
        self.settings, self.known, self.records, self.uniforms = "asked", "known", "records", "uniforms"
        self.measured = []

    def outcome(self, scales, read):
        self.measured.append(scales)
        return outcome(scales)


def test_scales_are_measured_once_however_often_and_however_precisely_they_are_asked_for(tmp_path):
    made = Measuring(Counting(), read=None)
    first, again, other = made.outcomes([(0.5, 0.5), (0.501, 0.499), (0.51, 0.5)])
    assert first is again
    assert made.experiment.measured == [(0.5, 0.5), (0.51, 0.5)]
    assert made.outcome((0.51, 0.5)) is other
    assert rounded_scales((0.12345,)) == (round(0.12345, DIGITS),)


def test_kept_outcomes_are_read_again_by_the_same_attacker_alone(tmp_path):
    def measuring(attacker):
        return Measuring(Counting(), read=None, attacker=attacker, folder=tmp_path)

    first = measuring("one")
    kept = first.outcome((0.5, 0.5))
    second, third = measuring("one"), measuring("two")
    assert second.outcome((0.5, 0.5)) == kept
    assert second.experiment.measured == []
    third.outcome((0.5, 0.5))
    assert third.experiment.measured == [(0.5, 0.5)]


def test_outcomes_of_many_tiers_are_kept_under_short_names(tmp_path):
    """A table of sixty columns: the name of a file may have 255 bytes."""
    scales = tuple(round(0.1 + 0.01 * k, 2) for k in range(60))
    kept = Measuring(Counting(), read=None, folder=tmp_path).outcome(scales)
    again = Measuring(Counting(), read=None, folder=tmp_path)
    assert again.outcome(scales) == kept
    assert again.experiment.measured == []
    again.outcome((*scales[:-1], 0.99))
    assert len(again.experiment.measured) == 1


def test_progress_tells_how_many_are_left():
    told = []
    made = Measuring(Counting(), read=None, progress=lambda what, done, total: told.append((what, done, total)))
    made.outcomes([(0.1, 0.1), (0.2, 0.2)], "grid")
    made.outcomes([(0.1, 0.1)], "again")
    assert told == [("grid", 1, 2), ("grid", 2, 2)]
