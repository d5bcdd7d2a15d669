import numpy as np
import pytest

import encoding
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceCodec, PlaceSettings
from oddshift.data.formats import open_data, read_columns
from oddshift.model.metric import Haversine
from oddshift.model.records import SLOT

ALL = PlaceSettings(every=0.0)
HEAD = "user,timestamp,lat,lon,trip\n"
LINES = (
    "000,2008-10-23T02:53:04Z,39.98,116.31,a\n"
    "000,2008-10-23T02:53:14Z,39.9801,116.31,a\n"
    "000,2008-10-23T03:13:04Z,39.90,116.40,a\n"
    "001,2008-10-23T05:00:00Z,39.98,116.31,a\n"
    "001,2008-10-23T04:00:00Z,40.10,116.50,a\n"
)


def _columns(folder, content, settings=ALL):
    (folder / "t.csv").write_text(content)
    return read_columns(open_data(folder / "t.csv", "location"), settings.wanted(()))


def _made(folder, content, settings=ALL):
    return encoding.places(_columns(folder, content, settings), settings)


def _places(encoded):
    shown = encoded.decode(encoded.records.points)
    return np.array([shown["lat"], shown["lon"]]).T


def test_fixes_are_ordered_by_trip_and_time(tmp_path):
    encoded = _made(tmp_path, HEAD + LINES).encoded
    assert encoded.records.lengths.tolist() == [3, 2]  # the same name of two users is two trips
    assert encoded.order.tolist() == [0, 1, 2, 4, 3], "the later fix of the second user stands first in the file"
    assert encoded.rows.tolist() == [0, 4]
    there = np.array([[float(cell) for cell in row.split(",")[2:4]] for row in LINES.splitlines()])
    away = np.diag(Haversine().between(_places(encoded), there))
    assert away.max() < 1.0, "released places stand in the order of the file"


def test_cells_hours_and_users(tmp_path):
    ordered = "".join(line + "\n" for line in sorted(LINES.splitlines()))
    encoded = _made(tmp_path, HEAD + ordered, PlaceSettings(every=60.0)).encoded
    records = encoded.records
    assert records.lengths.tolist() == [2, 2]  # two fixes within a minute became one
    assert encoded.keep.tolist() == [True, False, True, True, True]
    assert encoded.counts.left_out == 1
    assert records.users.tolist() == [0, 1]
    assert records.points[0] == records.points[3]
    shown = [t if t == SLOT else records.context.symbols[t] for t in records.context.tokens.tolist()]
    assert shown == ["02h", SLOT, "03h", SLOT, "04h", SLOT, "05h", SLOT]
    assert len(records.joined("user")) == 2


def test_thinning_needs_each_trip_in_order_whoever_reads(tmp_path):
    """An audit sorted such a file and protecting refused it; now both refuse, so that both keep the same fixes."""
    with pytest.raises(InvalidInput, match="the fix at row 5 is out of order"):
        _made(tmp_path, HEAD + LINES, PlaceSettings(every=60.0))


def test_a_stream_goes_on_where_the_last_rows_ended(tmp_path):
    columns = _columns(tmp_path, HEAD + "".join(line + "\n" for line in sorted(LINES.splitlines())))
    codec = encoding.places(columns, PlaceSettings(every=60.0)).codec
    whole = codec.encode(columns)
    stream, kept = codec.stream(), []
    for row in range(5):
        part = stream.encode({name: cells[row : row + 1] for name, cells in columns.items()}, first=row + 1)
        kept += part.keep.tolist()
        assert len(part.decode(part.records.points)["lat"]) == sum(part.keep)
    assert kept == whole.keep.tolist()
    assert codec.encode(columns).keep.tolist() == kept, "a codec remembers nothing outside a stream"


@pytest.mark.parametrize("cell", [0.5, 5.0, 100.0])
def test_a_cell_centre_is_near(cell):
    rng = np.random.default_rng(0)
    places = np.stack([rng.uniform(-89, 89, 500), rng.uniform(-180, 180, 500)], axis=1)
    settings = PlaceSettings(cell_km=cell, every=0.0, timestamp="", trip="")

    def columns(table):
        return {"lat": table[:, 0].tolist(), "lon": table[:, 1].tolist(), "user": ["u"] * 500}

    made = encoding.places(columns(places), settings)
    released = _places(made.encoded)
    assert np.diag(Haversine().between(places, released)).max() < cell
    np.testing.assert_allclose(_places(made.codec.encode(columns(released))), released, atol=1e-9)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,2008-10-23T02:53:04Z,91,116,a\n", r"column 'lat' at row 2 is outside \[-90, 90\] degrees"),
        ("0,2008-10-23T02:53:04Z,39,-181,a\n", r"column 'lon' at row 2 is outside \[-180, 180\]"),
        ("0,yesterday,39,116,a\n", r"column 'timestamp' at row 2 is not an ISO 8601 time"),
        ("0,2008-10-23T02:53:04Z,x,116,a\n", "column 'lat' at row 2 is not a number"),
    ],
)
def test_bad_rows(tmp_path, line, message):
    good = "0,2008-10-23T02:53:04Z,39.98,116.31,a\n"
    with pytest.raises(InvalidInput, match=message):
        _made(tmp_path, HEAD + good + line)


def test_bad_files(tmp_path):
    with pytest.raises(InvalidInput, match="has no column 'lon'"):
        _made(tmp_path, "user,timestamp,lat,trip\n0,x,1,a\n")
    with pytest.raises(InvalidInput, match="is empty"):
        _made(tmp_path, "")
    with pytest.raises(InvalidInput, match="has 1 record"):
        _made(tmp_path, HEAD + "0,2008-10-23T02:53:04Z,39.98,116.31,a\n")
    encoded = _made(tmp_path, HEAD + LINES).encoded
    with pytest.raises(InvalidInput, match="expected 5"):
        encoded.decode([0])
    assert "39.9" not in repr(encoded)


