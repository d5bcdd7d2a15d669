"""Names found by a trained spaCy pipeline, by package name or by path, in parallel and cached.

Nothing is ever downloaded. A pipeline guesses each occurrence separately, so its spans are not exact.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution, run
from oddshift.base.spacy_import import import_spacy, leaving_out
from oddshift.data.detectors import spans
from oddshift.data.detectors.capitals import in_context
from oddshift.data.detectors.kinds import ENTITY_KINDS
from oddshift.data.detectors.names import PERSON
from oddshift.data.detectors.normalising import bounded, through_normalised
from oddshift.data.detectors.spans import Spans
from oddshift.data.detectors.tagging import NAME_LABELS

_NOT_NEEDED = ("tagger", "parser", "senter", "lemmatizer", "attribute_ruler", "morphologizer")
_FINDERS = ("ner", "entity_ruler", "span_ruler")
_CHUNK = 200_000  # characters that a worker takes at once
_BATCH = 256  # texts that a pipeline reads at once
LONGEST_SEGMENT = 100_000
"""Characters of a text that a pipeline reads at once: its memory grows with them."""

_WORTH_WORKERS = 1_000_000  # characters below which starting workers costs more than it saves


@dataclass(frozen=True)
class Pipeline:
    """A spaCy pipeline with an entity component; `labels` selects among what it finds.

    `workers` processes share the texts, `is_cached` looks for spans that were kept on disk, and `is_kept` keeps new
    ones there too; none of them changes what is found.
    """

    pipeline: str | Path
    labels: tuple[str, ...] = NAME_LABELS
    workers: int = 2
    is_cached: bool = True
    is_kept: bool = True

    def __post_init__(self) -> None:
        """Check that labels are several strings, not the letters of one."""
        if isinstance(self.labels, str) or not self.labels:
            raise InvalidInput(f"labels={self.labels!r}, expected a tuple of entity labels such as {NAME_LABELS}")

    @property
    def name(self) -> str:
        """The pipeline's own name, without its folder."""
        return f"spaCy pipeline {Path(self.pipeline).name}"

    def detect(self, texts: Sequence[str]) -> Spans:
        """The spans of the selected labels in every text; people without titles, and names that follow one."""
        return through_normalised(self._detect, texts)

    def _detect(self, texts: Sequence[str]) -> Spans:
        opened = _opened(os.path.abspath(self.pipeline), str(self.pipeline), self.labels)
        memory = spans.SpanMemory(opened.mark, self.is_cached, self.is_kept)
        found = memory.found(texts, lambda new: _run(opened, new, self.workers), is_exact=False)
        chosen = found.only(self.labels)
        return in_context(chosen, texts) if PERSON in self.labels else chosen


@dataclass(frozen=True)
class _Opened:
    """The folder of a pipeline, the fingerprint of its files, and the mark under which its spans are remembered."""

    folder: str
    fingerprint: str
    mark: bytes


@lru_cache(maxsize=16)
def _opened(path: str, pipeline: str, labels: tuple[str, ...]) -> _Opened:
    """A pipeline as it is when this process first asks for it; looking at its files for every text would take longer
    than a text that is known. `path` tells relative names in different folders apart.
    """
    folder = pipeline_folder(pipeline)
    _check_labels(folder, labels)
    fingerprint = spans.fingerprint_of(folder)
    mark = spans.detector_mark("pipeline", fingerprint, packages=("spacy",))
    return _Opened(os.path.abspath(folder), fingerprint, mark)


def pipeline_folder(pipeline: str | Path) -> Path:
    """The folder of a pipeline: one with a config.cfg, or that of an installed package."""
    path = Path(pipeline)
    if (path / "config.cfg").is_file():
        return path
    name = str(pipeline)
    if name.isidentifier():
        package = importlib.util.find_spec(name)
        if package is not None and package.origin is not None:
            inside = sorted(Path(package.origin).parent.glob("*/config.cfg"))
            if inside:
                return inside[0].parent
    raise InvalidInput(
        f"spaCy pipeline {name!r} not found: give the folder of an unpacked pipeline (with its config.cfg), or run "
        f"`python -m spacy download {path.name}` (PyPI packages named en-core-web-* are not spaCy's)"
    )


def usual_labels(pipeline: str | Path) -> tuple[str, ...]:
    """Kinds of names, and those of the second tier that a pipeline gives."""
    known = _stated_labels(pipeline_folder(pipeline))
    return (*NAME_LABELS, *(kind for kind in ENTITY_KINDS if kind in known))


def _stated_labels(folder: Path) -> list[str]:
    """The labels that a pipeline says it gives; none when it does not say."""
    try:
        stated = json.loads((folder / "meta.json").read_text(encoding="utf-8")).get("labels", {})
    except (OSError, ValueError):
        return []  # loading it says what is wrong
    return sorted({label for finder in _FINDERS for label in stated.get(finder, ())})


def _check_labels(folder: Path, labels: Sequence[str]) -> None:
    """Refuse labels that the pipeline says it never gives: they would find nothing, silently."""
    known = _stated_labels(folder)
    unknown = [label for label in labels if label not in known and label not in NAME_LABELS]
    if known and (unknown or not set(labels) & set(known)):
        wrong = (unknown or list(labels))[0]
        raise InvalidInput(
            f"label {wrong!r} is not a label of spaCy pipeline {folder.name!r}, expected {', '.join(known)}"
        )


