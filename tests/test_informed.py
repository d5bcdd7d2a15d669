"""The informed attacker: exact where there is no context, better than own where there is, repeatable, resumable."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oddshift.attackers import training as loop  # noqa: E402
from oddshift.attackers.attacker import knowledge  # noqa: E402
from oddshift.attackers.chain import fit_plugin  # noqa: E402
from oddshift.attackers.controls import Own  # noqa: E402
from oddshift.attackers.informed import Network, fit_informed  # noqa: E402
from oddshift.attackers.training import Schedule  # noqa: E402
from oddshift.base.errors import InvalidInput, TamperedEvidence  # noqa: E402
from oddshift.mechanisms import Tiered  # noqa: E402
from oddshift.model.release import perturb  # noqa: E402
from worlds import gather, log_score, ring, toy, toy_leakage, two_tiers, with_words  # noqa: E402

QUICK = Schedule(epochs=8, batch=32, learning_rate=2e-2)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


def small(**options):
    return Network(width=16, **options)


def test_it_learns_the_walk():
    world = ring()
    attacker = fit_informed(world.known, small(), QUICK)
    assert log_score(attacker, world) < log_score(Own(world.known), world) - 0.15
    assert attacker.scale > 0.5
    assert attacker.name == "informed-lstm"


def test_untrained_it_is_own():
    world = ring(length=None)
    attacker = replace(fit_informed(world.known, small(), replace(QUICK, epochs=0)), scale=1.0)
    np.testing.assert_allclose(
        gather(attacker, world.release)[0], gather(Own(world.known), world.release)[0], atol=1e-5
    )


@pytest.mark.parametrize("is_public", [True, False])
def test_a_single_release_is_exact(is_public):
    world = ring(length=None, tiers=two_tiers(is_public=is_public))
    attacker = replace(fit_informed(world.known, small(), replace(QUICK, epochs=2)), scale=1.0)
    shift, own = gather(attacker, world.release)[0], gather(Own(world.known), world.release)[0]
    alone = np.repeat(world.release.lengths == 1, world.release.lengths)
    assert alone.any()
    np.testing.assert_array_equal(shift[alone], own[alone])
    assert np.abs(shift - own)[~alone].max() > 1e-3


def test_its_own_output_never_enters_the_context_term():
    world = ring()
    attacker = replace(fit_informed(world.known, small(), replace(QUICK, epochs=2)), scale=1.0)
    changed = world.release.outputs.copy()
    first = world.release.offsets[:-1]
    changed[first] = (changed[first] + 3) % 8
    before = np.concatenate([c for _, c in attacker.context_terms(world.release)])
    after = np.concatenate([c for _, c in attacker.context_terms(replace(world.release, outputs=changed))])
    np.testing.assert_allclose(before[first], after[first], atol=1e-6)
    assert np.abs(before - after).max() > 1e-3


def test_independent_secrets_teach_nothing():
    world = ring(strength=0.0, documents=400)
    attacker = fit_informed(world.known, small(), QUICK)
    shift, own = gather(attacker, world.release)[0], gather(Own(world.known), world.release)[0]
    assert attacker.scale == 0.0 or np.abs(shift - own).max() < 0.2


def test_with_words_the_prior_is_given_them():
    world = with_words(ring(strength=0.9))
    attacker = fit_informed(world.known, small(reads_context=True, word_at_least=1), QUICK)
    _, prior = gather(attacker, world.release)
    assert attacker.with_context
    assert attacker.name == "informed-lstm+W"
    hint = world.release.context.tokens[1::2]
    mass = np.exp(prior - np.log(np.exp(prior).sum(axis=1, keepdims=True)))
    even = mass[:, ::2].sum(axis=1)
    assert even[hint == 0].mean() > even[hint == 1].mean() + 0.2  # the word behind a secret shows in its prior
    assert log_score(attacker, world) < log_score(fit_informed(world.known, small(), QUICK), world)
    with pytest.raises(InvalidInput, match="no context W"):
        gather(attacker, world.release.without_context())


def test_words_alone_are_no_leakage():
    world = with_words(ring(length=1))
    attacker = replace(
        fit_informed(world.known, small(reads_context=True, word_at_least=1), replace(QUICK, epochs=3)), scale=1.0
    )
    shift, _ = gather(attacker, world.release)
    np.testing.assert_array_equal(shift, gather(Own(world.known), world.release)[0])


def test_one_network_serves_a_range_of_scales():
    tiers = two_tiers()
    world = ring(tiers=tiers)
    space = world.known.fit.space

    def family(t):
        return Tiered(space, t, 3.0)

    network = small(scale_range=(0.5, 2.0))
    attacker = fit_informed(world.known, network, QUICK, family=family)
    for scales in ((0.6, 0.8), (1.5, 1.5)):
        other = knowledge(family(tiers.with_scales(scales)), tiers.with_scales(scales), world.known.fit)
        release = perturb(world.secrets, other.mechanism, other.tiers, np.random.default_rng(5))
        moved = replace(world, known=other, release=release)
        assert log_score(attacker.against(other), moved) < log_score(Own(other), moved) - 0.02
    with pytest.raises(InvalidInput, match="family"):
        fit_informed(world.known, network, QUICK)


def test_it_repeats_under_a_seed():
    world = ring(documents=60)
    first, again = (fit_informed(world.known, small(), replace(QUICK, epochs=3)) for _ in range(2))
    assert first.curve == again.curve
    np.testing.assert_array_equal(gather(first, world.release)[0], gather(again, world.release)[0])
    other = fit_informed(world.known, small(), replace(QUICK, epochs=3, seed=1))
    assert other.curve != first.curve


def test_interrupted_training_continues_as_if_nothing_happened(tmp_path, monkeypatch):
    world = ring(documents=60)
    schedule, file = replace(QUICK, epochs=5), tmp_path / "run.safetensors"
    straight = fit_informed(world.known, small(), schedule)

    real, done = loop._write, []

    def interrupting(*arguments):
        real(*arguments)
        done.append(1)
        if len(done) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "_write", interrupting)
    with pytest.raises(KeyboardInterrupt):
        fit_informed(world.known, small(), schedule, checkpoint=file)
    monkeypatch.setattr(loop, "_write", real)
    resumed = fit_informed(world.known, small(), schedule, checkpoint=file)
    assert resumed.curve == straight.curve
    assert resumed.scale == straight.scale
    np.testing.assert_array_equal(gather(resumed, world.release)[0], gather(straight, world.release)[0])


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    world, file = ring(documents=60), tmp_path / "run.safetensors"
    fit_informed(world.known, small(), replace(QUICK, epochs=1), checkpoint=file)
    with pytest.raises(InvalidInput, match="other data or settings"):
        fit_informed(world.known, small(), replace(QUICK, epochs=1, seed=9), checkpoint=file)
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(TamperedEvidence, match="not a complete checkpoint"):
        fit_informed(world.known, small(), replace(QUICK, epochs=1), checkpoint=file)


def test_limits_end_training():
    world = ring(documents=60)
    hurried = fit_informed(world.known, small(), replace(QUICK, epochs=500, max_seconds=0.01))
    assert len(hurried.curve.train) <= 2
    patient = fit_informed(world.known, small(), replace(QUICK, epochs=40, patience=2, learning_rate=1.0))
    assert len(patient.curve.train) < 40
    assert patient.curve.best_epoch == int(np.argmin(patient.curve.validation))


def test_noise_is_that_of_seed_document_and_epoch():
    one = loop.noise(1, np.array([4, 7]), np.array([2, 3]), 5)
    np.testing.assert_array_equal(one[2:], loop.noise(1, np.array([7]), np.array([3]), 5))
    assert not np.array_equal(one, loop.noise(1, np.array([4, 7]), np.array([2, 3]), 6))


def test_documents_of_one_user_are_not_split():
    clusters = np.repeat(np.arange(10), 3)
    learn, held = loop.split(clusters, 0.2, seed=0)
    assert sorted([*learn, *held]) == list(range(30))
    assert not set(clusters[learn]) & set(clusters[held])
    with pytest.raises(InvalidInput, match="at least 2"):
        loop.split(np.zeros(3, dtype=int), 0.2, seed=0)


def test_what_cannot_be_used_is_refused():
    with pytest.raises(InvalidInput, match="multiple of 4"):
        Network(width=10)
    with pytest.raises(InvalidInput, match="scale_range"):
        Network(scale_range=(2.0, 1.0))
    with pytest.raises(InvalidInput, match="validation"):
        Schedule(validation=1.0)
    with pytest.raises(InvalidInput, match="no context W"):
        fit_informed(ring(documents=20).known, small(reads_context=True), QUICK)


def test_the_toy_from_a_few_pairs():
    known = toy(2_000)
    attacker = fit_informed(known, small(), Schedule(epochs=10, batch=64, learning_rate=1e-2))
    assert toy_leakage(attacker) == pytest.approx(1.8457, abs=0.2)
    assert toy_leakage(fit_plugin(toy(1_000))) == pytest.approx(1.8457, abs=0.03)
