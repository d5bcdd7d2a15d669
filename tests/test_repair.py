"""Repair: exact posteriors and draws against enumeration, post-processing, and canaries."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.repair import (
    Repair,
    best_outputs,
    fit_law,
    law_of_release,
    posteriors_of,
    prior_of_release,
    tier_modes,
)
from oddshift.attackers.row_law import column_bins, fit_row_law
from oddshift.attackers.row_layout import row_layout
from oddshift.attackers.sequence_law import SequenceLaw
from oddshift.attackers.sparse_law import SparseLaw
from oddshift.base.errors import InvalidInput
from oddshift.base.safe_serialization import load_graph, save_graph
from oddshift.data.embedded import people
from oddshift.leakage.exact import log_posterior
from oddshift.mechanisms import MECHANISMS, Exponential, MechanismSettings
from oddshift.mechanisms.remap import Remap
from oddshift.model.cost import cost_of
from oddshift.model.prior import Markov
from oddshift.model.records import Context, Records
from oddshift.model.release import Release, one_tier, perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

LINE = Space([[0.0], [1.0], [3.0]])
STEPS = np.array([[0.8, 0.15, 0.05], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
FIRST = np.array([0.5, 0.2, 0.3])


def chain(length):
    """The exact law of a chain of three points, the channel, and what is known of both."""
    mechanism = Exponential(LINE, 0.8)
    law = SequenceLaw(SparseLaw(STEPS, np.zeros((3, 1)), FIRST), None)
    nothing = Records(space=LINE, points=np.zeros(0, dtype=np.int64), offsets=np.array([0, 0]))
    return mechanism, law, Knowledge(mechanism, one_tier(LINE), nothing, np.log(FIRST)), Markov(FIRST, STEPS, length)


def every_release(length):
    """Every sequence of outputs, each as one document."""
    outputs = np.array(list(product(range(3), repeat=length)))
    offsets = np.arange(len(outputs) + 1) * length
    return Release(
        outputs=outputs.ravel(), offsets=offsets, position_tiers=np.zeros(outputs.size, dtype=np.int64), context=None
    )


def test_marginals_of_a_chain_are_those_of_enumeration():
    mechanism, law, known, prior = chain(3)
    release = every_release(3)
    found = np.empty((len(release.outputs), 3))
    for positions, points, posterior in law.marginals(known, release):
        found[positions[:, None], points] = posterior
    for number, outputs in enumerate(product(range(3), repeat=3)):
        exact = np.exp(log_posterior(prior, [mechanism.log_matrix] * 3, outputs))
        np.testing.assert_allclose(found[3 * number : 3 * number + 3], exact, atol=1e-12)


def test_draws_of_a_chain_have_the_joint_posterior():
    mechanism, law, known, prior = chain(2)
    one = Release(
        outputs=np.tile([0, 2], 40_000),
        offsets=np.arange(40_001) * 2,
        position_tiers=np.zeros(80_000, dtype=np.int64),
        context=None,
    )
    drawn = law.draw(known, one, np.random.default_rng(0)).reshape(-1, 2)
    seen = np.exp(mechanism.log_matrix)
    exact = prior.joint_table() * seen[:, 0][:, None] * seen[:, 2][None, :]
    share = np.bincount(drawn[:, 0] * 3 + drawn[:, 1], minlength=9) / len(drawn)
    np.testing.assert_allclose(share, (exact / exact.sum()).ravel(), atol=0.01)


def test_typical_has_the_law_of_the_secrets_and_best_costs_least():
    mechanism, law, known, prior = chain(3)
    rng, cost = np.random.default_rng(1), np.abs(LINE.points - LINE.points.T)
    table = prior.joint_table().ravel()
    secrets = np.array(list(product(range(3), repeat=3)))[rng.choice(27, size=20_000, p=table)]
    records = Records(space=LINE, points=secrets.ravel(), offsets=np.arange(20_001) * 3)
    release = perturb(records, mechanism, one_tier(LINE), rng)
    drawn = law.draw(known, release, rng).reshape(-1, 3) @ [9, 3, 1]
    np.testing.assert_allclose(np.bincount(drawn, minlength=27) / 20_000, table, atol=0.012)
    best = best_outputs(law.marginals(known, release), LINE, "euclidean", len(release.outputs))
    marginal = np.bincount(records.points, minlength=3) / len(records.points)
    paper = Remap(mechanism, marginal, "euclidean").destination[release.outputs]

    def loss(outputs):
        return cost[records.points, outputs].mean()

    constant = min(cost[records.points, np.full(len(release.outputs), k)].mean() for k in range(3))
    assert loss(best) < min(loss(paper), loss(release.outputs), constant) - 0.01
    assert loss(law.draw(known, release, rng)) <= 2 * loss(best) + 0.02


@pytest.mark.parametrize("mode", ["best", "typical"])
def test_repair_never_raises_the_largest_mpl_guesses_or_the_log_score(mode):
    """Exact channels of whole documents by enumeration: R, a stochastic matrix over outputs, only loses."""
    mechanism, _, known, prior = chain(2)
    wrong = SequenceLaw(SparseLaw(STEPS[::-1].copy(), np.zeros((3, 1)), FIRST[::-1].copy()), None)  # a bad law
    release, joint, rng = every_release(2), prior.joint_table(), np.random.default_rng(0)
    seen = np.exp(mechanism.log_matrix)
    repeat = 1 if mode == "best" else 400
    channel = np.einsum("ab,cd->acbd", seen, seen).reshape(9, 9)  # Pr[y_1 y_2 | x_1 x_2]
    mapped = np.zeros((9, 9))
    for _ in range(repeat):
        z = Repair(wrong, (mode,), cost_of("euclidean"))(known, release, rng).reshape(-1, 2)
        mapped[np.arange(9), z @ [3, 1]] += 1.0 / repeat
    for target in (0, 1):
        after, before = (facts(joint, each, target) for each in (channel @ mapped, channel))
        assert after[0] <= before[0] + 1e-9  # the largest shift of log odds per distance
        assert after[1] <= before[1] + 1e-9  # right first guesses
        assert after[2] <= before[2] + 1e-9  # mutual information: prior log score minus posterior log score


def facts(joint, channel, target):
    """Largest mPL, Bayes success and information about one secret of two."""
    law = (joint.ravel()[:, None] * channel).reshape(3, 3, -1).sum(axis=1 - target)  # (x_target, outcome)
    law = law[:, law.sum(axis=0) > 0]
    prior = law.sum(axis=1)
    shift = np.log(law / prior[:, None])
    gap = np.abs(shift[:, None] - shift[None]).max(axis=2) / (LINE.distances + np.diag([np.inf] * 3))
    information = float((law * np.log(law / prior[:, None] / law.sum(axis=0))).sum())
    return gap.max(), law.max(axis=0).sum(), information


def small_table(rows=3_000, seed=0):
    """Rows of three columns, the third the sum of the others; a public tier for each column."""
    rng = np.random.default_rng(seed)
    one, two = rng.integers(3, size=rows), rng.integers(2, size=rows)
    cells = np.stack([one, 3 + two, 5 + one + two], axis=1)
    labels = np.repeat([0, 1, 2], [3, 2, 4])
    points = np.stack([labels, np.concatenate([np.arange(3), np.arange(2), np.arange(4)])], axis=1).astype(float)
    space = Space(points * [100.0, 1.0])
    tiers = Tiers(labels, names=("a", "b", "c"), scales=(1.0,) * 3, is_public=True)
    return Records(space=space, points=cells.ravel(), offsets=np.arange(rows + 1) * 3), tiers


def tiered(space, tiers, epsilon):
    asked = MechanismSettings(name="tiered", scales=tiers.scales, outputs="tier")
    return MECHANISMS["tiered"].configured(space, tiers, epsilon, asked)


def test_rows_are_repaired_from_each_source():
    records, tiers = small_table()
    mechanism = tiered(records.space, tiers, 2.0)
    known, rng = knowledge(mechanism, tiers, records), np.random.default_rng(0)
    release = perturb(records, mechanism, tiers, rng)
    for law, gain, tie in (
        (fit_law(known, 10), 0.005, 0.99),
        (law_of_release(mechanism, tiers, release, rng), 0.005, 0.45),
    ):
        best = Repair(law, ("best",) * 3, cost_of("euclidean"))(known, release, rng)
        assert (best == records.points).mean() > (release.outputs == records.points).mean() + gain
        drawn = Repair(law, ("typical",) * 3, cost_of("euclidean"))(known, release, rng).reshape(-1, 3)
        assert (drawn[:, 2] - 5 == drawn[:, 0] + drawn[:, 1] - 3).mean() > tie  # the tie of the columns


def test_a_tier_stays_as_it_was_drawn_where_the_policy_says_so():
    records, tiers = small_table(300)
    mechanism = tiered(records.space, tiers, 1.0)
    known, rng = knowledge(mechanism, tiers, records), np.random.default_rng(0)
    release = perturb(records, mechanism, tiers, rng)
    z = Repair(fit_law(known), ("drawn", "best", "typical"), cost_of("euclidean"))(known, release, rng)
    assert (z[::3] == release.outputs[::3]).all()
    assert (tiers.labels[z] == release.position_tiers).all()
    with pytest.raises(InvalidInput, match="mode"):
        Repair(fit_law(known), ("likeliest",), cost_of("euclidean"))
    assert tier_modes((0, 0, 1), "typical") == ("drawn", "drawn", "typical")


def test_bins_and_the_tree_give_the_posterior_of_enumeration():
    records, tiers = small_table(200)
    mechanism = tiered(records.space, tiers, 0.7)
    known = knowledge(mechanism, tiers, records)
    layout = row_layout(known)
    law = fit_row_law(known, layout)
    release = perturb(records.take([0, 1]), mechanism, tiers, np.random.default_rng(3))
    table = np.zeros((2, 3, 2, 4))
    joint = np.ones((3, 2, 4))
    for cherry in law.tree.cherries:  # all columns have fewer values than bins: a bin is a value
        axes = "".join("abc"[p] for p in (*cherry.parents, cherry.place))
        sizes = [len(layout.members[p]) for p in (*cherry.parents, cherry.place)]
        joint = np.einsum(f"abc,{axes}->abc", joint, cherry.law[tuple(slice(n) for n in sizes)])
    for row in range(2):
        seen = [np.exp(mechanism.log_columns(release.outputs[3 * row + c : 3 * row + c + 1])[0]) for c in range(3)]
        likely = [each[points] for each, points in zip(seen, layout.members, strict=True)]
        table[row] = np.einsum("abc,a,b,c->abc", joint, *likely)
        table[row] /= table[row].sum()
    for positions, points, posterior in law.marginals(known, release):
        column = int(tiers.labels[points[0]])
        exact = table.sum(axis=tuple(a for a in (1, 2, 3) if a != column + 1))
        np.testing.assert_allclose(posterior, exact[positions // 3], atol=1e-9)


def test_numbers_are_cut_at_quantiles_and_categories_by_frequency():
    line, apart = Space(np.arange(6.0)[:, None]), Space(np.eye(6))
    assert column_bins(line, np.arange(6), np.array([4.0, 1, 1, 1, 1, 4]), 3).tolist() == [0, 1, 1, 1, 1, 2]
    assert column_bins(apart, np.arange(6), np.array([1.0, 9, 1, 5, 1, 1]), 3).tolist() == [2, 0, 2, 1, 2, 2]


def test_the_prior_of_a_release_is_nearer_to_the_truth_than_the_outputs():
    records, tiers = small_table(5_000)
    skewed = records.take(np.flatnonzero((records.points[::3] != 1) | (np.arange(5_000) % 8 == 0)))
    mechanism = tiered(records.space, tiers, 1.0)
    release = perturb(skewed, mechanism, tiers, np.random.default_rng(0))
    truth = np.bincount(skewed.points, minlength=9) / len(skewed.points)
    raw = np.bincount(release.outputs, minlength=9) / len(release.outputs)
    found = prior_of_release(mechanism, tiers, release)
    assert np.abs(found - truth).sum() < 0.9 * np.abs(raw - truth).sum()


def test_any_attacker_is_a_repairer_and_a_law_is_stored_without_code(tmp_path):
    corpus = people(400, seed=3)
    mechanism = tiered(corpus.space, corpus.tiers, 1.2)
    known = knowledge(mechanism, corpus.tiers, corpus.records.take(np.arange(200)))
    release = perturb(corpus.records.take(np.arange(200, 400)), mechanism, corpus.tiers, np.random.default_rng(0))
    from oddshift.attackers.cooccurrence import fit_cooccurrence

    attacked = posteriors_of(fit_cooccurrence(known), release, corpus.tiers)
    outputs = best_outputs(attacked, corpus.space, "cosine", len(release.outputs))
    assert (corpus.tiers.labels[outputs] == release.position_tiers).all()
    law = fit_law(known, 3)
    save_graph(tmp_path / "law.npz", law)
    again = load_graph(tmp_path / "law.npz")
    first, second = (each.draw(known, release, np.random.default_rng(1)) for each in (law, again))
    assert (first == second).all()


def planted(secrets, common, times):
    """Documents of a clear secret and a hidden one; the last ones hold pairs (context, secret) that nobody else has.

    Each such context is a first secret and a word; `times` is how many documents hold each pair.
    """
    rng = np.random.default_rng(0)
    half = common + secrets
    ordinary = [(half + int(rng.integers(common)), int(rng.integers(common)), f"w{k % 20}") for k in range(1_000)]
    unique = [(half + common + k, common + k, f"u{k}") for k in range(secrets)] * times
    documents = [[first, second] for first, second, _ in (*ordinary, *unique)]
    words = [word for *_, word in (*ordinary, *unique)]
    symbols = tuple(sorted(set(words)))
    number = {word: k for k, word in enumerate(symbols)}
    tokens = np.array([(number[word], -1, number[word], -1) for word in words]).ravel()
    offsets = np.arange(len(documents) + 1) * 4
    context = Context(tokens=tokens, offsets=offsets, symbols=symbols, breaks=np.zeros(len(tokens), dtype=bool))
    space = Space(rng.normal(size=(2 * half, 8)))
    tiers = Tiers(np.repeat([0, 1], half), names=("hidden", "clear"), scales=(1e-4, 1.0), is_public=True)
    records = replace(Records.from_documents(space, documents), context=context)
    mechanism = tiered(space, tiers, 100.0)
    known = knowledge(mechanism, tiers, records)
    release = perturb(records, mechanism, tiers, rng)
    return known, release, release.take(np.arange(1_000, 1_000 + secrets)), common + np.arange(secrets)


@cache
def canaries(source):
    """Two hundred pairs that occur once, and the law that their documents teach."""
    known, release, asked, secrets = planted(200, 50, 1)
    if source == "fit":
        return known, asked, secrets, fit_law(known, 10)
    return known, asked, secrets, law_of_release(known.mechanism, known.tiers, release, np.random.default_rng(1))


def brought_out(law, known, asked, secrets):
    """How many planted secrets are expected to come out next to their own contexts, and next to one of the others."""
    each = np.empty((len(secrets), len(secrets)))  # (context, secret)
    for positions, points, posterior in law.marginals(known, asked):
        if secrets[0] in points:
            each[positions // 2] = posterior[:, np.searchsorted(points, secrets)]
    return np.trace(each), each.mean() * len(each)


@pytest.mark.parametrize("source", ["fit", "release"])
def test_canaries_come_out_by_chance_alone(source):
    """200 pairs of a context and a secret that occur once: no context brings its own secret out."""
    known, asked, secrets, law = canaries(source)
    own, chance = brought_out(law, known, asked, secrets)
    assert own == pytest.approx(chance, rel=1e-3)
    assert chance <= 1.0  # at most one of 200, whatever the law
    best = Repair(law, ("best", "best"), cost_of("euclidean"))(known, asked, np.random.default_rng(1))[1::2]
    assert len(np.unique(best)) == 1  # the same value next to every planted context


@pytest.mark.parametrize("source", ["fit", "release"])
def test_canaries_come_out_no_more_often_than_those_of_other_contexts(source):
    """Drawn and best values, in the document that holds a canary and in another one with the same context.

    Chance is what the canaries of other contexts do. `best` is one value for all of these contexts: it is the canary of
    one of them where it is rare itself.
    """
    known, asked, secrets, law = canaries(source)
    rng = np.random.default_rng(1)
    mine = known.fit.take(np.arange(1_000, 1_200))
    points = mine.points.copy()
    points[1::2] = rng.integers(50, size=200)  # the same contexts around secrets that many have
    others = perturb(replace(mine, points=points), known.mechanism, known.tiers, rng)
    for mode, each in product(("best", "typical"), (asked, others)):
        shown = Repair(law, (mode, mode), cost_of("euclidean"))(known, each, rng)[1::2]
        found = [int((shown == np.roll(secrets, shift)).sum()) for shift in range(200)]
        assert found[0] <= max(found[1:])


def test_a_law_with_a_minimum_is_the_same_whichever_rare_secret_stands_where():
    """The reason why canaries cannot come out: the law does not change when rare secrets are exchanged."""
    known, _, asked, _ = planted(200, 50, 1)
    points = known.fit.points.copy()
    rare = np.arange(2_001, 2_400, 2)
    points[rare] = np.random.default_rng(2).permutation(points[rare])
    other = replace(known, fit=replace(known.fit, points=points))
    one, two = ([*fit_law(each, 10).marginals(known, asked)] for each in (known, other))
    for (_, _, first), (_, _, second) in zip(one, two, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-4)


def test_canaries_would_come_out_without_support():
    """The test above can fail: counts of few documents do hand the secret out."""
    known, _, asked, secrets = planted(60, 50, 4)
    laws = [Repair(fit_law(known, least), ("typical",) * 2, cost_of("euclidean")) for least in (1, 10)]
    found = [int((law(known, asked, np.random.default_rng(1))[1::2] == secrets).sum()) for law in laws]
    assert found[0] >= 20
    assert found[1] <= 4
