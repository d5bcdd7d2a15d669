"""The spaCy component: what comes after it reads the release, and nothing that is saved holds a replaced word."""

import subprocess
import sys

import pytest
import spacy
from spacy.language import Language

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.protect import Sanitizer
from oddshift.protect.integrations import Protector
from oddshift.protect.policies import save_policy
from policies import FAR, corpus, news_policy, news_texts, people_policy, prepared_news, sensitive_types, table_policy

SEEN = []


@Language.component("looks_on")
def looks_on(doc):
    SEEN.append([token.text.lower() for token in doc])
    return doc


def pipeline(folder, policy, nlp=None):
    nlp = nlp or spacy.blank("en")
    nlp.add_pipe("oddshift", first=True, config={"policy": str(save_policy(folder, policy))})
    return nlp


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# spaCy looks for torch, and Presidio, which spaCy imports with every pipeline, for transformers: seconds for nothing.
PROGRAM = """
import sys
sys.modules.update(torch=None, transformers=None)
import spacy
nlp = spacy.blank("en")
nlp.add_pipe("oddshift", config={"policy": sys.argv[1]})
print(nlp(sys.argv[2]).text)
"""


def test_spacy_finds_it_by_name(tmp_path):
    path = save_policy(tmp_path, people_policy(None))
    text = f"{corpus().encoded.lexicon.words[0].title()} is at work."
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(path), text], capture_output=True, text=True, check=True)
    assert run.stdout == "[PERSON] is at work.\n"


def test_what_is_not_sensitive_stays_and_the_rest_is_replaced(tmp_path):
    texts = list(corpus().texts)
    same = pipeline(tmp_path, people_policy(FAR))
    assert [doc.text for doc in same.pipe(texts)] == texts
    masked = pipeline(tmp_path, people_policy(None))
    words = {token.lower_ for doc in masked.pipe(texts) for token in doc}
    assert words.isdisjoint(sensitive_types(people_policy()))
    assert {"person", "org", "gpe"} <= words


def test_one_by_one_and_in_batches_are_the_sanitizers_own_release():
    texts, policy = list(corpus().texts), people_policy(2.0)
    expected = Sanitizer.seeded_for_experiments(policy, 7).texts(texts)
    assert expected != texts
    nlp = spacy.blank("en")
    batched = Protector(nlp, Sanitizer.seeded_for_experiments(policy, 7))
    assert [doc.text for doc in batched.pipe(map(nlp.make_doc, texts), batch_size=9)] == expected
    single = Protector(nlp, Sanitizer.seeded_for_experiments(policy, 7))
    assert [single(nlp.make_doc(text)).text for text in texts] == expected


def test_texts_are_cut_by_oddshift_as_by_a_blank_english_pipeline():
    texts = ["Dr. Ann O'Neil can't e-mail bob@x.org (U.S.) on 3/4/99...", "10km, we'll pay $5.50!  \n\tC'mon :-) a/b"]
    cut, nlp = tokenise(texts), spacy.blank("en")
    assert [cut.forms[form] for form in cut.form] == [token.text for text in texts for token in nlp(text)]
    assert cut.texts() == tuple(texts)


def test_noise_is_fresh_in_every_process(tmp_path):
    nlp = pipeline(tmp_path, people_policy(0.5))
    texts = [corpus().texts[0]] * 40
    assert len({doc.text for doc in nlp.pipe(texts, n_process=2, batch_size=10)}) > 30


def test_contexts_are_kept_and_earlier_annotations_are_not(tmp_path):
    nlp = pipeline(tmp_path, people_policy(None))
    assert [number for _, number in nlp.pipe([("a", 1), ("b", 2)], as_tuples=True)] == [1, 2]
    told = nlp.make_doc(corpus().texts[0])
    told.user_data["secret"] = told.text
    told.ents = [told.char_span(0, len(told.text), label="PERSON")]
    released = nlp.get_pipe("oddshift")(told)
    assert not released.ents
    assert not released.user_data


