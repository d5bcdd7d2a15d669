"""Whose fixes these are, from how places move: by hand, with columns that mislead."""

import numpy as np
import pytest

from oddshift.app.init.movers import CLOSER, moving_along
from oddshift.app.init.roles import roles_of_columns
from oddshift.data.codecs import PlaceSettings

SETTINGS = PlaceSettings(lat="lat", lon="lon", user="", timestamp="", trip="", every=0)


@pytest.fixture(scope="module")
def fixes():
    """Six walkers far apart whose fixes are mixed, a column that says who they are, and two that do not."""
    rng = np.random.default_rng(0)
    who = np.tile(np.arange(6), 20)
    return {
        "lat": (10.0 * who + 0.01 * np.repeat(np.arange(20), 6) + 1e-4 * rng.normal(size=120)).tolist(),
        "lon": (1e-4 * rng.normal(size=120)).tolist(),
        "badge": [f"b{number}" for number in who],
        "mood": [f"m{number}" for number in rng.integers(4, size=120)],
        "speed": rng.integers(30, size=120).tolist(),
    }


def test_the_column_along_which_places_move_least_is_found(fixes):
    assert moving_along(fixes, SETTINGS, ("mood", "speed", "badge")) == "badge"


def test_no_column_is_taken_where_none_makes_steps_much_shorter(fixes):
    assert CLOSER < 1
    assert moving_along(fixes, SETTINGS, ("mood", "speed")) == ""
    assert moving_along(fixes, SETTINGS, ()) == ""


def test_it_becomes_the_user_of_a_file_without_one_and_is_no_longer_left_empty(fixes):
    found = roles_of_columns(fixes, "x")
    assert (found.kind, found.user) == ("location", "badge")
    assert [name for name, _ in found.masked] == ["mood", "speed"]
    named = roles_of_columns({**fixes, "user": fixes["mood"]}, "x")
    assert named.user == "user"


def test_a_cell_that_cannot_be_read_is_left_to_the_reader(fixes):
    assert moving_along({**fixes, "lat": ["far", *fixes["lat"][1:]]}, SETTINGS, ("badge",)) == ""
