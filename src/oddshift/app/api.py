"""The front door: ask both questions of data in memory or in a file, and keep, show or apply the answers.

data = texts(["Ann met Bob.", ...])
found = audit(data, epsilon=2.5, delta=0.05)      # what does a joint attacker learn?
fixed = adapt(data, epsilon=2.5, delta=0.05)      # which noise keeps that in budget?
fixed.policy.apply(["Bob met Ann."])              # the release

A configuration as the text of a file: the question asked in Python, in the form that `oddshift audit` reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from oddshift.adapt.settings import SHARED, AdaptSettings
from oddshift.app.attacker_choice import AskedAttacker
from oddshift.app.configuration import named_files, portable, read_config
from oddshift.app.release_quality import read_illustration
from oddshift.app.resources import Means
from oddshift.app.results import AdaptRun, AuditRun
from oddshift.app.run import Run, Settings
from oddshift.app.run_folder import (
    ADAPTATION,
    AUDIT,
    CONFIG,
    POLICY,
    content_of,
    read_adaptation,
    read_run,
    refuse_no_run,
)
from oddshift.audit.settings import AuditSettings
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Progress, silent
from oddshift.base.identity import fingerprint
from oddshift.data.dataset import Dataset
from oddshift.data.embedded import PeopleSettings
from oddshift.data.preparation import Prepared, prepare, prepare_records
from oddshift.mechanisms import Mechanism, MechanismSettings
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers
from oddshift.protect.release import ReleasePolicy, load_release_policy

Data = Dataset | PeopleSettings | Records
"""What can be asked about: a data set, the embedded corpus, or records that were built by hand."""


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A run folder as it was kept: its audit, its adaptation and its policy, each None where there is none."""

    folder: Path
    audit: AuditRun | None
    adaptation: AdaptRun | None
    policy: ReleasePolicy | None


def audit(  # noqa: PLR0913 (one for each part of the question)
    data: Data,
    mechanism: str | MechanismSettings | Mechanism = "exponential",
    *,
    epsilon: float,
    delta: float | None = None,
    attackers: Sequence[AskedAttacker] | None = None,
    seed: int = 0,
    tiers: Tiers | None = None,
    settings: AuditSettings | None = None,
    counted_in: str | Path | None = None,
    progress: Progress = silent,
) -> AuditRun:
    """Measure what a joint attacker learns from releases of the data, with certificates.

    `mechanism` is a name, settings, or the object itself; `attackers` are names or fitted objects (by default those
    that need no training; `"all"` stands for every one that suits the data). `settings` has the less common options;
    ε, δ, attackers and seed replace what it says about them. `tiers` belong to records that were built by hand.
    `counted_in` is a folder in which questions to the same data are counted: each further one is answered at a smaller
    level, as runs of the command line are. Without it nothing is counted, and asking often leads to a certificate.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> from oddshift.model.space import Space
    >>> pairs = Records.from_documents(Space([[0.0], [1.0], [2.0]]), [[k, k] for k in rng.integers(0, 3, 900)])
    >>> found = audit(pairs, epsilon=1.0, delta=0.05)
    >>> found.verdict.state, [attacker.name for attacker in found.attackers[:2]]
    ('violated', ['null', 'own'])
    """
    asked = _asked(settings or AuditSettings(epsilon=epsilon), attackers, epsilon=epsilon, delta=delta, seed=seed)
    chosen = _mechanism(mechanism)
    text = written_configuration(data, chosen, asked)
    run = Run(_prepared(data, tiers, seed), chosen, Means(progress=progress), text)
    run, at_level = _counted(run, counted_in, data, asked)
    return run.audit(at_level, attackers)


