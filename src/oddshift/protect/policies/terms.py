"""What the two files of a policy say.

The terms are policy.json, in plain fields, without any word of the vocabulary: the kind of data, the mechanism with its
parameters, the tiers, what happens to unknown words, and the certificate behind it. The vocabulary is one file next to
it: points, tier labels, remapping and codings. It names the words and places that are sensitive, so it is as
confidential as the records it was built from.

The four codecs of oddshift have forms of their own in both. Any other codec of the registry, those of installed
packages included, is kept by its registered name, with settings and a vocabulary of its own classes. A file never names
code: only a name of the registry leads to a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import refuse_unreadable
from oddshift.base.registry import StoredName
from oddshift.base.storage import ADDED_LATER, TYPED_BY, digest
from oddshift.data.codecs import (
    CODECS,
    Codec,
    NoVocabulary,
    PlaceSettings,
    TableSettings,
    TableVocabulary,
    TextSettings,
    TextVocabulary,
    VectorSettings,
)
from oddshift.evidence.certificates import Certificate, Evidence, JointCertificate
from oddshift.mechanisms.forms import Guarantee, TierForm
from oddshift.model.metric import METRICS, Metric, Scaled, Summed, scaled, summed
from oddshift.protect.ledger.terms import UserLimit


@dataclass(frozen=True, kw_only=True, repr=False)
class NamedSettings:
    """The settings of a codec that the registry knows by name."""

    codec: StoredName
    settings: Any = field(metadata={TYPED_BY: lambda known: CODECS.again(known["codec"]).settings_class})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NamedVocabulary:
    """What such a codec learned from the fit part."""

    codec: StoredName
    learned: Any = field(metadata={TYPED_BY: lambda known: CODECS.again(known["codec"]).vocabulary_class})


def named_codec(codec: Codec) -> tuple[NamedSettings, NamedVocabulary]:
    """A codec in both forms.

    **Guarantee**: a codec that its registered name does not lead to is refused, and so is one whose settings or
    vocabulary could not be read back as they are.
    """
    kind = type(codec).__name__
    refusal = f"{kind} cannot be kept in a policy"
    if codec.kind not in CODECS or CODECS[codec.kind] is not type(codec):
        raise InvalidInput(f"{refusal}: its kind is {codec.kind!r}, expected a registered name that leads to it")
    stored = CODECS.stored(codec.kind)
    settings, learned = codec.to_policy()
    forms = NamedSettings(codec=stored, settings=settings), NamedVocabulary(codec=stored, learned=learned)
    for form in forms:
        refuse_unreadable(form, refusal)
    return forms


CodecVocabulary = TextVocabulary | TableVocabulary | NoVocabulary | NamedVocabulary
"""What a codec learned from the fit part."""


@dataclass(frozen=True, kw_only=True)
class MetricPart:
    """factor · d over some columns of the points (all of them when none is named)."""

    name: str
    factor: float
    columns: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PolicyVocabulary:
    """Points (n, k) with their metric and tier labels, what the codec learned, and the remapping when there is one.

    `law` is that of the outputs of tiers whose form ignores the secret.
    """

    points: FloatArray
    metric: tuple[MetricPart, ...]
    labels: IntArray
    codec: CodecVocabulary
    prior: FloatArray | None
    destination: IntArray | None
    law: FloatArray | None = field(default=None, metadata={ADDED_LATER: True})


def metric_parts(metric: Metric) -> tuple[MetricPart, ...]:
    """A metric in plain fields; one that only code can compute is refused."""
    if isinstance(metric, Summed):
        return tuple(_part(inner, columns) for inner, columns in metric.parts)
    return (_part(metric, ()),)


def metric_from(parts: tuple[MetricPart, ...]) -> Metric:
    """The metric that `metric_parts` described."""
    found = [METRICS.find(part.name, "the policy") for part in parts]
    made = [d if part.factor == 1.0 else scaled(d, part.factor) for d, part in zip(found, parts, strict=True)]
    if len(parts) == 1 and not parts[0].columns:
        return made[0]
    return summed([(metric, part.columns) for metric, part in zip(made, parts, strict=True)])


def _part(metric: Metric, columns: tuple[int, ...]) -> MetricPart:
    inner, factor = (metric.metric, metric.factor) if isinstance(metric, Scaled) else (metric, 1.0)
    if METRICS.get(inner.name) != inner:
        raise InvalidInput(f"a {inner.name} metric cannot be stored in a policy, expected one of {', '.join(METRICS)}")
    return MetricPart(name=inner.name, factor=factor, columns=columns)


CONFIDENTIAL = "built from private records: treat this policy and its vocabulary as confidential"
"""What every policy says about itself."""

LAYOUT = 4
"""Version of the entries of policy.json: since 2 the settings of the data are those of a configuration, since 3 a
policy keeps the detectors that find the names, since 4 it can limit what the releases of a user spend."""

NOT_CERTIFIED = "not certified"
"""State of a policy without a certificate."""

PROVED = "proved"
"""State of a policy whose guarantee needs no documents: every form ignores the secret, or a bound for any law holds."""

CERTIFIED = "certified"
"""State of a policy whose guarantee was counted on documents of its own."""


@dataclass(frozen=True, kw_only=True)
class MechanismTerms:
    """A mechanism by name with its nominal ε (0 for a mask); `calibrated` when that ε was raised to meet an exact one.

    `radius` belongs to the truncated mechanism, `keeps_tier` to a tiered one: a secret is then released as a point of
    its own tier. `claimed_epsilon` is what its construction proves.
    """

    name: str
    epsilon: float
    radius: float | None
    calibrated: bool
    claimed_epsilon: float
    keeps_tier: bool


@dataclass(frozen=True, kw_only=True)
class RemapTerms:
    """The remapping after the noise: its cost by name, the hash of its prior, and how many outputs it leaves."""

    cost: str
    prior_hash: str
    outputs_left: int


@dataclass(frozen=True, kw_only=True)
class RepairTerms:
    """The repair after the noise: what becomes of each tier, and what the law behind it was learned from.

    `modes` has `drawn`, `best` or `typical` for every tier; `source` is `release`, `fit` (every statistic from at least
    `least` documents) or `public`; `law` is the digest of the stored law, empty where each release teaches its own.
    """

    modes: tuple[str, ...]
    source: str
    least: int
    cost: str
    law: str


@dataclass(frozen=True, kw_only=True)
class TierTerms:
    """Tier names from most to least sensitive, the scale and level of each, and whether the attacker knows the tier."""

    names: tuple[str, ...]
    scales: tuple[float, ...]
    is_public: bool
    levels: tuple[int, ...]


OwnSettings = TextSettings | TableSettings | PlaceSettings | VectorSettings
"""How data of each kind become secrets, for the codecs that have a form of their own."""


@dataclass(frozen=True, kw_only=True)
class CertificateTerms:
    """What was certified or proved, by its sentence; `evidence` are the digests of the files that `oddshift verify`
    reads, none where something is proved."""

    state: str
    sentence: str
    epsilon: float | None = None
    delta: float | None = None
    alpha: float | None = None
    pair_law: str = ""
    attacker: str = ""
    mechanism_hash: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether something was certified or proved."""
        return self.state in (CERTIFIED, PROVED)

    @property
    def guarantee(self) -> Guarantee:
        """What a release rests on, in one word."""
        return "proved" if self.state == PROVED else "certified" if self.state == CERTIFIED else "measured only"


