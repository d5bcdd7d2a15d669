"""Streams: texts answered one at a time, with and without others that wait, and with the ledger that claims them.

`python -m benchmarks stream`. Lines that wait together are claimed and drawn together; a client that sends a line only
after the answer to the last one pays the whole cost of a call, and of a flush of the ledger to disk, for every line.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from pathlib import Path

from benchmarks.table import Line, cpu, markdown
from oddshift.app.commands.service import serve
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential
from oddshift.protect import Ledger, ProtectSettings, Sanitizer
from oddshift.protect.policies import Policy, make_policy
from oddshift.protect.stream import ReleaseStream

FREE = ProtectSettings(allow_uncertified=True)
WANTED = 5000


def policy_and_texts(count: int) -> tuple[Policy, list[str]]:
    corpus = people(2000)
    policy = make_policy(corpus.codec, Exponential(corpus.space, 2.0), corpus.tiers)
    return policy, [f"{corpus.texts[n % 2000]} Note {n}." for n in range(count)]


def in_memory(policy: Policy, texts: list[str]) -> list[Line]:
    sanitizer = Sanitizer(policy)
    sanitizer.texts(texts[:500])  # rows are built
    new = [f"{text} Remark {n}." for n, text in enumerate(texts[:500])]
    _, batch = cpu(lambda: sanitizer.texts(texts[500:]))
    rates = [500 / cpu(lambda: [sanitizer.texts([text]) for text in new])[1] for _ in range(2)]
    return [
        Line(f"{len(texts) - 500:,} new texts in one call", f"{(len(texts) - 500) / batch:,.0f} texts/s"),
        *(
            Line(f"one {what} text in a call", f"{rate:,.0f} texts/s", "", "", f">= {WANTED:,}/s", rate >= WANTED)
            for what, rate in zip(("new", "known"), rates, strict=True)
        ),
    ]


def piped(policy: Policy, texts: list[str]) -> Line:
    """A client that writes lines as fast as they are taken; every answer is sent by itself, and claimed before."""
    lines = [json.dumps({"text": text}) + "\n" for text in texts]
    with tempfile.TemporaryDirectory() as home, Ledger.beside(Path(home)).kept_open() as ledger:
        stream = ReleaseStream(policy, ledger, FREE)
        list(stream.answers([json.dumps({"text": f"warm {text}"}) + "\n" for text in texts[:2000]]))
        reader, writer = os.pipe()
        answers, out = [0], os.open(os.devnull, os.O_WRONLY)

        def send(answer: str) -> None:
            answers[0] += 1
            os.write(out, answer.encode())

        def write() -> None:
            with open(writer, "w", encoding="utf-8") as pipe:
                pipe.writelines(lines)

        client = threading.Thread(target=write)
        client.start()
        _, seconds = cpu(lambda: serve(stream, reader, send))
        client.join()
        os.close(reader)
        os.close(out)
    rate = answers[0] / seconds
    what = f"{len(lines):,} lines through a pipe, with a ledger, each answered by itself"
    return Line(
        what, f"{rate:,.0f} texts/s", limit=f">= {WANTED:,}/s", holds=rate >= WANTED and answers[0] == len(lines)
    )


def one_by_one(policy: Policy, texts: list[str]) -> Line:
    """Every answer waits until its claim is on disk, and no faster disk makes it more than one flush for each line."""
    with tempfile.TemporaryDirectory() as home, Ledger.beside(Path(home)).kept_open() as ledger:
        stream = ReleaseStream(policy, ledger, FREE)
        lines = [json.dumps({"text": text}) + "\n" for text in texts]
        list(stream.answers(lines[200:]))
        _, seconds = cpu(lambda: [list(stream.answers([line])) for line in lines[:200]])
    what = "a client that waits for every answer, with a ledger: one flush to disk for each"
    return Line(what, f"{200 / seconds:,.0f} texts/s")


def run() -> list[Line]:
    policy, texts = policy_and_texts(20_000)
    return [*in_memory(policy, texts), piped(policy, texts), one_by_one(policy, texts[:2200])]


if __name__ == "__main__":
    print(markdown(run()))
