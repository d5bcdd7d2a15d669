"""Speed and memory of protecting: draws, texts from end to end beside spaCy and Presidio, files of two sizes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from studies.published import read_published

from benchmarks.table import Line, cpu, forget
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TextCodec, TextSettings, data_folder, read_vectors
from oddshift.data.detectors import Pipeline
from oddshift.mechanisms import Tiered
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from oddshift.protect import Sanitizer, os_uniforms
from oddshift.protect.noise import Draws
from oddshift.protect.policies import Policy, make_policy, save_policy

POINTS, DRAWS, BLOCK = 11_000, 3_600_000, 50_000  # 100 MB of AG News hold so many secrets


def words(rng: np.random.Generator, count: int) -> IntArray:
    """Words as texts have them: few are frequent, most are rare."""
    weights = 1.0 / (np.arange(POINTS) + 2.7)
    return rng.choice(POINTS, size=count, p=weights / weights.sum()).astype(np.int64)


def sampling() -> list[Line]:
    rng = np.random.default_rng(0)
    tiers = Tiers(np.arange(POINTS) % 2, names=("PII", "PoII"), scales=(0.4, 0.9), is_public=True)
    mechanism = Tiered(Space(rng.normal(size=(POINTS, 100))), tiers, 2.5)
    secrets = words(rng, DRAWS)
    draws = Draws(mechanism, os_uniforms)
    blocks = [secrets[a : a + BLOCK] for a in range(0, DRAWS, BLOCK)]
    _, cold = cpu(lambda: [draws(block) for block in blocks])
    _, warm = cpu(lambda: [draws(block) for block in blocks])
    few = secrets[:200_000]
    kept: dict[int, FloatArray] = {}
    _, building = cpu(lambda: plain_draws(mechanism, few, kept, rng))
    _, peer = cpu(lambda: plain_draws(mechanism, few, kept, rng))
    what = f"{DRAWS:,} secrets, {POINTS:,} outputs"
    return [
        drawn(f"{what}, rows built on the way", DRAWS / cold, "the same for fewer draws", len(few) / building),
        drawn(f"{what}, rows kept", DRAWS / warm, "cumulative rows kept, searched one by one", len(few) / peer),
    ]


def drawn(what: str, rate: float, how: str, peer: float) -> Line:
    baseline = f"numpy, {how}: {peer:,.0f}/s"
    return Line(what, f"{rate:,.0f}/s", baseline, f"{rate / peer:.1f}x", ">= 200,000/s", rate >= 200_000)


def plain_draws(
    mechanism: Tiered, secrets: IntArray, kept: dict[int, FloatArray], rng: np.random.Generator
) -> list[int]:
    """What a few lines of numpy do: the cumulative row of a secret is made once, and each draw is one search in it."""
    outputs = []
    for secret, z in zip(secrets.tolist(), rng.random(len(secrets)).tolist(), strict=True):
        if secret not in kept:
            row = mechanism.log_likelihood(np.array([secret]))[0]
            kept[secret] = np.cumsum(np.exp(row))
        outputs.append(int(kept[secret].searchsorted(z * kept[secret][-1])))
    return outputs


def pipeline() -> Path:
    return data_folder() / "ner" / "en_core_web_sm_ner"


def ag_policy(columns: tuple[str, ...] = ("title", "text")) -> Policy:
    """A policy of the texts that are not released later: the pipeline has read 1,000 of AG News."""
    corpus = read_published("ag_news")
    ner = Pipeline(pipeline(), is_cached=False)
    vectors = read_vectors(data_folder() / "glove.6B.100d.npz")
    codec = TextCodec.fit(
        {name: list(cells[:1000]) for name, cells in corpus.columns.items()},
        TextSettings(is_public=True),
        detectors=[ner],
        vectors=vectors,
    )
    tiers = codec.tiers.with_scales((0.4,) * len(codec.tiers))
    return make_policy(codec.on_columns(columns), Tiered(codec.space, tiers, 2.5), tiers)


NEW, READ = 1000, 200  # texts of a call, and of those that are released one by one


def end_to_end(policy: Policy) -> list[Line]:
    """Texts in memory to texts in memory: the policy with its pipeline, on texts that nothing has read, and again.

    Peers in the same run, on the same texts: spaCy with the same pipeline, which only finds names, and Presidio with
    it, which finds them and masks them.
    """
    texts, sanitizer = list(read_published("ag_news").texts), Sanitizer(policy)
    many, few = texts[-NEW:], texts[-NEW - READ : -NEW]
    readers = {"ours": sanitizer.texts, "spaCy": spacy_alone(), "Presidio": presidio_alone()}
    for read in readers.values():
        read(texts[:20])  # the pipelines are loaded
    forget()
    batch = in_turn(readers, [many[at : at + 500] for at in range(0, NEW, 500)])
    _, warm = cpu(lambda: sanitizer.texts(many))
    one_by_one = {name: partial(each_alone, read) for name, read in readers.items()}
    alone = in_turn(one_by_one, [few[at : at + 50] for at in range(0, READ, 50)])
    _, known = cpu(lambda: [sanitizer.texts([text]) for text in few])
    return [
        beside(f"{NEW:,} new texts of AG News in calls of 500, names found by NER", batch, NEW),
        Line("the same texts again, in one call", f"{NEW / warm:,.0f} texts/s"),
        beside("one new text a call", alone, READ),
        Line("one known text a call", f"{READ / known:,.0f} texts/s", limit=">= 5,000/s", holds=READ / known >= 5000),
    ]


Reader = Callable[[Sequence[str]], object]


def each_alone(read: Reader, texts: Sequence[str]) -> None:
    for text in texts:
        read([text])


def in_turn(readers: dict[str, Reader], parts: Sequence[Sequence[str]]) -> dict[str, float]:
    """CPU seconds of each reader for all parts; they take turns, so that what else runs slows all of them."""
    spent = dict.fromkeys(readers, 0.0)
    for part in parts:
        for name, read in readers.items():
            spent[name] += cpu(partial(read, part))[1]
    return spent


def beside(what: str, seconds: dict[str, float], count: int) -> Line:
    rates = {name: count / spent for name, spent in seconds.items()}
    said = ", ".join(f"{name} {rate:,.0f}/s" for name, rate in rates.items() if name != "ours")
    ratio = rates["ours"] / rates["spaCy"]
    return Line(what, f"{rates['ours']:,.0f} texts/s", said, f"{ratio:.2f}x spaCy", ">= .95x", ratio >= 0.95)


def spacy_alone() -> Reader:
    import spacy  # noqa: PLC0415 - optional

    nlp = spacy.load(pipeline())
    return lambda texts: [doc.ents for doc in nlp.pipe(texts)] if len(texts) > 1 else nlp(texts[0]).ents


def presidio_alone() -> Reader:
    """Presidio with the same pipeline and its recognisers of names: analysis and masking, text by text."""
    from presidio_analyzer import AnalyzerEngine  # noqa: PLC0415 - optional
    from presidio_analyzer.nlp_engine import NlpEngineProvider  # noqa: PLC0415
    from presidio_anonymizer import AnonymizerEngine  # noqa: PLC0415

    models = [{"lang_code": "en", "model_name": str(pipeline())}]
    provider = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": models})
    analyser, masker = AnalyzerEngine(nlp_engine=provider.create_engine()), AnonymizerEngine()
    asked: dict[str, Any] = {"language": "en", "entities": ["PERSON", "LOCATION", "ORGANIZATION"]}
    return lambda texts: [masker.anonymize(t, analyser.analyze(t, **asked)).text for t in texts]  # type: ignore[arg-type]


def repeated(path: Path, megabytes: int) -> None:
    """AG News over and over, each time under other row numbers."""
    header, _, rows = (data_folder() / "ag_news.csv").read_text(encoding="utf-8").partition("\n")
    with path.open("w", encoding="utf-8") as stream:
        stream.write(header + "\n")
        while stream.tell() < megabytes * 1_000_000:
            stream.write(rows)


LAUNCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss / 1000, used.ru_utime + used.ru_stime)
"""  # started from a small process: a child's peak counts what its parent held when it was started


