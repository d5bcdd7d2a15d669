"""Where noise begins to pay: between a multiple that costs too much and one that does not, to a few per cent."""

import numpy as np
import pytest

from oddshift.adapt.notes import MOST, STEPS, break_even


@pytest.mark.parametrize("place", [1.01, 1.9, 2.0, 7.3, 60.0])
def test_the_place_is_found_from_above_to_a_few_per_cent(place):
    found = break_even(lambda multiple: place / multiple, 1.0)
    assert place < found < place * 2.0 ** (1.0 / 2**STEPS) * 1.001


def test_a_budget_that_pays_already_stays():
    assert break_even(lambda multiple: 0.2, 0.3) == 1.0


def test_what_never_pays_is_not_a_number():
    assert break_even(lambda multiple: 0.3, 0.3) is None
    assert break_even(lambda multiple: 2 * MOST / multiple, 1.0) is None


def test_few_losses_are_computed():
    asked = []
    break_even(lambda multiple: asked.append(multiple) or 5.0 / multiple, 1.0)
    assert len(asked) <= 2 + np.ceil(np.log2(5.0)) + STEPS
