import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.passages import text_features
from oddshift.data.embedded import people
from oddshift.mechanisms.channel import Channel
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.utility import (
    averaged,
    classification,
    constant_of_each_kind,
    constant_output,
    effective_outputs,
    expected_loss,
    losses,
    measure,
    nearest_documents,
    retrieval,
)
from oddshift.mechanisms.word_channels import Deletion, Mask
from oddshift.model.cost import cost_of
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

LINE = Space([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
MATRIX = np.log([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])


def test_the_cosine_loss_is_that_of_the_table_of_costs():
    rng = np.random.default_rng(0)
    space = Space(rng.normal(size=(40, 6)))
    channel = Channel(space, np.log(rng.dirichlet(np.ones(40), size=40)), space)
    costs = cost_of("cosine").between(space, np.arange(40), space)
    np.testing.assert_allclose(losses(channel), (np.exp(channel.log_matrix) * costs).sum(axis=1), rtol=1e-12)
    with pytest.raises(InvalidInput, match="expected coordinates"):
        losses(Exponential(Space.from_distances(1.0 - np.eye(3)), 1.0))


def test_cosine_loss_by_hand():
    channel = Channel(LINE, MATRIX, LINE)
    # c = (1 − cos)/2: 0 to itself, 1/2 at a right angle, 1 to the opposite
    expected = [0.3 * 0.5 + 0.2 * 1.0, 0.1 * 0.5 + 0.1 * 0.5, 0.25 * 1.0 + 0.25 * 0.5]
    np.testing.assert_allclose(losses(channel), expected)
    assert expected_loss(channel, [1, 1, 2]) == pytest.approx(np.dot([0.25, 0.25, 0.5], expected))


def test_euclidean_haversine_and_table_costs():
    channel = Channel(LINE, MATRIX, LINE)
    np.testing.assert_allclose(losses(channel, "euclidean")[0], 0.3 * np.sqrt(2) + 0.2 * 2)
    table = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(losses(channel, table), (np.exp(MATRIX) * table).sum(axis=1))
    globe = Space([[0.0, 0.0], [0.0, 90.0]], "haversine")
    earth = Channel(globe, np.log([[0.5, 0.5], [0.5, 0.5]]), globe)
    assert losses(earth, "haversine")[0] == pytest.approx(6371.0088 * np.pi / 4)


def test_the_exact_loss_is_what_sampling_gives():
    space = Space(np.random.default_rng(0).normal(size=(30, 5)))
    em = Exponential(space, epsilon=1.0)
    rng = np.random.default_rng(1)
    index = rng.integers(0, 30, 40_000)
    outputs = em.sample(index, rng)
    unit = space.points / np.linalg.norm(space.points, axis=1, keepdims=True)
    sampled = ((1 - (unit[index] * unit[outputs]).sum(axis=1)) / 2).mean()
    assert expected_loss(em, np.ones(30)) == pytest.approx(sampled, abs=0.005)


def test_effective_outputs_by_hand():
    assert effective_outputs(Mask(LINE), [1, 1, 1]) == pytest.approx(1.0)
    uniform = Channel(LINE, np.log(np.full((3, 3), 1 / 3)))
    assert effective_outputs(uniform, [1, 5, 0]) == pytest.approx(3.0)
    with np.errstate(divide="ignore"):
        identity = Channel(LINE, np.log(np.eye(3)))
    assert effective_outputs(identity, [0.5, 0.5, 0]) == pytest.approx(2.0)


def test_constant_output_by_hand():
    best, loss = constant_output(LINE, [1, 1, 1])
    assert best == 1  # at a right angle to both others
    assert loss == pytest.approx(1 / 3)
    only = Space([[1.0, 0.0]])
    assert constant_output(LINE, [1, 1, 1], "cosine", only) == (0, pytest.approx(0.5))


def test_measure_reports_tiers_and_baselines():
    tiers = Tiers([0, 0, 1], names=("PII", "PoII"), scales=(0.5, 1.0), is_public=True)
    channel = Channel(LINE, MATRIX, LINE)
    result = measure(channel, [1, 3, 4], "cosine", tiers)
    by_point = losses(channel)
    assert result.loss == pytest.approx(np.dot([1 / 8, 3 / 8, 4 / 8], by_point))
    assert result.tier_losses == pytest.approx((np.dot([0.25, 0.75], by_point[:2]), by_point[2]))
    assert result.constant_loss == pytest.approx(constant_output(LINE, [1, 3, 4])[1])
    assert np.isnan(measure(channel, [1, 1, 0], "cosine", tiers).tier_losses[1])
    assert measure(channel, [1, 1, 1], np.ones((3, 3))).constant_loss == pytest.approx(1.0)


def test_outputs_that_are_no_points_need_a_table():
    gap = Deletion(LINE, 0.5)
    with pytest.raises(InvalidInput, match=r"expected a cost table of shape \(3, 4\)"):
        losses(gap)
    table = np.hstack([1.0 - np.eye(3), np.full((3, 1), 0.5)])
    np.testing.assert_allclose(losses(gap, table), 0.25)
    assert measure(gap, [1, 1, 1], table).constant_loss == pytest.approx(0.5)


def test_weights_are_checked():
    for bad in ([1, 1], [1, 1, -1], [0, 0, 0]):
        with pytest.raises(InvalidInput, match="expected 3 numbers >= 0"):
            expected_loss(Channel(LINE, MATRIX, LINE), bad)


def test_averaged_vectors_by_hand():
    vectors = np.array([[1.0, 0.0], [0.0, 2.0]])
    means = averaged(vectors, np.array([0, 1, -1, 1]), np.array([0, 3, 3, 4]))
    assert means.tolist() == [[0.5, 1.0], [0.0, 0.0], [0.0, 2.0]]


def test_tasks_see_what_is_lost():
    rng = np.random.default_rng(0)
    labels = [str(i % 2) for i in range(400)]
    signal = np.array([[1.0 if label == "1" else -1.0] for label in labels])
    before = np.hstack([signal, np.zeros((400, 1))]) + 0.3 * rng.normal(size=(400, 2))
    after = rng.normal(size=(400, 2))
    task = classification(before, after, labels, rng=np.random.default_rng(1))
    assert task.before > 0.97
    assert task.after < 0.65
    assert 0.4 < task.baseline < 0.7
    found = retrieval(before, after, labels)
    assert found.before > 0.95
    assert found.after == pytest.approx(0.5, abs=0.1)
    assert found.baseline == pytest.approx(0.5, abs=0.01)


def test_tasks_refuse_what_does_not_fit():
    table = np.eye(3)
    with pytest.raises(InvalidInput, match="3 rows before, 3 after, 2 labels"):
        retrieval(table, table, ["a", "b"])
    with pytest.raises(InvalidInput, match="one class"):
        classification(table, table, ["a", "a", "a"], rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="held_out=1"):
        classification(table, table, ["a", "a", "b"], held_out=1, rng=np.random.default_rng(0))


def test_texts_before_and_after_release():
    corpus = people(600)
    rng = np.random.default_rng(0)
    before = text_features(corpus.encoded, corpus.vectors)
    same = text_features(corpus.encoded, corpus.vectors, corpus.records.points)
    np.testing.assert_allclose(before, same)
    noisy = Exponential(corpus.space, epsilon=0.5).sample(corpus.records.points, rng)
    after = text_features(corpus.encoded, corpus.vectors, noisy)
    task = classification(before, after, corpus.labels, rng=rng)
    assert task.before > task.after + 0.2
    masked = text_features(corpus.encoded, corpus.vectors, np.zeros(len(corpus.records.points), dtype=int), [None])
    assert np.abs(masked - before).max() > 0


def slow_loss(matrix, costs, weights):
    """Σ_x w(x) Σ_y Pr[y|x]·c(x, y), three loops."""
    share = [w / sum(weights) for w in weights]
    return sum(share[x] * matrix[x][y] * costs[x][y] for x in range(len(matrix)) for y in range(len(matrix[0])))


def test_losses_are_the_loops_whatever_the_block_size(monkeypatch):
    from oddshift.base import arrays

    rng = np.random.default_rng(3)
    space = Space(rng.normal(size=(11, 3)))
    em, weights = Exponential(space, 1.5), rng.integers(0, 5, 11).astype(float) + 0.5
    costs = cost_of("euclidean").between(space, np.arange(11), space)
    expected = slow_loss(np.exp(em.log_matrix).tolist(), costs.tolist(), weights.tolist())
    assert expected_loss(em, weights, "euclidean") == pytest.approx(expected, rel=1e-12)
    effective, constant = effective_outputs(em, weights), constant_output(space, weights, "euclidean")
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", 12)
    again = Exponential(space, 1.5)
    assert expected_loss(again, weights, "euclidean") == pytest.approx(expected, rel=1e-12)
    assert effective_outputs(again, weights) == pytest.approx(effective, rel=1e-12)
    assert constant_output(space, weights, "euclidean") == (constant[0], pytest.approx(constant[1], rel=1e-12))


def test_no_mechanism_that_ignores_the_secret_beats_the_constant_baseline():
    rng = np.random.default_rng(6)
    for _ in range(20):
        law = rng.dirichlet(np.ones(3))
        blind = Channel(LINE, np.log(np.tile(law, (3, 1))), LINE)
        result = measure(blind, [1, 2, 3])
        assert result.loss >= result.constant_loss - 1e-12


def test_tier_losses_leave_out_points_of_no_tier():
    tiers = Tiers([0, -1, 0], names=("PII",), scales=(1.0,), is_public=True)
    channel = Channel(LINE, MATRIX, LINE)
    by_point = losses(channel)
    result = measure(channel, [1, 10, 3], "cosine", tiers)
    assert result.tier_losses == (pytest.approx((by_point[0] + 3 * by_point[2]) / 4),)
    assert measure(channel, [1, 10, 3]).tier_losses == ()


def test_the_nearest_document_is_never_the_document_itself_even_among_copies(monkeypatch):
    from oddshift.base import arrays

    table = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 0.1]])
    found = nearest_documents(table)
    assert found[:2].tolist() == [1, 0]
    assert (found != np.arange(4)).all()
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", 4)
    assert nearest_documents(table).tolist() == found.tolist()


