"""What a run was computed from: every file that a configuration names, by content, and its settings."""

from pathlib import Path

import pytest

from oddshift.app.configuration import parse_config
from oddshift.app.run_folder import INPUTS, MISSING, Inputs, inputs_of, refuse_other_inputs, write_inputs
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.storage import save

TABLE = """
[data]
kind = "table"
path = "{path}"
numeric = ["age"]
[mechanism]
epsilon = 1.0
"""

TEXT = """
[data]
kind = "text"
path = "{home}/notes"
vectors = "{vectors}"
is_public = true
detectors = [{{kind = "words", path = "{home}/names.txt"}}, {{kind = "pipeline", path = "{pipeline}"}}]
[mechanism]
epsilon = 1.0
"""


def table(path, more=""):
    return parse_config(TABLE.format(path=path) + more, "test")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "notes" / "inner").mkdir(parents=True)
    (tmp_path / "notes" / "a.txt").write_text("one")
    (tmp_path / "notes" / "inner" / "b.txt").write_text("two")
    (tmp_path / "names.txt").write_text("ann")
    (tmp_path / "ner").mkdir()
    (tmp_path / "ner" / "config.cfg").write_text("x")
    (tmp_path / "vectors.npz").write_bytes(b"v")
    return tmp_path


def text(home, vectors=None, pipeline=None):
    paths = {"home": home, "vectors": vectors or home / "vectors.npz", "pipeline": pipeline or home / "ner"}
    return parse_config(TEXT.format(**paths), "test")


def test_every_file_is_named_by_its_key(home):
    found = inputs_of(text(home)).files
    assert set(found) == {"data.path", "data.vectors", "data.detectors.0.path", "data.detectors.1.path"}
    assert all(len(mark) == 64 for mark in found.values())


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("notes/a.txt", "data.path"),
        ("notes/inner/b.txt", "data.path"),
        ("vectors.npz", "data.vectors"),
        ("names.txt", "data.detectors.0.path"),
        ("ner/config.cfg", "data.detectors.1.path"),
    ],
)
def test_a_changed_file_shows_under_its_key_alone(home, file, key):
    before = inputs_of(text(home))
    (home / file).write_text("other")
    after = inputs_of(text(home))
    assert {k for k in before.files if before.files[k] != after.files[k]} == {key}
    assert after.configuration == before.configuration


def test_a_moved_or_added_text_counts_and_another_file_does_not(home):
    """Only texts are read from a folder: a report or a run folder inside it changes nothing."""
    before = inputs_of(text(home)).files["data.path"]
    (home / "notes" / "report.html").write_text("page")
    assert inputs_of(text(home)).files["data.path"] == before
    (home / "notes" / "a.txt").rename(home / "notes" / "c.txt")
    moved = inputs_of(text(home)).files["data.path"]
    (home / "notes" / "d.txt").write_text("")
    assert len({before, moved, inputs_of(text(home)).files["data.path"]}) == 3


def test_vectors_made_from_the_texts_and_installed_pipelines_have_no_file(home):
    found = inputs_of(text(home, vectors="from-text", pipeline="a_pipeline_by_name")).files
    assert "data.vectors" not in found
    assert found["data.detectors.1.path"] == MISSING


def test_the_same_files_in_another_folder_are_the_same_inputs(tmp_path):
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "visits.csv").write_text("age\n1\n")
        made.append(inputs_of(table(tmp_path / name / "visits.csv")))
    assert made[0] == made[1]


def refuse(folder, inputs):
    refuse_other_inputs(folder, folder / "audit.npz", inputs)


def test_what_was_written_is_accepted_and_private(tmp_path):
    inputs = Inputs("c", {"data.path": "f"})
    write_inputs(tmp_path, inputs)
    refuse(tmp_path, inputs)
    assert (tmp_path / INPUTS).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (Inputs("d", {"data.path": "f"}), "the run of another configuration"),
        (Inputs("c", {"data.path": "g"}), r"the file of data\.path has other content now"),
        (Inputs("c", {"data.path": MISSING}), r"the file of data\.path is missing"),
        (Inputs("c", {"data.path": "f", "data.vectors": "v"}), r"the file of data\.vectors has other content now"),
    ],
)
def test_other_inputs_are_refused_in_one_line(tmp_path, inputs, said):
    write_inputs(tmp_path, Inputs("c", {"data.path": "f"}))
    with pytest.raises(InvalidInput, match=said) as refused:
        refuse(tmp_path, inputs)
    assert "\n" not in str(refused.value)
    assert f"--out {tmp_path}-2" in str(refused.value)


def test_damaged_inputs_are_refused_by_their_path(tmp_path):
    (tmp_path / INPUTS).write_text("{}")
    with pytest.raises(TamperedEvidence, match=r"inputs\.json: expected exactly the entries"):
        refuse(tmp_path, Inputs("c", {}))


def test_a_run_without_inputs_is_named_by_its_version(tmp_path):
    save(tmp_path / "audit.npz", Inputs("any", {}))
    with pytest.raises(InvalidInput, match=r"holds a run of schema 3 "):
        refuse(Path(tmp_path), Inputs("c", {}))
