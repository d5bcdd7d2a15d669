"""The prior given the place: it is no leak, it counts where it predicts, and no part takes it for evidence.

The prior of places: trusted as far as it predicts the trips of others.
"""

from dataclasses import replace

import numpy as np
import pytest
from studies.place_worlds import independent, routes, tied
from studies.world_laws import LENGTH, POINTS, copies, pick
from studies.worlds import exact_attacker

import oddshift as od
from oddshift.attackers.attacker import knowledge, place_law
from oddshift.attackers.candidate_sampling import prior_part
from oddshift.attackers.combination import Combination
from oddshift.attackers.controls import Own
from oddshift.attackers.cooccurrence import Reuse
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.portfolio import common_parts, dense_parts, fit_portfolio, row_parts
from oddshift.attackers.prior_by_place import REACHES, fit_place_prior, place_codes, place_weights
from oddshift.attackers.row_layout import row_layout
from oddshift.audit.scan import Budget, scan
from oddshift.base.safe_serialization import load_graph, save_graph
from oddshift.mechanisms import Channel, Exponential
from oddshift.model.records import Context, Records, offsets_of
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from worlds import World, gather, log_score

EPSILON = 1.5


def made(world, documents=1_000, seed=5):
    rng = np.random.default_rng(seed)
    em, tiers = Exponential(world.space, EPSILON), one_tier(world.space)
    known, fresh = knowledge(em, tiers, world.records(documents, rng)), world.records(1_000, rng)
    return World(known, fresh, perturb(fresh, em, tiers, rng))


def scanned(attacker, world):
    budget = Budget(world.known.mechanism, world.known.tiers, EPSILON)
    return scan(
        attacker, world.release, world.secrets, budget, np.random.default_rng(0), laws=("anchored",), detailed=False
    )


def single(attacker):
    """The single release under the prior of a combination."""
    return replace(attacker, weights=tuple(tuple((0.0, 0.0) for _ in row) for row in attacker.weights))


def test_a_place_counts_from_both_ends_up_to_a_few():
    codes = place_codes(np.array([40, 0, 2]))
    assert codes[:, 0].tolist() == [0, REACHES[1], REACHES[2]]
    assert codes[:, 39].tolist() == [REACHES[0], 0, REACHES[2]]
    assert codes[:, 40:].tolist() == [[0, 1], [1, 0], [1, 1]]


def test_independent_secrets_with_laws_by_place_teach_nothing():
    world = independent()
    here = made(world)
    found = fit_portfolio(here.known, np.random.default_rng(0))
    measured, alone = scanned(found, here), log_score(single(found), here)
    assert measured.anchored.mean() == 0.0
    assert abs(alone - log_score(found, here)) < 1e-3
    own = log_score(Own(here.known), here)
    laws = np.log(world.law.laws[0])[np.tile(np.arange(LENGTH), len(here.secrets))]
    true_prior = [laws, here.known.mechanism.log_columns(here.release.outputs)]
    best = np.log(np.exp(sum(true_prior)).sum(axis=1)) - sum(true_prior)[np.arange(len(laws)), here.secrets.points]
    assert own - best.mean() > 0.4
    assert alone < best.mean() + 0.03


@pytest.mark.parametrize("law", [routes, tied])
def test_dependent_secrets_with_laws_by_place_leak_what_they_leak(law):
    world = law()
    here = made(world)
    found = scanned(fit_portfolio(here.known, np.random.default_rng(0)), here).anchored.mean()
    # without laws by place more than twice the truth; with them routes are still overstated, up to 1.37 in the study
    assert 0.6 < found / scanned(exact_attacker(world, here.known), here).anchored.mean() < 1.4


def test_one_law_for_all_places_stays_exactly_that():
    here = made(copies(), 600)
    assert all(place_weights(here.known, np.random.default_rng(seed)) is None for seed in range(5))
    found = fit_portfolio(here.known, np.random.default_rng(0))
    assert prior_part(found.parts) is None
    assert all(block.log_prior is here.known.log_prior for block in found.beliefs(here.release))


