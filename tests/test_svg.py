"""Scales, axes and marks of drawings, and markup that can only ever be text."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.app.report.markup import (
    NARROW,
    NOTHING,
    WIDE,
    AxisScale,
    Figure,
    Frame,
    Html,
    axis_below,
    axis_left,
    both,
    box,
    drawing,
    fitted,
    items,
    join,
    line,
    mark,
    pairs,
    polyline,
    table,
    tag,
    text,
    width_of,
)


class Read(HTMLParser):
    """What a browser would see: elements with attributes, and words."""

    def __init__(self, markup):
        super().__init__()
        self.elements, self.words = [], ""
        self.feed(markup)

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_data(self, data):
        self.words += data


words = st.text(st.sampled_from("ab<>&\"' /=;#x-!"), max_size=30)


@given(words, words)
@settings(max_examples=150, deadline=None)
def test_text_and_attributes_come_out_as_they_went_in_and_open_no_element(inside, value):
    seen = Read(tag("p", {"title": value}, inside))
    assert [name for name, _ in seen.elements] == ["p"]
    assert seen.elements[0][1]["title"] == value
    assert seen.words == inside


def test_only_what_is_markup_already_stays_markup():
    inner = tag("b", None, "<i>")
    assert isinstance(inner, Html)
    assert tag("p", None, inner, "<i>") == "<p><b>&lt;i&gt;</b>&lt;i&gt;</p>"
    assert join([str(inner)]) == "&lt;b&gt;&amp;lt;i&amp;gt;&lt;/b&gt;"
    assert join([]) == NOTHING


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, None), (0, "0"), (1.0, "1"), (2.504, "2.5"), (0.001, "0"), (-3.14159, "-3.14"), (10.0, "10"), ("", "")],
)
def test_attributes_are_left_out_or_rounded_to_hundredths(value, written):
    attributes = Read(tag("rect", {"x": value})).elements[0][1]
    assert attributes == ({} if written is None else {"x": written})


def test_elements_without_an_end_take_no_children():
    assert tag("br") == "<br>"
    assert tag("meta", {"charset": "utf-8"}) == '<meta charset="utf-8">'


def test_a_table_names_its_rows_and_columns_for_a_reader():
    made = table(("tier", "rate"), (("PII", "5%"), ("<PoII>", "1%")), "Rates", bold=[1])
    seen = Read(made)
    scopes = [a.get("scope") for name, a in seen.elements if name == "th"]
    assert scopes == ["col", "col", "row", "row"]
    assert sum(name == "td" for name, _ in seen.elements) == 2
    rows = [a.get("class") for name, a in seen.elements if name == "tr"]
    assert rows == [None, None, "strong"]
    region = seen.elements[0][1]
    assert (region["aria-label"], region["role"], region["tabindex"]) == ("Rates", "region", "0")
    assert "<PoII>" in seen.words


def test_lists_and_pairs_keep_their_order():
    assert Read(items(["one", "two"])).words == "onetwo"
    names = [name for name, _ in Read(pairs([("a", "1"), ("b", "2")])).elements]
    assert names == ["dl", "div", "dt", "dd", "div", "dt", "dd"]


@given(st.floats(-1e3, 1e3), st.floats(1e-2, 1e6), st.floats(0, 1))
@settings(max_examples=80, deadline=None)
def test_a_scale_is_linear_between_its_ends_and_stops_there(low, span, share):
    scale = AxisScale(low, low + span, 10.0, 110.0)
    assert scale(low) == 10.0
    assert scale(low + span) == pytest.approx(110.0)
    assert scale(low + share * span) == pytest.approx(10.0 + 100.0 * share, abs=1e-3)
    assert scale(low - span) == 10.0
    assert scale(low + 2 * span) == pytest.approx(110.0)


@given(st.floats(-1000, 1000), st.floats(1e-3, 1e4), st.integers(2, 8))
@settings(max_examples=120, deadline=None)
def test_ticks_are_round_evenly_spaced_and_inside(low, span, about):
    scale = AxisScale(low, low + span, 0.0, 1.0)
    ticks = scale.ticks(about)
    slack = 1e-6 * span
    assert all(low - slack <= t <= low + span + slack for t in ticks)
    assert len(ticks) <= about + 1
    steps = [b - a for a, b in pairwise(ticks)]
    if steps:
        assert max(steps) - min(steps) <= 1e-6 * max(steps) + 1e-9
        digits = re.sub(r"[.0]|e.*", "", f"{steps[0]:.3g}")
        assert digits in {"1", "2", "5"}


def test_a_scale_of_one_value_has_one_place_and_one_tick():
    flat = AxisScale(0.0, 0.0, 10.0, 110.0)
    assert flat(0.0) == flat(5.0) == 10.0
    assert flat.ticks() == [0.0]


def test_no_tick_is_minus_zero():
    assert all(str(t) != "-0.0" for t in AxisScale(-1.0, 1.0, 0.0, 1.0).ticks())


def test_a_frame_scales_from_left_to_right_and_from_bottom_to_top():
    frame = Frame(10, 20, 110, 220)
    assert frame.across(0, 1)(0.25) == 35.0
    assert frame.up(0, 1)(0.25) == 170.0


def test_a_drawing_is_made_once_for_each_width():
    widths = []
    made = both(lambda width: widths.append(width) or drawing((width, 10), "what it shows"))
    assert widths == [WIDE, NARROW]
    seen = Read(made)
    assert [a["class"] for name, a in seen.elements if name == "div"] == ["wide", "narrow"]
    assert all(a["aria-label"] == "what it shows" and a["role"] == "img" for n, a in seen.elements if n == "svg")


def test_a_box_never_has_a_negative_side():
    attributes = Read(box(1, 2, -3, -4, "bad")).elements[0][1]
    assert (attributes["width"], attributes["height"]) == ("0", "0")


@pytest.mark.parametrize(("shape", "element"), [("circle", "circle"), ("cross", "path"), ("star", "polygon")])
def test_shapes_differ_so_that_colour_is_not_alone(shape, element):
    assert Read(mark(shape, 5, 5, 2, "good")).elements[0][0] == element


def corners(shape):
    points = Read(mark(shape, 0, 0, 10, "k")).elements[0][1]["points"].split()
    return [tuple(map(float, point.split(","))) for point in points]


def test_a_diamond_stands_on_its_corner_and_a_square_on_its_side():
    assert (0.0, -10.0) in [(x + 0.0, y) for x, y in corners("diamond")]
    assert len(corners("diamond")) == len(corners("square")) == 4
    assert {round(abs(x), 1) for x, _ in corners("square")} == {7.1}
    assert len(corners("star")) == 10


def test_an_axis_shows_its_ticks_as_they_are_said_and_fewer_where_there_is_less_room():
    def shown(width):
        frame = Frame(0, 0, width, 100)
        return Read(axis_below(frame, frame.across(0, 1), "share", lambda v: f"{v:.0%}"))

    assert "100%" in shown(600).words
    ticks = [sum(a.get("class") == "tick" for _, a in shown(width).elements) for width in (600, 120)]
    assert ticks[0] > ticks[1] >= 2
    assert shown(600).words.endswith("share")
    left = Read(axis_left(Frame(40, 0, 100, 100), AxisScale(0, 2, 100, 0), "", str))
    assert "title" not in [a.get("class") for _, a in left.elements]


@given(st.text("abcdef ", min_size=0, max_size=60), st.floats(1, 300))
@settings(max_examples=80, deadline=None)
def test_a_name_is_cut_only_where_it_does_not_fit(said, room):
    short = fitted(said, room)
    if short != said:
        assert short.endswith("…")
        assert said.startswith(short[:-1])
        assert width_of(said) > room - width_of("a")
    assert len(short) <= max(1, int(room / width_of("a")))


def test_lines_words_and_paths_carry_their_places():
    assert Read(line((1, 2), (3, 4), "axis")).elements[0][1] == {
        "x1": "1", "y1": "2", "x2": "3", "y2": "4", "class": "axis",
    }  # fmt: skip
    assert Read(polyline([(0, 1.26), (2, 3)], "front")).elements[0][1]["points"] == "0.0,1.3 2.0,3.0"
    assert Read(text(1, 2, "<b>", "end")).words == "<b>"


def test_a_figure_has_a_title_a_text_alternative_and_its_numbers():
    made = Figure(
        title="Rates & more",
        says="PII leaks.",
        draw=lambda width, label: drawing((width, 5), label),
        key=("dots: tiers",),
        head=("tier", "rate"),
        rows=(("PII", "5%"),),
    ).html
    seen = Read(made)
    assert [a["aria-label"] for n, a in seen.elements if n == "svg"] == ["Rates & more. PII leaks."] * 2
    assert ("summary", {}) in seen.elements
    bare = Figure("t", "s", lambda width, label: drawing((width, 5), label), (), (), ()).html
    assert "details" not in {name for name, _ in Read(bare).elements}
    assert "key" not in {a.get("class") for _, a in Read(bare).elements}


@pytest.mark.parametrize(("low", "high"), [(0.2, 8.0), (539.0, 1.33e6), (1e-9, 1.0), (3.0, 4.0)])
@pytest.mark.parametrize("about", [2, 4, 6])
def test_an_axis_of_powers_has_equal_lengths_for_equal_factors_and_few_ticks(low, high, about):
    scale = AxisScale(low, high, 100.0, 300.0, by_powers=True)
    assert [scale(low), scale(high)] == pytest.approx([100.0, 300.0])
    assert scale((low * high) ** 0.5) == pytest.approx(200.0)
    assert scale(low / 10) == pytest.approx(100.0), "what lies outside is moved to the nearer end"
    ticks = scale.ticks(about)
    assert len(ticks) <= about
    assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)
    assert ticks == sorted(ticks)
