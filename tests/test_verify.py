"""`oddshift verify`: yes for what follows from its evidence, no and why for everything else."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from oddshift.app.cli import app
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.storage import save
from oddshift.evidence.certificates import (
    Claim,
    Evidence,
    WitnessEvidence,
    certify,
    evidence_of,
    load_evidence,
    save_evidence,
    verify,
    verify_file,
)
from oddshift.evidence.witness import witness_of


def claim(tier="PII"):
    return Claim(
        epsilon=1.0,
        delta=0.1,
        tier=tier,
        pair_law="anchored",
        attacker="plugin",
        attacker_hash="ab12",
        with_context=True,
        detector="gazetteer",
    )


def evidence(values=None, method="betting", tier="PII"):
    array = np.random.default_rng(0).integers(0, 3, 300) / 20 if values is None else values
    result = certify(array, claim(tier), 0.05, method, trials=np.full(len(array), 20))
    return evidence_of(
        result, array, trials=np.full(len(array), 20), mechanism_hash="mechanism-1", split_hash="split-1"
    )


def witnessed():
    witness = witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0)
    return WitnessEvidence(witness=witness, mechanism_hash="mechanism-1", split_hash="split-1")


@pytest.fixture
def run():
    runner = CliRunner()

    def invoke(*arguments):
        return runner.invoke(app, ["verify", *map(str, arguments)])

    return invoke


@pytest.mark.parametrize(("make", "name"), [(evidence, "e.npz"), (witnessed, "w.json")])
def test_what_was_stored_verifies(tmp_path, run, make, name):
    mark = save_evidence(tmp_path / name, make())
    found = verify_file(tmp_path / name, expect=mark)
    assert found.holds
    assert found.sha256 == mark
    result = run(tmp_path / name)
    assert result.exit_code == 0
    assert result.output.startswith("yes: recomputed from")
    assert found.sentence in result.output


def test_json_output_and_requirements(tmp_path, run):
    path = tmp_path / "e.npz"
    mark = save_evidence(path, evidence())
    found = json.loads(run(path, "--json").output)
    assert (found["holds"], found["state"], found["sha256"]) == (True, "certified", mark)
    assert run(path, "--require", "certified").exit_code == 0
    assert run(path, "--expect", mark[:16]).exit_code == 0
    wrong = run(path, "--expect", "0" * 64, "--json")
    assert (wrong.exit_code, json.loads(wrong.output)["holds"]) == (2, False)
    save_evidence(path, evidence(np.zeros(20)))
    assert run(path).exit_code == 0
    assert json.loads(run(path, "--json").output)["state"] == "undecided"
    refused = run(path, "--require", "certified")
    assert refused.exit_code == 2
    assert "the state is undecided, required is certified" in refused.output


def forged(stored, **changes):
    return replace(stored, certificate=replace(stored.certificate, **changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"upper": 0.01}, "values give upper"),
        ({"lower": 0.0}, "values give lower"),
        ({"state": "violated"}, "values give state = certified"),
        ({"mean": 0.01}, "values give mean"),
        ({"documents": 3000}, "values give documents = 300"),
        ({"pvalue": 1e-9}, "values give pvalue"),
        ({"design_effect": 1.0}, "values give design_effect"),
        ({"alpha": 0.001}, "values give"),
        ({"method": "hoeffding"}, "values give"),
        ({"method": "magic"}, "method='magic'"),
        ({"claim": replace(claim(), delta=0.02)}, "values give"),
    ],
)
def test_a_forged_certificate_with_a_fresh_hash_is_recomputed_and_refused(tmp_path, run, changes, reason):
    save(tmp_path / "e.npz", forged(evidence(), **changes))
    result = run(tmp_path / "e.npz")
    assert result.exit_code == 2
    assert result.output.startswith("no: ")
    assert reason in result.output


def test_forged_values_and_witnesses_are_refused(tmp_path):
    stored = evidence()
    assert not verify(replace(stored, values=np.zeros(300))).holds
    assert not verify(replace(stored, values=np.full(300, 7.0))).holds
    found = witnessed()
    assert not verify(replace(found, witness=replace(found.witness, counts=(68, 68)))).holds
    assert not verify(replace(found, witness=replace(found.witness, lower_bound=9.0))).holds
    assert not verify(replace(found, witness=replace(found.witness, counts=(70, 68)))).holds


def test_truncated_edited_and_foreign_files_are_a_no_with_a_reason(tmp_path, run):
    path = tmp_path / "e.npz"
    save_evidence(path, evidence())
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 3, len(whole) - 5):
        path.write_bytes(whole[:size])
        result = run(path)
        assert result.exit_code == 2
        assert result.output.startswith("no: ")
        assert result.output.count("\n") == 1
    text = tmp_path / "w.json"
    save_evidence(text, witnessed())
    text.write_text(text.read_text().replace("61", "66"))
    assert "contents hash to" in run(text).output
    text.write_text("hello")
    assert run(text).exit_code == 2
    save(text, claim())
    assert "is a Claim, expected" in run(text).output


def test_flipping_any_byte_never_changes_what_is_said(tmp_path):
    path = tmp_path / "w.json"
    save_evidence(path, witnessed())
    whole, said = path.read_bytes(), verify_file(path).sentence
    for place in range(0, len(whole), 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x01]) + whole[place + 1 :])
        found = verify_file(path)
        assert not found.holds or found.sentence == said


def test_a_missing_file_is_bad_input_in_one_line(tmp_path):
    command = [sys.executable, "-m", "oddshift", "verify", str(tmp_path / "none.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No such file" in done.stderr


def test_verification_needs_no_torch_and_about_a_second(tmp_path):
    values = np.random.default_rng(1).integers(0, 3, 100_000) / 20
    save_evidence(tmp_path / "e.npz", evidence(values))
    code = (
        "import sys, time; sys.modules['torch'] = None; start = time.process_time()\n"
        "from oddshift.evidence.certificates import verify_file\n"
        f"assert verify_file({str(tmp_path / 'e.npz')!r}).holds\n"
        "assert time.process_time() - start < 3\n"
        "assert 'scipy.stats' not in sys.modules and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_order_dependent_methods_keep_the_order(tmp_path):
    values = np.random.default_rng(5).integers(0, 3, 300) / 20
    save_evidence(tmp_path / "e.npz", evidence(values, "betting_plugin"))
    assert verify_file(tmp_path / "e.npz").holds
    stored = load_evidence(tmp_path / "e.npz")
    assert np.array_equal(stored.values, values)
    assert not verify(replace(stored, values=np.sort(values))).holds


def test_evidence_that_does_not_support_its_certificate_is_never_made():
    result = certify(np.zeros(60), claim(), 0.05)
    with pytest.raises(TamperedEvidence, match="values give"):
        evidence_of(result, np.full(60, 0.05), mechanism_hash="m", split_hash="s")
    with pytest.raises(InvalidInput, match="mechanism_hash=''"):
        Evidence(certificate=result, values=np.zeros(60), trials=None, mechanism_hash="", split_hash="s")


def test_a_digest_may_be_given_in_part_but_not_in_too_small_a_part(tmp_path):
    mark = save_evidence(tmp_path / "e.npz", evidence())
    assert verify_file(tmp_path / "e.npz", expect=mark).holds
    assert verify_file(tmp_path / "e.npz", expect=mark[:12].upper()).holds
    for wrong in (mark[:11], "0" * 64, mark[1:]):
        found = verify_file(tmp_path / "e.npz", expect=wrong)
        assert not found.holds
        assert found.reason == f"the digest is {mark}, expected {wrong}"


def test_a_required_state_is_the_state_and_not_a_part_of_its_name(tmp_path):
    save_evidence(tmp_path / "w.json", witnessed())
    assert verify_file(tmp_path / "w.json", require="shown").holds
    assert not verify_file(tmp_path / "w.json", require="show").holds
    assert not verify_file(tmp_path / "w.json", require="certified").holds


@pytest.mark.parametrize("names", [{"mechanism_hash": ""}, {"split_hash": ""}])
def test_evidence_names_its_mechanism_and_its_split(names):
    with pytest.raises(InvalidInput, match=r"_hash='', expected a hash of what was audited"):
        replace(evidence(), **names)
    with pytest.raises(InvalidInput, match=r"_hash='', expected a hash of what was audited"):
        replace(witnessed(), **names)


def test_the_reason_counts_the_values_that_were_used():
    assert verify(evidence(np.zeros(80))).reason == "recomputed from 80 stored values"
    assert verify(witnessed()).reason == "recomputed from counts"


def test_rounding_in_the_last_digits_is_no_forgery_and_more_is():
    stored = evidence()
    upper = stored.certificate.upper
    assert verify(forged(stored, upper=upper * (1 + 1e-11))).holds
    assert not verify(forged(stored, upper=upper * (1 + 1e-7))).holds


OLD = Path(__file__).parent / "fixtures" / "schema2"


def test_evidence_of_an_older_version_still_verifies(run):
    """Written when hashes named mechanisms by description: the numbers, the digest and the answer stay."""
    found = verify_file(OLD / "evidence.npz", require="certified")
    assert found.holds
    assert found.sha256 == "7e93ebea7d229568736132d81c2eac1d0057a067d7a2200e4a4a540e364f4f5b"
    result = run(OLD / "evidence.npz", "--expect", found.sha256)
    assert result.exit_code == 0
    assert result.output.startswith("yes: recomputed from 80 stored values")
