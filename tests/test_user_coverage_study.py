"""The study of worst pairs of users: documents of a user are not independent, and an audit counts users."""

import numpy as np
from studies.user_coverage import DOCUMENTS, TIMES, USERS, plane, records, repeated


def test_users_speak_of_one_place_often_or_of_others_once():
    found = records(plane(np.random.default_rng(0)), USERS, DOCUMENTS, np.random.default_rng(1))
    assert len(found) == USERS * DOCUMENTS
    assert set(found.lengths.tolist()) == {1, TIMES}
    lengths = found.lengths.reshape(USERS, DOCUMENTS)
    assert (lengths == lengths[:, :1]).all()


def test_bounds_that_count_users_hold_and_those_that_count_documents_do_not():
    found = repeated(60, 4_000, np.random.default_rng(5))
    assert found.below("user") <= 6  # more of 60 have a probability below .02 at a level of .05
    assert found.below("document") > 6