def test_the_geolife_file(data):
    columns = read_columns(open_data(data / "trajectories.csv"), PlaceSettings().wanted(()))
    assert len(columns["lat"]) == 58_972
    encoded = encoding.places(columns, PlaceSettings()).encoded
    assert len(np.unique(encoded.records.users)) == 11
    assert len(encoded.records) == 111
    kept = np.flatnonzero(encoded.keep)[:500]
    there = np.array([[float(columns["lat"][r]), float(columns["lon"][r])] for r in kept])
    assert np.diag(Haversine().between(there, _places(encoded)[:500])).max() < 1.0


def test_sizes_are_sizes():
    with pytest.raises(InvalidInput, match="expected a finite number > 0"):
        PlaceSettings(cell_km=0.0)


def test_columns_of_other_names_and_columns_that_are_not_there(tmp_path):
    rows = ["device,when,latitude,lng"]
    rows += [
        f"d{d},{1_700_000_000 + 86_400 * k + d},{40 + d / 100},{116 + k / 100}" for k in range(2) for d in range(3)
    ]
    content = "\n".join(rows)
    names = {"lat": "latitude", "lon": "lng", "timestamp": "when", "trip": "", "every": 0.0}
    found = _made(tmp_path, content, PlaceSettings(user="device", **names)).encoded
    assert len(found.records) == 6, "a trip is a user's day"
    assert len(np.unique(found.records.users)) == 3
    alone = _made(tmp_path, content, PlaceSettings(user="", **names)).encoded.records
    assert alone.lengths.tolist() == [3, 3]
    assert alone.users.tolist() == [0, 1]
    unordered = _made(tmp_path, content, PlaceSettings(user="device", **{**names, "timestamp": ""})).encoded
    assert unordered.records.lengths.tolist() == [2, 2, 2]
    assert unordered.order.tolist() == [0, 3, 1, 4, 2, 5], "the order of the file"
    with pytest.raises(InvalidInput, match="timestamp is empty, expected every = 0"):
        PlaceSettings(user="", timestamp="", trip="")


def test_without_times_nothing_can_be_thinned(tmp_path):
    config = '[data]\nkind = "location"\npath = "x.csv"\ntimestamp = ""\n[mechanism]\nepsilon = 1.0\n'
    with pytest.raises(InvalidInput, match="expected every = 0"):
        prepare_configured(parse_config(config, "test"))


def test_a_fix_without_a_place_stays_without_one(tmp_path):
    content = HEAD + LINES + "001,2008-10-23T06:00:00Z,,116.50,a\n" + "002,2008-10-23T06:00:00Z,39.98,NA,a\n"
    made = _made(tmp_path, content)
    encoded = made.encoded
    assert len(encoded.records.points) == 5
    back = encoded.decode(encoded.records.points)
    assert [lat is None for lat in back["lat"]] == [False] * 5 + [True] * 2
    assert back["lon"][5:] == [None, None], "half a place is no place"
    whole = _made(tmp_path, HEAD + LINES).encoded
    assert [row[:5] for row in back.values()] == list(whole.decode(whole.records.points).values())
    assert encoded.decode(np.zeros(5, dtype=int), masked=True) == {"lat": [None] * 7, "lon": [None] * 7}


def test_a_thinned_fix_without_a_place_is_left_out(tmp_path):
    lines = LINES.replace("04:00:00", "06:00:00") + "002,2008-10-23T06:00:00Z,,116.50,a\n"
    encoded = _made(tmp_path, HEAD + lines, PlaceSettings(every=1.0)).encoded
    assert encoded.keep.tolist() == [True] * 5 + [False]
    assert encoded.counts.left_out == 1


def test_points_without_user_time_and_trip_stand_for_themselves(tmp_path):
    settings = PlaceSettings(user="", timestamp="", trip="", every=0.0)
    encoded = _made(tmp_path, "lat,lon\n39.98,116.31\n40.1,116.5\n39.98,116.31\n", settings).encoded
    assert encoded.records.lengths.tolist() == [1, 1, 1]
    assert settings.units({"lat": [1, 2], "lon": [1, 2]})[0].tolist() == [0, 1]


def test_no_released_place_is_a_place_of_the_data(tmp_path):
    """Cell centres of one grid for the whole earth: they depend on the data only by which cells are there."""
    made = _made(tmp_path, HEAD + LINES)
    points = made.space.points.tolist()
    assert not {(39.98, 116.31), (39.9801, 116.31), (39.9, 116.4), (40.1, 116.5)} & set(map(tuple, points))
    nudged = _made(tmp_path, HEAD + LINES.replace("39.98,", "39.9802,"))
    assert nudged.space.points.tolist() == points


def test_longitudes_beyond_180_degrees_are_western_ones():
    asked = PlaceSettings(user="", timestamp="", trip="", every=0, cell_km=50)
    east = PlaceCodec.fit({"lat": [-20.0, -21.0], "lon": [181.6, 179.0]}, asked)
    west = PlaceCodec.fit({"lat": [-20.0, -21.0], "lon": [-178.4, 179.0]}, asked)
    np.testing.assert_array_equal(east.space.points, west.space.points)
    with pytest.raises(InvalidInput, match="outside"):
        PlaceCodec.fit({"lat": [-20.0], "lon": [361.0]}, asked)