def adapt(  # noqa: PLR0913 (one for each part of the question)
    data: Data,
    mechanism: str | MechanismSettings = "exponential",
    *,
    epsilon: float,
    delta: float,
    attackers: Sequence[AskedAttacker] | None = None,
    seed: int = 0,
    tiers: Tiers | None = None,
    settings: AdaptSettings | None = None,
    counted_in: str | Path | None = None,
    progress: Progress = silent,
) -> AdaptRun:
    """Find the least noise, tier by tier, that keeps the leakage of the joint release in budget, with certificates.

    The arguments are those of `audit`; `settings` has the options of the search.

    **Guarantee**: `policy` is None unless its release is proved, or its scales are certified in every tier on documents
    that were used neither for learning nor for choosing; a certificate errs with probability at most `settings.alpha`.

    >>> import numpy as np
    >>> import oddshift as od
    >>> corners = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    >>> twice = np.repeat(np.random.default_rng(0).integers(0, 3, 1200), 2)
    >>> data = od.embeddings(corners[twice], groups=np.repeat(np.arange(1200), 2), settings={"points": "fit"})
    >>> fixed = adapt(data, epsilon=4.0, delta=0.1)
    >>> fixed.certified, fixed.policy
    (True, Policy(vectors, 3 points, exponential, certified))
    >>> fixed.policy.apply(corners).shape
    (3, 2)
    """
    base = settings or AdaptSettings(epsilon=epsilon, delta=delta)
    asked = _asked(base, attackers, epsilon=epsilon, delta=delta, seed=seed)
    chosen = _mechanism(mechanism)
    question = AuditSettings(**{name: getattr(asked, name) for name in SHARED})
    text = written_configuration(data, chosen, question, asked)
    run = Run(_prepared(data, tiers, seed), chosen, Means(progress=progress), text)
    run, at_level = _counted(run, counted_in, data, asked)

    @cache
    def before() -> AuditRun:
        return run.audit(replace(question, alpha=at_level.alpha), attackers)

    return replace(run.adapt(at_level, attackers), ask=before)


def load_policy(folder: str | Path) -> ReleasePolicy:
    """Read the policy of a run folder or of a folder that `policy.save` wrote, ready to be applied.

    **Guarantee**: a vocabulary or a mechanism other than the one the policy names is refused.

    >>> import numpy as np
    >>> import oddshift as od
    >>> from tempfile import TemporaryDirectory
    >>> corners = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    >>> data = od.embeddings(corners[np.random.default_rng(0).integers(0, 3, 900)], settings={"points": "fit"})
    >>> fixed = od.adapt(data, epsilon=4.0, delta=0.1, settings=AdaptSettings(epsilon=4.0, delta=0.1, independent=True))
    >>> with TemporaryDirectory() as folder:
    ...     _ = fixed.policy.save(folder)
    ...     load_policy(folder)
    Policy(vectors, 3 points, exponential, proved)
    """
    return load_release_policy(folder)


def load_run(folder: str | Path) -> StoredRun:
    """Read what a run folder holds, from Python or from the command line.

    **Guarantee**: damaged or edited files are refused; nothing in them is executed.

    >>> import oddshift as od
    >>> from oddshift.model.space import Space
    >>> from tempfile import TemporaryDirectory
    >>> pairs = Records.from_documents(Space([[0.0], [1.0], [2.0]]), [[k % 3, k % 3] for k in range(300)])
    >>> found = od.audit(pairs, epsilon=1.0, delta=0.05, attackers=["plugin"])
    >>> with TemporaryDirectory() as folder:
    ...     _ = found.save(folder)
    ...     run = load_run(folder)
    >>> run.audit.verdict.state == found.verdict.state, run.adaptation, run.policy
    (True, None, None)
    """
    home = Path(folder)
    refuse_no_run(home)
    text = read_config(home / CONFIG) if (home / CONFIG).is_file() else ""
    policy = load_release_policy(home) if (home / POLICY).is_file() else None
    audited, adapted = None, None
    if (home / AUDIT).is_file():
        own = None if (home / ADAPTATION).is_file() else policy
        audited = AuditRun(read_run(home), text, read_illustration(home), own)
    if (home / ADAPTATION).is_file():
        why = "" if policy is not None else "the run folder holds no policy"
        ask = None if audited is None else (lambda: audited)
        adapted = AdaptRun(read_adaptation(home), policy, why, text, ask)
    return StoredRun(home, audited, adapted, policy)


