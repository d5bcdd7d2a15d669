"""Repeats: one draw for each secret of a document, and the exact leakage of what is then released."""

from itertools import product

import numpy as np
import pytest

from oddshift import Exponential
from oddshift.model.records import SLOT, Context, Records
from oddshift.model.release import draw_once, one_tier, perturb
from oddshift.model.space import Space

SPACE = Space(np.arange(4.0)[:, None])


def texts():
    """Three documents: "a 1 b 2 1 1", "2 2" and one without a secret."""
    return Records.from_documents(
        SPACE,
        [[1, 2, 1, 1], [2, 2], []],
        context=Context(
            tokens=np.array([0, SLOT, 1, SLOT, SLOT, SLOT, SLOT, SLOT, 0]),
            offsets=np.array([0, 6, 8, 9]),
            symbols=("a", "b"),
            breaks=np.zeros(9, dtype=bool),
        ),
        users=["u", "u", "v"],
    )


def test_every_secret_of_a_document_is_kept_once_where_it_first_stands():
    found = draw_once(texts())
    assert [document.tolist() for document in found.records.documents] == [[1, 2], [2], []]
    assert found.position.tolist() == [0, 1, 0, 0, 2, 2]


def test_the_pattern_of_equal_positions_stands_in_the_public_context():
    context = draw_once(texts()).records.context
    names = [context.symbols[t] if t >= 0 else "slot" for t in context.tokens]
    assert names == ["a", "slot", "b", "slot", "[same as 1]", "[same as 1]", "slot", "[same as 1]", "a"]


def test_what_is_read_together_decides_what_repeats():
    by_user = texts().joined("user")
    found = draw_once(by_user)
    assert [document.tolist() for document in found.records.documents] == [[1, 2], []]
    assert found.position.tolist() == [0, 1, 0, 0, 1, 1]


def test_a_second_pass_changes_nothing():
    once = draw_once(texts())
    twice = draw_once(once.records)
    np.testing.assert_array_equal(twice.records.points, once.records.points)
    assert twice.position.tolist() == list(range(len(once.records.points)))
    np.testing.assert_array_equal(twice.records.context.tokens, once.records.context.tokens)


def test_nothing_prints_a_secret():
    assert repr(draw_once(texts())) == (
        "DistinctSecrets(Records(3 documents, 3 positions, 4 points; joint by document, with context W) "
        "from 6 positions)"
    )


def law_of_three():
    """A law of (X_1, X_2, X_3) over two values in which repeats are common."""
    table = np.random.default_rng(3).dirichlet(np.full(8, 0.6)).reshape(2, 2, 2)
    return table / table.sum()


def pattern_of(values):
    """Which positions are equal: the number of the first equal position."""
    return tuple(values.index(value) for value in values)


@pytest.mark.parametrize("pattern", [(0, 0, 0), (0, 1, 0), (0, 0, 2), (0, 1, 1)])
def test_the_release_carries_exactly_the_draws_of_the_distinct_secrets(pattern):
    """Enumeration: given the pattern, Pr[release | secrets] is a product over distinct secrets, not over positions."""
    space = Space([[0.0], [1.0]])
    mechanism, law = Exponential(space, 1.5), law_of_three()
    channel = np.exp(mechanism.log_matrix)
    possible = [v for v in product(range(2), repeat=3) if pattern_of(v) == pattern]
    distinct = sorted(set(pattern))
    for outputs in product(range(2), repeat=len(distinct)):
        weight = {
            v: law[v] * np.prod([channel[v[p], y] for p, y in zip(distinct, outputs, strict=True)]) for v in possible
        }
        documents = Records.from_documents(space, [list(v) for v in possible])
        once = draw_once(documents)
        assert (once.records.lengths == len(distinct)).all()
        log_once = mechanism.log_matrix[once.records.points, np.tile(outputs, len(possible))]
        score = np.log([law[v] for v in possible]) + np.add.reduceat(log_once, once.records.offsets[:-1])
        posterior = np.exp(score - np.logaddexp.reduce(score))
        expected = np.array(list(weight.values())) / sum(weight.values())
        np.testing.assert_allclose(posterior, expected, rtol=1e-12)


def test_drawing_once_leaks_less_than_drawing_each():
    """The same secret seen through n independent draws shifts the odds n times as far as through one."""
    space = Space([[0.0], [1.0]])
    mechanism = Exponential(space, 1.0)
    each = Records.from_documents(space, [[0, 0, 0, 0]])
    once = draw_once(each)
    shifts = []
    for records in (each, once.records):
        release = perturb(records, mechanism, one_tier(space), np.random.default_rng(5))
        rows = mechanism.log_matrix[:, np.zeros_like(release.outputs)]  # every draw says 0
        shifts.append(float((rows[0] - rows[1]).sum()))
    assert shifts[0] == pytest.approx(4 * shifts[1])
