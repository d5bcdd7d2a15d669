"""Blocks of a release: whole documents at a time, so that rows over all candidates stay within a stated size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oddshift.model.release import Release


def document_blocks(release: Release, width: int, entries: int) -> Iterator[range]:
    """Runs of whole documents of about `entries` entries, a row of `width` for each position; one document or more."""
    start, limit = 0, max(1, entries // width)
    while start < len(release):
        stop = int(np.searchsorted(release.offsets, release.offsets[start] + limit, side="right")) - 1
        stop = min(max(stop, start + 1), len(release))
        yield range(start, stop)
        start = stop


def release_blocks(release: Release, width: int, entries: int) -> Iterator[tuple[int, Release]]:
    """The same as releases, those without any position left out, each with the number of its first position."""
    for documents in document_blocks(release, width, entries):
        block = release.take(np.arange(documents.start, documents.stop))
        if len(block.outputs):
            yield int(release.offsets[documents.start]), block
