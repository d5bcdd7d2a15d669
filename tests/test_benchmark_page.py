"""The page of benchmarks: sections that were not measured stay as they are, and the rest is in order."""

import pytest
from benchmarks import __main__ as runner
from benchmarks import page, sizing
from benchmarks.growth import exponent
from benchmarks.table import Line

ONE = Line("first", "1 s", limit="< 2 s", holds=True)


@pytest.fixture
def place(tmp_path, monkeypatch):
    path = tmp_path / "benchmarks.md"
    monkeypatch.setattr(page, "PAGE", path)
    monkeypatch.setattr(page.keep, "__defaults__", (path,))
    monkeypatch.setattr(page.kept, "__defaults__", (path,))
    return path


def test_a_section_is_replaced_and_the_others_stay(place):
    page.keep({"text": "old words", "core": "| a |"})
    page.keep({"text": "new words"})
    assert page.kept() == {"core": "| a |", "text": "new words"}
    assert place.read_text().startswith("# Benchmarks\n")
    assert list(page.sections(place.read_text())) == ["core", "text"]


def rows_of(text):
    """The first three cells of every row of a table."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    return [row[:3] for row in rows[1:]]


def test_both_pages_state_one_measurement_of_sizes():
    _, _, rest = sizing.PAGE.read_text(encoding="utf-8").partition(sizing.START)
    assert rows_of(rest.partition(sizing.END)[0]) == rows_of(page.kept()["sizing"])


def test_sizes_are_kept_in_both_pages_at_once(place, monkeypatch, tmp_path):
    other = tmp_path / "sizing.md"
    other.write_text(f"before\n{sizing.START}\nold\n{sizing.END}\nafter\n")
    monkeypatch.setattr(sizing, "PAGE", other)
    monkeypatch.setattr(runner, "run", lambda name: [ONE])
    runner.main(["sizing", "--write"])
    assert "| first | 1 s" in page.kept()["sizing"]
    assert "| first | 1 s |" in other.read_text()
    assert other.read_text().endswith("after\n")


def test_named_sections_are_measured_and_kept(place, monkeypatch, capsys):
    page.keep({"core": "before", "five_gigabytes": "stored"})
    monkeypatch.setattr(runner, "run", lambda name: [ONE])
    assert runner.main(["stream", "--write"]) == 0
    found = page.kept()
    assert set(found) == {"core", "five_gigabytes", "stream"}
    assert (found["core"], found["five_gigabytes"]) == ("before", "stored")
    assert "| first | 1 s" in found["stream"]
    assert "stored" not in capsys.readouterr().out


def test_a_whole_run_shows_what_other_commands_measured(place, monkeypatch, capsys):
    page.keep({"five_gigabytes": "200 files"})
    monkeypatch.setattr(runner, "run", lambda name: [Line("x", "1 s", holds=False)])
    assert runner.main([]) == 2
    assert "200 files" in capsys.readouterr().out
    assert "five_gigabytes" not in runner.names()


def test_unknown_names_are_refused(capsys):
    assert runner.main(["--fast", "films"]) == 1
    assert "unknown: --fast, films" in capsys.readouterr().out


def test_the_exponent_of_a_line_is_one_and_of_a_square_two():
    assert exponent((10, 20, 40), [0.1, 0.2, 0.4]) == pytest.approx(1.0)
    assert exponent((10, 20, 40), [1.0, 4.0, 16.0]) == pytest.approx(2.0)


def test_a_section_that_fails_keeps_its_old_table_and_the_others_are_measured(place, monkeypatch, capsys):
    page.keep({"core": "before"})

    def broken():
        raise RuntimeError("no such file")

    monkeypatch.setattr("benchmarks.core.run", broken)
    monkeypatch.setattr("benchmarks.stream.run", lambda: [ONE])
    assert runner.main(["core", "stream", "--write"]) == 2
    assert page.kept()["core"] == "before"
    assert "| first | 1 s" in page.kept()["stream"]
    assert "no such file" in capsys.readouterr().err
