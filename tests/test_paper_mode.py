"""Paper mode does what the paper says, and its temperature decides what it reports.

The training loop: checkpoints of one run only, limits, repeatable noise, and users that stay together.
"""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oddshift.attackers import ATTACKERS, FitOptions  # noqa: E402
from oddshift.attackers import training as loop  # noqa: E402
from oddshift.attackers.fitting import PaperOptions  # noqa: E402
from oddshift.attackers.paired_log_score import split  # noqa: E402
from oddshift.attackers.paper import (  # noqa: E402
    PAPER_SCHEDULE,
    _held_out,
    fit_paper,
    squared_distances,
)
from oddshift.attackers.reconstruction import (  # noqa: E402
    ARCHITECTURES,
    PaperSettings,
)
from oddshift.attackers.training import Schedule, noise  # noqa: E402
from oddshift.base.errors import InvalidInput, TamperedEvidence  # noqa: E402
from oddshift.mechanisms import Exponential, Mask  # noqa: E402
from oddshift.model.space import Space  # noqa: E402
from worlds import gather, ring, toy  # noqa: E402

QUICK = replace(PAPER_SCHEDULE, epochs=4, batch=16)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


def small(architecture="rnn", **options):
    return PaperSettings(architecture=architecture, width=16, **options)


def learner(known, settings):
    from oddshift.attackers.reconstruction import PairLearner, Sight

    return PairLearner(known, settings, QUICK, Sight(known.mechanism.space.points, None))


def reconstruction(attacker, release):
    guess = np.empty((len(release.outputs), 2))
    for positions, found in attacker.reconstructions(release):
        guess[positions] = found
    return guess


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_it_reconstructs_better_than_the_mean(architecture):
    world = ring(length=None, strength=0.95)
    attacker = fit_paper(world.known, small(architecture), replace(QUICK, learning_rate=1e-2))
    truth = world.known.fit.space.points[world.secrets.points]
    assert ((reconstruction(attacker, world.release) - truth) ** 2).mean() < 0.9 * (truth**2).mean()
    assert attacker.name == f"paper-{architecture}"


def test_it_is_the_gaussian_softmax():
    world = ring(documents=30)
    attacker = fit_paper(world.known, small(tau_base=0.5, tau=3.0), replace(QUICK, epochs=1))
    guess = reconstruction(attacker, world.release)
    shift, prior = gather(attacker, world.release)
    expected = -((guess[:, None] - world.known.fit.space.points[None]) ** 2).sum(axis=2) / 1.5
    np.testing.assert_allclose(shift, expected, atol=1e-9)
    assert (prior == 0).all()


def test_the_temperature_sets_the_leakage():
    world = ring(documents=30)
    cold = fit_paper(world.known, small(tau=0.5), replace(QUICK, epochs=1))
    warm = replace(cold, settings=small(tau=2.0))
    np.testing.assert_allclose(gather(cold, world.release)[0], 4.0 * gather(warm, world.release)[0], atol=1e-9)


def test_an_empirical_prior_is_taken_out_again():
    world = ring(documents=30)
    uniform = fit_paper(world.known, small(), replace(QUICK, epochs=1))
    empirical = replace(uniform, settings=small(prior="empirical"))
    shift, prior = gather(empirical, world.release)
    np.testing.assert_allclose(shift + prior, gather(uniform, world.release)[0], atol=1e-12)
    np.testing.assert_array_equal(prior[0], world.known.log_prior)


def test_pairs_or_documents_are_held_out():
    known = ring(documents=40).known
    by_document = learner(known, small()).learning.reshape(40, 4)
    assert set(by_document.sum(axis=1)) == {0.0, 4.0}
    by_pair = learner(known, small(split_by="pair")).learning.reshape(40, 4)
    assert by_pair.sum() == by_document.sum() == 120
    assert ((by_pair.sum(axis=1) > 0) & (by_pair.sum(axis=1) < 4)).any()


