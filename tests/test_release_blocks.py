"""Blocks of a release: whole documents, every position once, and none without a position."""

import numpy as np
import pytest

from oddshift.attackers.attacker import document_blocks, release_blocks
from worlds import ring


@pytest.mark.parametrize("entries", [1, 30, 100, 10**6])
def test_blocks_are_whole_documents_and_cover_every_position_once(entries):
    release = ring(documents=80, length=0).release
    ranges = list(document_blocks(release, 10, entries))
    assert [k for documents in ranges for k in documents] == list(range(len(release)))
    for documents in ranges:
        positions = int(release.offsets[documents.stop] - release.offsets[documents.start])
        assert len(documents) == 1 or positions <= max(1, entries // 10)
    found = list(release_blocks(release, 10, entries))
    assert all(len(block.outputs) for _, block in found)
    covered = [first + k for first, block in found for k in range(len(block.outputs))]
    assert covered == list(range(len(release.outputs)))
    for first, block in found:
        np.testing.assert_array_equal(block.outputs, release.outputs[first : first + len(block.outputs)])
