"""A released table next to the original: counts by hand, sentences that say what matters."""

import numpy as np

from oddshift.audit.released_table import ReleasedTable, compare_tables, release_headline, release_sentences
from oddshift.audit.table_risks import MixedTable, Risk

IS_NUMBER = np.array([True, False, False])


def tables():
    """Three columns, the last one public; ten rows of which the release keeps some."""
    cells = np.stack([np.arange(10.0), np.tile([0.0, 1.0], 5), np.arange(10.0) % 5], axis=1)
    released = cells.copy()
    released[2:, 0] = 20.0
    released[1, 1] = 0.0
    return MixedTable(cells, IS_NUMBER), MixedTable(released, IS_NUMBER)


def compared(one, two):
    return compare_tables(one, two, ["pay", "sex"], np.random.default_rng(0))


def test_shares_and_rows_by_hand():
    found = compared(*tables())
    assert found.rows == 10
    assert found.unchanged == {"pay": 0.2, "sex": 0.9}
    assert found.commonest == {"pay": 0.1, "sex": 0.5}
    assert found.unchanged_rows == 1  # the first row; the second lost its sex
    assert found.equal_rows == 1  # (0, 0) is a real row; (1, 0) and (20, ·) are none
    assert found.vacuous == ("sex",)


def test_the_same_missing_cell_is_unchanged_and_negative_zero_is_zero():
    cells = np.array([[np.nan, 0.0, 1.0], [-0.0, 1.0, 2.0], [3.0, 1.0, 2.0]])
    released = np.array([[np.nan, 0.0, 1.0], [0.0, 1.0, 2.0], [4.0, 1.0, 2.0]])
    found = compared(MixedTable(cells, IS_NUMBER), MixedTable(released, IS_NUMBER))
    assert found.unchanged_rows == found.equal_rows == 2


def test_a_nearly_constant_column_that_stays_is_not_vacuous():
    cells = np.zeros((100, 3))
    cells[0, 1] = 1.0
    cells[:, 0] = np.arange(100)
    released = cells.copy()
    released[:, 0], released[:, 1] = 0.0, 0.0
    found = compared(MixedTable(cells, IS_NUMBER), MixedTable(released, IS_NUMBER))
    assert found.unchanged["sex"] == 0.99
    assert found.vacuous == ()


def test_only_secret_columns_are_inferred_and_they_are_named():
    found = compared(*tables())
    inferred = [risk.name for risk in found.after if risk.name.startswith("inferring")]
    assert len(inferred) == 1
    assert inferred[0] in {"inferring column pay", "inferring column sex"}
    assert [risk.name for risk in found.before if risk.name.startswith("inferring")] == inferred


def test_the_headline_says_vacuous_columns_and_risks_above_their_baselines():
    risk = Risk(name="linking", rate=0.4, interval=(0.3, 0.5), baseline=0.1, baseline_interval=(0.0, 0.2), attacks=100)
    found = ReleasedTable(
        rows=100,
        unchanged={"pay": 0.1, "sex": 0.95},
        commonest={"pay": 0.1, "sex": 0.5},
        unchanged_rows=3,
        equal_rows=7,
        quality=0.813,
        before=(risk,),
        after=(risk,),
    )
    said = release_headline(found)
    assert "sex came out nearly unchanged" in said
    assert "52% of the cells and 3.0% of the rows unchanged, 7 of 100 rows equal to a real one" in said
    assert "quality 0.81 of 1" in said
    assert "linking 0.40 (baseline 0.10)" in said
    details = list(release_sentences(found))
    assert "pay 10%, sex 95%" in details[0]
    assert "risk of linking: 0.400 [0.300, 0.500], baseline 0.100 [0.000, 0.200] (rows as they are: 0.400)" in details


def test_a_risk_that_could_not_be_tried_is_said_and_never_above_its_baseline():
    none = Risk(
        name="singling out", rate=0.0, interval=(0.0, 1.0), baseline=0.0, baseline_interval=(0.0, 1.0), attacks=0
    )
    found = ReleasedTable(
        rows=5,
        unchanged={"pay": 0.0},
        commonest={"pay": 0.2},
        unchanged_rows=0,
        equal_rows=0,
        quality=0.5,
        before=(none,),
        after=(none,),
    )
    assert "no risk more than 0.05 above its baseline" in release_headline(found)
    assert any("nothing to attack" in line for line in release_sentences(found))