def test_noise_is_drawn_once_unless_asked():
    known = ring(documents=40).known
    for fresh in (False, True):
        made = learner(known, small(fresh_noise=fresh))
        seen = []
        real = made._released
        made._released = lambda at, documents, epoch, real=real, seen=seen: (
            seen.append(epoch) or real(at, documents, epoch)
        )
        made.epoch(0)
        made.epoch(1)
        assert seen == ([0, 1] if fresh else [0])


def test_what_is_released_once_is_what_each_epoch_would_release():
    made = learner(ring(documents=40).known, small())
    documents = np.array([7, 3, 11])
    np.testing.assert_array_equal(
        made._released_once.take(documents).outputs, made._released(made.known, documents, 0).outputs
    )


def test_documents_are_validated_in_the_order_of_their_lengths():
    made = learner(ring(documents=40).known, small())
    lengths = made.known.fit.lengths[made._validated]
    assert (np.diff(lengths) >= 0).all()
    assert set(made._validated) == set(made._of_side(False))
    (_, release), *_ = made._held_out
    np.testing.assert_array_equal(release.lengths, lengths)


def test_the_rate_falls_on_a_plateau():
    made = learner(ring(documents=20).known, small())
    for _ in range(8):
        made.validate()  # nothing learned in between: no progress
    assert made.optimiser.param_groups[0]["lr"] == pytest.approx(1e-4)


def test_interrupted_training_continues_as_if_nothing_happened(tmp_path, monkeypatch):
    world, file = ring(documents=30), tmp_path / "run.safetensors"
    straight = fit_paper(world.known, small(), QUICK)
    real, done = loop._write, []

    def interrupting(*arguments):
        real(*arguments)
        done.append(1)
        if len(done) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "_write", interrupting)
    with pytest.raises(KeyboardInterrupt):
        fit_paper(world.known, small(), QUICK, checkpoint=file)
    monkeypatch.setattr(loop, "_write", real)
    resumed = fit_paper(world.known, small(), QUICK, checkpoint=file)
    assert resumed.curve == straight.curve
    np.testing.assert_array_equal(gather(resumed, world.release)[0], gather(straight, world.release)[0])


def test_outputs_that_are_no_points_are_learned_vectors():
    attacker = fit_paper(toy(200), small(), replace(QUICK, epochs=1))
    assert attacker.model.inputs.weight.requires_grad
    world = ring(documents=10)
    masked = replace(world.known, mechanism=Mask(world.known.fit.space))
    release = replace(world.release, outputs=np.zeros_like(world.release.outputs))
    assert np.isfinite(gather(fit_paper(masked, small(), replace(QUICK, epochs=1)), release)[0]).all()


def test_squared_distances():
    np.testing.assert_allclose(
        squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])), [[25.0, 0.0]]
    )