def peak(folder: Path, megabytes: int) -> tuple[float, float]:
    """Peak memory (MB) and CPU seconds of the command on a file of that size."""
    source, out = folder / f"in{megabytes}.csv", folder / f"out{megabytes}.csv"
    repeated(source, megabytes)
    command = ["-m", "oddshift", "protect", str(source), str(out), "--policy", str(folder / f"policy{megabytes}")]
    launched = [sys.executable, "-c", LAUNCH, sys.executable, *command, "--allow-uncertified", "--json"]
    said = subprocess.run(launched, capture_output=True, text=True, check=True).stdout
    source.unlink()
    out.unlink()
    most, seconds = (float(number) for number in said.split())
    return most, seconds


def memory(policy: Policy, sizes: tuple[int, ...]) -> list[Line]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in sizes:  # each with a ledger of its own, which knows none of the texts
            save_policy(folder / f"policy{size}", policy)
        found = {size: peak(folder, size) for size in sizes}
    first = found[sizes[0]][0]
    return [
        Line(
            f"peak memory, {size} MB of CSV ({size / seconds:.2f} MB/s)",
            f"{most:,.0f} MB",
            "" if size == sizes[0] else f"{sizes[0]} MB: {first:,.0f} MB",
            f"{most / first:.3f}",
            "1,500 MB" if size == sizes[0] else "1.1 times, 1,500 MB",
            most < 1500 and most / first < 1.1,
        )
        for size, (most, seconds) in found.items()
    ]


def run(sizes: tuple[int, ...] = (4, 16)) -> list[Line]:
    lines = sampling()
    try:
        read_published("ag_news")
    except InvalidInput:
        return [*lines, Line("AG News", "left out: no real data here")]
    policy = ag_policy()
    return [*lines, *end_to_end(policy), *memory(policy, sizes)]
