"""What was asked of a release, against what its policy states: for files, parts of data sets and streams alike."""

from __future__ import annotations

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec
from oddshift.protect.claim_terms import ClaimTerms, UserLimit
from oddshift.protect.known_by import KnownBy, known_by
from oddshift.protect.policies import Policy
from oddshift.protect.release_report import ProtectSettings


def refuse_uncertified(policy: Policy, asked: ProtectSettings) -> None:
    """Refuse a policy that is not certified unless that is allowed."""
    certificate = policy.terms.certificate
    if not certificate.holds and not asked.allow_uncertified:
        raise InvalidInput(f"the policy is not certified (state: {certificate.state}); --allow-uncertified applies it")


def known_as_asked(policy: Policy, codec: Codec, asked: ProtectSettings, limit: UserLimit | None) -> KnownBy:
    """What identifies the records; the users of the policy's data count where they are limited."""
    own = getattr(policy.settings, "user", None) if limit is not None else None
    return known_by(policy, codec.released, identity=asked.id, user=asked.user or own or "")


def refuse_unnamed_users(known: KnownBy, limit: UserLimit | None) -> None:
    """Refuse to limit what users spend where nothing says who they are."""
    if limit is not None and not known.user:
        raise InvalidInput("the policy limits the budget of users, expected the column that names them (--user)")


def terms_as_asked(policy: Policy, known: KnownBy, asked: ProtectSettings, limit: UserLimit | None) -> ClaimTerms:
    """What the ledger is told."""
    return ClaimTerms(
        policy=policy.sha256,
        epsilon=policy.terms.mechanism.claimed_epsilon,
        may_repeat=asked.allow_repeat,
        is_kept=asked.keep_releases,
        may_take_over=asked.take_over,
        is_named=known.is_named,
        limit=limit,
    )
