"""Figures of studies are quoted beside their limits, and a page that does not state one is not a pass."""

import pytest
from benchmarks import stored_studies
from benchmarks.stored_studies import FIGURES

ADAPTED = """# Adaptation on AG News

CPU seconds: 20 to read and encode, 31 to fit the attackers, 148 for the adaptation{kept}; together {total}. Peak memory
2.1 GB.

The least loss of all is 0.1693, at (0.85, 1.0): the search is {above} above it.
"""


def figures(page):
    return [figure for figure in FIGURES if figure.page == page]


def quoted(page, text):
    return [line for figure in figures(page) for line in figure.lines(text)]


def test_the_adaptation_is_within_its_limits():
    found = quoted("ag_news_adapt", ADAPTED.format(kept="", total="199", above="0.35%"))
    assert [(line.measured, line.limit, line.holds) for line in found] == [
        ("199 s", "<= 240 s", True),
        ("0.35 %", "<= 1 %", True),
    ]


def test_a_figure_beyond_its_limit_does_not_hold():
    found = quoted("ag_news_adapt", ADAPTED.format(kept="", total="1,240", above="1.20%"))
    assert [line.holds for line in found] == [False, False]


def test_the_time_of_a_continued_adaptation_is_not_its_time():
    kept = " (12 of its points were measured before)"
    time, grid = quoted("ag_news_adapt", ADAPTED.format(kept=kept, total="60", above="0.00%"))
    assert (time.measured, time.holds) == ("not stated yet", False)
    assert grid.holds


def test_a_table_gives_a_line_for_each_row():
    text = "| what | watches | with an alarm |\n| --- | --- | --- |\n| texts | 8 | 0.0 % |\n| trips | 8 | 12.5 % |\n"
    false, delay = figures("watch")
    assert [(line.what.rpartition(": ")[2], line.holds) for line in false.lines(text)] == [
        ("texts", True),
        ("trips", False),
    ]
    assert delay.lines("| texts: after 200 windows | rate | 7 of 8 found |  |  |")[0].measured == "7 of 8 found"


def test_a_missing_page_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_studies, "PAGES", tmp_path)
    found = stored_studies.run()
    assert len(found) == len(FIGURES)
    assert {line.measured for line in found} == {"not stated yet"}
    assert not any(line.holds for line in found)


@pytest.mark.parametrize("page", ["watch", "ag_news_attackers"])
def test_the_pages_of_today_state_their_figures(page):
    found = [line for line in stored_studies.run() if line.baseline == f"stored by studies.{page}"]
    assert len(found) >= len(figures(page))
    assert all(line.measured != "not stated yet" and line.holds is not False for line in found)
