"""What is asked of places, and one draw for each place of what is read together."""

import csv

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceCodec, PlaceSettings
from oddshift.data.dataset import Dataset
from oddshift.data.formats import data_file
from oddshift.data.preparation import prepare
from oddshift.mechanisms import Exponential
from oddshift.protect import Ledger, ProtectSettings, Sanitizer, protect
from oddshift.protect.policies import load_policy, make_policy, save_policy

USERS, TRIPS, FIXES = 4, 3, 8


@pytest.fixture(scope="module")
def columns():
    """Users who move between twelve places: every place is visited often."""
    rng = np.random.default_rng(0)
    rows = [(u, t, f, int(rng.integers(0, 12))) for u in range(USERS) for t in range(TRIPS) for f in range(FIXES)]
    return {
        "user": [f"u{u}" for u, _, _, _ in rows],
        "trip": [f"t{t}" for _, t, _, _ in rows],
        "timestamp": [f"2020-01-0{1 + t}T10:{f:02d}:00" for _, t, f, _ in rows],
        "lat": [40.0 + 0.1 * p for _, _, _, p in rows],
        "lon": [20.0 for _ in rows],
    }


def policy_of(columns, **changes):
    codec = PlaceCodec.fit(columns, PlaceSettings(every=0, **changes))
    return make_policy(codec, Exponential(codec.space, 1e-6), codec.tiers)


def seen(columns, released, names):
    """For every unit and place of it, the places that it was released as."""
    found = {}
    for row, place in enumerate(columns["lat"]):
        unit = tuple(columns[name][row] for name in names)
        found.setdefault((unit, round(float(place), 6)), set()).add(float(released[row]))
    return found


@pytest.mark.parametrize(
    ("changes", "usual"),
    [({}, "each"), ({"joint_by": "user"}, "once"), ({"joint_by": "user", "repeats": "each"}, "each")],
)
def test_a_place_of_a_user_is_drawn_once_unless_something_else_is_asked(changes, usual):
    assert PlaceSettings(**changes).repeats == usual


def test_other_ways_of_repeating_are_refused():
    with pytest.raises(InvalidInput, match="repeats='twice'"):
        PlaceSettings(repeats="twice")


def test_every_fix_of_a_user_at_one_place_is_released_as_the_same_place(columns):
    sanitizer = Sanitizer(policy_of(columns, joint_by="user"))
    released = sanitizer.released(sanitizer.codec.encode(columns))
    by_user = seen(columns, released["lat"], ["user"])
    assert all(len(places) == 1 for places in by_user.values())
    assert len({(place, *shown) for (_, place), shown in by_user.items()}) > 12, "users have draws of their own"


def test_within_a_trip_once_holds_for_the_trip_alone(columns):
    sanitizer = Sanitizer(policy_of(columns, repeats="once"))
    released = sanitizer.released(sanitizer.codec.encode(columns))["lat"]
    assert all(len(places) == 1 for places in seen(columns, released, ["user", "trip"]).values())
    assert any(len(places) > 1 for places in seen(columns, released, ["user"]).values())


def test_each_fix_has_a_draw_of_its_own_by_default(columns):
    sanitizer = Sanitizer(policy_of(columns))
    released = sanitizer.released(sanitizer.codec.encode(columns))["lat"]
    assert any(len(places) > 1 for places in seen(columns, released, ["user", "trip"]).values())


def test_points_that_stand_for_themselves_share_no_draw(columns):
    alone = {name: [columns[name][0]] * 200 for name in ("lat", "lon")}
    settings = PlaceSettings(every=0, user="", trip="", timestamp="", joint_by="user")
    codec = PlaceCodec.fit(columns, settings)
    sanitizer = Sanitizer(make_policy(codec, Exponential(codec.space, 1e-6), codec.tiers))
    assert len(set(sanitizer.released(codec.encode(alone))["lat"])) > 6


def test_a_file_that_is_read_in_blocks_repeats_the_draws_of_a_user(columns, tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 400)
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    with source.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    save_policy(tmp_path / "policy", policy_of(columns, joint_by="user"))
    policy = load_policy(tmp_path / "policy")
    assert policy.terms.data.repeats == "once"
    protect(source, out, policy, Ledger(tmp_path / "ledger.db"), ProtectSettings(allow_uncertified=True))
    with out.open() as stream:
        released = [row["lat"] for row in csv.DictReader(stream)]
    assert all(len(places) == 1 for places in seen(columns, released, ["user"]).values())


def test_an_audit_reads_every_place_of_a_user_once(columns):
    def prepared(**changes):
        settings = PlaceSettings(every=0, joint_by="user", **changes)
        return prepare(Dataset(columns, settings, "places"), seed=0).split.fit

    once, each = prepared(), prepared(repeats="each")
    assert len(each.points) > len(once.points) == sum(len(set(document.tolist())) for document in each.documents)
    assert any("same as" in symbol for symbol in once.context.symbols), "which fixes are equal is public"


def test_without_a_column_of_users_certificates_count_trips(columns):
    numbers, unit = PlaceSettings(every=0, user="").units(columns)
    assert unit == "document"
    assert len(set(numbers.tolist())) == TRIPS
    assert PlaceSettings(every=0).units(columns)[1] == "user"
