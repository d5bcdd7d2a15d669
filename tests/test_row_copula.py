"""The copula of rows: posteriors against enumeration, and correlations from clean and from noisy cells."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.attackers.attacker import knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.attackers.repair import fit_law, law_kind, law_of_release
from oddshift.attackers.row_copula import (
    NODES,
    CopulaLaw,
    correlations,
    factor_loadings,
    fit_copula_law,
)
from oddshift.attackers.row_layout import RowCells, column_law, row_layout
from oddshift.audit.calibration import joint_scores
from oddshift.audit.scan import Budget
from oddshift.base.logarithms import log_normalise
from oddshift.mechanisms import MECHANISMS, MechanismSettings
from oddshift.model.records import Records
from oddshift.model.release import perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

LEVELS = 6


def numbers(rows, correlation, seed=0):
    """Rows of normal numbers cut into LEVELS each, a public tier for every column."""
    width = len(correlation)
    values = np.random.default_rng(seed).multivariate_normal(np.zeros(width), correlation, size=rows)
    cuts = np.array([-1.2, -0.5, 0.0, 0.5, 1.2])
    codes = np.searchsorted(cuts, values) + LEVELS * np.arange(width)
    labels = np.repeat(np.arange(width), LEVELS)
    space = Space(np.stack([100.0 * labels, np.tile(np.arange(LEVELS), width)], axis=1))
    tiers = Tiers(labels, names=tuple("abcdef"[:width]), scales=(1.0,) * width, is_public=True)
    return Records(space=space, points=codes.ravel(), offsets=np.arange(rows + 1) * width), tiers


def noise(records, tiers, epsilon):
    asked = MechanismSettings(name="tiered", scales=tiers.scales, outputs="tier")
    return MECHANISMS["tiered"].configured(records.space, tiers, epsilon, asked)


def implied(law):
    """Correlations of the numbers under a law of rows."""
    level = np.arange(LEVELS)
    means = np.stack([level @ table for table in law.tables])
    squares = np.stack([level**2 @ table for table in law.tables]).mean(axis=1)
    middle = means.mean(axis=1)
    both = means @ means.T / means.shape[1] - np.outer(middle, middle)
    deviation = np.sqrt(squares - middle**2)
    found = both / np.outer(deviation, deviation)
    np.fill_diagonal(found, 1.0)
    return found


ONE = np.array([0.9, 0.8, -0.7, 0.5])
FACTOR = np.outer(ONE, ONE) + np.diag(1 - ONE**2)


def test_posteriors_and_draws_are_those_of_enumeration():
    records, tiers = numbers(400, FACTOR[:2, :2])
    mechanism = noise(records, tiers, 1.0)
    known = knowledge(mechanism, tiers, records)
    law = fit_copula_law(known, row_layout(known), 1)
    joint = np.einsum("an,bn->ab", *law.tables) / NODES
    assert joint.sum() == pytest.approx(1.0)
    release = perturb(records.take(np.zeros(8_000, dtype=np.int64)), mechanism, tiers, np.random.default_rng(0))
    release = replace(release, outputs=np.tile(release.outputs[:2], 8_000))
    seen = [np.exp(mechanism.log_columns(release.outputs[c : c + 1])[0])[LEVELS * c :][:LEVELS] for c in (0, 1)]
    exact = joint * seen[0][:, None] * seen[1][None, :]
    exact /= exact.sum()
    for positions, points, posterior in law.marginals(known, release):
        column = int(tiers.labels[points[0]])
        np.testing.assert_allclose(posterior, np.tile(exact.sum(axis=1 - column), (len(positions), 1)), atol=1e-12)
    drawn = law.draw(known, release, np.random.default_rng(1)).reshape(-1, 2) - [0, LEVELS]
    share = np.bincount(drawn @ [LEVELS, 1], minlength=LEVELS**2) / len(drawn)
    np.testing.assert_allclose(share, exact.ravel(), atol=0.02)


def test_an_attacker_with_this_law_has_its_posteriors():
    records, tiers = numbers(300, FACTOR)
    mechanism = noise(records, tiers, 1.0)
    known = knowledge(mechanism, tiers, records)
    law = fit_copula_law(known, row_layout(known))
    release = perturb(records, mechanism, tiers, np.random.default_rng(1))
    exact = {int(points[0]): posterior for _, points, posterior in law.marginals(known, release)}
    for block in LawAttacker(known, law, "copula").candidate_beliefs(release):
        posterior = np.exp(log_normalise(block.log_prior + block.shift))
        np.testing.assert_allclose(posterior, exact[int(block.points[0])], atol=1e-9)


def test_tables_of_few_rows_are_read_by_it():
    """Of 100 rows in which one factor ties the columns, the portfolio reads nearly what the law itself tells."""
    records, tiers = numbers(500, FACTOR)
    mechanism = noise(records, tiers, 1.5)
    known, secrets = knowledge(mechanism, tiers, records.take(np.arange(100))), records.take(np.arange(100, 500))
    release = perturb(secrets, mechanism, tiers, np.random.default_rng(1))
    readers = [Own(known), fit_portfolio(known, np.random.default_rng(0))]
    own, read = joint_scores(readers, release, secrets, Budget(mechanism, tiers, 1.5))
    assert "copula" in {part.name for part in readers[1].parts}
    assert read.log_score.mean() < own.log_score.mean() - 0.05


def test_correlations_are_those_of_the_numbers_before_they_were_cut():
    records, tiers = numbers(40_000, FACTOR)
    known = knowledge(noise(records, tiers, 1.0), tiers, records)
    law = fit_copula_law(known, row_layout(known), 10)
    true = np.corrcoef(records.points.reshape(-1, 4).T)
    np.testing.assert_allclose(implied(law), true, atol=0.02)


@pytest.mark.parametrize(("epsilon", "slack"), [(1.0, 0.06), (2.0, 0.03)])
def test_a_noisy_release_teaches_the_correlations_of_the_secrets(epsilon, slack):
    """The channel is inverted: outputs show far smaller correlations than the law that they teach."""
    records, tiers = numbers(40_000, FACTOR)
    mechanism = noise(records, tiers, epsilon)
    release = perturb(records, mechanism, tiers, np.random.default_rng(0))
    law = law_of_release(mechanism, tiers, release, np.random.default_rng(0))
    assert isinstance(law, CopulaLaw)
    true, seen = (np.corrcoef(points.reshape(-1, 4).T) for points in (records.points, release.outputs))
    np.testing.assert_allclose(implied(law), true, atol=slack)
    assert np.abs(seen - true).max() > 3 * slack


def test_a_release_that_says_nothing_teaches_independent_columns():
    records, tiers = numbers(2_000, FACTOR)
    mechanism = noise(records, tiers, 1e-3)
    release = perturb(records, mechanism, tiers, np.random.default_rng(0))
    law = law_of_release(mechanism, tiers, release, np.random.default_rng(0))
    assert np.abs(implied(law) - np.eye(4)).max() < 0.05


def test_few_rows_choose_the_copula_and_determined_columns_the_tree():
    records, tiers = numbers(150, FACTOR)
    known = knowledge(noise(records, tiers, 2.0), tiers, records)
    assert law_kind(known, 10) == "copula"
    assert isinstance(fit_law(known, 10), CopulaLaw)
    codes = records.points.reshape(-1, 4).copy()
    rng = np.random.default_rng(0)
    codes = np.tile(codes, (20, 1))
    codes[:, 1] = LEVELS + rng.integers(LEVELS, size=len(codes))
    codes[:, 2] = 2 * LEVELS + (codes[:, 0] + codes[:, 1] - LEVELS) % LEVELS  # no two of the three are tied
    sums = Records(space=records.space, points=codes.ravel(), offsets=np.arange(len(codes) + 1) * 4)
    assert law_kind(knowledge(noise(sums, tiers, 2.0), tiers, sums), 10) == "tree"


def test_shares_are_those_of_neighbours_that_enough_documents_hold():
    values = np.repeat([0, 1, 2, 3, 4], [30, 4, 8, 1, 20])[:, None]
    cells = RowCells(values, np.arange(len(values)))
    pooled = column_law(cells, 0, 5, 10, is_line=True)
    assert pooled[1] == pooled[2] == pytest.approx((12 + 1.0) / 2 / 65.5)
    assert pooled[3] == pooled[4]
    apart = column_law(cells, 0, 5, 10, is_line=False)
    assert apart[1] == apart[2] == apart[3] == pytest.approx((13 + 1.5) / 3 / 65.5)
    one = RowCells(values, np.zeros(len(values), dtype=np.int64))  # all rows are one document's
    assert np.allclose(column_law(one, 0, 5, 10, is_line=True), 0.2)


def test_factors_are_those_above_chance():
    assert np.allclose(factor_loadings(FACTOR, 0.01) @ factor_loadings(FACTOR, 0.01).T, FACTOR - np.diag(1 - ONE**2))
    chance = np.random.default_rng(0).normal(size=(50, 8))
    found = np.corrcoef(chance.T)
    assert not factor_loadings(found, 1 / np.sqrt(50)).any()


def test_two_columns_that_too_few_rows_share_are_not_tied():
    shown = np.random.default_rng(0).normal(size=(40, 2))
    shown[9:, 0] = np.nan
    shown[:, 1] = np.nan_to_num(shown[:, 0])
    terms = [np.eye(20)[0]] * 2
    assert (correlations(shown, terms, 10)[0] == np.eye(2)).all()
    assert correlations(shown, terms, 9)[0][0, 1] > 0.5
