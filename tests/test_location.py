import numpy as np
import pytest

from oddshift.app.configuration import parse_config
from oddshift.app.loading import load_data
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import (
    FixColumns,
    LocationSettings,
    StayPoints,
    Trajectories,
    encode_locations,
    read_trajectories,
)
from oddshift.data.codecs.location import stay_points
from oddshift.model.metric import Haversine
from oddshift.model.records import SLOT

HEAD = "user,timestamp,lat,lon,trip\n"
LINES = (
    "000,2008-10-23T02:53:04Z,39.98,116.31,a\n"
    "000,2008-10-23T02:53:14Z,39.9801,116.31,a\n"
    "000,2008-10-23T03:13:04Z,39.90,116.40,a\n"
    "001,2008-10-23T05:00:00Z,39.98,116.31,a\n"
    "001,2008-10-23T04:00:00Z,40.10,116.50,a\n"
)


def _read(folder, content, **options):
    (folder / "t.csv").write_text(content)
    return read_trajectories(folder / "t.csv", **options)


def test_fixes_are_ordered_by_trip_and_time(tmp_path):
    trajectories = _read(tmp_path, HEAD + LINES)
    assert trajectories.trip.tolist() == [0, 0, 0, 1, 1]  # the same name of two users is two trips
    assert (np.diff(trajectories.seconds)[:2] > 0).all()
    assert trajectories.places[3].tolist() == [40.10, 116.50]
    assert repr(trajectories) == "Trajectories(5 fixes, 2 trips)"


def test_cells_hours_and_users(tmp_path):
    encoded = encode_locations(_read(tmp_path, HEAD + LINES), LocationSettings(cell_km=1.0, every=60.0))
    records = encoded.records
    assert records.lengths.tolist() == [2, 2]  # two fixes within a minute became one
    assert records.users.tolist() == [0, 1]
    assert records.points[0] == records.points[3]
    shown = [t if t == SLOT else records.context.symbols[t] for t in records.context.tokens.tolist()]
    assert shown == ["02h", SLOT, "03h", SLOT, "04h", SLOT, "05h", SLOT]
    assert len(records.joined("user")) == 2


@pytest.mark.parametrize("cell", [0.5, 5.0, 100.0])
def test_a_cell_centre_is_near(cell):
    rng = np.random.default_rng(0)
    places = np.stack([rng.uniform(-89, 89, 500), rng.uniform(-180, 180, 500)], axis=1)
    fixes = Trajectories(places, np.arange(500.0), np.zeros(500, dtype=np.int64), np.zeros(500, dtype=np.int64))
    encoded = encode_locations(fixes, LocationSettings(cell_km=cell, every=None))
    away = np.diag(Haversine().between(places, encoded.decode(encoded.records.points)))
    assert away.max() < cell
    again = Trajectories(encoded.decode(encoded.records.points), fixes.seconds, fixes.trip, fixes.user)
    same = encode_locations(again, LocationSettings(cell_km=cell, every=None))
    np.testing.assert_allclose(same.decode(same.records.points), encoded.decode(encoded.records.points), atol=1e-9)


def test_points_of_interest_are_the_nearest(tmp_path):
    places = np.array([[39.98, 116.31], [40.1, 116.5], [0.0, 0.0]])
    encoded = encode_locations(_read(tmp_path, HEAD + LINES), LocationSettings(places=places, every=None))
    assert encoded.records.points.tolist() == [0, 0, 0, 1, 0]
    assert len(encoded.records.space) == 3


def test_stay_points_by_hand():
    minutes = np.array([0, 10, 25, 30, 35, 60, 61])
    latitude = np.array([0, 0.0005, 0.001, 1, 2, 2.0001, 2])  # 0.001 degrees are 111 m
    places = np.stack([latitude, np.zeros(7)], axis=1)
    fixes = Trajectories(places, 60.0 * minutes, np.zeros(7, dtype=np.int64), np.zeros(7, dtype=np.int64))
    stays = stay_points(fixes, StayPoints(kilometres=0.2, minutes=20))
    assert stays.seconds.tolist() == [0.0, 35 * 60.0]
    assert stays.places[0, 0] == pytest.approx(0.0005)
    two_trips = Trajectories(places, fixes.seconds, np.array([0, 0, 1, 1, 1, 1, 1]), fixes.user)
    assert len(stay_points(two_trips, StayPoints()).seconds) == 1
    with pytest.raises(InvalidInput, match="no fix is left"):
        encode_locations(fixes, LocationSettings(every=None, stays=StayPoints(minutes=1e6)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,2008-10-23T02:53:04Z,nan,116,a\n", r"column 'lat' at row 2 is NaN"),
        ("0,2008-10-23T02:53:04Z,91,116,a\n", r"column 'lat' at row 2 is outside \[-90, 90\] degrees"),
        ("0,2008-10-23T02:53:04Z,39,-181,a\n", r"column 'lon' at row 2 is outside \[-180, 180\]"),
        ("0,yesterday,39,116,a\n", r"column 'timestamp' at row 2 is no ISO 8601 time"),
        ("0,2008-10-23T02:53:04Z,,116,a\n", r"column 'lat' at row 2 is not a number"),
    ],
)
def test_bad_rows(tmp_path, line, message):
    good = "0,2008-10-23T02:53:04Z,39.98,116.31,a\n"
    with pytest.raises(InvalidInput, match=message):
        _read(tmp_path, HEAD + good + line)


