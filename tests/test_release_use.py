"""What a release is good for: exact losses by subgroup, and findings in words."""

import re

import numpy as np
import pytest

from oddshift import Records, Space
from oddshift.attackers.attribute import AttributeReport
from oddshift.audit.release_use import ReleaseUse, SubgroupLoss, subgroup_losses
from oddshift.mechanisms import Deletion, Exponential, Mask
from oddshift.mechanisms.utility import DownstreamTask, losses
from oddshift.model.tiers import Tiers

SPACE = Space(np.random.default_rng(0).normal(size=(6, 2)))
TIERS = Tiers([0, 0, 0, 1, 1, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
DOCUMENTS = [[0, 3, 4], [1, 1], [2, 5], []]
GROUPS = ["old", "young", "old", "young"]


def test_losses_are_those_of_the_positions_of_each_subgroup():
    made, by_point = Exponential(SPACE, 1.0), losses(Exponential(SPACE, 1.0), "euclidean")
    rows = subgroup_losses(Records.from_documents(SPACE, DOCUMENTS, subgroups=GROUPS), TIERS, made, "euclidean")
    found = {(row.tier, row.subgroup): row for row in rows}
    assert set(found) == {("PII", "old"), ("PII", "young"), ("PoII", "old")}  # no young document has a word of PoII
    expected = {("PII", "old"): [0, 2], ("PII", "young"): [1, 1], ("PoII", "old"): [3, 4, 5]}
    for key, points in expected.items():
        assert found[key].loss == pytest.approx(by_point[points].mean())
        assert found[key].positions == len(points)
    assert (found["PoII", "old"].documents, found["PII", "young"].documents) == (2, 1)


def test_without_subgroups_or_points_to_compare_there_is_nothing_to_say():
    with_groups = Records.from_documents(SPACE, DOCUMENTS, subgroups=GROUPS)
    assert subgroup_losses(Records.from_documents(SPACE, DOCUMENTS), TIERS, Exponential(SPACE, 1.0), "euclidean") == ()
    for made in (Mask(SPACE), Deletion(SPACE, 0.5)):
        assert subgroup_losses(with_groups, TIERS, made, "euclidean") == ()


def test_findings_are_said_in_words():
    report = AttributeReport(
        documents=40, accuracy=0.7, prior_accuracy=0.5, log_score=0.5, prior_score=0.7, gain=0.2, gain_error=0.05
    )
    rows = [
        SubgroupLoss(tier="PII", subgroup=name, documents=3, positions=5, loss=loss)
        for name, loss in (("old", 0.25), ("young", 0.125))
    ]
    use = ReleaseUse(
        attribute=report,
        attribute_column="label",
        tasks=(DownstreamTask("retrieval", 0.9, 0.6, 0.5),),
        losses=tuple(rows),
    )
    said = use.sentences()
    assert re.findall(r"retrieval|[\d.]+%", said[0]) == ["retrieval", "90.0%", "60.0%", "50.0%"]
    assert re.findall(r"\d+\.\d%| 40 ", said[1]) == ["70.0%", " 40 ", "50.0%"]
    assert said[2].startswith("a changed value costs most in subgroup old (PII, 0.2500) and least in young")
    assert ReleaseUse().sentences() == ()
