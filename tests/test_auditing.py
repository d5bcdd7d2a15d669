"""From a configuration to a run folder, for every kind of data; and no secret in it unless it is asked for."""

import json
from pathlib import Path

import numpy as np
import pytest

from oddshift.app.configured_runs import run_audit
from oddshift.app.report import page, read_sources
from oddshift.base.errors import InvalidInput

NAMES = [f"zorb{a}{b}x" for a in "aeiou" for b in "klmnp"]

MECHANISM = """
[mechanism]
epsilon = 1.0
[audit]
delta = 0.3
attackers = ["plugin"]
worst_positions = 10
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Names no other text holds: each leads to a favourite next one."""
    folder = tmp_path_factory.mktemp("texts")
    rng = np.random.default_rng(0)
    rows = ["text"]
    for _ in range(300):
        first = int(rng.integers(25))
        second = (first + 1) % 25 if rng.random() < 0.8 else int(rng.integers(25))
        rows.append(f"Yesterday {NAMES[first].title()} met {NAMES[second].title()} in the garden.")
    (folder / "notes.csv").write_text("\n".join(rows))
    (folder / "names.txt").write_text("\n".join(NAMES))
    np.savez(folder / "vectors.npz", words=np.array(NAMES), vectors=rng.normal(size=(25, 8)).astype(np.float32))
    config = f"""
[data]
kind = "text"
near_duplicates = false
path = "{folder / "notes.csv"}"
vectors = "{folder / "vectors.npz"}"
is_public = true
similar_percent = 0
detectors = [{{kind = "gazetteer", path = "{folder / "names.txt"}"}}]
"""
    return config + MECHANISM


def test_text_to_verdict_and_no_secret_in_anything_written(texts, tmp_path, capsys):
    steps = []
    found = run_audit(texts, tmp_path / "run", progress=lambda *step: steps.append(step))
    assert [what for what, done, _ in steps if not done] == [
        "reading the data",
        "fitting attackers",
        "measuring attackers",
        "fitting attackers on less data, and judging",
        "measuring a release",
    ]
    assert ("measuring attackers", 2, 3) in steps
    assert found.row("plugin").learned
    assert found.row("own").tiers[0].anchored == 0.0
    assert "gazetteer" in found.detector
    (tmp_path / "run" / "report.html").write_text(page(read_sources(tmp_path / "run")))
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(written) >= 6
    everything = b"".join(path.read_bytes().lower() for path in written) + repr(found).lower().encode()
    everything += "".join(capsys.readouterr()).lower().encode() + repr(steps).lower().encode()
    assert not [name for name in NAMES if name.encode() in everything]


def test_examples_hold_secrets_are_asked_for_and_lie_apart(texts, tmp_path):
    run_audit(texts, tmp_path / "run", keep_examples=True)
    apart = tmp_path / "run" / "examples"
    shown = json.loads((apart / "belief.json").read_text())["value"]["candidates"]
    assert {candidate["name"] for candidate in shown} <= set(NAMES)
    assert {path.stat().st_mode & 0o777 for path in apart.iterdir()} == {0o600}
    assert apart.stat().st_mode & 0o777 == 0o700
    others = [path for path in (tmp_path / "run").rglob("*") if path.is_file() and path.parent != apart]
    assert not any(name.encode() in path.read_bytes().lower() for name in NAMES for path in others)


def test_a_bound_on_cpu_time_takes_fewer_documents_and_says_so(texts, tmp_path):
    found = run_audit(texts, tmp_path / "run", max_cpu=0.02)
    assert sum(found.documents[1:]) < 120
    assert any("limited to 0.02 CPU s" in note for note in found.warnings)


def test_a_table_and_vectors_and_trajectories(tmp_path):
    rng = np.random.default_rng(0)
    rows = ["age,city"] + [
        f"{age},{city}" for age, city in zip(rng.integers(20, 60, 90), rng.integers(0, 4, 90), strict=True)
    ]
    (tmp_path / "table.csv").write_text("\n".join(rows))
    columns = 'numeric = ["age"]\ncategorical = ["city"]\n'
    table = f'[data]\nkind = "table"\npath = "{tmp_path / "table.csv"}"\n{columns}'
    found = run_audit(table + MECHANISM, tmp_path / "table")
    assert sum(found.documents) == 90
    np.savez(tmp_path / "v.npz", vectors=rng.normal(size=(60, 3)), group=np.repeat(np.arange(20), 3))
    vectors = f'[data]\nkind = "vectors"\npath = "{tmp_path / "v.npz"}"\n'
    assert sum(run_audit(vectors + MECHANISM, tmp_path / "vectors").documents) == 20
    fixes = ["user,timestamp,lat,lon,trip"]
    for trip in range(12):
        for k in range(4):
            fixes.append(
                f"u{trip},2024-01-01T0{k}:00:00Z,{40 + rng.random() / 20:.5f},{116 + rng.random() / 20:.5f},t{trip}"
            )
    (tmp_path / "walks.csv").write_text("\n".join(fixes))
    places = f'[data]\nkind = "location"\npath = "{tmp_path / "walks.csv"}"\nevery = 0\n'
    assert sum(run_audit(places + MECHANISM, tmp_path / "walks").documents) == 12