UNCERTIFIED = CertificateTerms(state=NOT_CERTIFIED, sentence="Nobody measured what this policy leaks.")
"""The reference of a policy without a certificate."""


@dataclass(frozen=True, kw_only=True)
class PolicyTerms:
    """All of policy.json; `data` are the settings of its codec, `vocabulary` is the digest of the companion file.

    `user_limit` bounds what the releases of a user may spend together, where the configuration says so. `forms` says
    for each tier whether its secrets become noise, a surrogate or a mark; without it all of them become noise. `ledger`
    is the address of the server that keeps the ledger (empty: a file next to the policy). `sentences` say what was
    known of its releases when the policy was made, for whoever releases data with it.
    """

    data: OwnSettings | NamedSettings
    mechanism: MechanismTerms
    remap: RemapTerms | None
    tiers: TierTerms
    vocabulary: str
    certificate: CertificateTerms
    user_limit: UserLimit | None = None
    confidentiality: str = CONFIDENTIAL
    layout: int = LAYOUT
    repair: RepairTerms | None = field(default=None, metadata={ADDED_LATER: True})
    forms: tuple[TierForm, ...] = field(default=(), metadata={ADDED_LATER: True})
    ledger: str = field(default="", metadata={ADDED_LATER: True})
    sentences: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})

    @property
    def guarantee(self) -> Guarantee:
        """What a release rests on: `proved`, `certified` or `measured only`."""
        return self.certificate.guarantee

    def __post_init__(self) -> None:
        """Refuse scales that spend more than the nominal ε, unless it was calibrated, and forms of other tiers."""
        if len(self.forms) not in (0, len(self.tiers.names)):
            raise InvalidInput(f"{len(self.forms)} forms, expected one for each of {len(self.tiers.names)} tiers")
        if not self.mechanism.calibrated and any(scale > 1.0 for scale in self.tiers.scales):
            raise InvalidInput(f"scales={self.tiers.scales}, expected in (0, 1]: larger ones need a calibrated epsilon")


def certificate_terms(certificate: Certificate | JointCertificate, evidence: Sequence[Evidence]) -> CertificateTerms:
    """Return the reference to a certificate, from the evidence of each of its parts; evidence of others is left out.

    **Guarantee**: every part has its evidence, and all of it is about one mechanism; otherwise it is refused.
    """
    parts = certificate.parts if isinstance(certificate, JointCertificate) else (certificate,)
    behind = [next((e for e in evidence if e.certificate == part), None) for part in parts]
    found = [e for e in behind if e is not None]
    hashes = {e.mechanism_hash for e in found}
    if len(found) != len(parts) or len(hashes) != 1:
        raise InvalidInput(
            f"evidence for {len(found)} of {len(parts)} parts about {len(hashes)} mechanisms, expected all about one"
        )
    claim = parts[0].claim
    return CertificateTerms(
        state=certificate.state,
        sentence=certificate.sentence,
        epsilon=claim.epsilon,
        delta=claim.delta,
        alpha=certificate.alpha,
        pair_law=claim.pair_law,
        attacker=claim.attacker,
        mechanism_hash=hashes.pop(),
        evidence=tuple(digest(e) for e in found),
    )
