"""Held-out secrets: which of them count when weights are fitted."""

import numpy as np

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.candidate_sampling import (
    FIT_POSITIONS,
    foreseeable,
    held_out_by_tier,
    held_out_release,
    held_out_terms,
)
from oddshift.attackers.cooccurrence import fit_cooccurrence
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.space import Space
from worlds import one_tier

SPACE = Space(np.arange(4.0)[:, None])


def known_with(documents):
    return knowledge(Exponential(SPACE, 1.0), one_tier(SPACE), Records.from_documents(SPACE, documents))


def test_a_point_that_only_held_out_documents_hold_does_not_count():
    """All four points are in the records, 3 only in a held-out one: no release of such a vocabulary has it unseen."""
    held = Records.from_documents(SPACE, [[0, 3]])
    assert foreseeable(known_with([[0, 1], [2]]), held).tolist() == [True, True, True, False]


def test_all_points_count_where_some_candidate_is_in_no_record():
    """Point 2 was never seen at all, so a release may hold unseen points."""
    held = Records.from_documents(SPACE, [[0, 3]])
    assert foreseeable(known_with([[0, 1]]), held).all()


def test_terms_leave_those_positions_out_and_keep_their_outputs():
    known, held = known_with([[0, 1], [2, 0], [1, 2]]), Records.from_documents(SPACE, [[0, 3], [3], [1, 2]])
    parts = [fit_cooccurrence(known)]
    chosen, release = held_out_release(known, held, 100, np.random.default_rng(0))
    whole = held_out_terms(parts, known, held, np.random.default_rng(0))
    counted = np.flatnonzero(chosen.points != 3)
    np.testing.assert_array_equal(whole.truth, chosen.points[counted])
    context = np.concatenate([block.context for block in parts[0].terms(release)])
    np.testing.assert_allclose(whole.terms[0], context[counted])  # the outputs left out still say something
    (tier,) = held_out_by_tier(parts, known, held, np.random.default_rng(0)).values()
    np.testing.assert_array_equal(tier.base, whole.base)
    np.testing.assert_array_equal(tier.units.of_position, whole.units.of_position)


def test_few_documents_are_released_several_times_and_many_in_part():
    known = known_with([[0, 1, 2, 3]] * 5)
    few, _ = held_out_release(known, Records.from_documents(SPACE, [[0, 1]]), FIT_POSITIONS, np.random.default_rng(0))
    assert len(few) == 4
    many, _ = held_out_release(
        known, Records.from_documents(SPACE, [[0] * 10] * 1_000), FIT_POSITIONS, np.random.default_rng(0)
    )
    assert len(many.points) == FIT_POSITIONS
