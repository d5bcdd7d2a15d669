"""The evidence for a shift: an exact martingale by enumeration, and what a change of a known size costs to find.

Conformal ranks: uniform and independent under exchangeability, by enumeration of all orders.
"""

import math
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.bounds.betting import STAKES, ShiftStream, _stakes, conformal_ranks


def probability(path, p):
    return math.prod(p if value else 1 - p for value in path)


def after(stream, path):
    for value in path:
        stream = stream.update([float(value)])
    return stream


@pytest.mark.parametrize(("limit", "two_sided"), [(0.05, False), (0.3, False), (0.5, True)])
def test_the_mean_of_the_evidence_is_one_after_every_window_when_nothing_changed(limit, two_sided):
    start = ShiftStream(limit, is_two_sided=two_sided)
    for windows in (1, 2, 5):
        paths = list(product((0, 1), repeat=windows))
        mean = sum(probability(path, limit) * math.exp(after(start, path).log_e) for path in paths)
        assert mean == pytest.approx(1.0, abs=1e-12)


def test_the_mean_of_the_evidence_is_below_one_when_the_rate_is_below_its_limit():
    paths = list(product((0, 1), repeat=4))
    assert sum(probability(path, 0.1) * math.exp(after(ShiftStream(0.3), path).log_e) for path in paths) < 0.9


def test_evidence_by_hand():
    stakes = _stakes(0.25)
    one = math.log(0.5 * np.mean(1 + stakes * 0.75) + 0.5)
    assert ShiftStream(0.25).update([1.0]).log_e == pytest.approx(one)
    wealths = (0.5 * (1 + stakes * 0.75) + 0.25) * (1 - stakes * 0.25)
    assert ShiftStream(0.25).update([1.0]).update([0.0]).log_e == pytest.approx(math.log(wealths.mean() + 0.25))


def test_a_window_is_one_look_and_an_empty_one_changes_nothing():
    stream = ShiftStream(0.2).update([0.0, 1.0, 1.0])
    assert stream.windows == 1
    assert stream.update([]) is stream
    assert stream.update([0.0] * 50).log_peak == stream.log_peak > stream.update([0.0] * 50).log_e


def test_evidence_can_be_kept_and_continued():
    first = ShiftStream(0.2).update([0.5, 0.25])
    again = replace(ShiftStream(0.2), windows=1, log_peak=first.log_peak, log_wealths=first.log_wealths)
    assert again.update([1.0]) == first.update([1.0])


def test_no_false_alarm_in_two_hundred_windows_at_the_limit():
    rng = np.random.default_rng(1)
    raised = 0
    for _ in range(3):
        stream = ShiftStream(0.05)
        for window in (rng.random((200, 25)) < 0.05).astype(float):
            stream = stream.update(window)
        raised += stream.reaches(0.05)
    assert raised == 0


def test_a_rate_that_doubles_after_a_hundred_quiet_windows_is_found_within_1500_documents():
    rng = np.random.default_rng(2)
    for _ in range(3):
        stream = ShiftStream(0.05)
        for window in (rng.random((100, 50)) < 0.03).astype(float):
            stream = stream.update(window)
        assert not stream.reaches(0.0125)
        for window in (rng.random((30, 50)) < 0.1).astype(float):
            stream = stream.update(window)
        assert stream.reaches(0.0125)


def test_bad_streams_are_refused():
    with pytest.raises(InvalidInput, match="limit"):
        ShiftStream(0.0)
    with pytest.raises(InvalidInput, match=f"1 entries, expected {STAKES}"):
        ShiftStream(0.5, log_wealths=(0.0,))
    with pytest.raises(InvalidInput, match="in \\[0, 1\\]"):
        ShiftStream(0.5).update([2.0])


class Middle:
    """Randomness that always says one half, so that ranks can be counted."""

    def random(self, n):
        return np.full(n, 0.5)


def test_every_order_of_exchangeable_values_gives_another_vector_of_ranks():
    """4! orders of four values, one earlier and three new: all 2·3·4 cells of the ranks, once each."""
    ranks = {tuple(conformal_ranks(order[1:], order[:1], Middle()).round(6)) for order in permutations((1.0, 2, 3, 4))}
    cells = [[(k + 0.5) / n for k in range(n)] for n in (2, 3, 4)]
    assert ranks == {(round(a, 6), round(b, 6), round(c, 6)) for a in cells[0] for b in cells[1] for c in cells[2]}


def test_ties_share_their_ranks_at_random():
    ranks = conformal_ranks(np.zeros(2000), np.zeros(10), np.random.default_rng(0))
    assert ranks.mean() == pytest.approx(0.5, abs=0.03)
    assert np.histogram(ranks, 4, (0, 1))[0].min() > 400


def test_each_value_is_compared_with_those_before_it():
    assert conformal_ranks([3.0, 2.0, 2.0], [1.0], Middle()).tolist() == pytest.approx([0.75, 0.5, 0.5])


def test_a_shift_is_found_and_no_shift_is_not():
    rng = np.random.default_rng(3)
    reference, same, moved = rng.normal(size=200), rng.normal(size=300), rng.normal(size=300) + 0.8
    start = ShiftStream(0.5, is_two_sided=True)
    assert not start.update(conformal_ranks(same, reference, rng)).reaches(0.05)
    assert start.update(conformal_ranks(moved, reference, rng)).reaches(0.001)
    assert start.update(conformal_ranks(-moved, reference, rng)).reaches(0.001)
