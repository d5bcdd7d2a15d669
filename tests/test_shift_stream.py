"""The evidence for a shift: an exact martingale by enumeration, and what a change of a known size costs to find."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.bounds.betting import STAKES, ShiftStream, _stakes


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
