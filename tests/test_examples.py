"""The quickstarts run as they stand, and their pages and the list of public names say what there is."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def said_by_a_process(path, folder):
    done = subprocess.run([sys.executable, str(path), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_runs_from_the_data_to_the_release(path, tmp_path, monkeypatch, capsys):
    """As a script; one of them in a process of its own, the others in this one, where nothing is loaded twice."""
    monkeypatch.setenv("ODDSHIFT_DATA", str(tmp_path / "none"))
    if path.stem == "quickstart_table":
        said = said_by_a_process(path, tmp_path)
    else:
        monkeypatch.setattr(sys, "argv", [str(path), str(tmp_path)])
        runpy.run_path(str(path), run_name="__main__")
        said = capsys.readouterr().out
    assert any(end in said for end in (": certified", ": proved", "learned nothing from what is read together"))
    released = next(tmp_path.glob("*-protected.csv")).read_text().splitlines()
    given = next(p for p in tmp_path.glob("*.csv") if "protected" not in p.name).read_text().splitlines()
    assert released[0] == given[0]
    assert len(released) == len(given)
    assert released != given


def test_every_example_has_a_page_that_links_to_it():
    for path in EXAMPLES:
        page = ROOT / "docs" / f"{path.stem.replace('_', '-')}.md"
        assert f"../examples/{path.name}" in page.read_text()


def test_the_list_of_public_names_is_complete():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import write_api
    finally:
        sys.path.pop(0)
    text = (ROOT / "docs" / "api.md").read_text()
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        module = part.split("\n", 1)[0]
        listed = re.findall(r"^### (\S+)$", part, flags=re.MULTILINE)
        assert listed == [name for name, _ in write_api.entries(module)], "run python docs/write_api.py"
    assert re.findall(r"^## (\S+)$", text, flags=re.MULTILINE) == list(write_api.MODULES)
