"""The front door: from values in memory to a verdict, a policy and a release, the same as by the four commands."""

import contextlib
import csv
import gc
import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import oddshift as od
from command_line import run_here
from oddshift.app import api
from oddshift.app.configuration import parse_config
from oddshift.app.init import start
from oddshift.app.report.first_screen import QUESTIONS, screen_of_adaptation
from oddshift.data.detectors import GazetteerSettings
from oddshift.data.embedded import PeopleSettings, people
from oddshift.mechanisms import MechanismSettings

pytest.importorskip("spacy")

SCRIPT = """
import oddshift as od
from oddshift.data.embedded import people

values = {frame}
data = od.texts({column}, vectors="from-text", detectors=["capitals"], settings={{"tokeniser": "plain"}})
audit = od.audit(data, epsilon=3.0, delta=0.4, attackers=["plugin"])
print(audit)
fixed = od.adapt(data, epsilon=3.0, delta=0.4, attackers=["plugin"])
policy = fixed.policy
print(fixed.scales, policy.apply({column}[:2]))
"""

FRAMES = {
    "list": ("people(400).texts", "values"),
    "pandas": ("__import__('pandas').DataFrame({'text': people(400).texts})", "values['text']"),
    "polars": ("__import__('polars').DataFrame({'text': people(400).texts})", "values['text']"),
}


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("ODDSHIFT_DATA", str(tmp_path / "nothing"))
    return tmp_path


@pytest.fixture(scope="module")
def corpus():
    return people(600)


@pytest.fixture(scope="module")
def data(corpus):
    return od.texts(corpus.texts, corpus.vectors, ["capitals"], settings={"tokeniser": "plain"})


@pytest.fixture(scope="module")
def audited(data):
    return od.audit(data, epsilon=3.0, delta=0.4, attackers=["plugin"], seed=3)


def in_a_process(script):
    """In a process of its own, without two libraries that are slow to import and that nothing here uses."""
    script = f"import sys\nsys.modules.update(torch=None, transformers=None)\n{script}"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def in_this_process(script):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(script, "script", "exec"), {"__name__": "script"})
    return said.getvalue()


@pytest.mark.slow
def test_a_newcomers_script_of_twelve_lines_gives_one_verdict_for_every_kind_of_frame(no_data):
    said = {}
    for kind, (frame, column) in FRAMES.items():
        script = SCRIPT.format(frame=frame, column=column).strip()
        assert len(script.splitlines()) <= 12
        said[kind] = (in_a_process if kind == "list" else in_this_process)(script).splitlines()[:8]
    assert said["list"] == said["pandas"] == said["polars"]


def test_both_doors_give_the_same_verdict_on_the_same_data_and_seed(no_data, corpus):
    file, config, texts = no_data / "mail.csv", no_data / "mail.toml", corpus.texts[:300]
    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["text"], *([text] for text in texts)])
    started = start(file, config)
    config.write_text(started.config)
    asked = parse_config(started.config, "mail.toml", no_data)
    run = run_here("audit", config, "--out", no_data / "run", seconds=600)
    assert run.code in {0, 2}, run.err
    kept = od.load_run(no_data / "run").audit
    here = od.audit(od.texts(texts), asked.mechanism, epsilon=asked.audit.epsilon, delta=asked.audit.delta)
    assert here.verdict == kept.verdict
    assert [row.log_score for row in here.attackers] == [row.log_score for row in kept.attackers]
    assert [c.mean for c in here.certificates] == [c.mean for c in kept.certificates]


def test_an_audit_prints_what_happened_before_its_verdict_and_no_secret(audited, corpus):
    lines = str(audited).splitlines()
    assert len(lines) <= 15
    assert [line for line in lines if not line.startswith("  ")] == list(QUESTIONS)
    assert any("before any release" in line for line in lines)
    assert any("sensitive words that were found" in line for line in lines)
    assert audited.verdict.state in {"certified", "violated", "undecided"}
    assert audited.verdict.sentence == str(audited.verdict)
    assert not any(word in str(audited).lower().split() for word in corpus.codec.point_names)


def test_a_notebook_shows_the_report(audited):
    page = audited._repr_html_()
    assert page.startswith("<!doctype html>")
    assert audited.verdict.sentence[:40] in page


def test_an_audit_is_saved_and_read_again(audited, tmp_path):
    home = audited.save(tmp_path / "run")
    again = od.load_run(home)
    assert again.audit.verdict == audited.verdict
    assert again.adaptation is None
    assert again.policy is None
    assert "[audit]" in (home / "config.toml").read_text()
    assert audited.report(tmp_path / "report.html").read_text().startswith("<!doctype html>")
    evidence = sorted((home / "evidence").glob("*.npz"))
    assert evidence
    assert od.verify_file(evidence[0]).holds