def test_retrieval_by_hand():
    before = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    after = before[[2, 1, 0, 3]]
    task = retrieval(before, after, ["a", "a", "b", "b"])
    assert (task.name, task.before, task.after) == ("retrieval", 1.0, 0.0)
    assert task.baseline == pytest.approx(2 * 2 * 1 / (4 * 3))


def test_the_classification_baseline_is_the_most_frequent_class_of_the_held_out_part():
    rng = np.random.default_rng(0)
    labels = ["x"] * 90 + ["y"] * 10
    table = rng.normal(size=(100, 2))
    task = classification(table, table, labels, held_out=0.5, rng=np.random.default_rng(5))
    order = np.random.default_rng(5).permutation(100)
    held_out = [labels[k] for k in order[50:]]
    assert task.baseline == held_out.count("x") / 50
    assert task.before == task.after


@pytest.mark.parametrize("bad", [np.array([[1.0, np.nan]] * 3), np.zeros(3), "text"])
def test_tables_of_documents_are_numbers(bad):
    with pytest.raises(InvalidInput, match="after"):
        retrieval(np.eye(3), bad, ["a", "b", "a"])


def test_the_constant_of_each_kind_is_the_best_of_that_kind():
    rng = np.random.default_rng(4)
    space, kinds, weights = Space(rng.normal(size=(12, 3))), np.arange(12) % 3, rng.random(12)
    best, loss = constant_of_each_kind(space, weights, "euclidean", kinds)
    law, expected = weights / weights.sum(), 0.0
    for kind in range(3):
        mine = np.flatnonzero(kinds == kind)
        costs = {y: sum(law[x] * np.linalg.norm(space.points[x] - space.points[y]) for x in mine) for y in mine}
        assert best[kind] == min(costs, key=costs.get)
        expected += min(costs.values())
    assert loss == pytest.approx(expected)
    assert loss <= constant_output(space, weights, "euclidean")[1]
    one = constant_of_each_kind(space, weights, "euclidean", np.zeros(12, dtype=int))
    assert (int(one[0][0]), pytest.approx(one[1])) == constant_output(space, weights, "euclidean")
