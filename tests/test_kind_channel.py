"""A channel kept kind by kind: everything is that of the full matrix."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from oddshift.adapt.evaluation import Experiment
from oddshift.adapt.release_form import KeptForms, ReleaseForm
from oddshift.adapt.settings import AdaptSettings
from oddshift.adapt.tier_forms import chosen_form
from oddshift.attackers.attacker import Knowledge
from oddshift.mechanisms import Channel, Exponential, Tiered
from oddshift.mechanisms.tiered import KindChannel
from oddshift.mechanisms.utility import effective_number
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

RNG = np.random.default_rng(0)
LABELS = RNG.permutation(np.repeat([0, 1, 2, -1], [9, 7, 5, 3]))
SPACE = Space(RNG.normal(size=(24, 3)))
WEIGHTS = np.where(LABELS < 0, 0.0, RNG.dirichlet(np.ones(24)))
WEIGHTS /= WEIGHTS.sum()


def tiered(scales=(0.3, 0.6, 1.0), epsilon=4.0):
    tiers = Tiers(LABELS, names=("a", "b", "c"), scales=scales, is_public=True)
    return Tiered(SPACE, tiers, epsilon, keeps_tier=True)


@pytest.fixture(scope="module")
def both():
    """A mechanism as one matrix, and kind by kind."""
    mechanism = tiered()
    return Channel.of(mechanism), KeptForms().of(mechanism, WEIGHTS, "cosine").mechanism


def test_rows_columns_and_draws_are_those_of_the_matrix(both):
    whole, parts = both
    assert isinstance(parts, KindChannel)
    np.testing.assert_allclose(parts.log_matrix, whole.log_matrix, atol=1e-12)
    outputs = np.array([5, 0, 23, 5])
    np.testing.assert_allclose(parts.log_columns(outputs), whole.log_columns(outputs), atol=1e-12)
    points, uniforms = np.tile(np.arange(24), 40), np.random.default_rng(1).random(960)
    np.testing.assert_array_equal(parts.invert(points, uniforms), whole.invert(points, uniforms))


@pytest.mark.parametrize("points", [np.flatnonzero(LABELS == 1), np.arange(24), np.array([0, 7])])
def test_columns_of_some_points(both, points):
    whole, parts = both
    outputs = np.flatnonzero(LABELS == 1)[:3]
    np.testing.assert_allclose(parts.candidate_columns(outputs, points), whole.log_columns(outputs)[:, points])
    assert parts.candidate_columns(outputs[:0], points).shape == (0, len(points))


def test_outputs_are_told_apart_by_kind(both):
    kinds = both[1].output_kinds
    assert all(len(np.unique(kinds[label == LABELS])) == 1 for label in np.unique(LABELS))
    assert len(np.unique(kinds)) == 4
    assert both[1].claimed_epsilon == np.inf


@pytest.mark.parametrize("cost", ["cosine", "euclidean"])
@pytest.mark.parametrize("remap", ["auto", "always", "never"])
def test_utility_and_remapping_are_those_of_the_matrix(cost, remap):
    settings = AdaptSettings(epsilon=4.0, delta=0.1, remap=remap, cost=cost)
    whole = chosen_form(ReleaseForm(Channel.of(tiered()), WEIGHTS, cost), settings, lambda: 1.0)
    parts = chosen_form(KeptForms().of(tiered(), WEIGHTS, cost), settings, lambda: 1.0)
    assert parts.remapped == whole.remapped
    assert parts.reason == whole.reason
    assert not len(parts.plain.as_drawn)
    for mine, other in ((parts.form, whole.form), (parts.plain, whole.plain)):
        assert mine.loss == pytest.approx(other.loss)
        assert mine.effective_outputs == pytest.approx(other.effective_outputs)
        np.testing.assert_allclose(mine.output_law, other.output_law, atol=1e-12)
        inside = LABELS >= 0
        np.testing.assert_allclose(mine.by_point[inside], other.by_point[inside])
        rows = np.flatnonzero(inside)
        np.testing.assert_allclose(mine.mechanism.log_likelihood(rows), other.mechanism.log_likelihood(rows), atol=1e-9)


def test_scales_that_differ_in_one_tier_share_the_others():
    kept = KeptForms()
    first = kept.of(tiered((0.3, 0.6, 1.0)), WEIGHTS, "cosine")
    second = kept.of(tiered((0.3, 0.8, 1.0)), WEIGHTS, "cosine")
    same = [a is b for a, b in zip(first.parts, second.parts, strict=True)]
    assert same == [True, True, False, True]  # no tier, a, b, c


def test_no_more_is_kept_than_allowed(monkeypatch):
    kept = KeptForms()
    monkeypatch.setattr(sys.modules[KeptForms.__module__], "KEPT_ENTRIES", 2 * 300)
    for scale in np.linspace(0.1, 1.0, 10):
        found = kept.of(tiered((scale,) * 3), WEIGHTS, "cosine")
        np.testing.assert_allclose(np.exp(found.mechanism.log_matrix).sum(axis=1), 1.0)
    others = [form for form in kept.forms.values() if all(form is not mine for mine in found.parts)]
    assert sum(form.mechanism.table.size for form in others) <= 300
    assert len(kept.forms) >= 2


def test_workers_begin_with_nothing_kept():
    import cloudpickle

    kept = KeptForms()
    kept.of(tiered(), WEIGHTS, "cosine")
    assert not cloudpickle.loads(cloudpickle.dumps(kept)).forms


def test_outputs_of_any_kind_are_one_matrix():
    tiers = Tiers(LABELS, names=("a", "b", "c"), scales=(0.3, 0.6, 1.0), is_public=True)
    assert isinstance(KeptForms().of(Tiered(SPACE, tiers, 4.0), WEIGHTS, "cosine"), ReleaseForm)


SKEWED = np.array([0.97, 0.03, 0.1, 0.2, 0.4, 0.2, 0.1])
"""A column of two values, one of which is rare, and one of five."""


def two_columns() -> Tiered:
    points = np.array([[0.0, 9.0], [1.0, 9.0], *([x, 0.0] for x in range(5))])
    labels = np.array([0, 0, 1, 1, 1, 1, 1])
    tiers = Tiers(labels, names=("rare", "wide"), scales=(1.0, 1.0), is_public=True)
    return Tiered(Space(points), tiers, epsilon=1.0, keeps_tier=True)


def test_a_column_that_remapping_would_make_constant_is_released_as_drawn():
    """The other column has enough outputs that the two together seem to keep most of theirs."""
    settings = AdaptSettings(epsilon=1.0, delta=0.1, cost="euclidean")
    plain = KeptForms().of(two_columns(), SKEWED / SKEWED.sum(), "euclidean")
    rare, wide = plain.parts
    assert (effective_number(rare.law_after_remapping), rare.collapses) == (1.0, True)
    assert not wide.collapses
    assert effective_number(plain.law_after_remapping) > 0.1 * plain.effective_outputs
    found = chosen_form(plain, settings, lambda: 99.0)
    assert found.remapped
    assert found.reason.endswith("; 1 of 2 tiers as drawn, because remapping would make them nearly constant")
    mine, drawn = (form.mechanism.log_likelihood(np.arange(2)) for form in (found.form, plain))
    np.testing.assert_array_equal(mine, drawn)
    assert chosen_form(plain, replace(settings, remap="always"), lambda: 99.0).form.parts[0].effective_outputs == 1.0


def test_what_a_policy_releases_is_what_was_measured():
    """The mechanism by its own name leaves the same column as drawn as the channel that was certified."""
    mechanism, weights = two_columns(), SKEWED / SKEWED.sum()
    known = Knowledge(mechanism=mechanism, tiers=mechanism.tiers, fit=None, log_prior=np.log(weights))
    settings = AdaptSettings(epsilon=1.0, delta=0.1, cost="euclidean")
    experiment = Experiment(known, lambda tiers: mechanism, None, np.empty(0), settings)
    released, measured = experiment.released((1.0, 1.0), remap=True), experiment.at((1.0, 1.0), remap=True)
    everyone = np.arange(7)
    np.testing.assert_allclose(
        released.log_likelihood(everyone), measured.known.mechanism.log_likelihood(everyone), atol=1e-9
    )
    np.testing.assert_array_equal(released.destination[:2], [0, 1])


def test_losses_and_remappings_of_all_scales_stay_where_matrices_are_forgotten(monkeypatch):
    """Kinds without a matrix of their own: only the matrix of a remapped release is dropped."""
    module = sys.modules[KeptForms.__module__]
    monkeypatch.setattr(module, "KEPT_ENTRIES", 0)
    monkeypatch.setattr(module, "_mechanism", Exponential)
    kept = KeptForms()
    first = kept.of(tiered((0.3, 0.6, 0.9)), WEIGHTS, "cosine")
    rows = first.moved.mechanism.log_matrix
    assert all(part.entries for part in first.parts)
    second = kept.of(tiered((0.4, 0.7, 1.0)), WEIGHTS, "cosine")
    assert not any(part.entries for part in first.parts if all(part is not mine for mine in second.parts))
    again = kept.of(tiered((0.3, 0.6, 0.9)), WEIGHTS, "cosine")
    assert all(a is b for a, b in zip(first.parts, again.parts, strict=True))
    np.testing.assert_allclose(again.moved.mechanism.log_matrix, rows)