@lru_cache(maxsize=2)
def _loaded(folder: str, fingerprint: str) -> Any:
    if spans.fingerprint_of(Path(folder)) != fingerprint:
        raise InvalidInput(f"the files of spaCy pipeline {Path(folder).name!r} changed while it was in use")
    spacy = import_spacy()
    try:
        with leaving_out("torch", "transformers"), _factories_for(Path(folder)):
            nlp = spacy.load(folder, exclude=list(_NOT_NEEDED))
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0][:200]
        raise InvalidInput(f"spaCy pipeline {Path(folder).name!r} cannot be loaded ({reason})") from error
    if not set(nlp.pipe_names) & set(_FINDERS):
        raise InvalidInput(f"spaCy pipeline {Path(folder).name!r} has {nlp.pipe_names}, expected an entity component")
    _use_own_products(nlp)
    return bounded(nlp)


@contextmanager
def _factories_for(folder: Path) -> Iterator[None]:
    """Leave out the components of other packages where the pipeline names none of them: spaCy imports all that are
    installed, Presidio among them, which takes as long as loading a pipeline.
    """
    from spacy.util import registry

    named = re.findall(r'^factory *= *"(.*)"', (folder / "config.cfg").read_text(encoding="utf-8"), re.MULTILINE)
    others: Any = getattr(registry, "_entry_point_factories", None)
    if others is None or {entry.name for entry in entry_points(group="spacy_factories")} & set(named):
        yield
        return
    before, others.entry_points = others.entry_points, False
    try:
        yield
    finally:
        others.entry_points = before


def _use_own_products(nlp: Any) -> None:
    """Let numpy multiply matrices in the pipeline's networks, which reads a fifth to a third more texts a second than
    BLIS, thinc's default; only the rounding of sums differs.
    """
    from thinc.backends import NumpyOps

    plain = NumpyOps(use_blis=False)
    for _, component in nlp.components:
        model = getattr(component, "model", None)
        for layer in () if model is None else model.walk():
            if type(layer.ops) is NumpyOps:  # graphics cards and Apple's library have their own
                layer.ops = plain


def _run(opened: _Opened, texts: Sequence[str], workers: int) -> Spans:
    if workers <= 1 or sum(map(len, texts)) < _WORTH_WORKERS:
        return _joined([_entities(opened, (0, texts))])
    return _joined(run(partial(_entities, opened), _chunks(texts), Execution("processes", workers)))


def _chunks(texts: Sequence[str]) -> list[tuple[int, list[str]]]:
    """(first document, texts) of about _CHUNK characters each."""
    ends = np.cumsum([len(text) for text in texts]) // _CHUNK
    starts = np.flatnonzero(np.append(True, ends[1:] != ends[:-1]))
    stops = np.append(starts[1:], len(texts))
    return [(a, list(texts[a:b])) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]


def _entities(opened: _Opened, chunk: tuple[int, Sequence[str]]) -> list[tuple[int, int, int, str]]:
    """What a pipeline finds, in the order of the texts; texts of like length are read together, which takes less."""
    nlp = _loaded(opened.folder, opened.fingerprint)
    first, texts = chunk
    places = [(document, a, b) for document, text in enumerate(texts) for a, b in text_segments(text)]
    if len(places) == 1:  # a stream of batches costs a single text a tenth of its time
        found = [_rows(first, 0, nlp(texts[0]))]
    else:
        places.sort(key=lambda place: place[2] - place[1])
        read = nlp.pipe((texts[document][a:b] for document, a, b in places), batch_size=_BATCH)
        found = [_rows(first + place[0], place[1], doc) for place, doc in zip(places, read, strict=True)]
    return sorted(row for rows in found for row in rows)


def _rows(document: int, start: int, doc: Any) -> list[tuple[int, int, int, str]]:
    return [(document, start + e.start_char, start + e.end_char, e.label_) for e in doc.ents]


def text_segments(text: str, longest: int | None = None) -> list[tuple[int, int]]:
    """[start, end) of the segments in which a text is read: long texts are cut at the end of a line or sentence.

    >>> text_segments("Ann left. Bob stayed.", longest=12)
    [(0, 10), (10, 21)]
    """
    size = longest or LONGEST_SEGMENT
    cuts = [0]
    while len(text) - cuts[-1] > size:
        half, end = cuts[-1] + size // 2, cuts[-1] + size
        ends = (text.rfind(mark, half, end) + len(mark) for mark in ("\n", ". ", " "))
        cuts.append(next((cut for cut in ends if cut > half), end))
    return list(pairwise([*cuts, len(text)])) if text else [(0, 0)]


def _joined(parts: Sequence[list[tuple[int, int, int, str]]]) -> Spans:
    return Spans.of([row for part in parts for row in part], is_exact=False)


@dataclass(frozen=True, kw_only=True)
class PipelineSettings:
    """A spaCy pipeline with an entity component, by installed name or by folder."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    path: str
    """The pipeline."""
    kind: Literal["pipeline"] = "pipeline"
    labels: tuple[str, ...] = ()
    """Which of its labels count. If none are named: people, organisations and places, and those of the other kinds that
    point to people (NORP, LOC, FAC, EVENT, PRODUCT, DATE) that the pipeline knows."""

    def detector(self) -> Pipeline:
        """The detector."""
        return Pipeline(self.path, self.labels or usual_labels(self.path))
