"""Mechanisms by name: what settings ask for is what is built, and what they cannot describe is refused in one line."""

import numpy as np
import pytest

from oddshift import Exponential, InvalidInput, PathExponential, Space, Tiered, Tiers
from oddshift.mechanisms import (
    MECHANISMS,
    Deletion,
    MechanismSettings,
    NoiseCharacter,
    Substitution,
    Truncated,
    build_mechanism,
)
from oddshift.mechanisms.settings import WordChoice
from oddshift.model.release import one_tier

SPACE = Space(np.random.default_rng(0).normal(size=(8, 2)))
PUBLIC = Tiers([0, 0, 0, 0, 1, 1, 1, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
SECRET = Tiers(PUBLIC.labels, names=PUBLIC.names, scales=PUBLIC.scales, is_public=False)


def build(tiers=PUBLIC, epsilon=2.0, **settings):
    return build_mechanism(MechanismSettings(**settings), SPACE, tiers, epsilon)


def test_without_an_epsilon_of_its_own_the_budget_is_spent():
    assert build(tiers=one_tier(SPACE)).epsilon == 2.0
    assert build(tiers=one_tier(SPACE), epsilon=2.0, name="exponential", calibrated=False).epsilon == 2.0
    asked = MechanismSettings(epsilon=0.7)
    assert build_mechanism(asked, SPACE, one_tier(SPACE), 2.0).epsilon == 0.7


def test_with_public_tiers_a_name_becomes_a_name():
    made = build()
    assert isinstance(made, Tiered)
    assert made.keeps_tier
    assert made.tiers.scales == (1.0, 1.0)
    assert np.isneginf(made.log_matrix[0, 4:]).all()


def test_all_points_are_outputs_when_asked_or_when_tiers_are_secret_or_one():
    for made in (build(outputs="all"), build(tiers=SECRET), build(tiers=one_tier(SPACE))):
        assert isinstance(made, Exponential)
        assert np.isfinite(made.log_matrix).all()


def test_scales_reach_the_mechanism():
    assert build(name="tiered", scales=(0.2, 0.9)).tiers.scales == (0.2, 0.9)
    made = build(tiers=SECRET, name="path", scales=(0.2, 0.9))
    assert isinstance(made, PathExponential)
    assert made.tiers.scales == (0.2, 0.9)
    assert not build(tiers=SECRET, name="tiered", scales=(0.2, 0.9)).keeps_tier


def test_tem_is_the_published_two_steps_and_keeps_its_epsilon():
    points, epsilon = np.linspace(0.0, 60.0, 30)[:, None], 1.0
    made = build_mechanism(MechanismSettings(name="tem"), Space(points), one_tier(Space(points)), epsilon)
    gaps, radius = np.abs(points - points.T), 2.0 / epsilon * np.log(0.999 * 29 / 0.001)
    slow = np.zeros((30, 30))
    for x in range(30):
        inside = gaps[x] <= radius
        mark = -radius + 2.0 / epsilon * np.log(max((~inside).sum(), 1e-300))
        weights = np.exp(0.5 * epsilon * np.append(-gaps[x][inside], mark))
        weights /= weights.sum()
        slow[x, inside] = weights[:-1]
        slow[x, ~inside] = weights[-1] / max((~inside).sum(), 1)
    assert (gaps > radius).any()
    assert np.exp(made.log_matrix) == pytest.approx(slow, rel=1e-9)
    assert made.exact_epsilon <= epsilon
    assert slow[0, gaps[0] > radius].sum() <= 0.001


def test_the_radius_reaches_the_truncated_mechanism():
    made = build(name="truncated", radius=1.5)
    assert isinstance(made, Truncated)
    assert made.radius == 1.5


WORDS = WordChoice(tuple("abcdefgh"), SPACE.points[:3] + 0.25)


def test_channels_that_act_on_words_take_their_numbers_from_the_settings():
    deleted = build(name="deletion", probability=0.25)
    assert isinstance(deleted, Deletion)
    assert deleted.probability == 0.25
    swapped = build(name="substitution", probability=0.5, neighbours=3)
    assert isinstance(swapped, Substitution)
    assert (swapped.probability, swapped.neighbours) == (0.5, 3)
    asked = MechanismSettings(name="noise_character", probability=0.5, alphabet="xy")
    noisy = build_mechanism(asked, SPACE, PUBLIC, 2.0, WORDS)
    assert isinstance(noisy, NoiseCharacter)
    assert (noisy.words, noisy.alphabet) == (WORDS.names, "xy")


def test_all_words_are_candidates_after_the_points():
    made = build_mechanism(MechanismSettings(outputs="words"), SPACE, PUBLIC, 2.0, WORDS)
    assert isinstance(made, Exponential)
    assert made.n_outputs == 11
    np.testing.assert_array_equal(made.outputs.points[8:], WORDS.others)
    np.testing.assert_allclose(np.exp(made.log_matrix).sum(axis=1), 1.0)
    calibrated = MechanismSettings(outputs="words", calibrated=True)
    assert build_mechanism(calibrated, SPACE, PUBLIC, 2.0, WORDS).exact_epsilon == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize(
    ("asked", "words", "says"),
    [
        ({"name": "deletion"}, None, "'deletion' needs mechanism.probability"),
        ({"name": "substitution"}, None, "'substitution' needs mechanism.probability"),
        ({"name": "noise_character", "probability": 0.5}, None, "'noise_character' needs words"),
        ({"name": "noise_character"}, WORDS, "'noise_character' needs mechanism.probability"),
        ({"outputs": "words"}, None, "outputs='words' needs words"),
        ({"outputs": "words"}, WordChoice(("a",)), "needs the vectors of other words"),
        ({"outputs": "words", "name": "path", "scales": (1.0, 1.0)}, WORDS, "expected the exponential mechanism"),
    ],
)
def test_what_a_word_mechanism_lacks_is_one_line(asked, words, says):
    with pytest.raises(InvalidInput, match=says):
        build_mechanism(MechanismSettings(**asked), SPACE, PUBLIC, 2.0, words)


@pytest.mark.parametrize("wrong", [{"probability": 0.0}, {"probability": 1.5}, {"neighbours": 0}])
def test_numbers_that_no_channel_can_have_are_refused(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        MechanismSettings(**wrong)


def test_calibration_meets_the_exact_epsilon():
    made = build(tiers=one_tier(SPACE), calibrated=True)
    assert made.exact_epsilon == pytest.approx(2.0, rel=1e-5)
    assert made.exact_epsilon <= 2.0
    assert made.epsilon > 2.0


BY_OBJECT = {"channel", "optimal", "projected_laplace"}


def by_name(name):
    line = Space(np.arange(8.0)[:, None])
    asked = MechanismSettings(name=name, scales=(0.5, 1.0), radius=1.0, probability=0.5, neighbours=2)
    return build_mechanism(asked, line, PUBLIC, 1.0, WORDS)


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - BY_OBJECT))
def test_a_name_is_enough(name):
    np.testing.assert_allclose(np.exp(by_name(name).log_matrix).sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(BY_OBJECT))
def test_what_settings_cannot_describe_is_asked_for_as_an_object(name):
    with pytest.raises(InvalidInput, match=f"mechanism '{name}' cannot be asked for by name, expected the object"):
        by_name(name)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"name": "exponentail"}, "mechanism.name='exponentail', expected one of channel, deletion, exponential"),
        ({"name": "tiered"}, "needs mechanism.scales, one for each tier PII, PoII"),
        ({"name": "path"}, "needs mechanism.scales"),
        ({"name": "truncated"}, "needs mechanism.radius"),
    ],
)
def test_what_is_missing_is_named(settings, said):
    with pytest.raises(InvalidInput, match=said):
        build(**settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"radius": 0.0}, "radius"),
        ({"outputs": "some"}, "expected one of all, tier, words"),
    ],
)
def test_numbers_are_checked_at_once(settings, said):
    with pytest.raises(InvalidInput, match=said):
        MechanismSettings(**settings)
