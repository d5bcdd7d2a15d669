"""Documents alike: the formulas written out."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from oddshift.attackers.word_relations import (
    COMMON,
    POWER,
    STRENGTH,
    fit_alike_documents,
    scaled,
)
from oddshift.model.records import Records
from oddshift.model.space import Space

SPACE = Space(np.eye(3))
LAW = np.array([0.5, 0.3, 0.2])


def remembered(rows, documents):
    """Fit documents with these words, padded by ten others without words, so that one in ten is not common."""
    filler = [[0]] * 20
    words = csr_array(np.vstack([np.array(rows, dtype=float), np.zeros((20, len(rows[0])))]))
    return fit_alike_documents(Records.from_documents(SPACE, [*documents, *filler]), words)


def test_the_same_words_lend_their_secrets():
    """One fit document has the same single word, cosine 1, and holds point 1 twice."""
    alike = remembered([[1, 0], [0, 1]], [[1, 1], [2]])
    found = alike.log_ratio(csr_array(np.array([[1.0, 0.0]])), np.arange(3), LAW).toarray()
    np.testing.assert_allclose(found, [[0.0, np.log1p(2 / (STRENGTH * 0.3)), 0.0]])


def test_half_of_the_words_count_by_the_power_of_the_cosine():
    alike = remembered([[1, 0]], [[2]])
    found = alike.log_ratio(csr_array(np.array([[1.0, 1.0]])), np.arange(3), LAW).toarray()
    assert found[0, 2] == pytest.approx(np.log1p(1.0 / (STRENGTH * 0.2)))  # the other word was never seen
    both = remembered([[1, 0], [0, 1]], [[2], [1]])
    found = both.log_ratio(csr_array(np.array([[1.0, 1.0]])), np.arange(3), LAW).toarray()
    np.testing.assert_allclose(found[0, 1:], np.log1p(0.5 ** (POWER / 2) / (STRENGTH * LAW[1:])))


def test_common_words_do_not_count():
    documents = 20
    words = csr_array(np.ones((documents, 1)))
    alike = fit_alike_documents(Records.from_documents(SPACE, [[1]] * documents), words)
    assert COMMON < 1.0
    assert alike.log_ratio(csr_array(np.ones((1, 1))), np.arange(3), LAW).nnz == 0


def test_rows_have_length_one_or_none():
    found = scaled(csr_array(np.array([[3.0, 4.0], [0.0, 0.0]])), np.ones(2)).toarray()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1.0, 0.0])
