"""A masked language model in a local folder: what it expects at every slot of the public words W.

All slots and masked words of a document are hidden from it at once. The score of a word is the mean of the log
probabilities of its pieces at the one hidden place. Nothing is downloaded, weights are read without pickle, and code
that lies in the folder is never run. Reference: Devlin et al. (2019).

The prior given W, read by counts and by a language model together.

log Pr[x | W] = what the words around give (`word_prior`) + β·(s(x) − s̄(x)) + const, s(x) the score of a local masked
language model at the slot and s̄(x) its mean over fit documents: how common a word is, the counts know better. β ≥ 0 is
the weight that predicts held-out secrets best, for each tier. The context term is 0: nothing is read jointly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge, release_blocks
from oddshift.attackers.candidate_sampling import positions_over_all_points
from oddshift.attackers.law_attacker import Terms
from oddshift.attackers.paired_log_score import units_of
from oddshift.attackers.term_weights import ContextTerms, likeliest_weights
from oddshift.attackers.training import split
from oddshift.attackers.word_prior import BLOCK_ENTRIES, HELD_OUT, WordPrior, fit_word_prior
from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.model.records import MASKED, SLOT, Context, Records
from oddshift.model.release import Release, candidate_sets, perturb, set_numbers

WINDOWS = 16
"""Windows that the model reads at once; a performance setting."""

_EDGES = 2  # places at the ends of a window, and as many that some models keep for padding


@dataclass(frozen=True, eq=False, repr=False)
class LanguageModel:
    """A folder as `transformers` saves it (configuration, tokeniser, safetensors), and the word of every point."""

    folder: str
    words: tuple[str, ...]

    def __repr__(self) -> str:
        """The name of the folder and the number of words."""
        return f"LanguageModel({Path(self.folder).name!r}, {len(self.words)} words)"

    @cached_property
    def fingerprint(self) -> str:
        """The bytes of every file in the folder, and the words; where the folder lies does not count."""
        files = sorted(path for path in Path(self.folder).iterdir() if path.is_file())
        hashes = tuple((path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files)
        return fingerprint(("language model", hashes, self.words))

    def log_scores(self, context: Context) -> FloatArray:
        """What the model says about every point at every slot, (slots, points); 0 for words that it does not know."""
        import torch

        tokenizer, model = self._loaded
        found = np.zeros((len(context.slots), len(self.words)))
        windows = list(_windows(context, tokenizer, _room(tokenizer, model)))
        for start in range(0, len(windows), WINDOWS):
            batch = windows[start : start + WINDOWS]
            slots, row, column = (np.concatenate(parts) for parts in zip(*_places(batch), strict=True))
            ids = _padded([window.ids for window in batch], tokenizer.pad_token_id or 0)
            real = _padded([[1] * len(window.ids) for window in batch], 0)
            with torch.no_grad():
                logits = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(real)).logits
                said = logits[torch.from_numpy(row), torch.from_numpy(column)].double().log_softmax(dim=-1)
            found[slots] = (self._pieces @ said.numpy().T).T
        return found

    @cached_property
    def knows(self) -> BoolArray:
        """The points whose word the model has pieces for."""
        return np.asarray(self._pieces.sum(axis=1)).ravel() > 0

    @cached_property
    def _pieces(self) -> Any:
        """Sparse (points, pieces): the mean over the pieces of each word; no row where one is unknown."""
        from scipy.sparse import csr_array

        tokenizer, model = self._loaded
        rows = tokenizer(list(self.words), add_special_tokens=False)["input_ids"]
        rows = [[] if tokenizer.unk_token_id in row else row for row in rows]
        point = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        share = np.concatenate([np.full(len(row), 1.0 / max(1, len(row))) for row in rows])
        piece = np.array([piece for row in rows for piece in row], dtype=np.int64)
        return csr_array((share, (point, piece)), shape=(len(rows), model.config.vocab_size))

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        return _load(self.folder)


@dataclass(frozen=True, eq=False)
class _Window:
    """Pieces of a part of a document, with the numbers of its slots and their places."""

    ids: list[int]
    slots: list[int]
    places: list[int]


def _load(folder: str) -> tuple[Any, Any]:
    """Tokeniser and model of a folder; anything else than a masked language model is one line that says so."""
    if not (Path(folder) / "config.json").is_file():
        raise InvalidInput(f"language_model={folder!r} holds no config.json, expected the folder of a language model")
    try:
        from transformers import AutoModelForMaskedLM, AutoTokenizer
    except ImportError as error:
        raise InvalidInput("language_model needs transformers, expected pip install 'oddshift[language]'") from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0][:200]
        raise InvalidInput(f"language_model={folder!r} cannot be read: {reason}") from error
    if tokenizer.mask_token_id is None:
        raise InvalidInput(f"language_model={folder!r} has no mask token, expected a masked language model")
    return tokenizer, model.eval()


def _room(tokenizer: Any, model: Any) -> int:
    """Pieces of one window, its ends left out."""
    places = getattr(model.config, "max_position_embeddings", None) or 512
    return max(1, int(min(tokenizer.model_max_length, places - _EDGES)) - _EDGES)


def _windows(context: Context, tokenizer: Any, room: int) -> Iterator[_Window]:
    """Documents as pieces, cut where they are too long; windows without a slot are left out."""
    pieces = tokenizer(list(context.symbols), add_special_tokens=False)["input_ids"] if context.symbols else []
    first = [] if tokenizer.cls_token_id is None else [tokenizer.cls_token_id]
    last = [] if tokenizer.sep_token_id is None else [tokenizer.sep_token_id]
    slot = 0
    for low, high in zip(context.offsets[:-1], context.offsets[1:], strict=True):
        ids: list[int] = []
        marks: list[tuple[int, int]] = []
        for token in context.tokens[low:high]:
            if token == SLOT:
                marks.append((slot, len(ids)))
                slot += 1
            ids += [tokenizer.mask_token_id] if token in {SLOT, MASKED} else pieces[token]
        for start in range(0, len(ids), room):
            inside = [(number, place - start) for number, place in marks if start <= place < start + room]
            if inside:
                numbers, places = zip(*inside, strict=True)
                shifted = [place + len(first) for place in places]
                yield _Window([*first, *ids[start : start + room], *last], list(numbers), shifted)


def _places(batch: list[_Window]) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """For every window the numbers of its slots, its row, and their columns."""
    for row, window in enumerate(batch):
        yield window.slots, [row] * len(window.slots), window.places


def _padded(rows: list[list[int]], filler: int) -> Any:
    """Rows of numbers as one array, the shorter ones filled up."""
    found = np.full((len(rows), max(len(row) for row in rows)), filler, dtype=np.int64)
    for number, row in enumerate(rows):
        found[number, : len(row)] = row
    return found


@dataclass(frozen=True, eq=False, repr=False)
class LanguagePrior:
    """The prior from counts, the model, its mean scores (points,), and β of every candidate set."""

    words: WordPrior
    model: LanguageModel
    average: FloatArray
    weights: FloatArray

    reads_outputs = False

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """No context term; the prior of every position given W, a block of documents at a time."""
        for first, block in release_blocks(release, len(known.log_prior), BLOCK_ENTRIES):
            read = centred(self.model, block, self.average) if self.weights.any() else None
            for mine in self.words.terms(known, block):
                assert mine.points is not None
                tier = 0 if block.position_tiers is None else block.position_tiers[mine.positions[0]]
                more = 0.0 if read is None else self.weights[tier] * read[np.ix_(mine.positions, mine.points)]
                yield replace(mine, positions=first + mine.positions, log_prior=mine.log_prior + more)


def centred(model: LanguageModel, documents: Release | Records, average: FloatArray | float = 0.0) -> FloatArray:
    """s(x) − s̄(x) at every position, 0 for words that the model does not know."""
    if documents.context is None:
        raise InvalidInput("the documents have no context W, expected one for a language model to read")
    return np.asarray(np.where(model.knows, model.log_scores(documents.context) - average, 0.0))


def fit_language_prior(known: Knowledge, model: LanguageModel, rng: np.random.Generator) -> LanguagePrior:
    """Fit the counts, then β on a part of the documents that was left out of the counts.

    **Guarantee**: β is 0 where the model does not help to predict held-out secrets.
    """
    if len(model.words) != len(known.log_prior):
        raise InvalidInput(
            f"{len(model.words)} words for a language model, expected {len(known.log_prior)}, the points'"
        )
    seed = int(rng.integers(1 << 31))
    learn, held = split(known.fit.clusters, HELD_OUT, seed)
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    trial = fit_word_prior(part, np.random.default_rng([seed, 1]))
    kept = _some(known.fit.take(held), len(known.log_prior), rng)
    scores = centred(model, kept)
    average = scores.mean(axis=0)
    scores -= np.where(model.knows, average, 0.0)
    weights = _weights(part, trial, kept, scores)
    return LanguagePrior(fit_word_prior(known, np.random.default_rng([seed, 2])), model, average, weights)


def _some(held: Records, points: int, rng: np.random.Generator) -> Records:
    """As many held-out documents as weights need, at least one."""
    order = rng.permutation(np.flatnonzero(held.lengths > 0))
    if not len(order):
        raise InvalidInput("held-out documents hold no secret, expected at least one")
    most = positions_over_all_points(points)
    count = int(np.searchsorted(np.cumsum(held.lengths[order]), most, side="right"))
    return held.take(np.sort(order[: max(1, count)]))


def _weights(known: Knowledge, words: WordPrior, held: Records, scores: FloatArray) -> FloatArray:
    """β of the best log score of clean held-out secrets in every candidate set."""
    release = perturb(held, known.mechanism, known.tiers, np.random.default_rng(0))  # only its public side is read
    units, found = units_of(held), list(words.terms(known, release))
    weights = np.zeros(len(set_numbers(known.tiers)))
    for mine in candidate_sets(release, known.tiers):
        inside = [block for block in found if np.isin(block.positions[0], mine.positions)]
        base = np.concatenate([block.log_prior for block in inside])
        truth = np.searchsorted(mine.points, held.points[mine.positions])
        terms = (scores[np.ix_(mine.positions, mine.points)],)
        some = replace(units, of_position=units.of_position[mine.positions])
        weights[mine.tier] = likeliest_weights(ContextTerms(base, terms, truth, some), np.zeros(1))[0]
    return weights
