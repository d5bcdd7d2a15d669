"""A policy: everything needed to release data the way it was certified, as a value in memory.

`Policy.mechanism()` is the mechanism that was audited, parameter by parameter, remapping included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np

from oddshift.attackers.repair import DocumentLaw
from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.base.storage import digest, sha256
from oddshift.data.codecs import CODECS, Codec
from oddshift.mechanisms import MECHANISMS, Mechanism, MechanismSettings
from oddshift.mechanisms.forms import Formed
from oddshift.mechanisms.remap import Remap
from oddshift.model.cost import COSTS
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from oddshift.protect.policies.terms import (
    UNCERTIFIED,
    CertificateTerms,
    CodecVocabulary,
    MechanismTerms,
    NamedSettings,
    NamedVocabulary,
    OwnSettings,
    PolicyTerms,
    PolicyVocabulary,
    RemapTerms,
    TierTerms,
    metric_from,
    metric_parts,
    named_codec,
)


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """Terms and vocabulary that belong together; `oddshift.protect` applies it.

    **Guarantee**: terms and vocabulary match (the terms hold the digest of the vocabulary).
    """

    terms: PolicyTerms
    vocabulary: PolicyVocabulary
    law: DocumentLaw | None = None

    def __post_init__(self) -> None:
        """Refuse a vocabulary or a law of repair that the terms are not about."""
        stated = "" if self.terms.repair is None else self.terms.repair.law
        if stated != ("" if self.law is None else fingerprint(self.law)):
            raise InvalidInput("the law of repair is not the one that the policy names (its hash differs)")
        if digest(self.vocabulary) != self.terms.vocabulary:
            raise InvalidInput("the vocabulary is not the one that the policy names (its hash differs)")
        named, learned = self.terms.data, self.vocabulary.codec
        if getattr(named, "codec", None) != getattr(learned, "codec", None):
            raise InvalidInput("the vocabulary is of another codec than the policy names")
        if self.terms.mechanism.name not in MECHANISMS:
            raise InvalidInput(f"mechanism={self.terms.mechanism.name!r}, expected one of {', '.join(MECHANISMS)}")

    def __repr__(self) -> str:
        """Kind, sizes and state; never a word."""
        terms = self.terms
        sizes = f"{len(self.vocabulary.points)} points, {terms.mechanism.name}"
        return f"Policy({self.kind}, {sizes}, {terms.certificate.state})"

    @property
    def kind(self) -> str:
        """The kind of data: a key of `CODECS`."""
        data = self.terms.data
        return data.codec.name if isinstance(data, NamedSettings) else data.kind

    @property
    def settings(self) -> Any:
        """The settings of the codec."""
        data = self.terms.data
        return data.settings if isinstance(data, NamedSettings) else data

    @cached_property
    def sha256(self) -> str:
        """The digest of the terms, and through them of the vocabulary: what names this policy in a ledger."""
        return digest(self.terms)

    @property
    def fingerprint(self) -> str:
        """The same: terms and vocabulary by content."""
        return self.sha256

    @cached_property
    def space(self) -> Space:
        """The points that may be secrets."""
        return Space(self.vocabulary.points, metric_from(self.vocabulary.metric))

    @cached_property
    def tiers(self) -> Tiers:
        """The tiers of the points, with the policy's scales."""
        said = self.terms.tiers
        return Tiers(
            self.vocabulary.labels,
            names=said.names,
            scales=said.scales,
            is_public=said.is_public,
            levels=said.levels,
        )

    @cached_property
    def codec(self) -> Codec:
        """The codec that finds the secrets in such data, exactly as it did for the audit."""
        learned = self.vocabulary.codec
        vocabulary = learned.learned if isinstance(learned, NamedVocabulary) else learned
        made: Codec = CODECS[self.kind].from_policy(self.settings, vocabulary, self.space, self.tiers)
        return made

    @cached_property
    def marked(self) -> BoolArray:
        """Which points are released as marks of their kind."""
        everywhere = self.terms.mechanism.name == "mask"
        return self._of_form("mark") | everywhere

    @cached_property
    def made_up(self) -> BoolArray:
        """Which points are released as surrogates of their kind."""
        return self._of_form("surrogate")

    def _of_form(self, form: str) -> BoolArray:
        shown = np.array([mine == form for mine in self.terms.forms] or [False] * len(self.tiers))
        return np.append(shown, False)[self.vocabulary.labels]  # label −1 reads the last entry

    def mechanism(self) -> Mechanism:
        """The mechanism that was certified, built again; the remapping is read, not computed.

        **Guarantee**: its fingerprint is computed again, and refused when the certificate names another; so is the ε
        that the policy claims.
        """
        inner = _made(self.space, self.tiers, self.terms.mechanism)
        prior, destination = self.vocabulary.prior, self.vocabulary.destination
        made: Mechanism = inner
        if self.terms.remap is not None and prior is not None and destination is not None:
            made = Remap.stored(inner, prior, self.terms.remap.cost, destination)
        if self.terms.forms and self.vocabulary.law is not None:
            made = Formed(made, self.tiers, self.terms.forms, self.vocabulary.law)
        stated, computed = self.terms.mechanism.claimed_epsilon, made.claimed_epsilon
        if not math.isclose(stated, computed, rel_tol=1e-9):
            raise InvalidInput(
                f"claimed_epsilon={stated:g} in the policy, expected {computed:g}: that is its mechanism's"
            )
        _refuse_other(self.terms.certificate, made)
        return made


