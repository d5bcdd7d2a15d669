"""Written forms: how each word of the lexicon is mostly written, "McCarthy" or "PAC"."""

from __future__ import annotations

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.data.codecs.found_tokens import FoundTokens
from oddshift.data.codecs.tokens import Tokens
from oddshift.data.detectors.normalising import normalised

CAPITALS_WEIGHT = 0.2
"""The weight of a form in capitals against another one: "BEIJING" opens every report, but is written "Beijing"."""


def written_forms(tokens: Tokens, found: FoundTokens, types: IntArray) -> tuple[str, ...]:
    """The most common form of each type among its found occurrences; among all where none was found.

    Headings write every word in capitals, so a form in capitals is taken only where others are rare. Look-alike letters
    are written as plain ones. Of forms that are equally common the one seen first is taken.
    """
    of_found = _most_common(tokens, np.flatnonzero(found.is_found))
    missing = [t for t in types.tolist() if t not in of_found]
    of_all = _most_common(tokens, np.flatnonzero(np.isin(tokens.occurrences.type, missing))) if missing else {}
    chosen = {**of_all, **of_found}
    return tuple(normalised(tokens.forms[chosen[t]]).text for t in types.tolist())


def _most_common(tokens: Tokens, index: IntArray) -> dict[int, int]:
    """The most common form of every type that occurs among some tokens."""
    pair = tokens.occurrences.type[index] * len(tokens.forms) + tokens.form[index]
    values, first, times = np.unique(pair, return_index=True, return_counts=True)
    is_upper = np.array([len(form) > 1 and form.isupper() for form in tokens.forms], dtype=np.bool_)
    weight = np.where(is_upper[values % max(len(tokens.forms), 1)], times * CAPITALS_WEIGHT, times)
    order = np.lexsort((-first, weight))  # rising, so that the most common is written last
    types, forms = np.divmod(values[order], max(len(tokens.forms), 1))
    return dict(zip(types.tolist(), forms.tolist(), strict=True))
