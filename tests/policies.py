"""Policies for tests of what applies them: over the embedded corpus, over real news, over a table."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from studies.published import read_published

import encoding
from oddshift.data.codecs import TableSettings, TextCodec, TextSettings, WordVectors
from oddshift.data.detectors import Gazetteer, Pipeline
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential, Mask
from oddshift.protect.policies import make_policy

FAR = 1e6
"""An ε so large that nothing changes: what is released shows what was found."""


def mechanism_of(space, epsilon):
    """The exponential mechanism, or a mask without an ε."""
    return Mask(space) if epsilon is None else Exponential(space, epsilon)


@lru_cache(maxsize=1)
def corpus():
    """A few texts of the embedded corpus."""
    return people(40)


@lru_cache(maxsize=4)
def people_policy(epsilon=2.0, unknown="mark"):
    """The words of the embedded corpus; other words stay as they are."""
    codec = corpus().codec
    codec = replace(codec, settings=replace(codec.settings, unknown=unknown))
    return make_policy(codec, mechanism_of(codec.space, epsilon), codec.tiers)


@lru_cache(maxsize=1)
def prepared_news(data):
    """Real news with the names that a trained pipeline finds, and words close to them."""
    texts = read_published("ag_news", data).texts[:60]
    ner = Pipeline(data / "ner" / "en_core_web_sm_ner", workers=1, is_cached=False)
    codec = TextCodec.fit({"text": texts}, TextSettings(is_public=True), detectors=[ner])
    return codec, codec.encode({"text": texts})


@lru_cache(maxsize=4)
def news_policy(data, epsilon=2.0):
    """The names of the news."""
    codec, _ = prepared_news(data)
    return make_policy(codec, mechanism_of(codec.space, epsilon), codec.tiers)


def news_texts(data):
    """The news as they came."""
    return list(prepared_news(data)[1].restored())


def sensitive_types(policy):
    """Lower-cased words that may only be released through the mechanism, or not at all."""
    reading = policy.vocabulary.codec
    return {*reading.types, *reading.masked}


TABLE = {"age": [20.0, 30.0, 41.0, 30.0], "pay": [1.0, 2.0, 2.0, 9.0]}
DOMAINS = {"age": (20, 30, 41), "pay": (1, 2, 9)}


@lru_cache(maxsize=4)
def table_policy(epsilon=2.0):
    """Cells of two columns of numbers, each released as a value of its domain."""
    made = encoding.table(TABLE, TableSettings(numeric=tuple(TABLE), domains=DOMAINS))
    return made.policy(mechanism_of(made.space, epsilon))


NAMES = tuple(f"name{c}" for c in "abcdefghij")
"""Ten words that are secrets."""


def names_policy(epsilon=1e-3, **changes):
    """The ten words under a mechanism that hardly depends on the secret; users are in the column who."""
    vectors = WordVectors(NAMES, np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32))
    settings = TextSettings(is_public=True, tier_names=("PII",), casing=("lower",), user="who", **changes)
    texts = [f"{a} met {b}. {a} left {b} and {a}." for a in NAMES[:3] for b in NAMES[3:]]
    columns = {"who": [str(k % 3) for k in range(len(texts))]}
    made = encoding.text(texts, vectors, [Gazetteer(dict.fromkeys(NAMES, "PERSON"))], settings, **columns)
    return make_policy(made.codec, Exponential(made.space, epsilon), made.tiers)


def names_in(text):
    """Which of the ten words are in a text, in order."""
    return [word.strip(".") for word in text.split() if word.startswith("name")]
