"""The masked attacker: it learns from clean records, reads releases exactly, and never reads its own release."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oddshift.attackers import ATTACKERS, FitOptions  # noqa: E402
from oddshift.attackers.controls import Own  # noqa: E402
from oddshift.attackers.masked import MaskedSettings, fit_masked  # noqa: E402
from oddshift.attackers.training import Schedule  # noqa: E402
from oddshift.base.errors import InvalidInput  # noqa: E402
from worlds import gather, log_score, ring, two_tiers, with_words  # noqa: E402

QUICK = Schedule(epochs=6, batch=32, learning_rate=3e-2)
SMALL = MaskedSettings(width=16, particles=48)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def walk():
    return ring()


@pytest.fixture(scope="module")
def fitted(walk):
    return fit_masked(walk.known, SMALL, QUICK)


@pytest.fixture(scope="module")
def weighed(walk):
    """As the registry gives it."""
    return ATTACKERS["masked"](walk.known, np.random.default_rng(0), FitOptions(epochs=6, width=16))


@pytest.fixture(scope="module")
def small_walk():
    return ring(documents=60)


def with_particles(attacker, count):
    return replace(attacker, law=replace(attacker.law, particles=count))


def terms(attacker, release):
    return gather(attacker, release)[0] - gather(Own(attacker.known), release)[0]


def test_it_learns_the_walk(walk, weighed):
    assert log_score(weighed, walk) < log_score(Own(walk.known), walk) - 0.3
    assert all(0.3 < weight < 1.5 for weight in weighed.weights[0][0])
    assert weighed.name == "masked"


def test_more_particles_read_better(walk, fitted):
    few, many = (log_score(with_particles(fitted, count), walk) for count in (2, 64))
    assert many < few - 0.1


def test_the_filter_is_exact_message_passing(walk, fitted):
    """With two positions the message is a sum over one secret, which can be done by hand."""
    pair = replace(walk.release, outputs=np.array([1, 5]), offsets=np.array([0, 2]), position_tiers=np.zeros(2, int))
    drawn = terms(with_particles(fitted, 6_000), pair)
    with torch.no_grad():
        by_hand = np.stack([said_by(fitted, 1, 5), said_by(fitted, 0, 1)])
    np.testing.assert_allclose(drawn, by_hand, atol=0.03)


def said_by(attacker, end, output):
    """log Σ_b Pr[b | output]·Pr[x | b]/π(x), by a loop over b, for a reader that has passed one position."""
    known, side = attacker.known, attacker.law.model.sides[end]
    prior = np.exp(known.log_prior)
    belief = prior * np.exp(known.mechanism.log_columns(np.array([output]))[0])
    belief /= belief.sum()
    features = torch.zeros(1, 2, side.place.in_features)
    features[..., 3:] = 1.0  # no gap is known, and there is one public tier
    places, total = side.place(features), np.zeros(len(prior))
    mean = torch.from_numpy(prior).float() @ side.read()
    for point, weight in enumerate(belief):
        element = torch.stack([side.read()[point], mean])[None]
        plain = torch.stack([mean, mean])[None]
        told = (side.states(element, places) - side.states(plain, places))[0, 1] @ side.write().T
        total += weight * (told + torch.from_numpy(known.log_prior).float()).softmax(dim=0).numpy()
    return np.log(total / prior)


def test_its_own_output_never_enters_the_context_term(walk, fitted):
    changed = walk.release.outputs.copy()
    first = walk.release.offsets[:-1]
    changed[first] = (changed[first] + 3) % 8
    before, after = (terms(fitted, replace(walk.release, outputs=y)) for y in (walk.release.outputs, changed))
    np.testing.assert_allclose(before[first], after[first], atol=1e-9)
    assert np.abs(before - after).max() > 1e-2


@pytest.mark.parametrize("is_public", [True, False])
def test_a_lone_position_keeps_its_own_release(is_public):
    world = ring(length=None, tiers=two_tiers(is_public=is_public), documents=120)
    attacker = fit_masked(world.known, SMALL, replace(QUICK, epochs=1))
    shift, own = gather(attacker, world.release)[0], gather(Own(world.known), world.release)[0]
    alone = np.repeat(world.release.lengths == 1, world.release.lengths)
    assert alone.any()
    np.testing.assert_array_equal(shift[alone], own[alone])
    assert np.abs(shift - own)[~alone].max() > 1e-3


def test_independent_secrets_teach_nothing():
    world = ring(strength=0.0, documents=100)
    attacker = ATTACKERS["masked"](world.known, np.random.default_rng(0), FitOptions(epochs=2, width=8))
    assert not attacker.has_weights or np.abs(terms(attacker, world.release)).max() < 0.3


def test_untrained_it_is_own(small_walk):
    walk = small_walk
    attacker = fit_masked(walk.known, SMALL, replace(QUICK, epochs=0))
    np.testing.assert_allclose(terms(attacker, walk.release), 0.0, atol=1e-5)


def test_spacing_is_read(small_walk):
    """Where words stand between the secrets, the class of each gap is a feature of its position."""
    world = with_words(small_walk)
    attacker = fit_masked(world.known, SMALL, replace(QUICK, epochs=1))
    context = world.release.context
    without = replace(world.release, context=None)
    assert context is not None
    assert np.abs(terms(attacker, world.release) - terms(attacker, without)).max() > 1e-4


def test_it_repeats(small_walk):
    first, again = (fit_masked(small_walk.known, SMALL, replace(QUICK, epochs=1)) for _ in range(2))
    assert again.fingerprint == first.fingerprint
    np.testing.assert_array_equal(*(gather(each, small_walk.release)[0] for each in (first, again)))


def test_under_other_noise_it_is_weighed_again(weighed):
    weaker = ring(epsilon=1.5)
    there = weighed.against(weaker.known)
    assert there.parts[0].law is weighed.parts[0].law  # nothing is trained again
    assert there.weights != weighed.weights
    assert log_score(there, weaker) < log_score(Own(weaker.known), weaker)


def test_weights_count_and_how_training_went_does_not(small_walk):
    law = fit_masked(small_walk.known, SMALL, replace(QUICK, epochs=1)).law
    before = law.fingerprint
    assert replace(law, curve=replace(law.curve, train=(9.0,))).fingerprint == before
    with torch.no_grad():
        law.model.sides[0].read_free.view(-1)[0] += 1e-3
    assert law.fingerprint != before


def test_the_registry_keeps_the_limits_of_training(small_walk):
    made = ATTACKERS["masked"](small_walk.known, np.random.default_rng(0), FitOptions(epochs=1, width=8))
    law = made.parts[0].law
    assert len(law.curve.train) == 1
    assert law.model.sides[0].read().shape == (8, 8)
    assert law.particles == 128  # as many as a few points allow


@pytest.mark.parametrize("wrong", [{"width": 0}, {"hidden": 1.0}, {"hidden": -0.1}, {"particles": 0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InvalidInput):
        MaskedSettings(**wrong)
