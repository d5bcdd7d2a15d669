"""The policies that answers lead to: of an audited mechanism as it is, or of the scales that an adaptation chose."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from oddshift.adapt import Adaptation, AdaptTask, Experiment
from oddshift.adapt.comparison import verify_epsilon
from oddshift.adapt.families import SCALED
from oddshift.app.preparation import Prepared
from oddshift.attackers.attacker import Knowledge
from oddshift.audit import Audit
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Mechanism, MechanismSettings
from oddshift.protect.claim_terms import UserLimit
from oddshift.protect.policies import UNCERTIFIED, Policy, certificate_terms, make_policy
from oddshift.protect.policies.policy_terms import CodecSettings


def why_no_policy(prepared: Prepared) -> str:
    """Why no policy can be made of these data, whatever was certified; empty where one can."""
    if prepared.codec is None:
        return "the records were built by hand: there is no data to protect"
    try:
        settings, _ = prepared.codec.to_policy()
    except InvalidInput as error:
        return str(error)
    if not isinstance(settings, get_args(CodecSettings)):
        return f"a policy cannot store data of kind {prepared.kind!r}, which another package brings"
    return ""


def audited_policy(
    found: Audit, prepared: Prepared, known: Knowledge, mechanism: MechanismSettings | Mechanism
) -> Policy | None:
    """The policy of a mechanism that was certified as it is; one whose noise has scales gets it from an adaptation."""
    if isinstance(mechanism, Mechanism) or mechanism.name in SCALED or found.verdict is None:
        return None
    if found.state != "certified" or prepared.codec is None or why_no_policy(prepared):
        return None
    certificate = certificate_terms(found.verdict, found.evidence)
    try:
        return make_policy(
            prepared.codec, known.mechanism, known.tiers, calibrated=mechanism.calibrated, certificate=certificate
        )
    except InvalidInput:  # a mechanism that no policy can store was certified all the same
        return None


def with_user_limit(policy: Policy, limit: UserLimit | None) -> Policy:
    """The policy with the limit on what users spend that a configuration states."""
    return replace(policy, terms=replace(policy.terms, user_limit=limit))


def adapted_policy(found: Adaptation, task: AdaptTask, prepared: Prepared, asked: MechanismSettings) -> Policy:
    """The policy of certified or proposed scales, marked as such; its exact ε is computed again first."""
    assert found.scales is not None
    assert found.verdict is not None
    assert prepared.codec is not None
    tiers = task.known.tiers.with_scales(found.scales)
    nothing: FloatArray = task.known.log_prior[:0]
    experiment = Experiment(task.known, task.family, task.split.fit, nothing, task.settings)
    mechanism = experiment.released(found.scales, remap=found.remapped)
    nominal = asked.epsilon or task.settings.epsilon
    verify_epsilon(mechanism, nominal * (1.0 if asked.calibrated else max(found.scales)))
    certificate = replace(UNCERTIFIED, sentence=f"Not certified: {found.basis}.")
    if found.chosen is not None:
        certificate = certificate_terms(found.verdict, found.evidence)
    return make_policy(prepared.codec, mechanism, tiers, calibrated=asked.calibrated, certificate=certificate)
