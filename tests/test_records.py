import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.model.records import MASKED, SLOT, Context, Records
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

SPACE = Space(np.arange(4.0)[:, None])


def _context():
    # document 0: "a _ . b _"   document 1: "_"   document 2: "c <masked>"
    return Context(
        tokens=np.array([0, SLOT, 1, 2, SLOT, SLOT, 3, MASKED]),
        offsets=np.array([0, 5, 6, 8]),
        symbols=("a", ".", "b", "c"),
        breaks=np.array([True, False, False, True, False, True, True, False]),
    )


def _records():
    return Records.from_documents(SPACE, [[0, 3], [2], []], context=_context(), users=["u", "v", "u"])


def test_documents_are_views_of_the_points():
    records = _records()
    assert [document.tolist() for document in records.documents] == [[0, 3], [2], []]
    assert records.lengths.tolist() == [2, 1, 0]
    assert records.document_of_position.tolist() == [0, 0, 1]
    assert records.counts().tolist() == [1, 0, 1, 1]
    assert len(records) == 3


def test_nothing_prints_a_value():
    space = Space([[31.5], [77.25]])
    records = Records.from_documents(space, [[1, 0]], users=["alice"], subgroups=["north"])
    for text in (repr(records), str(records), repr(_context())):
        assert not any(secret in text for secret in ("31.5", "77.25", "alice", "[1, 0]", "'a'"))
    assert "alice" not in repr(records.users)


def test_a_secret_has_a_tier_through_its_point():
    tiers = Tiers([0, 1, 1, 0], names=("PII", "PoII"), scales=(0.4, 0.9), is_public=True)
    assert _records().tier_of_position(tiers).tolist() == [0, 0, 1]
    short = Tiers([0, 1], names=("PII", "PoII"), scales=(0.4, 0.9), is_public=True)
    with pytest.raises(InvalidInput, match="label 2 points, expected 4"):
        _records().tier_of_position(short)


def test_joined_refuses_what_is_not_known():
    bare = Records.from_documents(SPACE, [[0], [1]])
    with pytest.raises(InvalidInput, match="sentence breaks"):
        bare.joined("sentence")
    with pytest.raises(InvalidInput, match="user ids"):
        bare.joined("user")
    with pytest.raises(InvalidInput, match="expected one of"):
        bare.joined("paragraph")
    with pytest.raises(InvalidInput, match="joint by user"):
        _records().joined("user").joined("sentence")


def test_split_is_a_partition_with_stated_shares():
    records = Records.from_documents(SPACE, [[i % 4] for i in range(100)])
    split = records.split(rng=np.random.default_rng(0))
    assert (len(split.fit), len(split.select), len(split.certify)) == (60, 20, 20)
    every = np.concatenate([split.fit.sources, split.select.sources, split.certify.sources])
    assert sorted(every.tolist()) == list(range(100))


def test_split_repeats_under_the_same_seed():
    records = Records.from_documents(SPACE, [[i % 4] for i in range(50)])
    first, second = (records.split(rng=np.random.default_rng(7)) for _ in range(2))
    assert first.certify.sources.tolist() == second.certify.sources.tolist()
    other = records.split(rng=np.random.default_rng(8))
    assert first.certify.sources.tolist() != other.certify.sources.tolist()


def test_split_keeps_sentences_of_a_document_together():
    records = Records.from_documents(SPACE, [[0, 3], [2], []], context=_context()).joined("sentence")
    split = records.split(rng=np.random.default_rng(0))
    parts = [set(part.sources.tolist()) for part in (split.fit, split.select, split.certify)]
    assert [len(part) for part in parts] == [1, 1, 1]


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.5, 0.5, 0.5), (1.0, 0.0, 0.0), (float("nan"), 0.5, 0.5)])
def test_split_refuses_bad_shares(fractions):
    with pytest.raises(InvalidInput, match="three numbers > 0 that sum to 1"):
        _records().split(fractions=fractions, rng=np.random.default_rng(0))


def test_split_refuses_too_few_documents_and_absent_users():
    records = Records.from_documents(SPACE, [[0], [1]])
    with pytest.raises(InvalidInput, match="2 independent documents or users, expected at least 3"):
        records.split(rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="carry no user ids"):
        records.split(by="user", rng=np.random.default_rng(0))


def test_construction_refuses_what_does_not_fit():
    with pytest.raises(InvalidInput, match=r"expected integers in \[0, 4\)"):
        Records.from_documents(SPACE, [[4]])
    with pytest.raises(InvalidInput, match="documents is empty"):
        Records.from_documents(SPACE, [])
    with pytest.raises(InvalidInput, match="users has 1 entries, expected 2"):
        Records.from_documents(SPACE, [[0], [1]], users=["u"])
    with pytest.raises(InvalidInput, match="context of document 0 has 2 slots, expected 1"):
        Records.from_documents(SPACE, [[0], [2], []], context=_context())
    with pytest.raises(InvalidInput, match="offsets must rise from 0 to 1"):
        Records(space=SPACE, points=np.array([0]), offsets=np.array([0, 2]))
    with pytest.raises(InvalidInput, match="context has 3 documents, expected 1"):
        Records.from_documents(SPACE, [[0]], context=_context())


def test_context_refuses_unknown_symbols_and_breaks():
    good = {"tokens": np.array([0]), "offsets": np.array([0, 1]), "symbols": ("a",), "breaks": np.array([True])}
    with pytest.raises(InvalidInput, match=r"span \[5, 5\]"):
        Context(**{**good, "tokens": np.array([5])})
    with pytest.raises(InvalidInput, match="breaks has 2 entries"):
        Context(**{**good, "breaks": np.array([True, False])})
