"""Estimated chains against enumeration: every joint value of the secrets of a document, weighed one by one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from oddshift.attackers import estimated_chain
from oddshift.attackers.attacker import Beliefs, knowledge, position_blocks
from oddshift.attackers.backoff import law_of_values, normalised_rows, successive
from oddshift.attackers.chain import fit_gap_chain, fit_plugin, gap_classes
from oddshift.attackers.chain_laws import fit_chain, fit_classes, fit_regimes, log_mix, smoothed_table
from oddshift.attackers.law_attacker import TINY, likelihoods, log_floor
from oddshift.attackers.learning_size import LearningOfSize, Refittable, SizeStep, smaller_fits
from oddshift.attackers.sparse_law import set_labels
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import Release, one_tier
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from worlds import gather, ring, two_tiers, with_words

WORDS = 4
TIERS = {
    "one tier": None,
    "public tiers": Tiers([0, 0, 1, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True),
    "secret tiers": Tiers([0, 0, 1, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=False),
}


@pytest.fixture(scope="module", params=sorted(TIERS))
def world(request):
    return with_words(ring(words=WORDS, length=None, documents=80, tiers=TIERS[request.param]))


def documents_of(release):
    return [np.arange(release.offsets[d], release.offsets[d + 1]) for d in range(len(release))]


def transition(law, tier):
    """Pr[b | a] into one candidate set: own(a, b) + rest(a)·law(b)."""
    return law.own.toarray() + law.rest[:, [tier]] * law.law


def enumerated(plugin, release, positions):
    """Prior and posterior of every position of one document, by summing over all joint values."""
    chain, labels = plugin.law.chain, plugin.known.tiers.labels
    tier = np.zeros(len(release.outputs), dtype=int) if release.position_tiers is None else release.position_tiers
    gap = gap_classes(release) if len(chain.laws) > 1 else np.zeros(len(release.outputs), dtype=int)
    columns = np.exp(plugin.known.mechanism.log_columns(release.outputs[positions]))
    before, after = np.zeros((2, len(positions), WORDS))
    tables = [transition(chain.laws[gap[p]], tier[p]) for p in positions]
    allowed = [labels == tier[p] if release.position_tiers is not None else labels >= 0 for p in positions]
    for values in product(range(WORDS), repeat=len(positions)):
        weight = chain.first[values[0]] * np.prod([allowed[t][x] for t, x in enumerate(values)])
        for t in range(1, len(values)):
            weight *= tables[t][values[t - 1], values[t]]
        seen = weight * np.prod([columns[t, x] for t, x in enumerate(values)])
        for t, x in enumerate(values):
            before[t, x] += weight
            after[t, x] += seen
    return before, after / after.sum(axis=1, keepdims=True)


FITS = {"one law": fit_plugin, "gaps": fit_gap_chain}


@pytest.mark.parametrize("name", FITS)
def test_a_chain_reads_a_document_as_enumeration_does(name, world):
    plugin = FITS[name](world.known)
    shift, prior = gather(plugin, world.release)
    checked = 0
    for positions in documents_of(world.release)[:25]:
        if not len(positions):
            continue
        before, after = enumerated(plugin, world.release, positions)
        np.testing.assert_allclose(np.exp(prior[positions]), before, atol=1e-9)
        total = np.where(before > 0, prior[positions] + shift[positions], -np.inf)
        found = np.exp(total - np.logaddexp.reduce(total, axis=1, keepdims=True))
        np.testing.assert_allclose(found, after, atol=1e-9)
        checked += len(positions) > 2
    assert checked >= 3


@pytest.mark.parametrize("name", FITS)
def test_every_estimated_step_is_a_law(name, world):
    chain = FITS[name](world.known).law.chain
    for number in range(chain.laws[0].rest.shape[1]):
        inside = set_labels(world.known.tiers) == number
        assert chain.first[inside].sum() == pytest.approx(1.0)
        for law in chain.laws:
            rows = transition(law, number)
            np.testing.assert_allclose(rows[:, inside].sum(axis=1), 1.0, atol=1e-9)
            assert rows.min() >= 0.0


def dense_laws(known):
    rng = np.random.default_rng(0)
    return {
        "chain": fit_chain(known),
        "regimes": fit_regimes(known, rng),
        "classes": fit_classes(known, rng),
    }


def test_successive_secrets_stay_inside_their_document():
    space = Space(np.arange(5.0)[:, None])
    before, after = successive(Records.from_documents(space, [[0, 1, 2], [], [3], [4, 0]]))
    assert list(zip(before, after, strict=True)) == [(0, 1), (1, 2), (4, 0)]


def test_a_law_without_context_lies_between_counts_and_the_law_of_all():
    law = np.array([0.2, 0.3, 0.5])
    found = law_of_values(np.array([0, 0, 0, 1]), law)
    assert found.sum() == pytest.approx(1.0)
    assert law[0] < found[0] < 0.75
    assert found[2] < law[2]
    np.testing.assert_array_equal(law_of_values(np.empty(0, dtype=int), law), law)


def test_a_mixture_of_messages_is_a_law_that_cannot_underflow():
    values = np.array([[[0.2, 0.8]], [[0.6, 0.4]]])
    weights = np.array([[[0.0]], [[-1.0]]])
    expected = np.log(values[0] + np.exp(-1.0) * values[1]) - np.log(1.0 + np.exp(-1.0))
    np.testing.assert_allclose(log_mix(values, weights), expected)
    np.testing.assert_allclose(log_mix(values, weights - 5_000.0), expected)


def test_likelihoods_have_their_largest_at_one_and_keep_their_ratios(world):
    positions = np.arange(min(10, len(world.release.outputs)))
    found = likelihoods(world.known, world.release, positions)
    np.testing.assert_allclose(found.max(axis=1), 1.0)
    columns = world.known.mechanism.log_columns(world.release.outputs[positions])
    np.testing.assert_allclose(np.log(found[:, :1] / found), columns[:, :1] - columns, atol=1e-9)


def test_a_message_of_nothing_stays_finite():
    assert log_floor(np.array([0.0, 1.0])).tolist() == [np.log(TINY), 0.0]


def test_rows_become_laws_that_keep_their_ratios():
    np.testing.assert_allclose(normalised_rows(np.array([[1.0, 3.0], [2.0, 0.0]])), [[0.25, 0.75], [1.0, 0.0]])


@pytest.mark.parametrize("name", ["chain", "regimes", "classes"])
def test_a_point_that_is_not_sensitive_has_hardly_any_mass_and_breaks_no_law(name):
    space = Space(np.arange(4.0)[:, None])
    tiers = Tiers([0, 0, 0, -1], names=("PII",), scales=(1.0,), is_public=True)
    fit = Records.from_documents(space, [[0, 1, 2], [1, 2, 0], [2]] * 10)
    known = knowledge(Exponential(space, 1.0), tiers, fit)
    seen = np.ones((1, 3, 4)) * [1.0, 1.0, 1.0, 0.0]
    messages = dense_laws(known)[name].messages(seen)
    assert np.isfinite(messages).all()
    assert (messages[..., 3] < messages[..., :3].min() - 10.0).all()  # next to nothing, and never a candidate


def test_a_smoothed_table_has_laws_for_rows_even_of_points_that_were_never_seen():
    space = Space(np.arange(4.0)[:, None])
    fit = Records.from_documents(space, [[0, 1], [1, 2]] * 20)
    known = knowledge(Exponential(space, 1.0), one_tier(space), fit)
    law = np.exp(known.log_prior)
    table = smoothed_table(known, *successive(fit), law)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-9)
    assert table[0, 1] > 0.5 > table[0, 0]
    assert table[1, 2] > 0.5
    assert (table[3] >= 0.0).all()


@pytest.mark.parametrize("positions", [0, 1, 255, 256, 257, 1000])
def test_blocks_cover_every_position_once(positions):
    release = Release(
        outputs=np.zeros(positions, dtype=int), offsets=np.array([0, positions]), position_tiers=None, context=None
    )
    blocks = list(position_blocks(release))
    assert np.concatenate([np.empty(0, dtype=int), *blocks]).tolist() == list(range(positions))
    assert all(0 < len(block) <= 256 for block in blocks)


def test_the_prior_is_counts_and_smoothing_over_sensitive_points_alone():
    space = Space(np.arange(4.0)[:, None])
    tiers = Tiers([0, 0, 0, -1], names=("PII",), scales=(1.0,), is_public=True)
    known = knowledge(Exponential(space, 1.0), tiers, Records.from_documents(space, [[0, 0, 1]]), smoothing=0.5)
    np.testing.assert_allclose(np.exp(known.log_prior), [2.5 / 4.5, 1.5 / 4.5, 0.5 / 4.5, 0.0])
    assert "0.5" not in repr(known)


@pytest.mark.parametrize("smoothing", [0.0, -1.0, float("nan")])
def test_a_prior_without_smoothing_would_exclude_values_and_is_refused(smoothing):
    space = Space([[0.0], [1.0]])
    with pytest.raises(InvalidInput, match="smoothing="):
        knowledge(Exponential(space, 1.0), one_tier(space), Records.from_documents(space, [[0]]), smoothing)


def test_what_is_known_must_be_about_the_same_points():
    space, other = Space([[0.0], [1.0]]), Space([[0.0], [1.0], [2.0]])
    with pytest.raises(InvalidInput, match="records over 3 points and tiers over 2, expected 2, the mechanism's"):
        knowledge(Exponential(space, 1.0), one_tier(space), Records.from_documents(other, [[0]]))


def steps(*rates, tiers=("all",)):
    rows = tuple(
        SizeStep(50 * 2**k, 0.1 * k, rate if isinstance(rate, tuple) else (rate,)) for k, rate in enumerate(rates)
    )
    return LearningOfSize("counts", tiers, rows)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((0.01, 0.02, 0.04), 0.08),  # doubles once more
        ((0.01, 0.04, 0.02), 0.04),  # a rate that fell was as good an estimate before
        ((0.0, 0.0, 0.01), float("inf")),
        ((0.0, 0.5, 0.0), 0.5),
        ((0.03, 0.03, 0.03), 0.03),
    ],
)
def test_the_next_doubling_multiplies_the_rate_as_the_last_did(rates, expected):
    found = steps(*rates)
    assert found.expected_rates == (pytest.approx(expected),)
    assert found.is_saturated(0.05) == (expected <= 0.05)


def test_one_growing_tier_is_enough():
    found = steps((0.01, 0.01), (0.01, 0.04), tiers=("PII", "PoII"))
    assert not found.is_saturated(0.05)
    assert found.is_saturated(0.17)
    assert "gain +0.100, rate PII 0.01, PoII 0.04" in found.sentence
    said = "attacker counts has not settled: PoII 0.01 from 50 training records, 0.04 from 100; 200 might reach 0.16"
    assert found.reason(0.05) == said


def test_smaller_fits_are_nested_and_keep_users_whole():
    base = ring(words=WORDS, length=2, documents=80).known
    users = np.repeat(np.arange(20), 4)
    known = replace(base, fit=replace(base.fit, users=users))
    seen = []
    refit = Refittable(attacker=None, fit=lambda part: seen.append(set(part.fit.users.tolist())) or part)
    sizes = [documents for documents, _ in smaller_fits(refit.fit, known, np.random.default_rng(0))]
    assert sizes == [20, 40]  # a quarter and a half of the users, all of their documents
    assert seen[0] < seen[1]


def test_beliefs_hold_no_secret_in_their_representation():
    block = Beliefs(np.array([0]), np.array([[1234.5, 0.0]]), np.zeros(2))
    assert "1234" not in repr(block)


def test_messages_are_scaled_only_where_their_sums_are_small():
    """The terms of a long document are the same whether messages are scaled always, or hardly ever."""
    values = np.random.default_rng(0).random((3, 4))
    kept, grown = estimated_chain._in_range(values)
    assert kept is values
    assert not grown.any()
    scaled, grown = estimated_chain._in_range(1e-40 * values)
    np.testing.assert_allclose(scaled.sum(axis=1), 1.0)
    np.testing.assert_allclose(scaled * np.exp(grown)[:, None], 1e-40 * values)


@pytest.mark.parametrize("small", [0.0, np.inf])
def test_when_messages_are_scaled_does_not_matter(small, monkeypatch):
    world = ring(words=WORDS, documents=30, length=None)
    attacker = fit_plugin(world.known)
    chain = attacker.law.chain.over(world.known.tiers)
    sets = np.zeros(len(world.release.outputs), dtype=np.int64)

    def terms():
        blocks = estimated_chain.chain_terms(chain, world.known, world.release, sets, 1_000)
        return np.concatenate([mine.context for mine in blocks])

    expected = terms()
    monkeypatch.setattr(estimated_chain, "_SMALL", small)
    np.testing.assert_allclose(terms(), expected, atol=1e-12)


@pytest.mark.parametrize("room", [0, 64_000_000])
def test_laws_before_any_output_are_kept_with_the_chain_and_serve_any_noise(room, monkeypatch):
    monkeypatch.setattr(estimated_chain, "KEPT_LAWS", room)
    tiers = two_tiers(WORDS)
    world = ring(words=WORDS, documents=30, length=None, tiers=tiers)
    attacker = fit_plugin(world.known)
    chain, sets = attacker.law.chain.over(tiers), world.release.position_tiers

    def priors():
        blocks = estimated_chain.chain_terms(chain, world.known, world.release, sets, 1_000)
        found = sorted((mine.positions[k], tuple(row)) for mine in blocks for k, row in enumerate(mine.log_prior))
        return [row for _, row in found]

    expected = priors()
    assert bool(chain.laws) == bool(room)
    assert priors() == expected
    beginnings = {
        tuple(each[: t + 1]) for each in np.split(sets, world.release.offsets[1:-1]) for t in range(len(each))
    }
    assert set(chain.laws) == (beginnings if room else set())
