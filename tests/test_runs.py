"""A run folder: what is in it, who may read it, that nothing outside its private part holds a secret, and answers."""

import json
import stat
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from oddshift.app.release_quality import (
    EXAMPLE_DOCUMENTS,
    EXAMPLE_TEXTS,
    Illustration,
    example_rows,
    illustrate,
    read_illustration,
)
from oddshift.app.report.first_screen import screen_of_audit
from oddshift.app.results import AdaptRun, AuditRun
from oddshift.app.run_folder import (
    AS_AUDITED,
    AUDIT,
    BELIEF,
    EVIDENCE,
    EXAMPLES,
    PASSAGES,
    Inputs,
    adaptation_summary,
    read_adaptation,
    read_belief,
    read_passages,
    read_run,
    refuse_other_run,
    summary,
    versions,
    write_adaptation,
    write_belief,
    write_examples,
    write_run,
)
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.audit import AuditSettings, audit
from oddshift.audit.beliefs import belief
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.data.codecs.text.passages import Passage, Passages, Piece
from oddshift.evidence.certificates import load_evidence, verify_file
from oddshift.evidence.witness import witness_of
from oddshift.mechanisms import Exponential
from oddshift.model.release import one_tier, perturb
from reports import made_up_adaptation
from worlds import ring

NAMES = tuple(f"Zorbal{k}" for k in range(8))
"""Words that must not appear where secrets do not belong."""


@pytest.fixture(scope="module")
def made():
    """A real small audit of walks on a circle, with what it was made of."""
    split = ring(documents=300).known.fit.split(rng=np.random.default_rng(0))
    space = split.fit.space
    known = knowledge(Exponential(space, 1.5), one_tier(space), split.fit)
    attacker = fit_plugin(known)
    result = audit(split, known, [attacker], AuditSettings(epsilon=1.5, delta=0.05, worst_positions=5))
    prepared = SimpleNamespace(split=split, encoded=None, names=NAMES)
    return SimpleNamespace(prepared=prepared, known=known, attackers=(attacker,), result=result)


def illustrated(made, **asked):
    """What the report shows of that audit."""
    return illustrate(made.result, made.prepared, made.known, made.attackers, **asked)


@pytest.fixture(scope="module")
def few(made):
    """Five documents and their release."""
    records = made.prepared.split.certify.take(np.arange(5))
    return records, perturb(records, made.known.mechanism, made.known.tiers, np.random.default_rng(2))


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def contents(folder):
    """The bytes of all files of a folder, together."""
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_what_was_written_is_read_again(made, tmp_path):
    home = write_run(tmp_path / "run", made.result, "[data]\n")
    again = read_run(home)
    assert (again.settings, again.state, again.strongest) == (
        made.result.settings, made.result.state, made.result.strongest,
    )  # fmt: skip
    assert again.certificates == made.result.certificates
    assert (home / "config.toml").read_text() == "[data]\n"
    assert "numpy" in json.loads((home / "versions.json").read_text())


def test_every_certificate_has_its_evidence_for_its_owner_alone_and_it_verifies(made, tmp_path):
    home = write_run(tmp_path / "run", made.result)
    assert mode_of(home / EVIDENCE) == 0o700
    for row in json.loads((home / "summary.json").read_text())["certificates"]:
        file = home / EVIDENCE / row["file"]
        assert mode_of(file) == 0o600
        assert verify_file(file, require=row["state"]).holds
        assert load_evidence(file).certificate.sentence == row["sentence"]


def test_a_witness_is_kept_with_the_hashes_of_what_it_is_about(made, tmp_path):
    shown = replace(made.result, witness=witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.5))
    home = write_run(tmp_path / "run", shown)
    stored = load_evidence(home / EVIDENCE / "witness.json")
    assert stored.mechanism_hash == made.known.mechanism.fingerprint
    assert stored.split_hash == made.prepared.split.certify.fingerprint


def test_a_folder_without_an_audit_or_with_a_damaged_one_is_refused(made, tmp_path):
    with pytest.raises(InvalidInput, match=f"is not a run folder: it has no {AUDIT}"):
        read_run(tmp_path)
    with pytest.raises(InvalidInput, match="holds no adaptation"):
        read_adaptation(tmp_path)
    home = write_run(tmp_path / "run", made.result)
    (home / AUDIT).write_bytes((home / AUDIT).read_bytes()[:-50])
    with pytest.raises(TamperedEvidence, match=AUDIT):
        read_run(home)


def test_a_summary_is_plain_json_without_arrays_and_with_infinities_as_words(made):
    plain = summary(replace(made.result, upper_bound=float("inf")))
    text = json.dumps(plain, allow_nan=False)
    again = json.loads(text)
    assert again["upper_bound"] == "inf"
    assert again["state"] == made.result.state
    assert "evidence" not in again
    assert all("histogram" not in row for row in again["attackers"])
    assert [row["name"] for row in again["attackers"]] == ["null", "own", "plugin"]


def test_the_summary_of_an_adaptation_is_plain_too():
    plain = json.loads(json.dumps(adaptation_summary(made_up_adaptation()), allow_nan=False))
    assert plain["state"] == "certified"
    assert plain["chosen"] == [0.7, 0.9]
    assert plain["certificates"] == []
    assert "verdict" not in plain


def test_an_adaptation_is_read_again(tmp_path):
    home = write_adaptation(tmp_path / "run", made_up_adaptation(), "[data]\n")
    again = read_adaptation(home)
    assert again.chosen == (0.7, 0.9)
    assert [row.name for row in again.compared] == [row.name for row in made_up_adaptation().compared]


