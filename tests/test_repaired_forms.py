"""Repair as a form: what it costs by a slow computation, which tiers take it, and the policy that follows."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.adapt import AdaptSettings, Experiment
from oddshift.adapt.release_form import ReleaseForm, ignoring_forms
from oddshift.adapt.repaired_forms import document_repair
from oddshift.adapt.tier_forms import least_form
from oddshift.app.configured_runs import run_adapt
from oddshift.app.datasets import table
from oddshift.app.release_quality import released_passages
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.repair import best_outputs
from oddshift.data.embedded import people
from oddshift.data.preparation import prepare
from oddshift.mechanisms import Channel, MechanismSettings, Tiered
from oddshift.mechanisms.named import scale_family
from oddshift.mechanisms.utility import constant_output
from oddshift.model.release import perturb_with
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from oddshift.protect import Sanitizer
from oddshift.protect.policies import load_policy
from worlds import ring, two_tiers

HALF = (0.5, 0.5)


def experiment(documents=600, tiers=None, asked=("auto", "auto"), seed=1, **options):
    """Words on a circle that tell of their neighbours, in two tiers of which the second may be repaired."""
    tiers = tiers or two_tiers()
    fit, records = (ring(documents=documents, tiers=tiers, seed=number).known.fit for number in (0, seed))

    def family(scales):
        return Tiered(fit.space, scales, 4.0, keeps_tier=tiers.is_public)

    known = knowledge(family(tiers), tiers, fit)
    settings = AdaptSettings(**{"epsilon": 4.0, "delta": 0.1, **options})
    uniforms = np.random.default_rng(seed).random(len(records.points))
    repair = document_repair(known, settings)
    return Experiment(known, family, records, uniforms, settings, asked=asked, repair=repair)


def test_the_loss_of_a_repaired_tier_is_that_of_what_comes_out_beside_its_constant():
    made = experiment()
    found, plain = made.form(HALF), made.without_forms.form(HALF, remap=False)
    assert found.modes == ("drawn", "best")
    assert found.forms[1] == "noise"
    known = replace(made.known, mechanism=found.form.channel, tiers=made.known.tiers.with_scales(HALF))
    release = perturb_with(made.records, known.mechanism, known.tiers, made.uniforms)
    truth, space = made.records.points, made.records.space
    shown = best_outputs(made.repair.law.marginals(known, release), space, "cosine", len(truth))
    unit = space.points
    mine = np.flatnonzero(known.tiers.labels == 1)
    weights = made.weights[mine] / made.weights[mine].sum()
    costs = (1.0 - unit[mine] @ unit[mine].T) / 2.0
    constant = mine[np.argmin(weights @ costs)]
    inside = np.isin(truth, mine)
    means = [((1.0 - (unit[truth[inside]] * unit[to]).sum(axis=-1)) / 2.0).mean() for to in (shown[inside], constant)]
    expected = (weights @ costs).min() * means[0] / means[1]
    assert found.form.parts[1].loss == pytest.approx(expected)
    assert expected < plain.form.parts[1].loss


def test_what_was_chosen_on_some_documents_is_not_chosen_again_on_others():
    made = experiment()
    outcome = made.measured(made.at(HALF), made.measure(made.at(HALF).known, Own(made.known)))
    other = experiment(seed=2).like(outcome).form(HALF, remap=outcome.remapped)
    assert (other.forms, other.modes) == (outcome.forms, outcome.repair)
    assert other.form.loss != outcome.loss  # measured on its own documents
    assert other.form.loss == pytest.approx(outcome.loss, rel=0.2)


@pytest.mark.parametrize(
    ("tiers", "options", "expected"),
    [
        (None, {}, ("drawn", "best")),
        (None, {"repair": "typical"}, ("drawn", "typical")),
        (Tiers(np.arange(8) // 4, names=("a", "b"), scales=HALF, is_public=True, levels=(0, 0)), {}, ("best", "best")),
        (two_tiers(is_public=False), {}, None),
        (None, {"repair": "never"}, None),
        (None, {"objective": "weighted"}, None),
    ],
)
def test_what_may_be_repaired(tiers, options, expected):
    found = experiment(documents=60, tiers=tiers, **options).repair
    assert (None if found is None else found.modes) == expected


def test_a_mark_stands_beside_a_repaired_tier_and_a_surrogate_can_be_repaired_from_the_others():
    marked = experiment(asked=("mark", "auto")).form(HALF)
    assert (marked.forms[0], marked.modes) == ("mark", ("drawn", "best"))
    one_level = Tiers(np.arange(8) // 4, names=("a", "b"), scales=(1.0, 1.0), is_public=True, levels=(0, 0))
    made = experiment(tiers=one_level, asked=("auto", "proved"))
    found = made.form((0.9, 0.9))
    assert found.forms == ("noise", "surrogate")
    assert found.modes == ("best", "best")
    ignoring = min(
        option.loss for option in made.options((0.9, 0.9), remap=False) if option.tier == "b" and option.is_proved
    )
    assert found.form.parts[1].loss < ignoring


def test_the_mechanism_before_the_repair_is_the_one_that_is_measured():
    made = experiment(asked=("noise", "noise"))
    found = made.form((0.9, 0.9), remap=True)
    assert found.modes == ("drawn", "best")
    released = made.released((0.9, 0.9), remap=True)
    np.testing.assert_allclose(np.exp(released.log_matrix), np.exp(found.form.channel.log_matrix), atol=1e-12)


def affairs(epsilon):
    """A real table of nine columns that tell of one another, 3,000 rows, as an adaptation compares its scales."""
    from statsmodels import datasets

    rows = datasets.fair.load_pandas().data.sample(3_000, random_state=0).reset_index(drop=True)
    prepared = prepare(table(rows), 0)
    fit, select, tiers = prepared.split.fit, prepared.split.select, prepared.tiers
    family = scale_family(MechanismSettings(), fit.space, tiers, epsilon)
    known = knowledge(family(tiers), tiers, fit)
    settings = AdaptSettings(epsilon=epsilon, delta=0.2, cost="euclidean")
    uniforms, repair = np.random.default_rng(0).random(len(select.points)), document_repair(known, settings)
    asked = ("auto",) * len(tiers)
    return Experiment(known, family, select, uniforms, settings, asked=asked, repair=repair), prepared.split.certify


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_no_column_of_a_real_table_costs_more_than_one_constant_value_of_it(epsilon):
    """Chosen on some rows, true on others: per column within three standard errors, all together within two."""
    made, unread = affairs(epsilon)
    scales = (0.6,) * len(made.known.tiers)
    found = made.form(scales)
    labels = unread.tier_of_position(made.known.tiers)
    for tier, (part, group) in enumerate(zip(found.form.parts, found.form.members, strict=True)):
        weights, points = made.weights[group], made.known.mechanism.space.points[group]
        assert part.loss <= min(np.abs(points - value).sum(axis=1) @ weights for value in points) / weights.sum() + 1e-9
        assert made.known.tiers.labels[group[0]] == tier
    known = replace(made.known, mechanism=found.form.channel, tiers=made.known.tiers.with_scales(scales))
    uniforms = np.random.default_rng(1).random(len(unread.points))
    shown = made.repair(known, unread, uniforms, found.modes)
    always = np.array([mine[constant_output(part.mechanism.space, part.weights, "euclidean")[0]]
                       for mine, part in zip(found.form.members, found.form.parts, strict=True)])  # fmt: skip
    points = made.known.mechanism.space.points
    lost, constant = (np.abs(points[unread.points] - points[to]).sum(axis=1) for to in (shown, always[labels]))
    more = (lost - constant).reshape(len(unread), -1)  # every row has a value of every column
    errors = more.std(axis=0) / np.sqrt(len(more))
    assert (more.mean(axis=0) <= 3.0 * errors).all()
    assert more.sum(axis=1).mean() <= 2.0 * more.sum(axis=1).std() / np.sqrt(len(more))
    assert "mark" in found.forms  # where noise loses


def test_noise_is_taken_where_it_clearly_costs_less_than_what_ignores_the_secret():
    """Two values at a distance of 1, equally likely: a constant costs 1/2, noise the share p of wrong ones."""
    space, law = Space([[0.0], [1.0]]), np.array([0.5, 0.5])
    taken = {}
    for wrong in (0.1, 0.48, 0.495, 0.6):
        channel = Channel(space, np.log([[1.0 - wrong, wrong], [wrong, 1.0 - wrong]]), outputs=space)
        noise = ReleaseForm(channel, law, "euclidean")
        ignoring = ignoring_forms(noise, None)
        taken[wrong] = least_form(noise, "auto", ignoring)[0]
        assert least_form(noise, "noise", ignoring)[0] == "noise"  # as asked
    assert taken == {0.1: "noise", 0.48: "noise", 0.495: "mark", 0.6: "mark"}


SMALL = """\
[data]
kind = "people"
documents = 2000

