import numpy as np
import pytest
from studies.published import read_published

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors import DETECTORS, Pipeline, recall_of_planted, spacy_pipeline, spans

NAMES = ["John Smith", "Maria Garcia", "David Johnson", "Susan Miller", "Peter Brown", "Anna Schmidt", "James Wilson"]


@pytest.fixture(scope="module")
def model(data):
    return data / "ner" / "en_core_web_sm_ner"


@pytest.fixture(scope="module")
def some_texts(data):
    return read_published("ag_news", data).texts[:200]


def test_labels_can_be_selected(model, some_texts, empty_cache):
    every = Pipeline(model, labels=("PERSON", "ORG", "GPE", "DATE")).detect(some_texts)
    people = Pipeline(model, labels=("PERSON",)).detect(some_texts)
    assert 50 < len(people) < len(every)
    assert not people.is_exact


def test_the_same_spans_come_from_the_cache(model, some_texts, forgetful, monkeypatch):
    first = Pipeline(model).detect(some_texts)
    forgetful()
    monkeypatch.setattr(spacy_pipeline, "_run", lambda *args: pytest.fail("the cache was not used"))
    second = Pipeline(model, is_kept=False).detect(some_texts)
    for name in ("document", "start", "end", "label"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    some = Pipeline(model, labels=("PERSON",)).detect([*some_texts[3:5], some_texts[0]])
    assert len(some) == int(np.isin(first.only(("PERSON",)).document, (0, 3, 4)).sum())


def test_the_cache_holds_no_text(model, some_texts, forgetful):
    Pipeline(model).detect(some_texts)
    stored = spans.cache_file().read_bytes()
    assert b"PERSON" in stored
    assert b"Turner" not in stored
    assert b"disappointed" not in stored


def test_a_broken_cache_file_is_ignored(model, forgetful):
    texts = [f"John Smith lives in house {i} in Paris." for i in range(40)]
    first = Pipeline(model).detect(texts)
    forgetful()
    spans.cache_file().write_bytes(b"PK broken")
    assert len(Pipeline(model).detect(texts)) == len(first)


def test_a_cache_that_cannot_be_written_changes_nothing(model, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(Pipeline(model).detect(["John Smith lives in Paris."])) >= 1


@pytest.mark.slow
def test_workers_change_nothing(model, some_texts, monkeypatch):
    alone = Pipeline(model, workers=1, is_cached=False).detect(some_texts[:60])
    monkeypatch.setattr(spacy_pipeline, "_WORTH_WORKERS", 0)
    monkeypatch.setattr(spacy_pipeline, "_CHUNK", 4_000)
    together = Pipeline(model, workers=2, is_cached=False).detect(some_texts[:60])
    for name in ("document", "start", "end", "label"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))


def test_chunks_keep_every_text_in_order():
    texts = ["x" * n for n in (150_000, 90_000, 10, 300_000, 5)]
    chunks = spacy_pipeline._chunks(texts)
    assert [text for _, part in chunks for text in part] == texts
    assert chunks[0][0] == 0
    assert len(chunks) > 1


def test_an_unknown_pipeline_says_how_to_get_it():
    with pytest.raises(InvalidInput, match="python -m spacy download en_core_web_nowhere") as refusal:
        Pipeline("en_core_web_nowhere").detect(["a"])
    assert "\n" not in str(refusal.value)
    assert "not spaCy's" in str(refusal.value)


def test_a_pipeline_without_names_is_refused(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(InvalidInput, match="expected an entity component"):
        Pipeline(tmp_path / "blank", is_cached=False).detect(["a"])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.cfg").write_text("nothing")
    with pytest.raises(InvalidInput, match="cannot be loaded"):
        Pipeline(tmp_path / "broken", is_cached=False).detect(["a"])


def test_planted_names_are_mostly_found(model, some_texts):
    found = recall_of_planted([Pipeline(model, is_cached=False)], some_texts, np.random.default_rng(0), trials=40)
    assert found.recall > 0.8
    assert "pipeline" in DETECTORS


def test_labels_that_the_pipeline_never_gives_are_refused(model):
    for labels in (("PERSONS",), ("PERSON", "LOCATION")):
        with pytest.raises(InvalidInput, match=r"is not a label of spaCy pipeline .*, expected CARDINAL, DATE"):
            Pipeline(model, labels=labels).detect(["Ann"])
    with pytest.raises(InvalidInput, match="expected a tuple of entity labels"):
        Pipeline(model, labels="PERSON")


def test_a_pipeline_finds_what_spacy_finds_with_its_own_products(model, some_texts, empty_cache):
    """One after the other and together; only the rounding of sums differs."""
    import spacy

    alone = spacy.load(model)
    expected = [[(e.start_char, e.end_char, e.label_) for e in doc.ents] for doc in alone.pipe(some_texts)]
    opened = spacy_pipeline._opened(str(model), str(model), spacy_pipeline.NAME_LABELS)
    together = spacy_pipeline._entities(opened, (0, some_texts))
    one_by_one = [row for n, text in enumerate(some_texts) for row in spacy_pipeline._entities(opened, (n, [text]))]
    assert together == one_by_one == sorted((n, *span) for n, spans_of in enumerate(expected) for span in spans_of)
    assert not spacy_pipeline._loaded(opened.folder, opened.fingerprint).get_pipe("ner").model.ops.use_blis
