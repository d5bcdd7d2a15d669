"""Exemplars and documents alike: the formulas written out."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from oddshift.attackers.nearest_documents import (
    COMMON,
    LENT,
    POWER,
    STRENGTH,
    TRUST,
    fit_alike_documents,
    fit_exemplars,
    scaled,
)
from oddshift.model.records import Records
from oddshift.model.release import candidates
from oddshift.model.space import Space
from worlds import ring, two_tiers


def slow_terms(world):
    """The formula, position by position and fit document by fit document."""
    known, release = world.known, world.release
    prior, likelihood = np.exp(known.log_prior), np.exp(known.mechanism.log_matrix)
    found = np.zeros((len(release.outputs), len(prior)))
    remembered = [document for document in known.fit.documents if len(document)]

    def law(place):
        tier = 0 if release.position_tiers is None else release.position_tiers[place]
        inside = prior * candidates(known.tiers, tier)
        return inside / inside.sum()

    def shares(document, place):
        counts = np.bincount(document, minlength=len(prior)) * (law(place) > 0)
        return counts / counts.sum() if counts.sum() else law(place)

    for low, high in zip(release.offsets[:-1], release.offsets[1:], strict=True):
        for place in range(low, high if high - low > 1 else low):
            weight = np.ones(len(remembered))
            for s in set(range(low, high)) - {place}:
                seen = likelihood[:, release.outputs[s]]
                ratio = [shares(d, s) @ seen / (law(s) @ seen) for d in remembered]
                weight *= 1 - TRUST + TRUST * np.array(ratio)
            lent = sum(w * shares(d, place) for w, d in zip(weight / weight.sum(), remembered, strict=True))
            inside, equal = law(place) > 0, np.mean([shares(d, place) for d in remembered], axis=0)
            after, before = (1 - LENT + LENT * each[inside] / law(place)[inside] for each in (lent, equal))
            found[place, inside] = np.log(after / before)
    return found


@pytest.mark.parametrize("tiers", [None, two_tiers(is_public=True), two_tiers(is_public=False)])
def test_it_is_the_formula(tiers):
    world = ring(documents=30, length=None, tiers=tiers)
    expected = slow_terms(world)
    for block in fit_exemplars(world.known).terms(world.known, world.release):
        np.testing.assert_allclose(block.context, expected[np.ix_(block.positions, block.points)], atol=1e-10)


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
