"""Texts before and after: every byte of the original, the release in the same places, and no word in a repr."""

import numpy as np
import pytest

from oddshift.app.configured_runs import run_adapt, run_audit
from oddshift.app.report.page_sections import read_sources, texts
from oddshift.app.run_folder import AS_AUDITED, BY_POLICY, read_passages
from oddshift.data.codecs.text.passages import LONGEST, passages
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
    assert {piece.text for piece in found[0].after if piece.tier} == {f"[{kind}]" for kind in corpus.encoded.kinds}
    assert shown(corpus, Deletion(corpus.space, probability=0.5)) == ()


def test_a_long_text_is_cut(corpus, monkeypatch):
    monkeypatch.setattr("oddshift.data.codecs.text.passages.LONGEST", 4)
    assert LONGEST > 4
    found = shown(corpus, Exponential(corpus.space, 3.0))
    assert read(found[0].before).endswith("…")
    assert corpus.texts[3].startswith(read(found[0].before)[:-1])


ADAPTED = """
[data]
kind = "people"
documents = 330
by_kind = false
[mechanism]
epsilon = 1.5
[audit]
delta = 0.1
attackers = ["exact"]
worst_positions = 5
[adapt]
grid = [0.6, 1.0]
documents = 60
rounds = 1
"""


def test_the_examples_of_a_run_are_released_by_its_policy_once_there_is_one(tmp_path):
    run_audit(ADAPTED, tmp_path, keep_examples=True)
    audited = read_passages(tmp_path)
    assert audited.release == AS_AUDITED
    assert run_adapt(ADAPTED, tmp_path).chosen is not None
    final = read_passages(tmp_path)
    assert final.release == BY_POLICY
    assert [p.before for p in final.passages] == [p.before for p in audited.passages]
    assert [p.after for p in final.passages] != [p.after for p in audited.passages]
    shown = texts(read_sources(tmp_path))
    assert BY_POLICY in shown
    assert "tier0" in shown
