"""The policies that answers lead to: of an audited mechanism as it is, or of the scales that an adaptation chose."""

from __future__ import annotations

from dataclasses import replace

from oddshift.adapt import Adaptation, AdaptTask, Experiment
from oddshift.adapt.comparison import verify_epsilon
from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.repair import LEAST, fit_law, is_repaired
from oddshift.audit import Audit
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.data.preparation import Prepared
from oddshift.mechanisms import Mechanism, MechanismSettings
from oddshift.mechanisms.named import SCALED
from oddshift.protect.ledger.terms import UserLimit
from oddshift.protect.policies import UNCERTIFIED, Policy, certificate_terms, make_policy, stored_codec
from oddshift.protect.policies.terms import PROVED, CertificateTerms
from oddshift.protect.repair import FEWEST, with_law, with_repair


def why_no_policy(prepared: Prepared) -> str:
    """Why no policy can be made of these data, whatever was certified; empty where one can."""
    if prepared.codec is None:
        return "the records were built by hand: there is no data to protect"
    try:
        _, learned = stored_codec(prepared.codec)
    except InvalidInput as error:
        return str(error)
    learned = getattr(learned, "learned", learned)  # of a codec that a registered name leads to
    if prepared.certify_rows is None or prepared.codec.finds_again(learned, prepared.certify_rows):
        return ""
    return f"made again from a policy, {type(prepared.codec).__name__} finds other secrets than were certified"


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


def with_user_limit(policy: Policy, limit: UserLimit | None, ledger: str = "") -> Policy:
    """The policy with the limit on what users spend, and with the ledger, that a configuration states."""
    return replace(policy, terms=replace(policy.terms, user_limit=limit, ledger=ledger))


def adapted_policy(found: Adaptation, task: AdaptTask, prepared: Prepared, asked: MechanismSettings) -> Policy:
    """The policy of a proved, certified or proposed release, marked as such; its exact ε is computed again first."""
    assert found.scales is not None
    assert prepared.codec is not None
    tiers = task.known.tiers.with_scales(found.scales)
    nothing: FloatArray = task.known.log_prior[:0]
    experiment = Experiment(
        task.known, task.family, task.split.fit, nothing, task.settings, asked=found.forms, has_marks=task.has_marks
    )
    mechanism = experiment.released(found.scales, remap=found.remapped)
    nominal = asked.epsilon or task.settings.epsilon
    verify_epsilon(mechanism, nominal * (1.0 if asked.calibrated else max(found.scales)))
    certificate = replace(UNCERTIFIED, sentence=f"Not certified: {found.basis}.")
    if found.guarantee == "proved":
        settings = task.settings
        said = f"{found.proof[:1].upper()}{found.proof[1:]}."
        certificate = CertificateTerms(
            state=PROVED, sentence=said, epsilon=settings.epsilon, mechanism_hash=mechanism.fingerprint
        )
    elif found.chosen is not None:
        assert found.verdict is not None
        certificate = certificate_terms(found.verdict, found.evidence)
    policy = make_policy(prepared.codec, mechanism, tiers, calibrated=asked.calibrated, certificate=certificate)
    if is_repaired(found.repair):
        return with_law(policy, found.repair, fit_law(task.known, LEAST), task.settings.cost_name)
    return _whole_rows(policy, task)


def _whole_rows(policy: Policy, task: AdaptTask) -> Policy:
    """The policy of a table whose values are all made up, with whole rows drawn together: relations of columns stay.

    They are drawn from a law of the fit records, each of its counts from many of them, so that no row is anybody's.
    With fewer than FEWEST records values are made up column by column.
    """
    is_made_up = policy.kind == "table" and set(policy.terms.forms) == {"surrogate"}
    if not is_made_up or task.has_marks or len(task.split.fit) < FEWEST:
        return policy
    certificate = policy.terms.certificate
    said = f"{certificate.sentence} Rows are drawn from counts over the rows to learn from, each over at least {LEAST}."
    policy = replace(policy, terms=replace(policy.terms, certificate=replace(certificate, sentence=said)))
    return with_repair(policy, "typical", task.split.fit)
