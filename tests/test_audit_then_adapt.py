"""What an audit certified at the scales as they stand, an adaptation of the same question does not refuse."""

import numpy as np
import pytest
from studies.known_laws import chain

from oddshift.adapt.settings import AdaptSettings
from oddshift.app.run import Run
from oddshift.audit import AuditSettings
from oddshift.audit.measurement import certify_uniforms, part_streams
from oddshift.data.preparation import prepare_records
from oddshift.mechanisms import MechanismSettings
from oddshift.model.records import Records
from oddshift.model.space import Space

SEEDS = range(4)
DELTA = 0.06


@pytest.fixture(scope="module")
def asked():
    """For some seeds the state of the audit, and the adaptation: rates lie close to δ, so that chance decides."""
    found = []
    for seed in SEEDS:
        made = chain(words=6, length=3, strength=0.5, rng=np.random.default_rng(seed))
        prepared = prepare_records(made.draw(700, np.random.default_rng([seed, 1])), None, seed)
        shared = {"epsilon": 1.0, "delta": DELTA, "attackers": ("plugin",), "seed": seed}
        state = Run(prepared, MechanismSettings()).audit(AuditSettings(**shared)).result.verdict.state
        grid = {"grid": (0.4, 0.7, 1.0), "documents": 140}
        found.append((state, Run(prepared, MechanismSettings()).adapt(AdaptSettings(**shared, **grid)).result))
    return found


def test_what_the_audit_certified_is_tested_and_certified_by_the_adaptation(asked):
    states = [state for state, _ in asked]
    assert "certified" in states
    assert set(states) != {"certified"}, "the question is a close one"
    for state, found in asked:
        tested = [row.state for row in found.sequence if set(row.scales) == {1.0}]
        if state == "certified":
            assert "certified" in tested
            assert found.chosen is not None


def test_scale_1_is_the_last_test_or_a_line_says_why_it_was_not_reached(asked):
    for _, found in asked:
        reached = {1.0} == set(found.sequence[-1].scales)
        said = any("scale 1 included, was not tested: the tests end at scales" in line for line in found.warnings)
        assert reached or said or found.chosen is None


def test_both_release_the_certify_documents_with_the_same_noise():
    records = Records.from_documents(Space([[0.0], [1.0]]), [[0, 1], [1]])
    np.testing.assert_array_equal(certify_uniforms(3, records), part_streams(3)[1].random(3))
