"""Data fitted and encoded in one step, as tests need it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.data.codecs import PlaceCodec, TableCodec, TextCodec, VectorCodec, VectorSettings
from oddshift.model.release import one_tier
from oddshift.protect.policies import make_policy


@dataclass(frozen=True)
class Made:
    """A codec, and the data that it was fitted on (or more of it) encoded."""

    codec: Any
    encoded: Any

    @property
    def report(self):
        return self.codec.findings.report

    @property
    def tags(self):
        return self.codec.findings.tags

    @property
    def lexicon(self):
        return self.codec.lexicon

    @property
    def space(self):
        return self.codec.space

    @property
    def tiers(self):
        return self.codec.tiers

    def policy(self, mechanism, **more):
        return make_policy(self.codec, mechanism, self.codec.tiers, **more)


def text(texts, vectors, detectors, settings, fit=None, **columns):
    """Texts with a lexicon built from the rows `fit` (by default all)."""
    whole = {"text": list(texts), **columns}
    rows = range(len(texts)) if fit is None else fit
    part = {name: [cells[row] for row in rows] for name, cells in whole.items()}
    codec = TextCodec.fit(part, settings, detectors=detectors, vectors=vectors)
    return Made(codec, codec.encode(whole))


def table(columns, settings):
    codec = TableCodec.fit(columns, settings)
    return Made(codec, codec.encode(columns))


def places(columns, settings):
    codec = PlaceCodec.fit(columns, settings)
    return Made(codec, codec.encode(columns))


def vectors(rows, settings=None, **columns):
    whole = {"vectors": list(np.asarray(rows, dtype=np.float64)), **columns}
    codec = VectorCodec.fit(whole, settings or VectorSettings(points="fit"))
    return Made(codec, codec.encode(whole))


def vector_policy(mechanism, tiers=None):
    chosen = one_tier(mechanism.space) if tiers is None else tiers
    return make_policy(VectorCodec(VectorSettings(), mechanism.space, chosen), mechanism, chosen)