def test_the_same_seed_repeats_and_another_does_not(data, audited):
    again, other = (od.audit(data, epsilon=3.0, delta=0.4, attackers=["plugin"], seed=seed) for seed in (3, 4))
    assert [a.log_score for a in again.attackers] == [a.log_score for a in audited.attackers]
    assert [a.log_score for a in other.attackers] != [a.log_score for a in audited.attackers]


def test_attackers_come_by_name_or_as_fitted_objects():
    from oddshift.attackers.attacker import knowledge
    from oddshift.attackers.chain import fit_plugin
    from oddshift.model.release import one_tier

    rng = np.random.default_rng(0)
    space = od.Space([[0.0], [1.0], [2.0]])
    secrets = od.Records.from_documents(space, [[k, k] for k in rng.integers(0, 3, 300)])
    em = od.Exponential(space, 1.0)
    mine = fit_plugin(knowledge(em, one_tier(space), secrets))
    found = od.audit(secrets, em, epsilon=1.0, attackers=[mine, "cooccurrence"])
    assert [row.name for row in found.attackers] == ["null", "own", "plugin", "cooccurrence"]
    assert found.result.settings.attackers == ("plugin", "cooccurrence")


def test_records_built_by_hand_and_a_mechanism_object():
    rng = np.random.default_rng(0)
    space = od.Space([[0.0], [1.0], [2.0]])
    secrets = od.Records.from_documents(space, [[k, k] for k in rng.integers(0, 3, 900)])
    found = od.audit(secrets, od.Exponential(space, 1.0), epsilon=1.0, delta=0.05)
    assert found.verdict.state == "violated"
    assert od.audit(secrets, "exponential", epsilon=1.0, delta=0.05).verdict == found.verdict
    tiers = od.Tiers([0, 0, 1], names=("a", "b"), scales=(1.0, 1.0), is_public=False)
    assert od.audit(secrets, epsilon=1.0, tiers=tiers).result.tier_names == ("a", "b")
    fixed = od.adapt(secrets, epsilon=1.0, delta=0.3)
    assert fixed.policy is None
    assert fixed.why


@pytest.fixture(scope="module")
def fixed():
    return od.adapt(PeopleSettings(documents=900), epsilon=2.5, delta=0.2, attackers=["plugin"])


def test_an_adaptation_gives_a_policy_that_releases(fixed, tmp_path):
    assert fixed.certified
    assert fixed.scales == fixed.result.chosen
    assert all(0.0 < scale <= 1.0 for scale in fixed.scales)
    texts = people(20, seed=5).texts
    released = fixed.policy.apply(list(texts))
    assert isinstance(released, list)
    assert len(released) == 20
    assert released != list(texts)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": texts, "id": range(20)})
    out = fixed.policy.apply(frame)
    assert list(out["id"]) == list(range(20))
    assert list(out["text"]) != list(texts)


def test_a_policy_is_saved_loaded_and_applied_to_a_file(fixed, tmp_path):
    saved = fixed.policy.save(tmp_path / "policy")
    again = od.load_policy(tmp_path / "policy")
    assert again.fingerprint == saved.fingerprint
    assert again.state == "certified"
    file = tmp_path / "in.txt"
    file.write_text("\n".join(people(5, seed=6).texts) + "\n", encoding="utf-8")
    again.protect(file, tmp_path / "out.txt")
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 5
    with pytest.raises(od.InvalidInput, match="was not saved"):
        fixed.policy.protect(file, tmp_path / "other.txt")


def test_an_adaptation_is_saved_with_its_policy_and_its_audit(fixed, tmp_path):
    home = fixed.save(tmp_path / "run")
    kept = od.load_run(home)
    assert kept.adaptation.certified
    assert kept.policy.fingerprint == fixed.policy.fingerprint
    with pytest.raises(od.InvalidInput, match="without an audit"):
        _ = kept.adaptation.audit
    assert fixed.audit.result.settings.epsilon == 2.5
    assert "<!doctype html>" in fixed._repr_html_()[:20]
    assert str(fixed).splitlines() == list(screen_of_adaptation(fixed.result).lines())
    assert str(od.load_run(home).adaptation) == str(fixed)


