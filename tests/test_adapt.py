"""Adaptation on small worlds: what is measured, how the loop moves, what is certified, and what is refused."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from oddshift.adapt import PRESETS, AdaptSettings, AdaptTask, Experiment, Measuring, adapt
from oddshift.attackers.attacker import Retrained, knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.audit.scan import Budget, scan
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution
from oddshift.leakage.mpl import mpl
from oddshift.mechanisms import Tiered
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import expected_loss
from oddshift.model.records import Split
from oddshift.model.release import perturb_with
from worlds import ring, two_tiers

EPSILON = 3.0


def task(documents=400, strength=0.9, **asked):
    """A ring of words whose neighbours tell, in two public tiers, and a plug-in attacker."""
    parts = [
        ring(documents=documents, strength=strength, tiers=two_tiers(), epsilon=EPSILON, seed=seed).known.fit
        for seed in range(3)
    ]
    split = Split(fit=parts[0], select=parts[1], certify=parts[2], by="document")
    space = parts[0].space

    def family(tiers):
        return Tiered(space, tiers, EPSILON)

    known = knowledge(family(two_tiers()), two_tiers(), split.fit)
    settings = AdaptSettings(
        **{
            "epsilon": EPSILON,
            "delta": 0.1,
            "grid": (0.2, 0.4, 0.6, 0.8, 1.0),
            "documents": 200,
            "rounds": 3,
            "remap": False,
            "forms": {"*": "noise"},
            **asked,
        }
    )
    attacker = fit_plugin(known)
    return AdaptTask(split=split, known=known, family=family, attackers=(attacker,), settings=settings)


def measuring(made):
    records = made.split.select.take(np.arange(100))
    uniforms = np.random.default_rng(5).random(len(records.points))
    experiment = Experiment(made.known, made.family, records, uniforms, made.settings)
    return Measuring(experiment, made.attackers[0].against)


@pytest.fixture(scope="module")
def found():
    return adapt(task())


def test_a_point_repeats_bit_for_bit_because_its_noise_is_common():
    made = measuring(task())
    assert made.experiment.outcome((0.4, 0.8), made.read) == made.experiment.outcome((0.4, 0.8), made.read)


def test_rates_and_hits_are_those_of_the_audit_of_the_same_release():
    made = measuring(task())
    situation = made.experiment.at((0.4, 0.8))
    found = made.experiment.measure(situation.known, made.read(situation.known))
    release = perturb_with(
        made.experiment.records, situation.known.mechanism, situation.known.tiers, made.experiment.uniforms
    )
    budget = Budget(situation.known.mechanism, situation.known.tiers, EPSILON)
    audited = scan(made.read(situation.known), release, made.experiment.records, budget, np.random.default_rng(0))
    assert found.rate("anchored") == pytest.approx(audited.anchored)
    assert (found.hit == (audited.rank == 0)).all()
    assert found.scores.log_score == pytest.approx(audited.scores.log_score)
    assert found.scores.own_score == pytest.approx(audited.scores.own_score)


def test_a_part_of_an_experiment_releases_its_documents_as_the_whole_does():
    made = measuring(task())
    whole, part = made.experiment, made.experiment.part(30)
    assert whole.part(len(whole.records)) is whole
    assert len(part.records) == 30
    known = whole.at((0.4, 0.8)).known
    everywhere, found = whole.release(known), part.release(known)
    documents = np.round(np.linspace(0, len(whole.records) - 1, 30)).astype(int)
    assert found.outputs.tolist() == everywhere.take(documents).outputs.tolist()


def test_what_a_scan_of_the_whole_found_in_a_part_is_what_a_scan_of_the_part_finds():
    made = measuring(task())
    whole, part = made.experiment, made.experiment.part(30)
    situation = whole.at((0.4, 0.8))
    everywhere, there = (each.measure(situation.known, made.read(situation.known)) for each in (whole, part))
    assert whole.part_of(everywhere, len(whole.records)) is everywhere
    found = whole.part_of(everywhere, 30)
    for name in ("rank", "hit", "prior_hit", "anchored"):
        np.testing.assert_allclose(getattr(found, name), getattr(there, name), atol=1e-12)
    np.testing.assert_allclose(found.scores.log_score, there.scores.log_score, atol=1e-12)
    assert part.measured(situation, found).rate == pytest.approx(part.measured(situation, there).rate)


def test_choices_are_compared_on_some_documents_and_certified_on_all(found, monkeypatch):
    monkeypatch.setattr(sys.modules["oddshift.adapt.conclusion"], "COMPARED", 50)
    few = adapt(task())
    assert (few.chosen, few.sequence) == (found.chosen, found.sequence)
    assert [e.certificate for e in few.evidence] == [e.certificate for e in found.evidence]
    assert few.choice("AmPL").scales == few.chosen
    assert few.choice("AmPL").loss == found.choice("AmPL").loss
    assert few.choice("EM").tiers[0].rate_error > found.choice("EM").tiers[0].rate_error


def test_the_uniform_law_averages_to_all_pairs():
    made = measuring(task(law="uniform", documents=100))
    situation = made.experiment.at((1.0, 1.0))
    found = made.experiment.measure(situation.known, made.read(situation.known))
    known, tiers = situation.known, situation.known.tiers
    release = perturb_with(made.experiment.records, known.mechanism, tiers, made.experiment.uniforms)
    exact = np.zeros(len(found.rate("uniform")))
    for block in made.read(known).beliefs(release):
        for row, position in enumerate(block.positions):
            inside = np.flatnonzero(tiers.labels == tiers.labels[made.experiment.records.points[position]])
            leak = mpl(
                np.zeros(len(inside)), block.shift[row, inside], known.mechanism.space.distances[np.ix_(inside, inside)]
            )
            upper = np.triu_indices(len(inside), 1)
            exact[position] = (leak[upper] > EPSILON * (1 + 1e-9)).mean()
    assert found.rate("uniform").mean() == pytest.approx(exact.mean(), abs=0.03)


def test_the_loss_is_the_expected_cost_before_and_after_remapping():
    made = measuring(task(remap=True))
    point = made.outcome((0.4, 0.8))
    tiers = made.experiment.known.tiers.with_scales((0.4, 0.8))
    plain = made.experiment.family(tiers)
    assert point.plain_loss == pytest.approx(expected_loss(plain, made.experiment.weights))
    assert point.loss == pytest.approx(expected_loss(Remap(plain, made.experiment.weights), made.experiment.weights))
    assert point.loss <= point.plain_loss


@pytest.mark.parametrize("remap", [False, True])
def test_utility_alone_leaves_every_scale_at_one(remap):
    made = task(remap=remap)
    preset = PRESETS["AmPL-U"]
    tried = measuring(replace(made, settings=preset.settings(made.settings)))
    last = list(preset.rounds(tried))[-1]
    assert last.outcome.scales == (1.0, 1.0)
    assert last.moved == 0.0


def test_ampl_1_moves_the_first_tier_only_in_its_first_two_readings():
    made = task(rounds=3, rate_weight=5.0)
    for name, others in (("AmPL-1", 1.0), ("AmPL-1-clear", 1e4)):
        preset = PRESETS[name]
        steps = list(preset.rounds(measuring(replace(made, settings=preset.settings(made.settings)))))
        assert {step.outcome.scales[1] for step in steps} == {others}
    clear = steps[0].outcome
    assert clear.tiers[1].top1 == 1.0  # released as it is


def test_the_chosen_scales_are_the_last_that_were_certified(found):
    assert found.state == "certified"
    passed = [tested for tested in found.sequence if tested.state == "certified"]
    assert found.chosen == passed[-1].scales
    assert all(tested.state == "certified" for tested in found.sequence[:-1])
    assert max(passed[-1].upper) <= found.settings.delta


def test_plain_noise_violates_what_the_chosen_scales_keep(found):
    assert found.choice("EM").rate > 0.1 > found.choice("AmPL").rate


def test_the_baseline_has_the_utility_of_the_choice(found):
    assert found.choice("uniform").loss == pytest.approx(found.choice("AmPL").loss, rel=0.01)
    assert len(set(found.choice("uniform").scales)) == 1


def test_the_search_beats_the_grid_and_the_grid_beats_one_scale(found):
    volumes = dict(found.hypervolumes)
    assert volumes["all"] >= volumes["grid"] >= volumes["uniform"] > 0


def test_no_better_point_of_the_grid_would_have_been_certified(found):
    chosen = found.choice("AmPL").loss
    better = [p for p in found.grid if p.admissible and p.loss < chosen * 0.95]
    assert all(p.rate > 0.5 * found.settings.delta for p in better)


def test_what_is_certified_is_what_is_released_after_remapping():
    found = adapt(task(remap=True))
    assert found.mechanism.startswith("Remap(")
    assert found.choice("AmPL, remapped").scales == found.chosen
    certified = {e.certificate.claim.tier: e.certificate.mean for e in found.evidence}
    remapped = {tier.tier: tier.rate for tier in found.choice("AmPL, remapped").tiers}
    assert certified == pytest.approx(remapped)


def test_interrupted_work_continues_and_gives_the_same_result(tmp_path, found):
    seen = []

    def stop(what, done, total):
        seen.append(what)
        if len(seen) == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapt(task(), folder=tmp_path, progress=stop)
    kept = len(list(tmp_path.iterdir()))
    again = adapt(task(), folder=tmp_path)
    assert kept >= 7
    assert (again.chosen, again.grid, again.sequence) == (found.chosen, found.grid, found.sequence)


def test_points_kept_by_another_experiment_are_not_read(tmp_path):
    first, second = (measuring(task(epsilon=epsilon)) for epsilon in (EPSILON, 2.0))
    kept = [replace(tried, folder=tmp_path).outcome((0.4, 0.8)) for tried in (first, second)]
    assert kept[0].tiers[0].rate != kept[1].tiers[0].rate
    assert len(list(tmp_path.iterdir())) == 2


def test_processes_give_the_same_bits(found):
    spread = adapt(task(), execution=Execution("processes", 2))
    assert (spread.grid, spread.chosen, spread.compared) == (found.grid, found.chosen, found.compared)


def test_too_few_documents_are_refused_before_any_work():
    with pytest.raises(InvalidInput, match=r"delta=0.001 cannot be certified.*needs \d+ independent units"):
        adapt(task(delta=0.001))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"grid": (0.5, 1.5)}, r"expected scales in \(0, 1\]; calibrate"),
        ({"grid": ()}, r"expected scales in \(0, 1\]"),
        ({"grid": tuple(np.linspace(0.1, 1, 40))}, "a grid of 40 scales, expected at most"),
        ({"objective": "weighted", "rounds": 0}, "expected at least one round"),
        ({"success": {"PERSON": 0.2}}, "success names 'PERSON', expected some of PII, PoII"),
        ({"remap": "sometimes"}, "remap='sometimes'"),
        ({"law": "worst"}, "law='worst'"),
        ({"objective": "best"}, "objective='best'"),
        ({"delta": 0.0}, "delta"),
    ],
)
def test_bad_settings_are_refused(asked, message):
    with pytest.raises(InvalidInput, match=message):
        adapt(task(**asked))


def test_an_attacker_that_serves_one_mechanism_only_is_refused():
    class Stubborn:
        name, with_context = "stubborn", False

        def beliefs(self, release):
            return iter(())

    made = task()
    with pytest.raises(InvalidInput, match="stubborn has no method against"):
        adapt(replace(made, attackers=(Stubborn(),)))


def test_a_retrained_attacker_is_fitted_at_every_scale_it_is_read_under():
    made = task()
    seen = []

    def fit(known):
        seen.append(known.tiers.scales)
        return fit_plugin(known)

    retrained = Retrained(fit, fit(made.known))
    tried = measuring(replace(made, attackers=(retrained,)))
    assert tried.outcome((0.4, 0.8)) == measuring(made).outcome(
        (0.4, 0.8)
    )  # a plug-in does not depend on the mechanism
    assert seen == [(1.0, 1.0), (0.4, 0.8)]


@pytest.mark.parametrize("name", ["EM", "AmPL-P", "AmPL-1"])
def test_a_preset_runs_its_own_loop(name):
    found = adapt(task(documents=120, preset=name, rate_weight=5.0, rounds=2, grid=(0.5, 1.0)))
    assert found.settings.objective == "weighted"
    first, last = found.rounds[0].outcome.scales, found.rounds[-1].outcome.scales
    assert first == (1.0, 1.0)
    if name == "EM":
        assert last == (1.0, 1.0)
        assert found.settings.rate_weight == 0.0
    elif name == "AmPL-P":
        assert max(last) < 1.0
        assert found.settings.loss_weight == 0.0
    else:
        assert last[1] == 1.0