def parts_of(known):
    fits = [*common_parts(), *dense_parts(POINTS, 0), lambda some: LawAttacker(some, Reuse(), "reuse")]
    return [fit(known) for fit in fits]


@pytest.mark.parametrize("law", [routes, tied])
def test_outputs_that_say_nothing_say_nothing_about_places(law):
    here = made(law(), 300)
    silent = Channel(here.known.mechanism.space, np.full((POINTS, 4), np.log(0.25)))
    known = replace(here.known, mechanism=silent)
    release = perturb(here.secrets.take(np.arange(50)), silent, known.tiers, np.random.default_rng(0))
    for part in parts_of(known):
        shift, _ = gather(part, release)
        assert np.ptp(shift, axis=1).max() < 1e-8, part.name


def test_columns_say_nothing_without_outputs_either():
    space = Space(np.arange(6.0)[:, None])
    tiers = Tiers(np.repeat([0, 1], 3), names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    rng = np.random.default_rng(0)
    first = rng.choice(3, p=[0.6, 0.3, 0.1], size=300)
    known = knowledge(
        Channel(space, np.full((6, 4), np.log(0.25))),
        tiers,
        Records.from_documents(space, list(np.stack([first, 3 + first], axis=1))),
    )
    release = perturb(known.fit, known.mechanism, tiers, rng)
    for part in (fit(known) for fit in row_parts(row_layout(known), 0)):
        shift, _ = gather(part, release)
        inside = [shift[tiers.labels[known.fit.points] == tier][:, tiers.labels == tier] for tier in range(2)]
        assert max(np.ptp(each, axis=1).max() for each in inside) < 1e-8, part.name


def several_lengths(documents, rng):
    """Documents of two to seven secrets; the last is one of the last three points, the others one of the first nine."""
    space = Space(np.arange(12.0)[:, None])
    rows = [np.append(rng.integers(9, size=n - 1), 9 + rng.integers(3)) for n in rng.integers(2, 8, documents)]
    return Records.from_documents(space, rows)


def test_the_last_place_is_known_whatever_the_length():
    rng = np.random.default_rng(3)
    fit, fresh = several_lengths(600, rng), several_lengths(200, rng)
    em, tiers = Exponential(fit.space, 0.5), one_tier(fit.space)
    known = knowledge(em, tiers, fit)
    weights = place_weights(known, np.random.default_rng(0))
    release = perturb(fresh, em, tiers, rng)
    (block,) = fit_place_prior(known, weights).terms(known, release)
    prior = np.exp(block.log_prior)
    prior /= prior.sum(axis=1, keepdims=True)
    last = place_codes(fresh.lengths)[1] == 0
    assert prior[last][:, 9:].sum(axis=1).min() > 0.95
    assert prior[~last][:, :9].sum(axis=1).min() > 0.95
    assert not block.context.any()


def test_a_tier_without_laws_by_place_keeps_one_row():
    rng = np.random.default_rng(4)
    space = Space(np.arange(12.0)[:, None])
    tiers = Tiers(np.repeat([0, 1], 6), names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    laws = np.zeros((4, 12))
    laws[0, :3], laws[1, 6:], laws[2, 3:6], laws[3, 6:] = 1 / 3, 1 / 6, 1 / 3, 1 / 6
    rows = np.stack([pick(np.tile(law, (600, 1)), rng) for law in laws], axis=1)
    known = knowledge(Exponential(space, 1.0), tiers, Records.from_documents(space, list(rows)))
    weights = place_weights(known, np.random.default_rng(0))
    assert weights[0].any()
    assert not weights[1].any()
    places = LawAttacker(known, fit_place_prior(known, weights), "places")
    release = perturb(known.fit, known.mechanism, tiers, rng)
    combined = Combination(known, (places,), (((0.0, 0.0),),) * 2)
    assert [block.log_prior.ndim for block in combined.candidate_beliefs(release)] == [2, 1]
    (block,) = combined.beliefs(release)
    assert block.log_prior.shape == (2_400, 12)
    np.testing.assert_allclose(block.log_prior[1], known.log_prior)


def test_it_serves_other_mechanisms_and_is_kept(tmp_path):
    here = made(routes(), 400)
    found = fit_portfolio(here.known, np.random.default_rng(0))
    noisier = replace(here.known, mechanism=Exponential(here.known.fit.space, 0.7))
    other = found.against(noisier)
    priors = [next(each.candidate_beliefs(here.release)).log_prior for each in (found, other)]
    np.testing.assert_array_equal(*priors)
    save_graph(tmp_path / "found.npz", found.parts)
    again = replace(found, parts=load_graph(tmp_path / "found.npz"))
    np.testing.assert_array_equal(next(again.candidate_beliefs(here.release)).log_prior, priors[0])


def silent_words(records):
    """A word after every secret that says nothing."""
    tokens = np.tile([-1, 0], len(records.points))
    breaks = np.zeros(len(tokens), dtype=np.bool_)
    context = Context(tokens=tokens, offsets=offsets_of(2 * records.lengths), symbols=("word",), breaks=breaks)
    return replace(records, context=context)


def test_next_to_words_the_place_still_counts():
    here = made(independent())
    known, secrets = replace(here.known, fit=silent_words(here.known.fit)), silent_words(here.secrets)
    here = World(known, secrets, replace(here.release, context=secrets.context))
    found = fit_portfolio(known, np.random.default_rng(0), reads_words=True)
    plain = fit_portfolio(known, np.random.default_rng(0))
    own = log_score(Own(known), here)
    assert own - log_score(single(found), here) > 0.9 * (own - log_score(single(plain), here)) > 0.4
    assert scanned(found, here).anchored.mean() < 0.002  # what a chance agreement of held-out secrets may leave


SIZE = 12


def streets():
    """The crossings of a square city, half a kilometre apart."""
    row, column = np.divmod(np.arange(SIZE * SIZE), SIZE)
    return od.Space(np.stack([38.0 + 0.0045 * row, 23.7 + 0.0057 * column], axis=1), "haversine")


def walks(users, trips=3, fixes=30, seed=0):
    """Each user stays in a corner of his own, waits often and steps to a neighbour otherwise."""
    rng = np.random.default_rng(seed)
    documents, whose = [], []
    for user in range(users):
        home = rng.integers(0, SIZE, 2)
        for _ in range(trips):
            at, walk = home.copy(), []
            for _ in range(fixes):
                walk.append(int(at[0] * SIZE + at[1]))
                if rng.random() > 0.6:
                    at = np.clip(at + rng.integers(-1, 2, 2), np.maximum(home - 2, 0), np.minimum(home + 2, SIZE - 1))
            documents.append(walk)
            whose.append(user)
    return od.Records.from_documents(streets(), documents, users=whose)


def known_of(records):
    space = records.space
    tiers = od.Tiers(np.zeros(len(space), dtype=int), names=("all",), scales=(1.0,), is_public=True)
    return knowledge(od.Exponential(space, 2.0), tiers, records)


def log_loss(law, records):
    return -float(np.log(law[records.points]).mean())


def test_the_prior_of_few_users_predicts_another_user_better_than_their_counts():
    few, other = walks(8), walks(30, seed=1)
    allowed = np.ones(len(few.space), dtype=bool)
    counts = few.counts() + 0.5
    law = place_law(few, allowed, 0.5)
    assert law.sum() == pytest.approx(1.0)
    assert log_loss(law, other) < log_loss(counts / counts.sum(), other) - 0.2
    np.testing.assert_allclose(np.exp(known_of(few).log_prior), law)


def test_the_prior_of_one_user_is_the_counts_and_points_that_are_not_allowed_have_none():
    one = walks(1, trips=1)
    allowed = np.arange(len(one.space)) % 2 == 0
    law = place_law(one, allowed, 0.5)
    counts = np.where(allowed, one.counts() + 0.5, 0.0)
    np.testing.assert_allclose(law, counts / counts.sum())
    assert (place_law(walks(5), allowed, 0.5)[~allowed] == 0).all()
