"""Answers: an audit or an adaptation that Python can show, keep in a run folder, and turn into a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from oddshift.adapt import Adaptation
from oddshift.app.illustration import Illustration
from oddshift.app.report import Sources, page
from oddshift.app.report.first_screen import screen_of_adaptation, screen_of_audit
from oddshift.app.report.wording import adaptation_sentence, verdict_sentence
from oddshift.app.run_folder import AS_AUDITED, Inputs, versions, write_adaptation, write_run
from oddshift.audit import AttackerResult, Audit
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import write_atomic
from oddshift.evidence.certificates import Certificate
from oddshift.mechanisms.forms import Guarantee
from oddshift.protect.release import ReleasePolicy


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
