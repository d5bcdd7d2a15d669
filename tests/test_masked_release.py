"""Marks in the place of secrets: a release that says nothing is certified by proof, and its audit writes the policy."""

import re

import numpy as np
import pytest

import oddshift as od
from oddshift.app.configured_runs import KEPT, run_adapt, run_audit
from oddshift.audit.trials import PROVEN
from oddshift.data.codecs.coverage import found_in_records
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential, Mask
from oddshift.protect.policies import load_policy

CORPUS = people(620)
SETTINGS = {"is_public": True, "repeats": "each", "trials": 0}

CONFIG = """
[data]
kind = "text"
path = "notes.csv"
text = ["text"]
vectors = "from-text"
is_public = true
detectors = [{kind = "capitals"}]
trials = 0
[mechanism]
name = "mask"
[audit]
epsilon = 0.5
delta = 0.05
attackers = ["plugin"]
"""


@pytest.fixture(scope="module")
def audited():
    data = od.texts(CORPUS.texts, vectors="from-text", detectors=["capitals"], settings=SETTINGS)
    return od.audit(data, "mask", epsilon=0.5, delta=0.05, attackers=["plugin"])


def test_a_release_that_says_nothing_is_certified_by_proof(audited):
    assert audited.verdict.state == "certified"
    assert audited.result.upper_bound == 0.0
    assert not any(row.learned for row in audited.attackers)
    assert all(PROVEN in part.claim.assumptions for part in audited.result.verdict.parts)


def test_every_found_word_counts_as_marked_and_none_as_perturbed(audited):
    fate = audited.result.fate
    assert sum(kind.perturbed + kind.unchanged for kind in fate.kinds) == 0
    assert sum(kind.marked for kind in fate.kinds) > 1_000


def test_its_policy_puts_marks_of_their_kind_in_the_place_of_names(audited):
    released = audited.policy.apply(CORPUS.texts[:50])
    assert audited.policy.state == "certified"
    marks = {mark for text in released for mark in re.findall(r"\[\w+\]", text)}
    assert marks
    assert "[MASKED]" not in marks
    names = {word for text in CORPUS.texts[:50] for word in re.findall(r"(?<=[a-z] )[A-Z][a-z]+", text)}
    assert not [name for name in names for text in released if re.search(rf"\b{name}\b", text)]


def test_the_policy_is_kept_with_the_audit_and_read_back(audited, tmp_path):
    audited.save(tmp_path)
    run = od.load_run(tmp_path)
    assert run.adaptation is None
    assert run.audit.policy.fingerprint == run.policy.fingerprint == audited.policy.fingerprint


def test_a_page_in_a_notebook_holds_no_policy(audited, monkeypatch):
    saved = []
    monkeypatch.setattr("oddshift.protect.release.save_policy", lambda *given: saved.append(given))
    assert "certified" in audited._repr_html_().lower()
    assert saved == []


def test_a_mechanism_with_scales_gets_its_policy_from_an_adaptation():
    pairs = od.Records.from_documents(od.Space([[0.0], [1.0], [2.0]]), [[k % 3, k % 3] for k in range(300)])
    assert od.audit(pairs, epsilon=1.0, delta=0.2, attackers=["plugin"]).policy is None
    fixed = od.adapt(pairs, "mask", epsilon=1.0, delta=0.2, attackers=["plugin"])
    assert (fixed.guarantee, fixed.result.forms) == ("proved", ("mark",))


def test_the_audit_of_a_configuration_writes_the_policy(tmp_path):
    (tmp_path / "notes.csv").write_text("text\n" + "\n".join(f'"{text}"' for text in CORPUS.texts))
    found = run_audit(CONFIG, tmp_path / "run", home=tmp_path)
    assert found.state == "certified"
    assert load_policy(tmp_path / "run").terms.mechanism.name == "mask"
    assert not (tmp_path / "run" / KEPT).exists()  # nothing follows that could use it
    assert run_adapt(CONFIG, tmp_path / "run", home=tmp_path).guarantee == "proved"
    assert load_policy(tmp_path / "run").terms.guarantee == "proved"


def test_counts_of_a_mask_and_of_noise_agree_on_what_was_found():
    split = CORPUS.records.split(rng=np.random.default_rng(0))
    found, rng = found_in_records(split, CORPUS.tiers), np.random.default_rng(1)
    drawn, masked = (found.fate(m, rng) for m in (Exponential(CORPUS.space, 2.0), Mask(CORPUS.space)))
    assert {k.name: k.found for k in drawn.kinds} == {k.name: k.found for k in masked.kinds}
    assert [k.marked for k in masked.kinds] == [k.found for k in masked.kinds]
    assert any(k.unchanged for k in drawn.kinds)
