"""Answers: an audit or an adaptation that Python can show, keep in a run folder, and turn into a report.

The policies that answers lead to: of an audited mechanism as it is, or of the scales that an adaptation chose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from oddshift.adapt import Adaptation, AdaptTask, Experiment
from oddshift.adapt.conclusion import verify_epsilon
from oddshift.app.release_quality import Illustration
from oddshift.app.report import Sources, page
from oddshift.app.report.first_screen import screen_of_adaptation, screen_of_audit
from oddshift.app.report.wording import adaptation_sentence, verdict_sentence
from oddshift.app.run_folder import AS_AUDITED, Inputs, versions, write_adaptation, write_run
from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.repair import LEAST, fit_law, is_repaired
from oddshift.audit import AttackerResult, Audit
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import write_atomic
from oddshift.data.preparation import Prepared
from oddshift.evidence.certificates import Certificate
from oddshift.mechanisms import Mechanism, MechanismSettings
from oddshift.mechanisms.forms import Guarantee
from oddshift.mechanisms.named import SCALED
from oddshift.protect.ledger.terms import UserLimit
from oddshift.protect.policies import UNCERTIFIED, Policy, certificate_terms, make_policy, stored_codec
from oddshift.protect.policies.terms import PROVED, CertificateTerms
from oddshift.protect.release import ReleasePolicy
from oddshift.protect.repair import FEWEST, with_law, with_repair


@dataclass(frozen=True)
class Verdict:
    """The state (`certified`, `violated` or `undecided`) and the sentence that says what it means."""

    state: str
    sentence: str

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


@dataclass(frozen=True, eq=False, repr=False)
class AuditRun:
    """An audit with everything that a run folder keeps; `result` holds every number.

    `policy` releases data through the audited mechanism where that is certified and has no scales to adapt (a mask).
    """

    result: Audit
    configuration: str = ""
    illustration: Illustration | None = None
    policy: ReleasePolicy | None = None

    @property
    def verdict(self) -> Verdict:
        """What was found, in one sentence."""
        return Verdict(self.result.state, verdict_sentence(self.result))

    @property
    def attackers(self) -> tuple[AttackerResult, ...]:
        """Every attacker and the two controls, on the certify documents."""
        return self.result.attackers

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificates behind the verdict."""
        return self.result.certificates

    def save(self, folder: str | Path, inputs: Inputs | None = None) -> Path:
        """Write a run folder for `verify`, `report` and `compare`; without `inputs` no later run continues it."""
        home = Path(folder)
        if self.illustration is not None:
            self.illustration.write(home)
        if self.policy is not None:
            self.policy.save(home)
        return write_run(home, self.result, self.configuration, inputs)

    def report(self, path: str | Path) -> Path:
        """Write the report as one self-contained page."""
        return _written(path, self._repr_html_())

    def __repr__(self) -> str:
        """The first screen, without a secret."""
        return "\n".join(screen_of_audit(self.result).lines())

    def _repr_html_(self) -> str:
        """The report, as a notebook shows it."""
        return str(page(self._sources))

    @property
    def _sources(self) -> Sources:
        """What a report is made from; it is called as the folder that `save` would make."""
        shown = self.illustration
        bare = Sources("run", self.result, config=self.configuration, versions=tuple(versions().items()))
        if shown is None or shown.named is None:
            return replace(bare, belief=None if shown is None else shown.belief)
        texts = replace(bare, passages=shown.passages, passages_are=AS_AUDITED)
        return replace(texts, belief=shown.named, has_secrets=True)


@dataclass(frozen=True, eq=False, repr=False)
class AdaptRun:
    """An adaptation and its policy; `policy` is None when nothing was certified, and `why` gives the reason.

    `proposal` is then the policy of scales that were measured only, if there are any.
    """

    result: Adaptation
    policy: ReleasePolicy | None
    why: str
    configuration: str = ""
    ask: Callable[[], AuditRun] | None = field(default=None)
    proposal: ReleasePolicy | None = None

    @property
    def certified(self) -> bool:
        """Whether the release is certified or proved, which is more; `guarantee` tells the two apart."""
        return self.result.chosen is not None

    @property
    def guarantee(self) -> Guarantee:
        """What the release rests on: `proved`, `certified` or `measured only`."""
        return self.result.guarantee

    @property
    def kept(self) -> float | None:
        """The share of information that is kept: 0 as with one constant value of each kind, 1 as with the original."""
        return self.result.kept

    @property
    def scales(self) -> tuple[float, ...] | None:
        """The share of ε that each tier spends, from the most sensitive on; None when nothing was certified."""
        return self.result.chosen

    @property
    def verdict(self) -> Verdict:
        """What was found, in one sentence."""
        return Verdict(self.result.state, adaptation_sentence(self.result))

    @property
    def audit(self) -> AuditRun:
        """The audit of the same data and budget, before anything was adapted; computed when it is first asked for."""
        if self.ask is None:
            raise InvalidInput(
                "this adaptation was read from a folder without an audit, expected one in the same folder"
            )
        return self.ask()

    def save(self, folder: str | Path, inputs: Inputs | None = None) -> Path:
        """Write the adaptation and its policy into a run folder; without `inputs` no later run continues it."""
        if self.policy is not None:
            self.policy.save(folder)
        return write_adaptation(folder, self.result, self.configuration, inputs)

    def report(self, path: str | Path) -> Path:
        """Write the report as one self-contained page."""
        return _written(path, self._repr_html_())

    def __repr__(self) -> str:
        """The first screen, without a secret."""
        lines = list(screen_of_adaptation(self.result).lines())
        return "\n".join([*lines, f"No policy: {self.why}."] if self.why else lines)

    def _repr_html_(self) -> str:
        """The report, as a notebook shows it."""
        return str(page(replace(self.audit._sources, adaptation=self.result, config=self.configuration)))


def _written(path: str | Path, text: str) -> Path:
    write_atomic(path, text.encode())
    return Path(path)


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
    experiment = Experiment(task.known, task.family, task.split.fit, nothing, task.settings, asked=found.forms)
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