def test_what_a_mechanism_or_an_attacker_needs_is_said(texts, tmp_path):
    cases = [
        (texts.replace("epsilon = 1.0", 'epsilon = 1.0\nname = "tiered"'), "needs mechanism.scales"),
        (texts.replace("epsilon = 1.0", 'epsilon = 1.0\nname = "truncated"'), "needs mechanism.radius"),
        (texts.replace('["plugin"]', '["oracle"]'), "audit.attackers names the attacker 'oracle', expected one of"),
        (texts.replace('["plugin"]', '["exact"]'), "needs data whose law is known"),
        (texts.replace("notes.csv", "nothing.csv"), "nothing.csv"),
    ]
    for text, message in cases:
        with pytest.raises(InvalidInput, match=message):
            run_audit(text, tmp_path / "refused")
    assert not (tmp_path / "refused" / "audit.npz").exists()


@pytest.mark.parametrize("name", ["exponential", "truncated", "tiered", "path", "mask"])
def test_every_configured_mechanism_runs(texts, name, tmp_path):
    calibrated = str(name == "exponential").lower()
    chosen = f'name = "{name}"\nepsilon = 1.0\nradius = 2.0\nscales = [0.8]\ncalibrated = {calibrated}'
    found = run_audit(texts.replace("epsilon = 1.0", chosen), tmp_path / name)
    assert found.exact_epsilon <= 1.0 + 1e-9


def test_labels_lead_to_tiers_of_their_own(texts, tmp_path):
    """Two word lists, two tiers; the text of the file's own folder is found from there."""
    (tmp_path / "first.txt").write_text("\n".join(NAMES[:12]))
    (tmp_path / "rest.txt").write_text("\n".join(NAMES[12:]))
    lists = '[{kind = "words", path = "first.txt", label = "A"}, {kind = "words", path = "rest.txt", label = "B"}]'
    tiers = 'tier_names = ["one", "two"]\ntier_of = {A = "one", B = "two"}'
    start, end = texts.index("detectors = "), texts.index("\n", texts.index("detectors = "))
    text = texts[:start] + f"detectors = {lists}\n{tiers}" + texts[end:]
    found = run_audit(text, tmp_path / "run", home=tmp_path)
    assert found.tier_names == ("one", "two")
    assert any(tier in note for note in found.warnings for tier in ("one", "two"))


def test_the_run_of_another_configuration_is_never_written_over(texts, tmp_path):
    run_audit(texts, tmp_path / "run")
    before = (tmp_path / "run" / "audit.npz").read_bytes()
    with pytest.raises(InvalidInput, match="holds the run of another configuration"):
        run_audit(texts.replace("delta = 0.3", "delta = 0.4"), tmp_path / "run")
    assert (tmp_path / "run" / "audit.npz").read_bytes() == before


def test_a_finished_run_answers_for_its_data_too(texts, tmp_path):
    """A changed file, a missing file and the file as it was: only the last is the run that was finished."""
    data = Path(texts.split('path = "')[1].split('"')[0])
    run = tmp_path / "run"
    finished = run_audit(texts, run)
    before, original = (run / "audit.npz").read_bytes(), data.read_bytes()
    try:
        data.write_bytes(original.replace(b"garden", b"harbor"))
        with pytest.raises(InvalidInput, match=r"other data: the file of data\.path has other content now") as refused:
            run_audit(texts, run)
        assert "\n" not in str(refused.value)
        data.unlink()
        with pytest.raises(InvalidInput, match=r"the file of data\.path is missing"):
            run_audit(texts, run)
    finally:
        data.write_bytes(original)
    assert (run / "audit.npz").read_bytes() == before
    assert repr(run_audit(texts, run)) == repr(finished)


def test_a_run_of_an_older_version_is_not_continued(texts, tmp_path):
    """It kept no fingerprint of its data, so nobody can tell whether it answers for these."""
    run_audit(texts, tmp_path / "run")
    (tmp_path / "run" / "inputs.json").unlink()
    with pytest.raises(InvalidInput, match=r"a run of schema \d+ \(now \d+\) that kept no fingerprint") as refused:
        run_audit(texts, tmp_path / "run")
    assert "\n" not in str(refused.value)