def test_bad_files(tmp_path):
    with pytest.raises(InvalidInput, match="has no column 'lon'"):
        _read(tmp_path, "user,timestamp,lat,trip\n0,x,1,a\n")
    with pytest.raises(InvalidInput, match="is empty"):
        _read(tmp_path, "")
    with pytest.raises(InvalidInput, match="has 1 record"):
        _read(tmp_path, HEAD + "0,2008-10-23T02:53:04Z,39.98,116.31,a\n")
    encoded = encode_locations(_read(tmp_path, HEAD + LINES))
    with pytest.raises(InvalidInput, match="expected 4"):
        encoded.decode([0])
    assert "39.9" not in repr(encoded)


def test_the_geolife_file(data):
    trajectories = read_trajectories(data / "trajectories.csv")
    assert len(trajectories.seconds) == 58_972
    encoded = encode_locations(trajectories)
    assert len(np.unique(encoded.records.users)) == 11
    assert len(encoded.records) == 111
    away = np.diag(Haversine().between(encoded.fixes.places[:500], encoded.decode(encoded.records.points)[:500]))
    assert away.max() < 1.0
    stays = encode_locations(trajectories, LocationSettings(every=None, stays=StayPoints()))
    assert 50 < len(stays.records.points) < 2_000


@pytest.mark.parametrize("stays", [{"kilometres": -1.0}, {"minutes": 0.0}])
def test_a_stay_has_a_size(stays):
    with pytest.raises(InvalidInput, match="expected a finite number > 0"):
        StayPoints(**stays)


def test_fixes_out_of_order_are_refused():
    places, zeros = np.zeros((3, 2)), np.zeros(3, dtype=np.int64)
    for seconds, trip in (([0.0, 1.0, 2.0], [0, 1, 0]), ([0.0, 2.0, 1.0], [0, 0, 0])):
        with pytest.raises(InvalidInput, match="out of order"):
            Trajectories(places, np.array(seconds), np.array(trip), zeros)
    with pytest.raises(InvalidInput, match="expected one length"):
        Trajectories(places, np.zeros(2), zeros, zeros)


def test_columns_of_other_names_and_columns_that_are_not_there(tmp_path):
    rows = ["device,when,latitude,lng"]
    rows += [
        f"d{d},{1_700_000_000 + 86_400 * k + d},{40 + d / 100},{116 + k / 100}" for k in range(2) for d in range(3)
    ]
    (tmp_path / "fixes.csv").write_text("\n".join(rows))
    names = FixColumns(lat="latitude", lon="lng", user="device", timestamp="when", trip="")
    found = read_trajectories(tmp_path / "fixes.csv", names)
    assert len(np.unique(found.trip)) == 6, "a trip is a user's day"
    assert len(np.unique(found.user)) == 3
    assert found.seconds.min() == 1_700_000_000.0
    alone = read_trajectories(tmp_path / "fixes.csv", FixColumns("latitude", "lng", user="", timestamp="when", trip=""))
    assert alone.trip.tolist() == alone.user.tolist() == [0, 0, 0, 1, 1, 1]
    unordered = read_trajectories(
        tmp_path / "fixes.csv", FixColumns("latitude", "lng", "device", timestamp="", trip="")
    )
    assert unordered.trip.tolist() == [0, 0, 1, 1, 2, 2]
    assert unordered.places[:2, 1].tolist() == [116.0, 116.01], "the order of the file"
    with pytest.raises(InvalidInput, match="one of user, timestamp and trip"):
        FixColumns(user="", timestamp="", trip="")


def test_without_times_nothing_can_be_thinned(tmp_path):
    config = '[data]\nkind = "location"\npath = "x.csv"\ntimestamp = ""\n[mechanism]\nepsilon = 1.0\n'
    with pytest.raises(InvalidInput, match="expected every = 0"):
        load_data(parse_config(config, "test"))
