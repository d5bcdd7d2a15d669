"""Detectors in policies: what was kept finds what was found, and another pipeline is refused."""

import shutil

import numpy as np
import pytest

import encoding
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import load, save
from oddshift.data.codecs import TextSettings, WordVectors
from oddshift.data.detectors import Capitals, Gazetteer, Handles, Occupations, Patterns, Pipeline
from oddshift.data.detectors.storage import KeptNames, KeptPipeline, kept_detector
from oddshift.mechanisms import Exponential
from oddshift.protect import Sanitizer
from oddshift.protect.policies import load_policy, make_policy, save_policy

TEXTS = [
    "Later Mr. Kamali met a nurse and Ann Lee, 212-555-0123.",
    "Lee wrote to jo@example.com or @jolee; Adam Smith of Microsoft left London.",
]
OURS = [
    Capitals(),
    Gazetteer(["Ann Lee", "Microsoft"], "CLIENT", keep_case=True),
    Gazetteer({"nurse": "JOB", "london": "CITY"}),
    Handles(),
    Patterns(("PHONE_NUMBER",), 0.3),
    Occupations(),
]


def rows(spans):
    return [*zip(spans.document, spans.start, spans.end, (spans.labels[k] for k in spans.label), strict=True)]


@pytest.mark.parametrize("detector", OURS, ids=lambda detector: type(detector).__name__)
def test_a_kept_detector_finds_the_same(detector, tmp_path):
    kept = kept_detector(detector)
    save(tmp_path / "d.json", kept)
    again = load(tmp_path / "d.json", type(kept)).detector()
    assert rows(again.detect(TEXTS)) == rows(detector.detect(TEXTS)) != []
    assert again.detect(TEXTS).is_exact == detector.detect(TEXTS).is_exact


def test_lists_show_no_entry():
    names = KeptNames(surnames=("kamali",), labels=("PERSON",), ordinary=("red",))
    for value in (*(kept_detector(d) for d in OURS[1:3]), names):
        assert not any(word in repr(value).lower() for word in ("lee", "nurse", "kamali", "red"))
    assert names.known.surnames == {"kamali": "PERSON"}


def test_a_detector_that_only_code_can_make_is_refused():
    class Own:
        name = "my own"

        def detect(self, texts):
            return Capitals().detect(texts)

    with pytest.raises(InvalidInput, match="detector 'my own' cannot be kept in a policy"):
        kept_detector(Own())


def test_a_policy_finds_names_with_its_pipeline_and_refuses_another(data, tmp_path):
    home = tmp_path / "ner"
    shutil.copytree(data / "ner" / "en_core_web_sm_ner", home)
    names = ("adam", "smith", "john", "mary", "london", "paris")
    vectors = WordVectors(names, np.eye(6, dtype=np.float32))
    texts = ["Adam Smith met John in London.", "John left Paris with Mary.", "Mary met Adam Smith in Paris and London."]
    ner = Pipeline(home, workers=1, is_cached=False)
    made = encoding.text(texts, vectors, [ner], TextSettings(is_public=True, fewest=2))
    save_policy(tmp_path / "run", make_policy(made.codec, Exponential(made.space, 1e6), made.tiers))
    kept = load_policy(tmp_path / "run").vocabulary.codec.detectors[0]
    assert isinstance(kept, KeptPipeline)
    assert kept.labels == ("PERSON", "ORG", "GPE")
    text = "Yesterday Barbara Quibble met Adam Smith in London."
    assert Sanitizer(load_policy(tmp_path / "run")).texts([text]) == ["Yesterday [PERSON] met Adam Smith in London."]
    (home / "meta.json").write_text("{}")
    with pytest.raises(InvalidInput, match="is not the one that the policy was made with"):
        Sanitizer(load_policy(tmp_path / "run")).texts([text])
    shutil.rmtree(home)
    with pytest.raises(InvalidInput, match=r"which is not at .*expected it there"):
        Sanitizer(load_policy(tmp_path / "run")).texts([text])