def _prepared(data: Data, tiers: Tiers | None, seed: int) -> Prepared:
    if not isinstance(data, Dataset | PeopleSettings):
        return prepare_records(data, tiers, seed)
    if tiers is not None:
        raise InvalidInput(
            "tiers were given, but this data set has its own; expected them only with records built by hand"
        )
    return prepare(data, seed) if isinstance(data, PeopleSettings) else _prepared_once(data, seed)


_LAST: WeakKeyDictionary[Dataset, tuple[int, str, Prepared]] = WeakKeyDictionary()
"""What each data set that is still in use was last made into, with its seed and the fingerprint of its content."""


def _prepared_once(data: Dataset, seed: int) -> Prepared:
    """Prepare a data set, or return what an audit of the same content with the same seed prepared before.

    Files that the settings name count by their content. A data set with an object that has no fingerprint is prepared
    every time.
    """
    try:
        files = {key: content_of(path, text_only=False) for key, path in named_files(data.settings)}
        settings = portable(data.settings) if files else data.settings
        content = fingerprint((dict(data.columns), settings, files, data.detectors, data.vectors))
    except InvalidInput:
        return prepare(data, seed)
    last = _LAST.get(data)
    if last is None or last[:2] != (seed, content):
        last = _LAST[data] = (seed, content, prepare(data, seed))
    return last[2]


def _counted(run: Run, folder: str | Path | None, data: Data, asked: Settings) -> tuple[Run, Settings]:
    """The run and the question at its level among those that were counted in a folder.

    The embedded corpus is made up, and may be asked anything.
    """
    if folder is None or isinstance(data, PeopleSettings):
        return run, asked
    Path(folder).mkdir(parents=True, exist_ok=True)
    about = data.fingerprint if isinstance(data, Records) else fingerprint(dict(data.columns))
    return run.at_level(asked, Path(folder) / "run", about, fingerprint((run.mechanism, asked)))


def _mechanism(asked: str | MechanismSettings | Mechanism) -> MechanismSettings | Mechanism:
    return MechanismSettings(name=asked) if isinstance(asked, str) else asked


def _asked(base: Settings, attackers: Sequence[AskedAttacker] | None, **changes: Any) -> Settings:
    """Settings with the separate arguments put in."""
    if attackers is not None:
        given = (attackers,) if isinstance(attackers, str) else attackers
        names = tuple(attacker if isinstance(attacker, str) else attacker.name for attacker in given)
        changes["attackers"] = names
    return replace(base, **changes)


IN_MEMORY = "(values in memory)"
"""Stands for the path of data that were not read from a file."""


def written_configuration(
    data: Any, mechanism: MechanismSettings | Mechanism, audit: AuditSettings, adapt: AdaptSettings | None = None
) -> str:
    """The tables of a question; default values are left out.

    Data in memory and mechanisms given as objects have no place in a file: a comment says so.
    """
    lines = ["[data]"]
    if isinstance(data, Dataset | PeopleSettings):
        lines.append(f"kind = {_value(data.kind)}")
    if isinstance(data, Dataset):
        lines.append(f"path = {_value(IN_MEMORY)}")
        lines += _changed(data.settings)
    elif isinstance(data, PeopleSettings):
        lines += _changed(data)
    else:
        lines.append("# records that were built in Python")
    lines += ["", "[mechanism]"]
    lines += _changed(mechanism) if isinstance(mechanism, MechanismSettings) else [f"# the object {mechanism!r}"]
    lines += ["", "[audit]", *_changed(audit)]
    if adapt is not None:
        lines += ["", "[adapt]", *_changed(adapt, without=SHARED)]
    return "\n".join([*lines, ""])


def _changed(settings: Any, without: tuple[str, ...] = ()) -> Iterator[str]:
    """The fields of settings that differ from their defaults, as lines."""
    for item in fields(settings):
        value = getattr(settings, item.name)
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        if item.name not in without and value is not None and (default is MISSING or value != default):
            yield f"{item.name} = {_value(value)}"


def _value(value: Any) -> str:
    """A TOML value; a table of settings is written inline."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if is_dataclass(value) and not isinstance(value, type):
        inner = {f.name: getattr(value, f.name) for f in fields(value)}
        return _value({name: item for name, item in inner.items() if item is not None})
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(str(k))} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return repr(value.item() if isinstance(value, np.generic) else value)
