"""A corpus as the paper's case study reads it: names and similar words as secrets, GloVe as distance, three parts.

PII are names, PoII the 10 % of the other words most similar to them; vocabulary and tiers come from the fit part. Which
documents are taken does not depend on the seed of a cell; the seed decides into which part each of them falls, and with
it the vocabulary and the tiers, and it varies noise, networks and layouts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.paper import PAPER_SCHEDULE, Paper, fit_paper
from oddshift.attackers.reconstruction import PaperSettings
from oddshift.attackers.training import Schedule
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.data.codecs import TextCodec, TextSettings, read_vectors
from oddshift.data.codecs.text.settings import PAPER_TIERS
from oddshift.data.detectors import Pipeline
from oddshift.mechanisms.tiered import Tiered
from oddshift.model.records import FRACTIONS, Records, Split, assign_parts
from oddshift.model.tiers import Tiers
from studies.published import read_published

Budgets = tuple[float, float]
"""α_1·ε and α_2·ε: what PII and PoII are released with."""


@dataclass(frozen=True, eq=False, repr=False)
class StudiedCorpus:
    """The three parts of the documents, the tiers of their sensitive words, and those words."""

    name: str
    split: Split
    tiers: Tiers
    words: tuple[str, ...]

    def known(self, budgets: Budgets) -> Knowledge:
        """What attackers know when PII and PoII are released with these budgets."""
        tiers = self.tiers.with_scales(budgets, ordered=False)
        return knowledge(Tiered(self.split.fit.space, tiers, 1.0), tiers, self.split.fit)

    @property
    def weights(self) -> FloatArray:
        """π of every word, from the fit part."""
        return self.known((1.0, 1.0)).weights


def studied(settings: Mapping[str, Any], data: Path, seed: int) -> StudiedCorpus:
    """The corpus that a cell asks for, split by a seed; read once in a process."""
    fractions = tuple(float(f) for f in settings.get("fractions", FRACTIONS))
    rule = str(settings.get("tier_rule", "most"))
    return _studied(str(settings["corpus"]), int(settings["documents"]), fractions, rule, seed, str(data))


@lru_cache(maxsize=1)
def _studied(name: str, documents: int, fractions: tuple[float, ...], rule: str, seed: int, data: str) -> StudiedCorpus:
    corpus, folder = read_published(name, data), Path(data)
    chosen = np.sort(np.random.default_rng(0).permutation(len(corpus))[:documents])
    texts = [corpus.texts[d] for d in chosen]
    part = assign_parts(np.arange(len(texts)), fractions, np.random.default_rng([seed, 8]))
    codec = TextCodec.fit(
        {"text": [texts[d] for d in np.flatnonzero(part == 0)]},
        TextSettings(is_public=True, **{**PAPER_TIERS, "tier_rule": rule}),
        detectors=[Pipeline(folder / "ner" / "en_core_web_sm_ner", workers=1)],
        vectors=read_vectors(folder / "glove.6B.100d.npz"),
    )
    encoded = codec.encode({"text": texts})
    fit, select, certify = (encoded.records.take(np.flatnonzero(part == k)) for k in range(3))
    return StudiedCorpus(name, Split(fit, select, certify, "document"), encoded.tiers, codec.lexicon.words)


def trained(known: Knowledge, architecture: str, settings: Mapping[str, Any], seed: int) -> Paper:
    """A network for one choice of budgets, trained from nothing as the paper does for each of its choices."""
    plain = PaperSettings(architecture=architecture, width=int(settings["width"]))
    return fit_paper(known, plain, schedule_of(settings, seed))


def schedule_of(settings: Mapping[str, Any], seed: int) -> Schedule:
    """The paper's schedule with the epochs and the batch of a cell."""
    return replace(PAPER_SCHEDULE, epochs=int(settings["epochs"]), batch=int(settings["batch"]), seed=seed)


def positions_of(records: Records, tiers: Tiers, tier: int) -> IntArray:
    """Positions of one tier."""
    return np.flatnonzero(records.tier_of_position(tiers) == tier)
