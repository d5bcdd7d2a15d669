"""Spans kept on disk: found again for the same pipeline and text, and for nothing else; never a text in a file."""

import hashlib
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from oddshift.data.detectors import spans
from oddshift.data.detectors.kinds import MARK_ONLY, SECOND, TIER_OF_KIND, default_rule, mark_of
from oddshift.data.detectors.spans import (
    SpanMemory,
    Spans,
    cache_file,
    cache_folder,
    detector_mark,
    fingerprint_of,
    keep,
    recall,
)

MARK = b"a pipeline"
TEXTS = ["Annabel Secretname", "at Initech"]
FOUND = (((0, 7, "PERSON"), (8, 18, "PERSON")), ())


@pytest.fixture
def pipeline(tmp_path):
    """A folder with the files of a pipeline, none of which is ever loaded."""
    home = tmp_path / "pipeline"
    (home / "ner").mkdir(parents=True)
    (home / "meta.json").write_text('{"name": "x"}')
    (home / "ner" / "model").write_bytes(b"weights")
    return home


@pytest.mark.usefixtures("empty_cache")
def test_what_was_kept_is_recalled_text_by_text():
    assert recall(MARK, TEXTS) == [None, None]
    keep(MARK, TEXTS, FOUND)
    assert recall(MARK, [*reversed(TEXTS), "another"]) == [FOUND[1], FOUND[0], None]
    assert recall(b"another pipeline", TEXTS) == [None, None]


def test_the_file_is_the_users_alone_and_holds_no_text(empty_cache):
    keep(MARK, TEXTS, FOUND)
    assert cache_folder() == empty_cache / "oddshift" / "spans"
    assert list(cache_folder().iterdir()) == [cache_file()]
    assert cache_file().stat().st_mode & 0o077 == 0
    stored = cache_file().read_bytes()
    plain = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in (TEXTS[0], MARK.decode() + TEXTS[0])]
    assert not any(part in stored for part in (b"Annabel", b"Initech", *plain))


@pytest.mark.usefixtures("empty_cache")
def test_a_file_that_others_could_have_written_is_not_used():
    keep(MARK, TEXTS, FOUND)
    cache_file().chmod(0o620)
    assert recall(MARK, TEXTS) == [None, None]
    keep(MARK, ["new"], [()])
    cache_file().chmod(0o600)
    assert recall(MARK, [*TEXTS, "new"]) == [*FOUND, None]
    moved = cache_file().rename(cache_folder() / "elsewhere")
    cache_file().symlink_to(moved)
    assert recall(MARK, TEXTS) == [None, None]


@pytest.mark.usefixtures("empty_cache")
def test_spans_that_were_changed_are_not_used():
    keep(MARK, TEXTS, FOUND)
    with closing(sqlite3.connect(cache_file())) as db, db:
        db.execute("UPDATE found SET spans = CAST(substr(spans, 1, 8) || '[]' AS BLOB)")
    assert recall(MARK, TEXTS) == [None, FOUND[1]]


def test_a_mark_depends_on_every_setting_and_version():
    marks = {
        detector_mark("a", packages=("numpy",)),
        detector_mark("b", packages=("numpy",)),
        detector_mark("a", packages=("scipy",)),
    }
    assert len(marks) == 3
    assert detector_mark("a", packages=("numpy",)) in marks


MANY = [f"text {i} of Ann" for i in range(40)]


class Reading:
    """A detector that finds the last word, and counts what it reads."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts += texts
        return Spans.of([(d, len(t) - 3, len(t), "PERSON") for d, t in enumerate(texts)], is_exact=True)


def spans_of(found):
    return list(zip(found.document.tolist(), found.start.tolist(), found.end.tolist(), strict=True))


def test_a_text_is_read_once_whoever_asks(forgetful):
    read, memory = Reading(), SpanMemory(MARK)
    first = memory.found([*MANY, MANY[0]], read, is_exact=True)
    assert read.texts == MANY
    assert spans_of(first) == [(d, len(t) - 3, len(t)) for d, t in enumerate([*MANY, MANY[0]])]
    forgetful()
    again = SpanMemory(MARK, is_kept=False).found([*MANY[:35], "new of Ann"], read, is_exact=True)
    assert read.texts == [*MANY, "new of Ann"]
    assert spans_of(again)[:35] == spans_of(first)[:35]
    assert again.is_exact


def test_without_a_cache_nothing_is_kept_and_nothing_is_looked_for(forgetful):
    read = Reading()
    SpanMemory(MARK, is_cached=False).found(MANY, read, is_exact=True)
    assert not cache_file().exists()
    SpanMemory(MARK, is_cached=False).found(MANY, read, is_exact=True)
    assert len(read.texts) == 40  # remembered in this process
    SpanMemory(MARK, is_kept=False).found(MANY, read, is_exact=True)
    assert not cache_file().exists()
    forgetful()
    SpanMemory(MARK).found(MANY[:5], read, is_exact=True)
    assert not cache_file().exists()  # too few texts to open a file for
    assert len(read.texts) == 45


def test_another_detector_reads_for_itself(forgetful):
    read = Reading()
    SpanMemory(MARK).found(MANY, read, is_exact=True)
    SpanMemory(b"other").found(MANY, read, is_exact=True)
    assert len(read.texts) == 80


@pytest.mark.usefixtures("empty_cache")
def test_the_oldest_texts_are_forgotten(monkeypatch):
    monkeypatch.setattr(spans, "KEPT_TEXTS", 3)
    for text in "abcd":
        keep(MARK, [text], [((0, 1, text),)])
    keep(MARK, ["b"], [((0, 1, "again"),)])
    assert recall(MARK, list("abcd")) == [None, ((0, 1, "again"),), ((0, 1, "c"),), ((0, 1, "d"),)]


def test_without_a_folder_of_its_own_it_is_in_the_home(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(spans.Path, "home", lambda: tmp_path)
    assert cache_folder() == tmp_path / ".cache" / "oddshift" / "spans"


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
def test_a_damaged_file_is_nothing_that_was_kept(data):
    keep(MARK, TEXTS, FOUND)
    cache_file().write_bytes(data)
    assert recall(MARK, TEXTS) == [None, None]
    keep(MARK, TEXTS, FOUND)
    assert recall(MARK, TEXTS) == list(FOUND)


def test_a_folder_that_cannot_be_made_keeps_nothing(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    keep(MARK, TEXTS, FOUND)
    assert recall(MARK, TEXTS) == [None, None]


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
