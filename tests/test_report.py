"""The report: right numbers and words, nothing but text from a run, no secret unless it was kept."""

import json
import re
import stat
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from command_line import run_here
from oddshift.app.report import Sources, page, read_sources
from oddshift.app.report.bars import attacker_rates
from oddshift.app.run_folder import write_belief, write_examples, write_run
from oddshift.audit import AuditSettings, audit
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import save
from oddshift.model.records import Split
from reports import HOSTILE, PASSAGES, hostile, made_up_adaptation, small_audit, sources
from worlds import ring, two_tiers

VOID = {"meta", "link", "br", "hr"}


@pytest.fixture(scope="module")
def audited():
    return small_audit(400)


@pytest.fixture
def run(audited, tmp_path):
    """A run folder as an audit leaves it."""
    found, example = audited
    folder = tmp_path / "run"
    write_belief(folder, example)
    write_run(folder, found, '[data]\nkind = "people"\n')
    return folder


class Checked(HTMLParser):
    """Reads a page, checks that every element is closed where it should be, and keeps what it saw."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_is_well_formed_asks_for_nothing_and_repeats(audited):
    made = page(sources(audited))
    seen = Checked(made)
    assert page(sources(audited)) == made
    assert {"figure", "svg", "table", "nav", "main"} <= set(seen.tags)
    assert not {"img", "iframe", "object", "embed", "form"} & set(seen.tags)
    links = [value for name, value in seen.attributes if name in {"href", "src", "action"}]
    assert all(value.startswith(("#", "data:,")) for value in links)
    assert not re.search(r"https?://|@import|url\((?!#)", made)
    assert "nan" not in made.lower().split()
    ids = [value for name, value in seen.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)


def test_every_picture_has_a_text_alternative(audited):
    made = page(sources(audited))
    pictures = re.findall(r"<svg([^>]*)>", made)
    assert len(pictures) >= 2 * 8
    assert all(
        'aria-hidden="true"' in p or re.search(r'role="(img|group)" aria-label="[^"]{40,}"', p) for p in pictures
    )
    headings = [int(level) for level in re.findall(r"<h([1-6])", made)]
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))


def test_names_from_a_user_are_only_ever_text(audited):
    seen = Checked(page(hostile(audited)))
    assert seen.tags.count("script") == 1
    assert "img" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert sum(HOSTILE in word for word in seen.words) >= 5


def test_the_policy_names_the_script_and_the_style(audited):
    made = page(sources(audited))
    policy = dict(re.findall(r"(\w+)-src '([^']*)'", unescape(made)))
    assert policy["default"] == "none"
    assert policy["script"].startswith("sha256-")
    assert policy["style"].startswith("sha256-")
    assert not re.search(r"<[^>]* style=", made)


def test_each_part_alone_still_gives_a_page(audited):
    found, _ = audited
    only_audit = page(Sources(name="x", audit=found))
    assert "What leaks" in only_audit
    assert "Repair" not in only_audit
    only_adaptation = page(Sources(name="x", adaptation=made_up_adaptation()))
    assert "Repair" in only_adaptation
    assert "What leaks" not in only_adaptation
    failed = page(Sources(name="x", adaptation=made_up_adaptation(chosen=None)))
    assert "No scales could be certified" in failed
    Checked(failed)


@pytest.mark.parametrize("law", ["uniform", "worst", "anchored"])
@pytest.mark.parametrize("delta", [0.05, None])
def test_every_law_and_a_missing_delta_give_a_page(audited, law, delta):
    found, _ = audited
    asked = replace(found.settings, law=law, delta=delta)
    Checked(page(Sources(name="x", audit=replace(found, settings=asked, verdict=found.verdict if delta else None))))


def test_secret_tiers_with_names_of_markup_and_nobody_who_learned():
    tiers = replace(two_tiers(is_public=False), names=(HOSTILE, "b"))
    world = ring(tiers=tiers)
    split = Split(fit=world.known.fit, select=world.secrets, certify=world.secrets, by="document")
    found = audit(split, world.known, [], AuditSettings(epsilon=3.0, delta=0.5, worst_positions=5))
    made = page(Sources(name="x", audit=found))
    seen = Checked(made)
    assert seen.tags.count("script") == 1
    assert "img" not in seen.tags
    assert "Undecided (counts as not certified)" in made
    assert attacker_rates(found).rows[0][4] == "0%"


def oddshift(*arguments):
    command = [sys.executable, "-m", "oddshift", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_writes_one_file_and_prints_json(run):
    done = oddshift("report", run, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"report": str(run / "report.html")}
    Checked((run / "report.html").read_text())


def test_a_folder_that_is_no_run_is_refused_in_one_line(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        done = run_here("report", folder)
        assert (done.code, done.problem) == (1, "")
        assert "run folder" in done.err
    assert not list(tmp_path.iterdir())


def test_a_damaged_run_is_refused(run):
    (run / "audit.npz").write_bytes(b"PK not really")
    with pytest.raises(InvalidInput):
        read_sources(run)


def test_secrets_are_shown_only_if_kept_and_not_declined(run, audited):
    _, example = audited
    named = replace(
        example, candidates=tuple(replace(c, name=f"qqsecret{k}") for k, c in enumerate(example.candidates))
    )
    assert not read_sources(run).has_secrets
    write_examples(run, named, PASSAGES)
    shown, plain = page(read_sources(run)), page(read_sources(run, with_examples=False))
    assert "qqsecret0" in shown
    assert "Zorbal" in shown
    assert "This page shows secrets" in shown
    assert not re.search("qqsecret|zorbal|qwchess", plain, re.IGNORECASE)
    assert run_here("report", run).code == 0
    assert stat.S_IMODE((run / "report.html").stat().st_mode) == 0o600
    assert run_here("report", run, "--no-with-examples", "--out", run / "share.html").code == 0
    assert "qqsecret" not in (run / "share.html").read_text()


def test_an_adaptation_is_read_from_its_folder(tmp_path):
    save(tmp_path / "adaptation.npz", made_up_adaptation())
    assert read_sources(tmp_path).adaptation.chosen == (0.7, 0.9)


def without_cost(outcome):
    tiers = tuple(replace(tier, rate=0.0, rate_error=0.0, top1=0.0, loss=0.0) for tier in outcome.tiers)
    return replace(outcome, tiers=tiers, loss=0.0, plain_loss=0.0)


def test_costs_that_are_all_zero_and_tiers_without_pairs_still_give_a_page(audited):
    adapted = made_up_adaptation()
    free = replace(
        adapted,
        grid=tuple(map(without_cost, adapted.grid)),
        uniform=tuple(map(without_cost, adapted.uniform)),
        rounds=tuple(replace(step, outcome=without_cost(step.outcome)) for step in adapted.rounds),
        compared=tuple(replace(row, outcome=without_cost(row.outcome)) for row in adapted.compared),
        constant_loss=0.0,
    )
    Checked(page(Sources(name="x", adaptation=free)))
    found, _ = audited
    no_pairs = tuple(replace(row, histogram=np.zeros_like(row.histogram)) for row in found.attackers)
    Checked(page(Sources(name="x", audit=replace(found, attackers=no_pairs))))
