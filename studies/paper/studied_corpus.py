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
from oddshift.base.identity import fingerprint
from oddshift.data.codecs import TextCodec, TextSettings, read_vectors
from oddshift.data.codecs.text.settings import PAPER_TIERS
from oddshift.data.detectors import Pipeline
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.tiered import Tiered
from oddshift.model.records import FRACTIONS, Records, Split, assign_parts
from oddshift.model.tiers import Tiers
from studies.paper.reproduction import Place
from studies.published import read_published

BASE = 2.6
"""The largest budget of the paper's table: scales of a conditioned network are budgets over this."""

LOWEST = 0.1
"""The smallest budget of a network that serves all scales, as a share of its largest."""

Budgets = tuple[float, float]
"""α_1·ε and α_2·ε: what PII and PoII are released with."""


@dataclass(frozen=True, eq=False, repr=False)
class StudiedCorpus:
    """The three parts of the documents, the tiers of their sensitive words, and those words."""

    name: str
    split: Split
    tiers: Tiers
    words: tuple[str, ...]

    def known(self, budgets: Budgets, base: float = BASE) -> Knowledge:
        """What attackers know when PII and PoII are released with these budgets."""
        tiers = self.tiers.with_scales([b / base for b in budgets], ordered=False)
        return knowledge(self.family(base)(tiers), tiers, self.split.fit)

    def family(self, base: float = BASE) -> Any:
        """The mechanism under tiers with some scales of a base budget."""
        return _Family(self, base)

    @property
    def weights(self) -> FloatArray:
        """π of every word, from the fit part."""
        return self.known((BASE, BASE)).weights


@dataclass(frozen=True, eq=False)
class _Family:
    corpus: StudiedCorpus
    base: float

    def __call__(self, tiers: Tiers) -> Mechanism:
        return Tiered(self.corpus.split.fit.space, tiers, self.base)


def studied(settings: Mapping[str, Any], data: Path, seed: int) -> StudiedCorpus:
    """The corpus that a cell asks for, split by a seed; read once in a process."""
    fractions = tuple(float(f) for f in settings.get("fractions", FRACTIONS))
    return _studied(str(settings["corpus"]), int(settings["documents"]), fractions, seed, str(data))


@lru_cache(maxsize=1)
def _studied(name: str, documents: int, fractions: tuple[float, ...], seed: int, data: str) -> StudiedCorpus:
    corpus, folder = read_published(name, data), Path(data)
    chosen = np.sort(np.random.default_rng(0).permutation(len(corpus))[:documents])
    texts = [corpus.texts[d] for d in chosen]
    part = assign_parts(np.arange(len(texts)), fractions, np.random.default_rng([seed, 8]))
    codec = TextCodec.fit(
        {"text": [texts[d] for d in np.flatnonzero(part == 0)]},
        TextSettings(is_public=True, **PAPER_TIERS),
        detectors=[Pipeline(folder / "ner" / "en_core_web_sm_ner", workers=1)],
        vectors=read_vectors(folder / "glove.6B.100d.npz"),
    )
    encoded = codec.encode({"text": texts})
    fit, select, certify = (encoded.records.take(np.flatnonzero(part == k)) for k in range(3))
    return StudiedCorpus(name, Split(fit, select, certify, "document"), encoded.tiers, codec.lexicon.words)


def conditioned(
    corpus: StudiedCorpus, architecture: str, cell_settings: Mapping[str, Any], seed: int, place: Place
) -> Paper:
    """One network of an architecture for all budgets up to the base, kept between cells."""
    base = float(cell_settings.get("base", BASE))
    settings = PaperSettings(architecture=architecture, width=int(cell_settings["width"]), scale_range=(LOWEST, 1.0))
    schedule = schedule_of(cell_settings, "epochs", seed)
    known = corpus.known((base, base), base)
    asked = fingerprint((settings, schedule, known, base))[:12]  # other settings or documents are another file
    place.work.mkdir(parents=True, exist_ok=True)
    kept = place.work / f"{corpus.name}-{architecture}-{seed}-{asked}.safetensors"
    return fit_paper(known, settings, schedule, family=corpus.family(base), checkpoint=kept)


def tuned(start: Paper, known: Knowledge, cell_settings: Mapping[str, Any], seed: int) -> Paper:
    """A network for one choice of budgets: trained on from the one for all, or from nothing where that is asked."""
    if cell_settings.get("literal"):
        plain = replace(start.settings, scale_range=None)
        return fit_paper(known, plain, schedule_of(cell_settings, "epochs", seed))
    return fit_paper(known, start.settings, schedule_of(cell_settings, "tuning_epochs", seed), start=start)


def schedule_of(cell_settings: Mapping[str, Any], epochs: str, seed: int) -> Schedule:
    """The paper's schedule with the epochs and the batch of a cell."""
    return replace(PAPER_SCHEDULE, epochs=int(cell_settings[epochs]), batch=int(cell_settings["batch"]), seed=seed)


def positions_of(records: Records, tiers: Tiers, tier: int) -> IntArray:
    """Positions of one tier."""
    return np.flatnonzero(records.tier_of_position(tiers) == tier)