@pytest.mark.parametrize(
    "write",
    [
        lambda home, found: write_run(home, found.result, "", Inputs("one", {})),
        lambda home, found: write_adaptation(home, made_up_adaptation(), "", Inputs("one", {})),
    ],
    ids=["audit", "adaptation"],
)
def test_another_question_never_overwrites_a_finished_run(made, tmp_path, write):
    home = tmp_path / "run"
    refuse_other_run(home, Inputs("one", {}))  # nothing is there yet
    write(home, made)
    refuse_other_run(home, Inputs("one", {}))
    with pytest.raises(InvalidInput, match="the run of another configuration"):
        refuse_other_run(home, Inputs("two", {}))


def test_versions_name_python_and_only_what_is_installed():
    found = versions()
    assert found["python"].count(".") == 2
    assert {"oddshift", "numpy"} <= set(found)
    assert all(isinstance(version, str) and version for version in found.values())


def test_a_belief_without_names_is_all_that_is_kept_unless_asked(made, few, tmp_path):
    records, release = few
    plain = belief(made.attackers[0], records, release, made.known)
    write_belief(tmp_path, plain)
    found = read_belief(tmp_path, with_secrets=True)
    assert [c.name for c in found.candidates] == [f"w{k + 1}" for k in range(len(found.candidates))]
    assert not (tmp_path / EXAMPLES).exists()
    assert read_belief(tmp_path / "elsewhere", with_secrets=True) is None


def test_examples_hold_secrets_where_only_their_owner_can_read_them(made, few, tmp_path):
    records, release = few
    named = belief(made.attackers[0], records, release, made.known, NAMES)
    passage = Passage(before=(Piece("Zorbal3", "all"),), after=(Piece("Zorbal1", "all"),))
    write_examples(tmp_path, named, [passage])
    assert mode_of(tmp_path / EXAMPLES) == 0o700
    assert {mode_of(file) for file in (tmp_path / EXAMPLES).iterdir()} == {0o600}
    assert {file.name for file in (tmp_path / EXAMPLES).iterdir()} == {BELIEF, PASSAGES}
    assert read_belief(tmp_path, with_secrets=True).candidates[0].name.startswith("Zorbal")
    assert read_belief(tmp_path, with_secrets=False) is None
    assert read_passages(tmp_path) == Passages((passage,), AS_AUDITED)


def test_an_illustration_names_nobody_unless_asked(made, tmp_path):
    plain = illustrated(made)
    assert plain.named is None
    assert plain.belief.attacker == made.result.strongest
    assert plain.belief.documents <= EXAMPLE_DOCUMENTS
    plain.write(tmp_path)
    assert b"Zorbal" not in contents(tmp_path)
    named = illustrated(made, with_secrets=True)
    assert named.named.candidates[0].name.startswith("Zorbal")
    assert named.belief == plain.belief  # the same documents and the same noise
    named.write(tmp_path)
    assert b"Zorbal" in contents(tmp_path / EXAMPLES)
    outside = [file.read_bytes() for file in tmp_path.iterdir() if file.is_file()]
    assert all(b"Zorbal" not in text for text in outside)
    assert read_illustration(tmp_path) == Illustration(plain.belief)
    assert read_illustration(tmp_path / "elsewhere") is None


def test_the_rows_that_examples_are_taken_from_are_few_and_repeat(made):
    certify = made.prepared.split.certify
    rows = example_rows(certify, 0)
    assert len(rows) == EXAMPLE_TEXTS
    assert set(rows) <= set(certify.sources)
    np.testing.assert_array_equal(rows, example_rows(certify, 0))


def test_an_answer_says_its_verdict_and_shows_no_secret(made):
    run = AuditRun(made.result, "[data]\n", illustrated(made, with_secrets=True))
    assert run.verdict.state == made.result.state
    assert str(run.verdict) == run.verdict.sentence
    assert run.attackers is made.result.attackers
    assert run.certificates == made.result.certificates
    said = repr(run)
    assert said.splitlines() == list(screen_of_audit(made.result).lines())
    assert "Zorbal" not in said


def test_a_saved_answer_is_a_run_folder(made, tmp_path):
    home = AuditRun(made.result, "[audit]\n", illustrated(made)).save(tmp_path / "run")
    assert read_run(home).state == made.result.state
    assert read_illustration(home) is not None
    assert b"Zorbal" not in contents(home)


def test_an_adaptation_without_a_policy_says_why():
    failed = AdaptRun(made_up_adaptation(chosen=None), None, "nothing was certified")
    assert (failed.certified, failed.scales, failed.verdict.state) == (False, None, "undecided")
    assert "No policy: nothing was certified." in repr(failed)
    found = AdaptRun(made_up_adaptation(), None, "")
    assert (found.certified, found.scales) == (True, (0.7, 0.9))
    assert "No policy" not in repr(found)


def test_the_audit_behind_an_adaptation_is_asked_for_only_when_it_is_wanted(made):
    asked = []
    run = AdaptRun(made_up_adaptation(), None, "", ask=lambda: asked.append(1) or AuditRun(made.result))
    assert asked == []
    assert run.audit.result is made.result
    assert asked == [1]
    with pytest.raises(InvalidInput, match="read from a folder without an audit"):
        _ = AdaptRun(made_up_adaptation(), None, "").audit


def test_a_report_is_one_page_without_a_secret(made, tmp_path):
    path = AuditRun(made.result, "", illustrated(made)).report(tmp_path / "report.html")
    page = path.read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "Zorbal" not in page