def make_policy(
    codec: Codec,
    mechanism: Mechanism,
    tiers: Tiers,
    *,
    calibrated: bool = False,
    certificate: CertificateTerms = UNCERTIFIED,
) -> Policy:
    """Make a policy that applies a mechanism to the secrets that a codec finds.

    `tiers` label the mechanism's points, and give the scales that a tiered mechanism was made with.

    **Guarantee**: a certificate about another mechanism is refused, and so is a mechanism that the policy would not
    build again exactly.
    """
    _refuse_other(certificate, mechanism)
    formed, remap, inner = layers(mechanism)
    name = next((name for name, kind in MECHANISMS.items() if kind is type(inner)), None)
    if name is None:
        raise InvalidInput(f"{type(inner).__name__} cannot be a policy, expected one of {', '.join(MECHANISMS)}")
    if inner.candidates is not None and inner.candidates is not inner.space:
        raise InvalidInput("the mechanism releases points other than its own, expected its own points")
    own = getattr(inner, "tiers", tiers)
    if len(tiers.labels) != len(inner.space) or own.scales != tiers.scales or (own.labels != tiers.labels).any():
        raise InvalidInput(f"{tiers} are not the tiers of the mechanism, expected {own} over {len(inner.space)} points")
    settings, learned = stored_codec(codec)
    vocabulary = PolicyVocabulary(
        points=inner.space.points,
        metric=metric_parts(inner.space.metric),
        labels=tiers.labels,
        codec=learned,
        prior=remap.prior if remap else None,
        destination=remap.destination.astype(np.int64) if remap else None,
        law=formed.law if formed else None,
    )
    terms = PolicyTerms(
        data=settings,
        mechanism=_mechanism_terms(name, inner, calibrated, mechanism.claimed_epsilon),
        remap=_remap_terms(remap) if remap else None,
        tiers=TierTerms(names=tiers.names, scales=tiers.scales, is_public=tiers.is_public, levels=tiers.levels),
        vocabulary=digest(vocabulary),
        certificate=certificate,
        forms=formed.forms if formed else (),
    )
    policy = Policy(terms, vocabulary)
    if policy.mechanism().fingerprint != mechanism.fingerprint:
        raise InvalidInput(f"{mechanism!r} cannot be a policy: its terms do not describe the mechanism completely")
    return policy


def layers(mechanism: Mechanism) -> tuple[Formed | None, Remap | None, Mechanism]:
    """The forms of tiers and the remapping around a mechanism, None where there are none, and what is inside."""
    formed = mechanism if isinstance(mechanism, Formed) else None
    drawn = mechanism if formed is None else formed.inner
    remap = drawn if isinstance(drawn, Remap) else None
    return formed, remap, drawn if remap is None else remap.inner


def stored_codec(codec: Codec) -> tuple[OwnSettings | NamedSettings, CodecVocabulary]:
    """Return a codec as a policy keeps it: in the form of its kind, or by its registered name."""
    if isinstance(codec.settings, get_args(OwnSettings)):
        settings, learned = codec.to_policy()
        return settings, learned
    return named_codec(codec)


def noisier_policy(policy: Policy, factor: float) -> Policy:
    """Return the same policy with ε divided by a factor, and therefore without a certificate."""
    mechanism = policy.terms.mechanism
    weaker = replace(mechanism, epsilon=mechanism.epsilon / factor, claimed_epsilon=mechanism.claimed_epsilon / factor)
    return replace(policy, terms=replace(policy.terms, mechanism=weaker, certificate=UNCERTIFIED))


def _refuse_other(certificate: CertificateTerms, mechanism: Mechanism) -> None:
    if certificate.mechanism_hash and certificate.mechanism_hash != mechanism.fingerprint:
        raise InvalidInput(f"the certificate is about another mechanism than {mechanism!r}")


def _made(space: Space, tiers: Tiers, terms: MechanismTerms) -> Mechanism:
    """The mechanism that the terms name, from the registry, as a configuration would ask for it."""
    asked = MechanismSettings(
        name=terms.name,
        scales=tiers.scales,
        radius=terms.radius,
        outputs="tier" if terms.keeps_tier else "all",
    )
    return MECHANISMS[terms.name].configured(space, tiers, terms.epsilon, asked)


def _mechanism_terms(name: str, mechanism: Mechanism, calibrated: bool, claimed: float) -> MechanismTerms:
    return MechanismTerms(
        name=name,
        epsilon=float(getattr(mechanism, "epsilon", 0.0)),
        radius=getattr(mechanism, "radius", None),
        calibrated=calibrated,
        claimed_epsilon=claimed,
        keeps_tier=getattr(mechanism, "keeps_tier", False),
    )


def _remap_terms(remap: Remap) -> RemapTerms:
    if remap.cost.name not in COSTS:
        raise InvalidInput(f"a remap by {remap.cost.name} cannot be stored, expected one of {', '.join(COSTS)}")
    prior: FloatArray = remap.prior
    return RemapTerms(
        cost=remap.cost.name,
        prior_hash=sha256(prior.tobytes()),
        outputs_left=len(np.unique(remap.destination)),
    )
