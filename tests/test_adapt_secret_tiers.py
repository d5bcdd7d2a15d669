"""Scales of secret tiers: what the chosen mechanism is shown beside, and its exact ε over all pairs."""

import json
import sys

import numpy as np
import pytest
from rich.console import Console

from oddshift.adapt import AdaptSettings, Experiment, Measuring
from oddshift.adapt.certification import Certification, trials
from oddshift.adapt.conclusion import SCAN_LIMIT, compared, known_epsilon, released_epsilon, verify_epsilon
from oddshift.adapt.goals import SingleRelease
from oddshift.adapt.readers import Readers
from oddshift.app.configured_runs import run_adapt
from oddshift.app.display import show_adaptation
from oddshift.app.run_folder import read_adaptation
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.audit.claims import ClaimBuilder
from oddshift.base.errors import NoGuarantee
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential, PathExponential, Tiered
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.mechanisms.remap import Remap
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

EPSILON, SCALES = 8.0, (0.2, 1.0)

CONFIG = """\
[data]
kind = "people"
documents = 400
is_public = false

[mechanism]
epsilon = 2.0

[audit]
delta = 0.4
attackers = ["plugin"]

[adapt]
grid = [0.4, 0.9]
documents = 60
rounds = 1
"""


@pytest.fixture(scope="module")
def corpus():
    return people(400, is_public=False)


@pytest.fixture(scope="module")
def rows(corpus):
    """The comparison after scales (.2, 1) were tried on the embedded corpus, by name."""
    split = corpus.records.split(rng=np.random.default_rng(0))
    tiers = corpus.tiers.with_scales((1.0, 1.0))

    def family(scaled):
        return PathExponential(split.fit.space, scaled, EPSILON)

    known = knowledge(family(tiers), tiers, split.fit)
    attacker = fit_plugin(known)
    settings = AdaptSettings(epsilon=EPSILON, delta=0.9, grid=SCALES)
    rng = np.random.default_rng(1)
    select, certifying = (
        Experiment(known, family, part, rng.random(len(part.points)), settings)
        for part in (split.select, split.certify)
    )
    measuring = Measuring(select, attacker.against)
    claims = ClaimBuilder(settings, "none", "document")
    single = SingleRelease(split, family, settings)
    made = Certification((attacker,), select, certifying, claims, Readers(select), single)
    (trial,) = trials((measuring.outcome(SCALES),), made)
    return {row.name: row for row in compared(measuring, certifying, trial, attacker.against)}


def test_both_variants_and_one_common_scale_stand_beside_the_chosen_one(rows):
    choices = ("EM", "AmPL", "uniform", "naive tiers", "smallest scale")
    assert list(rows) == [name for choice in choices for name in (choice, f"{choice}, remapped")]
    assert rows["naive tiers"].outcome.scales == rows["AmPL"].outcome.scales == SCALES
    assert rows["smallest scale"].outcome.scales == (0.2, 0.2)


def test_naive_tiers_exceed_the_mean_scale_that_the_path_metric_keeps_across(rows, corpus):
    mean, space = 0.5 * sum(SCALES) * EPSILON, corpus.records.space
    assert rows["AmPL"].exact_epsilon <= mean < rows["naive tiers"].exact_epsilon
    for name, mechanism in (("AmPL", PathExponential), ("naive tiers", Tiered)):
        rows_of = mechanism(space, corpus.tiers.with_scales(SCALES), EPSILON).log_matrix
        assert rows[name].exact_epsilon == pytest.approx(true_epsilon(rows_of, space.distances), rel=1e-9)


def test_tiers_that_are_safe_lose_less_than_one_common_scale(rows):
    safe, common = rows["AmPL"].outcome, rows["smallest scale"].outcome
    assert safe.loss < common.loss
    assert [tier.loss for tier in safe.tiers] < [tier.loss for tier in common.tiers]


def test_remapping_adds_no_epsilon(rows):
    for name in ("EM", "AmPL", "uniform", "naive tiers", "smallest scale"):
        assert rows[f"{name}, remapped"].exact_epsilon <= rows[name].exact_epsilon * (1 + 1e-9)


def test_a_mechanism_beyond_its_request_is_refused():
    line = Space(np.arange(8.0)[:, None])
    tiers = Tiers([0] * 4 + [1] * 4, names=("PII", "PoII"), scales=SCALES, is_public=False)
    safe, naive, weights = PathExponential(line, tiers, 4.0), Tiered(line, tiers, 4.0), np.full(8, 1 / 8)
    assert verify_epsilon(Remap(safe, weights, "euclidean"), 4.0) == safe.exact_epsilon
    for unsafe in (naive, Remap(naive, weights, "euclidean")):
        with pytest.raises(NoGuarantee, match=r"exact epsilon of the chosen scales is 5\.6.*, expected at most 4"):
            verify_epsilon(unsafe, 4.0)


def test_no_scan_above_the_limit():
    space = Space(np.arange(SCAN_LIMIT + 1.0)[:, None])
    tiers = Tiers(np.arange(len(space)) % 2, names=("PII", "PoII"), scales=SCALES, is_public=False)
    assert known_epsilon(Tiered(space, tiers, EPSILON)) is None
    assert known_epsilon(Tiered(space, Tiers(tiers.labels, names=tiers.names, scales=SCALES, is_public=True), EPSILON))


def test_a_run_keeps_and_shows_the_comparison(tmp_path):
    found = run_adapt(CONFIG, tmp_path)
    assert found.state == "certified"
    assert found.exact_epsilon <= max(found.chosen) * 2.0
    kept = {row.name: row.exact_epsilon for row in read_adaptation(tmp_path).compared}
    assert kept["AmPL, remapped"] == found.exact_epsilon
    assert all(exact is not None for exact in kept.values())
    assert json.loads((tmp_path / "policy.json").read_text())
    console = Console(record=True, width=200)
    show_adaptation(found, console)
    shown = console.export_text()
    assert "exact ε: of one release, over all pairs" in " ".join(shown.split())
    assert f"{kept['naive tiers']:.4f}" in next(line for line in shown.splitlines() if "naive tiers " in line)


@pytest.mark.parametrize("limit", [0, SCAN_LIMIT])
def test_a_remapping_of_many_points_is_reported_with_the_epsilon_before_it(limit, monkeypatch):
    monkeypatch.setattr(sys.modules["oddshift.adapt.conclusion"], "SCAN_LIMIT", limit)
    plain = Exponential(Space(np.random.default_rng(0).normal(size=(9, 2))), 1.0)
    moved = Remap(plain, np.full(9, 1 / 9), "euclidean")
    assert released_epsilon(plain) == plain.exact_epsilon
    assert released_epsilon(moved) == (moved if limit else plain).exact_epsilon
    assert moved.exact_epsilon <= plain.exact_epsilon + 1e-12
