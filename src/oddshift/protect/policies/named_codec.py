"""A codec that a policy knows by its registered name: its settings and vocabulary are of its own classes.

The four codecs of oddshift have forms of their own in a policy (see `policy_terms`, `vocabulary`). Any other codec of
the registry, those of installed packages included, is kept in these two forms. A file never names code: only a name of
the registry leads to a class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oddshift.base.errors import InvalidInput
from oddshift.base.registry import StoredName
from oddshift.base.round_trip import refuse_unreadable
from oddshift.base.storage import TYPED_BY
from oddshift.data.codecs import CODECS, Codec


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