def test_a_trained_pipeline_on_real_news_never_sees_a_secret(data, tmp_path):
    policy, texts = news_policy(data, None), news_texts(data)
    secret = set(policy.vocabulary.codec.everywhere)
    ner = spacy.load(data / "ner" / "en_core_web_sm_ner")
    before = {token.lower_ for doc in ner.pipe(texts) for token in doc} & secret
    nlp = pipeline(tmp_path, policy, ner)
    nlp.add_pipe("looks_on")
    SEEN.clear()
    docs = list(nlp.pipe(texts))
    assert len(before) > 50
    assert {word for words in SEEN for word in words}.isdisjoint(secret)
    assert any(doc.ents for doc in docs)  # numbers and dates are no secrets here
    assert b"".join(doc.to_bytes() for doc in docs).count(b"[ORG]") > 20


def test_public_words_of_real_news_stay_in_their_order(data, tmp_path):
    texts = news_texts(data)
    released = [doc.text for doc in pipeline(tmp_path, news_policy(data)).pipe(texts)]
    encoded, cut = prepared_news(data)[1], spacy.blank("en")
    sensitive = sensitive_types(news_policy(data))
    kept = [[token.text for token in cut(text) if token.is_lower and token.lower_ not in sensitive] for text in texts]
    assert len(encoded.records) == len(texts)
    assert sum(map(len, kept)) > 1000
    assert released != texts
    for words, shown in zip(kept, released, strict=True):
        place = 0
        for word in words:
            place = shown.index(word, place) + len(word)


def test_a_saved_pipeline_holds_no_word_and_knows_its_policy(tmp_path):
    policy = people_policy()
    nlp = pipeline(tmp_path / "policy", policy)
    nlp.to_disk(tmp_path / "unused")
    with nlp.memory_zone():
        assert [doc.text for doc in nlp.pipe(corpus().texts)] != list(corpus().texts)
    nlp.to_disk(tmp_path / "nlp")
    assert files_of(tmp_path / "nlp") == files_of(tmp_path / "unused")  # reading left nothing behind
    assert files_of(tmp_path / "nlp")["oddshift"] == policy.sha256.encode()
    assert not list((tmp_path / "nlp").rglob("*.npz"))
    again = spacy.load(tmp_path / "nlp")
    assert len(again(corpus().texts[0])) > 10
    with pytest.raises(InvalidInput, match="the policy is not the one that the pipeline was saved with"):
        pipeline(tmp_path / "other", people_policy(3.0)).from_disk(tmp_path / "nlp")
    save_policy(tmp_path / "policy", people_policy(3.0))
    with pytest.raises(InvalidInput, match="the policy is not the one that the pipeline was saved with"):
        spacy.load(tmp_path / "nlp")


def test_a_vocabulary_that_holds_replaced_words_is_not_saved(tmp_path):
    nlp = pipeline(tmp_path / "policy", people_policy(None))
    nlp.to_disk(tmp_path / "before")
    nlp(corpus().texts[0])
    assert "oddshift" in nlp.pipe_names
    with pytest.raises(InvalidInput, match=r"^the vocabulary holds \d words that were replaced, expected none: read"):
        nlp.to_disk(tmp_path / "after")
    with pytest.raises(InvalidInput, match="words that were replaced"):
        nlp.to_bytes()
    assert not (tmp_path / "after" / "vocab").exists()
    again = spacy.load(tmp_path / "before")
    with again.memory_zone():
        again(corpus().texts[0])
    assert spacy.blank("en").from_bytes(again.to_bytes(), exclude=["oddshift"])


def test_bad_policies_are_refused_in_one_line(tmp_path):
    nlp = spacy.blank("en")
    with pytest.raises(InvalidInput, match=r"^policy.json is not a file, expected a policy.json; `adapt` writes one"):
        nlp.add_pipe("oddshift")
    with pytest.raises(InvalidInput, match="texts needs a policy of kind text, this one is of kind table"):
        pipeline(tmp_path, table_policy())
    refusing = pipeline(tmp_path, people_policy(unknown="refuse"))
    assert refusing("Zaphod is at the bank").text == "Zaphod is at the bank"  # nobody found a name