[mechanism]
epsilon = 1.5

[audit]
delta = 0.1
attackers = ["exact"]

[adapt]
grid = [0.5, 0.75]
documents = 300
repair = "{repair}"
"""


def test_the_policy_repairs_without_being_asked_and_loses_less(tmp_path):
    found, never = (run_adapt(SMALL.format(repair=repair), tmp_path / repair) for repair in ("auto", "never"))
    assert found.guarantee == never.guarantee == "certified"
    assert found.repair[:3] == ("drawn",) * 3  # the most sensitive level
    assert "best" in found.repair[3:]
    assert set(never.repair) == {"drawn"}
    assert found.loss < 0.97 * never.loss
    assert found.loss < found.constant_loss
    policy = load_policy(tmp_path / "auto" / "policy.json")
    assert policy.terms.repair.modes == found.repair
    assert policy.terms.repair.source == "fit"
    assert load_policy(tmp_path / "never" / "policy.json").terms.repair is None
    assert len(Sanitizer(policy).texts(["My friend Laura is a nurse."])) == 1
    drawn = replace(policy, terms=replace(policy.terms, repair=None), law=None)
    shown = [released_passages(people(30).encoded, each).passages for each in (policy, drawn)]
    moved = {a.tier for one, other in zip(*shown, strict=True) for a, b in zip(one.after, other.after, strict=True)
             if a != b}  # fmt: skip
    repaired = {name for name, mode in zip(policy.tiers.names, found.repair, strict=True) if mode == "best"}
    assert moved == repaired  # what is shown is what goes out
