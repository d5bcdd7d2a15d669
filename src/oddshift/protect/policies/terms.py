"""The terms of a policy: what policy.json says, in plain fields, without any word of the vocabulary.

The kind of data, the mechanism with its parameters, the tiers, what happens to unknown words, and the certificate
behind it. The points themselves are in the companion file (see `vocabulary`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import ADDED_LATER, digest
from oddshift.data.codecs import PlaceSettings, TableSettings, TextSettings, VectorSettings
from oddshift.evidence.certificates import Certificate, Evidence, JointCertificate
from oddshift.mechanisms.forms import Guarantee, TierForm
from oddshift.protect.ledger.terms import UserLimit
from oddshift.protect.policies.vocabulary import NamedSettings

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
