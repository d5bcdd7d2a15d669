"""Texts before and after: every byte of the original, the release in the same places, and no word in a repr."""

import numpy as np
import pytest

from oddshift.data.codecs.passages import LONGEST, passages
from oddshift.data.codecs.text import MASK
from oddshift.data.embedded import people
from oddshift.mechanisms import Deletion, Exponential, Mask


@pytest.fixture(scope="module")
def corpus():
    return people(30)


def shown(corpus, mechanism):
    return passages(corpus.encoded, np.array([3, 1]), mechanism, corpus.tiers, np.random.default_rng(0))


def read(pieces):
    return "".join(piece.text for piece in pieces)


def test_the_pieces_are_the_texts_and_the_tiers_are_those_of_the_secrets(corpus):
    found = shown(corpus, Exponential(corpus.space, 3.0))
    assert [read(passage.before) for passage in found] == [corpus.texts[3], corpus.texts[1]]
    start, end = corpus.records.offsets[3:5]
    labels = corpus.tiers.labels[corpus.records.points[start:end]]
    assert [piece.tier for piece in found[0].before if piece.tier] == [corpus.tiers.names[k] for k in labels]
    assert [p.tier for p in found[0].after] == [p.tier for p in found[0].before]
    public = [[piece.text for piece in side if not piece.tier] for side in (found[0].before, found[0].after)]
    assert public[0] == public[1]
    assert read(found[0].before) != read(found[0].after)
    assert read(found[0].before) not in repr(found)


def test_masks_are_shown_and_other_outputs_are_not(corpus):
    found = shown(corpus, Mask(corpus.space))
    assert {piece.text for piece in found[0].after if piece.tier} == {MASK}
    assert shown(corpus, Deletion(corpus.space, probability=0.5)) == ()


def test_a_long_text_is_cut(corpus, monkeypatch):
    monkeypatch.setattr("oddshift.data.codecs.passages.LONGEST", 4)
    assert LONGEST > 4
    found = shown(corpus, Exponential(corpus.space, 3.0))
    assert read(found[0].before).endswith("…")
    assert corpus.texts[3].startswith(read(found[0].before)[:-1])