def test_what_cannot_be_used_is_refused():
    for wrong in ({"prior": "flat"}, {"split_by": "user"}, {"tau": 0.0}, {"architecture": "gru"}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            PaperSettings(**wrong)


def scaled_world():
    """A small world with a mechanism for every scale of its one tier."""
    world = ring(documents=40)

    def family(tiers):
        return Exponential(world.known.mechanism.space, 2.0 * tiers.scales[0])

    return world, family


def test_one_network_serves_all_scales():
    world, family = scaled_world()
    conditioned = fit_paper(world.known, small(scale_range=(0.25, 1.0)), QUICK, family=family)
    tiers = world.known.tiers.with_scales((0.25,))
    there = conditioned.against(replace(world.known, tiers=tiers, mechanism=family(tiers)))
    assert there.model is conditioned.model
    at_one, at_quarter = (reconstruction(attacker, world.release) for attacker in (conditioned, there))
    assert not np.allclose(at_one, at_quarter), "the scales are an input"
    single = fit_paper(world.known, small(), replace(QUICK, epochs=1))
    with pytest.raises(InvalidInput, match="one mechanism"):
        single.against(world.known)


def test_a_network_is_trained_on_for_its_own_scales():
    world, family = scaled_world()
    settings = small(scale_range=(0.25, 1.0))
    start = fit_paper(world.known, settings, QUICK, family=family)
    before = {name: value.clone() for name, value in start.model.state_dict().items()}
    tuned = fit_paper(world.known, settings, replace(QUICK, epochs=2), start=start)
    assert tuned.curve.validation[0] != fit_paper(world.known, small(), replace(QUICK, epochs=0)).curve.validation[0]
    assert min(tuned.curve.validation) <= tuned.curve.validation[0]
    assert all(torch.equal(value, before[name]) for name, value in start.model.state_dict().items())


def test_scales_need_a_family_or_a_start():
    world, family = scaled_world()
    with pytest.raises(InvalidInput, match="scale_range was given without family"):
        fit_paper(world.known, small(scale_range=(0.5, 1.0)), QUICK)
    with pytest.raises(InvalidInput, match="scale_range was given without family"):
        fit_paper(world.known, small(), QUICK, family=family)
    with pytest.raises(InvalidInput, match="scale_range"):
        small(scale_range=(0.0, 1.0))


def test_an_attacker_reads_through_an_embedding_of_its_own():
    world, _ = scaled_world()
    points = world.known.fit.space.points
    other = np.concatenate([points[:, ::-1] * 3.0, np.ones((len(points), 1))], axis=1)
    quick = replace(QUICK, epochs=1)
    attacker = fit_paper(world.known, small(), quick, embedding=other)
    assert attacker.points.shape == (len(points), 3)
    for _, guess in attacker.reconstructions(world.release):
        assert guess.shape[1] == 3
    shift, _ = gather(attacker, world.release)
    assert shift.shape[1] == len(points)
    same = fit_paper(world.known, small(), quick, embedding=points.copy())
    np.testing.assert_allclose(
        gather(same, world.release)[0], gather(fit_paper(world.known, small(), quick), world.release)[0], atol=1e-9
    )
    assert attacker.fingerprint != same.fingerprint
    for wrong in (other[:-1], np.full_like(other, np.nan)):
        with pytest.raises(InvalidInput, match="embedding"):
            fit_paper(world.known, small(), quick, embedding=wrong)


def test_an_embedding_without_rows_for_the_outputs_is_refused():
    world, _ = scaled_world()
    space = world.known.mechanism.space
    elsewhere = replace(world.known, mechanism=Exponential(space, 2.0, outputs=Space(space.points + 1.0)))
    with pytest.raises(InvalidInput, match="outputs"):
        fit_paper(elsewhere, small(), QUICK, embedding=space.points.copy())


def test_a_configuration_reaches_every_option():
    world = ring(documents=40)
    asked = PaperOptions(temperature="fitted", prior="empirical", split="pair", width=16, epochs=2)
    fitted = ATTACKERS["paper-rnn"](world.known, np.random.default_rng(0), FitOptions(epochs=9, paper=asked))
    assert (fitted.settings.prior, fitted.settings.split_by, fitted.settings.width) == ("empirical", "pair", 16)
    assert len(fitted.curve.train) == 2, "its own epochs come before those of the audit"
    assert fitted.settings.temperature != 1.0
    fixed = ATTACKERS["paper-rnn"](
        world.known, np.random.default_rng(0), FitOptions(paper=replace(asked, temperature="fixed", tau=3.0))
    )
    assert fixed.settings.temperature == 3.0
    assert all(
        torch.equal(value, fitted.model.state_dict()[name]) for name, value in fixed.model.state_dict().items()
    ), "the temperature is fitted after training, and changes no weight"


def test_a_matched_temperature_gives_the_ratio_that_was_asked_for_and_says_so():
    world = ring(documents=40)
    asked = PaperOptions(temperature="matched", matched_epsilon=1.5, matched_ratio=0.3, width=16, epochs=1)
    matched = ATTACKERS["paper-rnn"](world.known, np.random.default_rng(0), FitOptions(paper=asked))
    assert matched.name == "paper-rnn (T matched)"
    release, _ = _held_out(matched, PAPER_SCHEDULE.validation, int(np.random.default_rng(0).integers(1 << 31)))
    shift = np.vstack([beliefs.shift for beliefs in matched.beliefs(release)])
    points = world.known.fit.space.points
    first, second = np.triu_indices(len(points), 1)
    distances = np.linalg.norm(points[first] - points[second], axis=1)
    leaks = np.abs(shift[:, first] - shift[:, second]) / distances
    assert np.mean(leaks > 1.5) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": "matched"},
        {"temperature": "matched", "matched_epsilon": 2.5},
        {"temperature": "matched", "matched_epsilon": 2.5, "matched_ratio": 1.0},
        {"matched_epsilon": 2.5, "matched_ratio": 0.2},
    ],
)
def test_what_is_matched_is_stated_in_full_or_not_at_all(wrong):
    with pytest.raises(InvalidInput, match="matched"):
        PaperOptions(**wrong)


