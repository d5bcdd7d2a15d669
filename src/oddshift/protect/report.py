"""The settings of a release, and what is reported about it: counts and sentences, never a value.

What was asked of a release, against what its policy states: for files, parts of data sets and streams alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from oddshift.audit.released_table import ReleasedTable
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec, KindCounts
from oddshift.data.detectors import Detector
from oddshift.protect.ledger.terms import NOISIER, Claimed, ClaimTerms, UserLimit
from oddshift.protect.policies import CONFIDENTIAL, UNCERTIFIED, Policy, PolicyTerms
from oddshift.protect.record_identity import KnownBy, known_by


@dataclass(frozen=True, kw_only=True)
class ProtectSettings:
    """How a policy is applied: which columns hold the texts (default: the policy's), and what is allowed.

    `id` and `user` name the columns by which records and users are known; `limit` bounds the composed budget of a user.
    `id_only` lets records be known by their id alone: equal texts under new ids are then other records.
    `keep_releases` keeps what is released, and gives a record its earlier release; `allow_repeat` releases records
    again, which no certificate covers; `take_over` claims the records of a release whose process died.
    `clear` names columns of a table that the policy does not know and that are released as they are.
    `allow_uncertified` applies a policy without a certificate, `allow_new_keys` releases keys of JSON that
    the first object lacks, `dry_run` counts and writes nothing. `detector` finds further names (see `TextCodec`).
    """

    columns: tuple[str, ...] = ()
    clear: tuple[str, ...] = ()
    detector: Detector | None = None
    id: str = ""
    id_only: bool = False
    user: str = ""
    limit: UserLimit | None = None
    keep_releases: bool = False
    allow_repeat: bool = False
    take_over: bool = False
    allow_uncertified: bool = False
    allow_new_keys: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Refuse a limit for users without a column that names them."""
        if self.limit is not None and not self.user:
            raise InvalidInput("a budget of users was given without their column, expected both (--user)")
        if self.id_only and not self.id:
            raise InvalidInput("records are to be known by their id alone, expected the column that names them (--id)")


@dataclass(frozen=True, kw_only=True)
class Protected:
    """What was released: counts, never a value. `release` is its number in the ledger, 0 for a dry run without one.

    `positions` counts the secrets of each tier, `masked` the words replaced by a mark, `unseen` how many of those the
    policy has never seen; `kinds` says for texts what became of each kind of word. `dropped` records are left out by
    the policy (thinned fixes). `as_they_are` lists every column, key and file name that was not touched. `known_by`
    says how records were identified: `copies` of a record in this input have one value, `kept` records got their
    earlier release, `repeated` ones were released again, `past_budget` ones were masked or left out, `noisier` ones
    drawn with more noise to stay within the budget of their user. `composed_epsilon` is the largest metric budget that
    any record has spent. `table` is what was measured on a sample of the rows of a table. A data set is released in
    `parts`; `worker_megabytes` is the most memory that one of its workers had.
    """

    out: str
    records: int
    dropped: int
    positions: dict[str, int]
    masked: int
    unseen: int
    kinds: Mapping[str, KindCounts]
    as_they_are: tuple[str, ...]
    policy: str
    input: str
    release: int
    known_by: str
    copies: int
    kept: int
    repeated: int
    past_budget: int
    noisier: int
    repeated_share: float
    chance_share: float
    composed_epsilon: float
    state: str
    sentence: str
    notes: tuple[str, ...]
    is_dry_run: bool
    table: ReleasedTable | None = None
    parts: int = 1
    worker_megabytes: int = 0


LONG = 800
"""Characters from which on the sentence of a certificate is shown in short."""


def in_short(sentence: str) -> str:
    """The sentence of a certificate; of a long one about many columns only its beginning, and how many claims it has.

    >>> in_short("Certified: at most 5%.")
    'Certified: at most 5%.'
    """
    head, listed, rest = sentence.partition(" (")
    if len(sentence) <= LONG or not listed:
        return sentence
    claims = rest.split("). ")[0].count(", attacker ")
    what = f"{claims:,} claims, one for each tier, goal and attacker; policy.json states each"
    return f"{head} ({what})." if claims else sentence


def claim_report(claimed: Claimed | None, terms: PolicyTerms, known: KnownBy) -> dict[str, Any]:
    """The fields of `Protected` that follow from a claim; records that were released before have no certificate."""
    epsilon = terms.mechanism.claimed_epsilon if claimed is None else claimed.composed
    repeated = 0 if claimed is None else claimed.repeats
    state, sentence = terms.certificate.state, terms.certificate.sentence
    if repeated:
        state = UNCERTIFIED.state
        sentence = (
            f"Not certified: {repeated:,} records were released before; together the releases of one record spend "
            f"a metric budget of up to {epsilon:g}, and no certificate covers that."
        )
    return {
        "release": 0 if claimed is None else claimed.release,
        "known_by": known.how,
        "copies": 0 if claimed is None else len(claimed.copies),
        "kept": 0 if claimed is None else len(claimed.kept),
        "repeated": repeated,
        "past_budget": 0 if claimed is None else len(claimed.past),
        "noisier": 0 if claimed is None else len(claimed.noisier),
        "repeated_share": 0.0 if claimed is None else claimed.share,
        "chance_share": 0.0 if claimed is None else claimed.chance,
        "composed_epsilon": epsilon,
        "state": state,
        "sentence": sentence,
    }


def claim_notes(claimed: Claimed, known: KnownBy, limit: UserLimit | None) -> Iterator[str]:
    """The warnings about a claim."""
    if claimed.repeats:
        yield (
            f"NOT CERTIFIED: {claimed.repeats:,} records were released before; "
            f"the composed metric budget of a record is up to {claimed.composed:g}"
        )
    if len(claimed.copies):
        yield f"{len(claimed.copies):,} records occur more than once in this input; each has one released value"
    if not known.is_named and claimed.share:
        yield (
            f"{claimed.share:.1%} of the rows were released before ({claimed.chance:.1%} by chance); "
            "rows without an id cannot be recognised one by one"
        )
    if limit is not None and len(claimed.past):
        done = "left out" if limit.past == "drop" else "masked"
        yield f"{len(claimed.past):,} records are beyond the budget {limit.budget:g} of their user and were {done}"
    if len(claimed.noisier):
        yield (
            f"{len(claimed.noisier):,} records would exceed the budget of their user and were drawn with {NOISIER} "
            "times the noise, which no certificate covers"
        )


def sidecar(done: Protected) -> bytes:
    """The sidecar of OUT. It has no count by tier, which would reveal secret tiers, and nothing measured on secrets."""
    left_out = ("positions", "kinds", "out", "is_dry_run", "table", "worker_megabytes")
    note = {key: value for key, value in asdict(done).items() if key not in left_out}
    note["replaced"] = sum(done.positions.values())
    note["composed_epsilon"] = str(done.composed_epsilon)  # it may be infinite, which JSON cannot say
    return json.dumps({"schema": 2, **note, "policy_is": CONFIDENTIAL}, indent=1, allow_nan=False).encode()


def refuse_uncertified(policy: Policy, asked: ProtectSettings) -> None:
    """Refuse a policy that is not certified unless that is allowed, and one that is not about its own mechanism."""
    policy.mechanism()
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
        by_id_only=asked.id_only,
        limit=limit,
    )
