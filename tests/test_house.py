"""The counts of the package: what a tiny one has, and what the page says about ours."""

import re

from studies import house


def tiny(folder, **files):
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return house.modules(folder)


def test_lines_and_importers_of_a_tiny_package(tmp_path):
    known = tiny(
        tmp_path,
        a__one='"""First line.\n\nMore.\n"""\n\nx = 1  # one\n# only a comment\n',
        a__two="from oddshift.a.one import x\n",
        b__three="from oddshift.a import one\nfrom oddshift.a.two import y\n",
        b__four="import oddshift.b.three\n",
    )
    assert (known["a.one"].lines, known["a.one"].code) == (7, 1)
    assert house.importers(known)["a.one"] == {"a.two", "b.three"}
    assert house.one_importer(known) == {"a.two": "b.three", "b.three": "b.four"}
    assert house.small_neighbours(known) == {"b.three": "b.four"}


def test_a_small_file_has_an_importer_that_is_not_its_neighbour():
    """A notion of a few lines that one file of the same folder uses belongs into that file."""
    assert house.small_neighbours(house.modules()) == {}


def test_files_count_as_crossed_when_a_function_runs(tmp_path):
    from oddshift.base.arrays import positive
    from oddshift.base.errors import InvalidInput

    files = set()
    with house.crossed(files):
        positive(1.0, "x")
    assert {path.rsplit("/", 1)[1] for path in files} == {"arrays.py"}
    assert InvalidInput


def test_the_page_has_the_figures_of_today():
    """Within 10 in a hundred, so that not every change has to run `make house`."""
    page = house.PAGE.read_text()
    shown = dict(re.findall(r"^\| (.+?) \| ([\d,]+)", page.split(house.START)[1].split(house.END)[0], re.MULTILINE))
    known = house.modules()
    for name, now in (("files of the package", len(known)), ("lines", sum(m.lines for m in known.values()))):
        assert abs(int(shown[name].replace(",", "")) - now) <= 0.1 * now, "run `make house`"