def test_a_search_over_scales_takes_one_network():
    world, family = scaled_world()
    options = FitOptions(epochs=1, scale_range=(0.5, 1.0), family=family, paper=PaperOptions(width=16))
    fitted = ATTACKERS["paper-lstm"](world.known, np.random.default_rng(0), options)
    tiers = world.known.tiers.with_scales((0.5,))
    assert fitted.against(replace(world.known, tiers=tiers, mechanism=family(tiers))).model is fitted.model


@pytest.mark.parametrize(
    "wrong", [{"temperature": "warm"}, {"tau": 0.0}, {"width": 2}, {"epochs": 0}, {"prior": "flat"}, {"split": "half"}]
)
def test_options_are_checked(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        PaperOptions(**wrong)


SMALL, ONE_EPOCH = PaperSettings(architecture="rnn", width=16), replace(QUICK, epochs=1)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    known, file = ring(documents=30).known, tmp_path / "run.safetensors"
    fit_paper(known, SMALL, ONE_EPOCH, checkpoint=file)
    with pytest.raises(InvalidInput, match="other data or settings"):
        fit_paper(known, SMALL, replace(ONE_EPOCH, seed=9), checkpoint=file)
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(TamperedEvidence, match="not a complete checkpoint"):
        fit_paper(known, SMALL, ONE_EPOCH, checkpoint=file)


def test_limits_end_training():
    known = ring(documents=30).known
    hurried = fit_paper(known, SMALL, replace(ONE_EPOCH, epochs=500, max_seconds=1e-9))  # any clock has gone further
    assert len(hurried.curve.train) <= 2
    patient = fit_paper(known, SMALL, replace(ONE_EPOCH, epochs=40, patience=2, learning_rate=1.0))
    assert len(patient.curve.train) < 40
    assert patient.curve.best_epoch == int(np.argmin(patient.curve.validation))
    with pytest.raises(InvalidInput, match="validation"):
        Schedule(validation=1.0)


def test_noise_is_that_of_seed_document_and_epoch():
    one = noise(1, np.array([4, 7]), np.array([2, 3]), 5)
    np.testing.assert_array_equal(one[2:], noise(1, np.array([7]), np.array([3]), 5))
    assert not np.array_equal(one, noise(1, np.array([4, 7]), np.array([2, 3]), 6))


def test_documents_of_one_user_are_not_split():
    clusters = np.repeat(np.arange(10), 3)
    learn, held = split(clusters, 0.2, seed=0)
    assert sorted([*learn, *held]) == list(range(30))
    assert not set(clusters[learn]) & set(clusters[held])
    with pytest.raises(InvalidInput, match="at least 2"):
        split(np.zeros(3, dtype=int), 0.2, seed=0)
