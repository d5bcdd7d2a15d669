"""Records against lists of lists: taking, regrouping and splitting documents move whole secrets and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.model.records import MASKED, SLOT, Context, Records, assign_parts, gather, numbered, offsets_of
from oddshift.model.space import Space

SPACE = Space(np.arange(5.0)[:, None])

# a token is a secret ("s", point), a mask ("m",) or a word ("w", symbol), and says whether it opens a sentence
token = st.one_of(
    st.tuples(st.just("s"), st.integers(0, 4), st.booleans()),
    st.tuples(st.just("m"), st.just(0), st.booleans()),
    st.tuples(st.just("w"), st.integers(0, 2), st.booleans()),
)
texts = st.lists(st.lists(token, max_size=6), min_size=1, max_size=6)


def records_of(documents, users=None, subgroups=None):
    """Records with a context from documents written as lists of tokens."""
    tokens = [t for document in documents for t in document]
    code = {"s": lambda value: SLOT, "m": lambda value: MASKED, "w": lambda value: value}
    context = Context(
        tokens=np.array([code[kind](value) for kind, value, _ in tokens], dtype=np.int64),
        offsets=offsets_of([len(d) for d in documents]),
        symbols=("x", "y", "z"),
        breaks=np.array([opens for _, _, opens in tokens], dtype=bool),
    )
    secrets = [[value for kind, value, _ in d if kind == "s"] for d in documents]
    return Records.from_documents(SPACE, secrets, context=context, users=users, subgroups=subgroups)


def written(records):
    """The documents of records as lists of tokens again, read position by position."""
    points = iter(records.points.tolist())
    result = []
    context = records.context
    for a, b in zip(context.offsets[:-1], context.offsets[1:], strict=True):
        document = []
        for code, opens in zip(context.tokens[a:b].tolist(), context.breaks[a:b].tolist(), strict=True):
            kind = "s" if code == SLOT else "m" if code == MASKED else "w"
            document.append((kind, next(points) if kind == "s" else max(code, 0), opens))
        result.append(document)
    return result


def sentences(document):
    """One document cut in front of every token that opens a sentence; an empty one stays one empty sentence."""
    parts = [[]]
    for place, item in enumerate(document):
        if item[2] and place:
            parts.append([])
        parts[-1].append(item)
    return parts


@given(texts)
@settings(max_examples=40, deadline=None)
def test_documents_come_back_as_they_were_written(documents):
    records = records_of(documents)
    assert written(records) == documents
    assert records.lengths.tolist() == [sum(kind == "s" for kind, _, _ in d) for d in documents]
    assert records.document_of_position.tolist() == [k for k, n in enumerate(records.lengths) for _ in range(n)]


@given(texts, st.data())
@settings(max_examples=40, deadline=None)
def test_take_is_indexing_a_list_with_repeats_and_in_any_order(documents, data):
    index = data.draw(st.lists(st.integers(0, len(documents) - 1), min_size=1, max_size=8))
    users = [f"u{k % 3}" for k in range(len(documents))]
    taken = records_of(documents, users, users).take(index)
    assert written(taken) == [documents[k] for k in index]
    assert taken.sources.tolist() == index
    codes, names = numbered(users)
    assert taken.users.tolist() == [codes[k] for k in index]
    assert [taken.subgroup_names[g] for g in taken.subgroups] == [users[k] for k in index]
    assert names == taken.subgroup_names


@given(texts)
@settings(max_examples=40, deadline=None)
def test_sentences_are_cut_in_front_of_every_break_and_nowhere_else(documents):
    users = [f"u{k % 2}" for k in range(len(documents))]
    by_sentence = records_of(documents, users).joined("sentence")
    expected = [(k, part) for k, document in enumerate(documents) for part in sentences(document)]
    assert written(by_sentence) == [part for _, part in expected]
    assert by_sentence.sources.tolist() == [k for k, _ in expected]
    assert by_sentence.users.tolist() == [min(k % 2, 1) for k, _ in expected]
    assert by_sentence.joint_by == "sentence"


@given(texts, st.data())
@settings(max_examples=40, deadline=None)
def test_everything_of_a_user_is_read_together_in_the_order_it_came(documents, data):
    users = data.draw(st.lists(st.sampled_from("abc"), min_size=len(documents), max_size=len(documents)))
    by_user = records_of(documents, users, subgroups=users).joined("user")
    order = list(dict.fromkeys(users))
    expected = [[t for d, u in zip(documents, users, strict=True) if u == user for t in d] for user in order]
    assert written(by_user) == expected
    assert by_user.users.tolist() == list(range(len(order)))
    assert [by_user.subgroup_names[g] for g in by_user.subgroups] == order


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.data())
@settings(max_examples=40, deadline=None)
def test_gather_lists_the_positions_of_the_chosen_documents(lengths, data):
    index = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=8))
    offsets = offsets_of(lengths)
    flat, cut = gather(offsets, np.array(index, dtype=np.int64))
    positions = [list(range(offsets[k], offsets[k + 1])) for k in index]
    assert flat.tolist() == [p for document in positions for p in document]
    assert np.diff(cut).tolist() == [len(document) for document in positions]


@given(
    st.integers(3, 60), st.integers(0, 10**6), st.sampled_from([(0.6, 0.2, 0.2), (0.98, 0.01, 0.01), (0.1, 0.8, 0.1)])
)
@settings(max_examples=40, deadline=None)
def test_parts_keep_clusters_whole_and_none_is_empty(clusters, seed, fractions):
    rng = np.random.default_rng(seed)
    of = np.concatenate([np.arange(clusters), rng.integers(0, clusters, 20)]) * 7 + 3
    part = assign_parts(of, fractions, rng)
    assert set(part.tolist()) == {0, 1, 2}
    owner = {}
    for cluster, where in zip(of.tolist(), part.tolist(), strict=True):
        assert owner.setdefault(cluster, where) == where
    counts = np.bincount(list(owner.values()), minlength=3)
    for share, count in zip(fractions, counts, strict=True):
        assert abs(count - share * clusters) <= 2


def test_every_document_is_equally_likely_to_certify():
    """10 documents, 4,000 splits: each is in the last part with probability .2, standard error .0063."""
    rng = np.random.default_rng(0)
    share = np.mean([assign_parts(np.arange(10), (0.6, 0.2, 0.2), rng) == 2 for _ in range(4_000)], axis=0)
    assert np.abs(share - 0.2).max() < 4 * 0.0063


def test_a_split_by_document_may_share_a_user_and_a_split_by_user_may_not():
    records = Records.from_documents(SPACE, [[0]] * 60, users=[k // 20 for k in range(60)])
    by_document = records.split(by="document", rng=np.random.default_rng(0))
    users = [set(part.users.tolist()) for part in (by_document.fit, by_document.select, by_document.certify)]
    assert users[0] & users[2]
    by_user = records.split(rng=np.random.default_rng(0))
    assert [len(part) for part in (by_user.fit, by_user.select, by_user.certify)] == [20, 20, 20]


def test_sentences_of_a_user_stay_with_the_user_in_a_split():
    documents = [[("s", k % 5, True), ("s", k % 5, True)] for k in range(12)]
    records = records_of(documents, users=[k // 3 for k in range(12)]).joined("sentence")
    split = records.split(rng=np.random.default_rng(3))
    users = [set(part.users.tolist()) for part in (split.fit, split.select, split.certify)]
    assert not (users[0] & users[1] | users[0] & users[2] | users[1] & users[2])
    assert sum(len(part) for part in (split.fit, split.select, split.certify)) == 24


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0], r"offsets must rise from 0 to 2 with at least one document \(1 entries\)"),
        ([1, 2], "offsets must rise from 0 to 2"),
        ([0, 1], "offsets must rise from 0 to 2"),
        ([0, 2, 1, 2], "offsets must rise from 0 to 2"),
    ],
)
def test_offsets_rise_from_zero_to_the_number_of_positions(offsets, message):
    with pytest.raises(InvalidInput, match=message):
        Records(space=SPACE, points=np.array([0, 1]), offsets=np.array(offsets))


def test_a_refusal_never_shows_the_secret_that_was_out_of_range():
    for wrong in ([[4242]], [[-4242]], [[0], [1, 4242]]):
        with pytest.raises(InvalidInput, match="another value") as caught:
            Records.from_documents(SPACE, wrong)
        assert "4242" not in str(caught.value)


def test_records_keep_a_copy_of_points_and_offsets():
    points, offsets = np.array([0, 1]), np.array([0, 1, 2])
    records = Records(space=SPACE, points=points, offsets=offsets)
    points[0], offsets[1] = 4, 2  # the caller's own arrays stay writable
    assert records.points.tolist() == [0, 1]
    assert records.lengths.tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        records.offsets[0] = 1


def test_users_may_be_any_hashable_values_and_are_numbered_in_order():
    codes, distinct = numbered([("a", 1), None, ("a", 1), 3.5])
    assert codes.tolist() == [0, 1, 0, 2]
    assert distinct == (("a", 1), None, 3.5)
    assert numbered([])[0].tolist() == []


def test_clusters_are_users_where_known_and_sources_otherwise():
    bare = Records.from_documents(SPACE, [[0], [1], [2]])
    assert bare.clusters.tolist() == [0, 1, 2]
    assert bare.take([2, 2]).clusters.tolist() == [2, 2]
    assert Records.from_documents(SPACE, [[0], [1]], users=["z", "z"]).clusters.tolist() == [0, 0]


def test_counts_cover_points_that_never_occur():
    assert Records.from_documents(SPACE, [[3, 3], [0]]).counts().tolist() == [1, 0, 0, 2, 0]
    assert Records.from_documents(SPACE, [[], []]).counts().tolist() == [0] * 5


@pytest.mark.parametrize("length", ["users", "subgroups", "sources"])
def test_a_column_of_another_length_is_refused_by_name(length):
    column = {length: np.zeros(3, dtype=np.int64)}
    with pytest.raises(InvalidInput, match=rf"{length} has 3 entries, expected 2"):
        Records(space=SPACE, points=np.array([0, 1]), offsets=np.array([0, 1, 2]), **column)


def test_slots_must_match_document_by_document_and_not_only_in_total():
    context = Context(
        tokens=np.array([SLOT, SLOT]), offsets=np.array([0, 2, 2]), symbols=(), breaks=np.array([True, False])
    )
    with pytest.raises(InvalidInput, match="context of document 0 has 2 slots, expected 1"):
        Records.from_documents(SPACE, [[0], [1]], context=context)


def test_a_context_token_below_the_mask_is_refused():
    with pytest.raises(InvalidInput, match=r"context tokens span \[-3, -3\], expected \[-2, 1\)"):
        Context(tokens=np.array([-3]), offsets=np.array([0, 1]), symbols=("a",), breaks=np.array([True]))