def test_tables_trajectories_and_vectors_go_the_same_way(tmp_path):
    rng = np.random.default_rng(1)
    ages = {"age": rng.integers(20, 60, 300).tolist(), "city": rng.choice(["oslo", "rome", "lima"], 300).tolist()}
    found = od.audit(od.table(ages, settings={"numeric": ["age"], "categorical": ["city"]}), epsilon=1.0)
    assert found.result.documents == (180, 60, 60)
    vectors = od.embeddings(rng.normal(size=(60, 3)), groups=list(np.repeat(np.arange(30), 2)))
    assert od.audit(vectors, epsilon=1.0).result.documents == (18, 6, 6)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: od.texts("one text"), "is a str, expected a list"),
        (lambda: od.texts([], "from-text", ["capitals"]), "the texts has 0 rows, expected at least 1"),
        (lambda: od.texts(["a"] * 4, "from-text", ["capital"]), "detector 'capital', expected one of pipeline"),
        (lambda: od.texts(["a"] * 4, "from-text", [5]), "a detector is an int, expected a name"),
        (lambda: od.texts(["a"] * 4, "from-text", ["capitals"], ["u"]), "users has 1 entries, expected 4"),
        (lambda: od.texts(["a"] * 4, "from-text", ["capitals"], settings={"shar": 1}), "did you mean share"),
        (lambda: od.table([1, 2]), "the table is a list, expected a data frame"),
        (lambda: od.embeddings([[0.0], [1.0], [2.0]], groups=[1]), "groups has 1 entries, expected 3"),
        (lambda: od.read(Path("nothing.csv")), "is not a file or folder"),
        (lambda: od.read(Path("x.csv"), settings={}), "settings were given without a kind"),
        (lambda: od.load_run(Path("nothing")), "is not a run folder"),
        (lambda: od.audit([1, 2, 3], epsilon=1.0), "data is a list, expected a Dataset"),
        (lambda: od.audit(PeopleSettings(), epsilon=-1.0), "epsilon=-1.0, expected"),
        (lambda: od.audit(PeopleSettings(), "exponentail", epsilon=1.0), "mechanism.name='exponentail', expected"),
        (lambda: od.audit(PeopleSettings(), epsilon=1.0, attackers=["nobody"]), "nobody"),
        (lambda: od.adapt(PeopleSettings(), MechanismSettings(name="deletion"), epsilon=1.0, delta=0.1), "no scales"),
    ],
)
def test_refusals_are_one_line(ask, said):
    with pytest.raises(od.InvalidInput) as caught:
        ask()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_data_set_is_prepared_once_for_each_seed_and_again_when_its_values_change(monkeypatch):
    made = []
    monkeypatch.setattr(api, "prepare", lambda data, seed: made.append(seed) or object())
    rows = od.embeddings([[0.0], [1.0], [2.0]])
    first = api._prepared(rows, None, 0)
    assert api._prepared(rows, None, 0) is first
    assert api._prepared(rows, None, 1) is not first
    assert made == [0, 1]
    name = next(iter(rows.columns))
    rows.columns[name][0] = rows.columns[name][1]
    api._prepared(rows, None, 1)
    assert made == [0, 1, 1]
    unknown = replace(rows, detectors=(object(),))  # nobody knows what it holds
    assert api._prepared(unknown, None, 0) is not api._prepared(unknown, None, 0)
    assert len(api._LAST) == 1 + sum(other is not rows for other in api._LAST)
    del rows
    gc.collect()
    assert first not in [kept for *_, kept in api._LAST.values()]


def test_files_that_settings_name_count_by_their_content(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(api, "prepare", lambda data, seed: made.append(seed) or object())
    words, vectors = tmp_path / "words.txt", tmp_path / "vectors.npz"
    words.write_text("Ann\n")
    vectors.write_bytes(b"vectors")
    texts = od.texts(["Ann met Bob."] * 4, str(vectors), [GazetteerSettings(path=words)])
    first = api._prepared(texts, None, 0)
    assert api._prepared(texts, None, 0) is first
    for file in (words, vectors):
        file.write_bytes(file.read_bytes() + b"Bob\n")
        assert api._prepared(texts, None, 0) is not first
        first = api._prepared(texts, None, 0)
    assert len(made) == 3


def test_nothing_of_a_data_set_is_shown(data, corpus):
    assert repr(data) == "Dataset(text, 600 rows, 1 columns)"
    assert (
        data.fingerprint
        == od.texts(corpus.texts, corpus.vectors, ["capitals"], settings={"tokeniser": "plain"}).fingerprint
    )
    assert data.fingerprint != od.texts(corpus.texts[1:], corpus.vectors, ["capitals"]).fingerprint
