"""Spans kept on disk: found again for the same pipeline and texts, and for nothing else; never a text in a file."""

import numpy as np
import pytest

from oddshift.data.detectors import span_cache
from oddshift.data.detectors.kinds import MARK_ONLY, SECOND, TIER_OF_KIND, default_rule, mark_of
from oddshift.data.detectors.span_cache import cache_folder, fingerprint_of, keep, key_of, recall
from oddshift.data.detectors.spans import Spans

SPANS = Spans.of([(0, 0, 3, "PERSON"), (1, 4, 9, "ORG")], is_exact=False)


@pytest.fixture
def pipeline(tmp_path):
    """A folder with the files of a pipeline, none of which is ever loaded."""
    home = tmp_path / "pipeline"
    (home / "ner").mkdir(parents=True)
    (home / "meta.json").write_text('{"name": "x"}')
    (home / "ner" / "model").write_bytes(b"weights")
    return home


@pytest.mark.usefixtures("empty_cache")
def test_what_was_kept_is_recalled(pipeline):
    key = key_of(pipeline, ["Ann", "at Initech"])
    assert recall(key) is None
    keep(key, SPANS)
    found = recall(key)
    assert (found.start.tolist(), found.end.tolist(), found.labels) == ([0, 4], [3, 9], ("ORG", "PERSON"))
    assert found.document.tolist() == [0, 1]
    assert not found.is_exact


def test_the_folder_is_the_users_and_holds_no_text(empty_cache, pipeline):
    keep(key_of(pipeline, ["Annabel Secretname"]), SPANS)
    files = list(cache_folder().iterdir())
    assert cache_folder() == empty_cache / "oddshift" / "spans"
    assert len(files) == 1
    assert b"Annabel" not in files[0].read_bytes()


def test_without_a_folder_of_its_own_it_is_in_the_home(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(span_cache.Path, "home", lambda: tmp_path)
    assert cache_folder() == tmp_path / ".cache" / "oddshift" / "spans"


@pytest.mark.parametrize(
    "texts", [["ab", "c"], ["a", "bc"], ["abc"], ["a", "b", "c"], ["abc", ""], ["", "abc"]], ids=repr
)
def test_texts_do_not_run_together_in_a_key(pipeline, texts):
    others = [["ab", "c"], ["a", "bc"], ["abc"], ["a", "b", "c"], ["abc", ""], ["", "abc"]]
    same = [other for other in others if key_of(pipeline, other) == key_of(pipeline, texts)]
    assert same == [texts]


@pytest.mark.parametrize("change", ["content", "name", "new file"])
def test_another_pipeline_has_another_key(pipeline, change):
    before = fingerprint_of(pipeline)
    if change == "content":
        (pipeline / "ner" / "model").write_bytes(b"WEIGHTS")
    elif change == "name":
        (pipeline / "ner" / "model").rename(pipeline / "ner" / "other")
    else:
        (pipeline / "more").write_bytes(b"")
    assert fingerprint_of(pipeline) != before


def test_compiled_files_and_the_place_of_a_pipeline_do_not_matter(pipeline, tmp_path):
    before = fingerprint_of(pipeline)
    (pipeline / "x.pyc").write_bytes(b"compiled")
    assert fingerprint_of(pipeline) == before
    pipeline.rename(tmp_path / "moved")
    (tmp_path / "moved" / "x.pyc").unlink()
    assert fingerprint_of(tmp_path / "moved") == before


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 nothing", b"x" * 500])
def test_a_damaged_file_is_nothing_that_was_kept(pipeline, data):
    key = key_of(pipeline, ["Ann"])
    keep(key, SPANS)
    (cache_folder() / f"{key}.npz").write_bytes(data)
    assert recall(key) is None
    keep(key, SPANS)
    assert len(recall(key)) == 2


def test_a_folder_that_cannot_be_made_keeps_nothing(monkeypatch, tmp_path, pipeline):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    keep("key", SPANS)
    assert recall("key") is None


def test_names_are_tiers_of_their_own_and_other_kinds_share_the_second():
    rule = default_rule(["GPE", "PERSON", "DATE", "OCCUPATION"])
    assert rule.names == ("PERSON", "GPE", SECOND)
    assert rule.tier_of == {"GPE": "GPE", "PERSON": "PERSON", "DATE": SECOND, "OCCUPATION": SECOND}
    assert rule.levels == (0, 0, 1)


def test_an_unknown_label_is_as_sensitive_as_a_name():
    rule = default_rule(["CLIENT", "DATE"])
    assert (rule.names, rule.levels) == (("CLIENT", SECOND), (0, 1))


def test_the_second_tier_alone_is_the_first_level():
    assert default_rule(["DATE"]).levels == (0,)


def test_share_and_count_reach_the_rule():
    rule = default_rule(["PERSON"], share=0.3, count=5)
    assert (rule.share, rule.count) == (0.3, 5)


def test_every_kind_has_a_tier_and_a_mark_in_brackets():
    assert set(MARK_ONLY) <= set(TIER_OF_KIND)
    assert {mark_of(kind) for kind in TIER_OF_KIND} == {f"[{kind}]" for kind in TIER_OF_KIND}
    assert np.unique([TIER_OF_KIND[kind] for kind in MARK_ONLY]).tolist() == [SECOND]
