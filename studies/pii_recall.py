"""What two tools leave of the marked entities of texts that carry their own key: oddshift beside Presidio, by kind.

Both read names with the same spaCy pipeline; Presidio runs as it comes, with every recogniser that it has on by
default. An entity is left when not one of its words would be replaced, and touched in part when only some are. Words
outside every marked entity that would be replaced are counted too. Needs `pii_gold.jsonl` in the data folder; writes
docs/studies/pii_recall.md.

    python -m studies.pii_recall
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tldextract
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import NlpEngineProvider

from oddshift.data.codecs import EncodedText, TextCodec, TextSettings, data_folder
from oddshift.data.detectors import Capitals, Detector, Handles, Occupations, Patterns, Pipeline
from oddshift.data.detectors.detection_report import recall_of_planted
from oddshift.data.detectors.spacy_pipeline import usual_labels
from studies.published import read_published

PAGE = Path(__file__).parents[1] / "docs" / "studies" / "pii_recall.md"
OTHER = {"ag_news": 500, "amazon": 500}
"""Texts of corpora without a key, on which only the replaced words are counted."""

Found = list[tuple[int, int]]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Marked:
    """A text and the stretches that are marked in it: kind, first and last character."""

    text: str
    spans: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Tally:
    """Entities left whole and left in some word, by kind; and words outside entities, all and replaced."""

    whole: Counter[str]
    partly: Counter[str]
    others: int
    replaced: int


def marked_texts() -> list[Marked]:
    """The texts with their key."""
    lines = (data_folder() / "pii_gold.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Marked(r["text"], tuple((s["kind"], s["start"], s["end"]) for s in r["spans"])) for r in rows]


def tally(texts: Sequence[Marked], found: Sequence[Found]) -> Tally:
    """Count what is left of the marked entities, and what else is replaced."""
    whole, partly, others, replaced = Counter[str](), Counter[str](), 0, 0
    for marked, spans in zip(texts, found, strict=True):
        seen, inside = (bytearray(len(marked.text)) for _ in range(2))
        for a, b in spans:
            seen[a:b] = b"\x01" * (b - a)
        for kind, a, b in marked.spans:
            inside[a:b] = b"\x01" * (b - a)
            words = [any(seen[m.start() : m.end()]) for m in _WORD.finditer(marked.text, a, b)]
            whole[kind] += not any(words)
            partly[kind] += not all(words)
        free = [m for m in _WORD.finditer(marked.text) if not any(inside[m.start() : m.end()])]
        others += len(free)
        replaced += sum(any(seen[m.start() : m.end()]) for m in free)
    return Tally(whole, partly, others, replaced)


def by_oddshift(texts: Sequence[str], finders: Sequence[Detector]) -> list[Found]:
    """What the codec replaces: it learns from three of five texts, and reads all of them."""
    fit = [text for row, text in enumerate(texts) if row % 5 < 3]
    codec = TextCodec.fit({"text": fit}, TextSettings(is_public=True), detectors=finders)
    encoded = codec.encode({"text": texts})
    assert isinstance(encoded, EncodedText)
    seen = encoded.tokens.occurrences
    found: list[Found] = [[] for _ in texts]
    for token in np.concatenate([encoded.slots, encoded.masked]).tolist():
        found[int(seen.document[token])].append((int(seen.start[token]), int(seen.end[token])))
    return found


def by_presidio(texts: Sequence[str], pipeline: Path) -> list[Found]:
    """What Presidio's analyser finds with its own defaults, on the given pipeline and offline."""
    tldextract.extract = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())
    model = {"lang_code": "en", "model_name": str(pipeline)}
    engine = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": [model]}).create_engine()
    analyser = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    return [[(hit.start, hit.end) for hit in analyser.analyze(text, language="en")] for text in texts]


def main() -> None:
    """Count, and write the page."""
    texts = marked_texts()
    plain = [marked.text for marked in texts]
    ner = next(path.parent for path in sorted(data_folder().glob("ner/*/config.cfg")))
    rules = (Patterns(), Handles(), Occupations())
    named: tuple[Detector, ...] = (*rules, Pipeline(ner, usual_labels(ner)))
    tallies = {
        "oddshift": tally(texts, by_oddshift(plain, named)),
        "Presidio": tally(texts, by_presidio(plain, ner)),
        "oddshift without a pipeline": tally(texts, by_oddshift(plain, (*rules, Capitals()))),
    }
    totals = Counter(kind for marked in texts for kind, _, _ in marked.spans)
    lines = [_row(kind, count, tallies) for kind, count in totals.most_common()]
    lines.append(_row("all", totals.total(), tallies))
    first = tallies["oddshift"]
    head = "".join(f" {name}: left | in part |" for name in tallies)
    others = "; ".join(f"{name} {t.replaced:,} ({t.replaced / t.others:.1%})" for name, t in tallies.items())
    page = f"""# What is left of marked names, numbers and addresses

Written by `python -m studies.pii_recall`. {len(texts):,} generated English texts with {totals.total():,} marked
entities (from the test data of Microsoft's presidio-research). Names are found by `{ner.name}` for both; Presidio runs
with all of its default recognisers. "Left" counts entities of which no word would be replaced, "in part" those of which
some word would stay (those left included). The last pair has capitalised words in place of the pipeline.

| kind | entities |{head}
|---|---|{"---|---|" * len(tallies)}
{chr(10).join(lines)}

Words outside every marked entity that would be replaced, of {first.others:,}: {others}. Many of them are names all the
same: the key marks what the generator filled in, and not the bands and magazines of its templates.

The rules for addresses, telephone numbers and introductions were written with such texts at hand, so on texts of
another kind they find less. On texts without a key only the words that would be replaced can be counted:

| corpus | texts | words | oddshift | Presidio |
|---|---|---|---|---|
{chr(10).join(_elsewhere(name, count, named, ner) for name, count in OTHER.items())}

Recall on public names planted into the marked texts: {_planted(named, plain)} with the pipeline, and
{_planted((*rules, Capitals()), plain)} without one.
"""
    PAGE.write_text(page, encoding="utf-8")
    print(page)


def _row(kind: str, count: int, tallies: dict[str, Tally]) -> str:
    cells = []
    for each in tallies.values():
        whole, partly = (t.total() if kind == "all" else t[kind] for t in (each.whole, each.partly))
        cells.append(f"{whole:,} | {partly:,}")
    return f"| {kind} | {count:,} | {' | '.join(cells)} |"


def _elsewhere(name: str, count: int, finders: Sequence[Detector], ner: Path) -> str:
    texts = [Marked(text, ()) for text in read_published(name).texts[:count]]
    plain = [marked.text for marked in texts]
    ours, theirs = tally(texts, by_oddshift(plain, finders)), tally(texts, by_presidio(plain, ner))
    shares = (f"{t.replaced:,} ({t.replaced / t.others:.1%})" for t in (ours, theirs))
    return f"| {name} | {count} | {ours.others:,} | {' | '.join(shares)} |"


def _planted(finders: Sequence[Detector], texts: Sequence[str]) -> str:
    recall = recall_of_planted(finders, texts, np.random.default_rng(0), trials=1_000)
    assert recall is not None
    return f"{recall.found} of {recall.planted}"


if __name__ == "__main__":
    main()
