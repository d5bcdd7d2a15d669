"""The identity of a value: which contents count, which do not, and what is refused."""

import collections
import enum
import functools
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
import scipy.sparse

from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content, fingerprint, type_name
from oddshift.mechanisms import Exponential, Tiered
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.metric import Euclidean, scaled
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


@dataclass(frozen=True)
class Pair:
    left: object
    right: object = None
    made: int = field(init=False, default=0)


@dataclass(frozen=True)
class Twin:
    left: object
    right: object = None
    made: int = field(init=False, default=0)


Named = collections.namedtuple("Named", "left right")


class Plain:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def heavy(self):
        return object()

    def method(self):
        return self.x


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Speaking:
    def __init__(self, said, hidden):
        self.said, self.hidden = said, hidden

    @property
    def fingerprint(self):
        return self.said


def top_level(value):
    return value


DISTINCT = [
    None,
    *(True, False, 0, 1, -1, 10**30, 0.0, 1.0, 0.1, float("inf"), float("-inf"), float("nan"), 1j),
    *("", "a", "ab", "None", "1", "\x00", "\ud800", b"", b"a", b"ab"),
    *((), (1,), (1, 2), (2, 1), [], [1], [1, 2], ((1,), 2), (1, (2,)), ("a", "b"), ("ab",), ("ab", "")),
    *({}, {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 2}, {1: "a"}, frozenset(), frozenset({1}), frozenset({1, 2})),
    *(Colour.RED, Colour.BLUE, Level.LOW, Pair(1), Pair(1, 2), Pair(2, 1), Twin(1), Named(1, 2), Plain(1), Plain(2)),
    *(int, str, Pair, top_level, len, np.exp, functools.partial(top_level, 1), functools.partial(top_level, 2)),
    *(Plain(1).method, Plain(2).method),
    *(np.zeros(2), np.zeros(3), np.zeros((2, 1)), np.zeros((1, 2)), np.zeros((2, 0)), np.zeros((0, 2)), np.ones(2)),
    *(np.zeros(2, dtype=np.float32), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int32), np.zeros(2, dtype=bool)),
    *(
        np.array(["a", "b"]),
        np.array(["a", "c"]),
        np.array(0.0),
        np.zeros(2, dtype="M8[s]"),
        np.zeros(2, dtype="M8[D]"),
    ),
    *(scipy.sparse.csr_array(np.eye(2)), scipy.sparse.csr_array(np.eye(3)), scipy.sparse.csr_array(2 * np.eye(2))),
]


def test_distinct_contents_have_distinct_fingerprints():
    marks = [fingerprint(value) for value in DISTINCT]
    for (i, a), (j, b) in combinations(enumerate(marks), 2):
        assert a != b, f"{DISTINCT[i]!r} and {DISTINCT[j]!r}"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, MappingProxyType({"a": 1})),
        (frozenset("abc"), frozenset("cba")),
        ({1, 2}, frozenset({2, 1})),
        (np.float64(0.5), 0.5),
        (np.int32(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.arange(3, dtype="<i8"), np.arange(3, dtype=">i8")),
        (np.arange(3.0).astype(">f8"), np.arange(3.0)),
        (np.arange(10)[::2], np.arange(0, 10, 2)),
        (np.asfortranarray(np.arange(6).reshape(2, 3)), np.arange(6).reshape(2, 3)),
        (np.broadcast_to(np.arange(3), (4, 3)), np.tile(np.arange(3), (4, 1))),
        (np.array(["a", "b"], dtype="U9"), np.array(["a", "b"])),
        (np.array(["a", "b"], dtype=object), np.array(["a", "b"])),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"ab"), b"ab"),
        (Plain(3), Plain(3)),
        (Pair(np.arange(2), {"k": (1, 2)}), Pair(np.arange(2), {"k": (1, 2)})),
        (scaled("euclidean", 1.0), Euclidean()),
        ((scaled("euclidean", 1.0), [0]), (Euclidean(), [0])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_equal_contents_have_one_fingerprint(one, two):
    assert fingerprint(one) == fingerprint(two)


def test_a_sparse_matrix_counts_by_what_it_holds():
    dense = np.array([[0.0, 2.0], [3.0, 0.0]])
    formats = [scipy.sparse.csr_array(dense), scipy.sparse.csc_array(dense), scipy.sparse.coo_array(dense)]
    unsorted = scipy.sparse.csr_array((np.array([1.0, 1.0, 3.0, 0.0]), np.array([1, 1, 0, 1]), np.array([0, 2, 4])))
    before = unsorted.nnz
    assert len({fingerprint(matrix) for matrix in (*formats, unsorted)}) == 1
    assert unsorted.nnz == before, "the caller's matrix is not changed"


def test_a_cache_is_not_content():
    one, two = Plain(1), Plain(1)
    assert one.heavy is not None
    assert "heavy" in vars(one)
    assert fingerprint(one) == fingerprint(two)


def test_fields_outside_the_constructor_count():
    one, two = Pair(1), Pair(1)
    object.__setattr__(two, "made", 5)
    assert fingerprint(one) != fingerprint(two)


def test_fields_can_be_left_out():
    assert content(Pair(1, 2), without=("right",)) == content(Pair(1, 3), without=("right",))
    assert content(Pair(1, 2)) == fingerprint(Pair(1, 2))
    assert content(Pair(1, 2), without=("right",)) != content(Pair(1, 2))


def test_its_own_fingerprint_wins():
    said = "ab" * 32
    assert fingerprint(Speaking(said, 1)) == fingerprint(Speaking(said, 2)) == said
    assert fingerprint((Speaking(said, 1),)) == fingerprint((Speaking(said, 2),))
    assert fingerprint((Speaking(said, 1),)) != fingerprint((said,)), "a text is not the value that says it"


def test_a_short_fingerprint_of_its_own_is_hashed():
    found = fingerprint(Speaking("weak", 1))
    assert len(found) == 64
    assert found != fingerprint(Speaking("strong", 1))
    assert found != fingerprint("weak")


def test_a_method_called_fingerprint_is_no_identity():
    class Ledger:
        def fingerprint(self):
            return "x"

    assert len(fingerprint(Ledger())) == 64


def test_classes_of_the_package_keep_their_identity_when_they_move():
    assert type_name(Space) == "Space"
    assert type_name(Plain).endswith(".Plain")
    assert type_name(Plain) != "Plain"


def local():
    def inside(value):
        return value

    return inside


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (lambda value: value, "<lambda> has no fingerprint, expected a function at the top of a module"),
        (local(), "inside has no fingerprint"),
        (functools.partial(local()), "inside has no fingerprint"),
        ({"k": [lambda: 0]}, "<lambda> has no fingerprint"),
        (Path("a"), "a path has no fingerprint"),
        (np.random.default_rng(0), "a Generator has no fingerprint"),
        (threading.Lock(), "a lock has no fingerprint"),
        (Slotted(1), "a Slotted has no fingerprint"),
        (collections.deque([1]), "a deque has no fingerprint"),
        ((i for i in range(3)), "a generator has no fingerprint"),
        (np.zeros(2, dtype=[("a", "f8")]), "has no fingerprint, expected numbers or text"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_content_is_refused_in_one_line(value, said):
    with pytest.raises(InvalidInput, match=said) as refused:
        fingerprint(value)
    assert "\n" not in str(refused.value)


def test_a_value_that_contains_itself_is_refused():
    ring = []
    ring.append(ring)
    with pytest.raises(InvalidInput, match="contains itself"):
        fingerprint(ring)


def test_a_refusal_does_not_show_the_value():
    secret = Slotted("Ann Marchetti")
    with pytest.raises(InvalidInput) as refused:
        fingerprint({"who": secret})
    assert "Marchetti" not in str(refused.value)


def test_torch_values_count_by_their_numbers():
    torch = pytest.importorskip("torch")
    assert fingerprint(torch.ones(3)) == fingerprint(torch.ones(3).requires_grad_())
    assert fingerprint(torch.ones(3)) != fingerprint(torch.ones(3, dtype=torch.float64))
    half = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    assert fingerprint(half) != fingerprint(half + 1)
    assert fingerprint(torch.eye(3)[:, 1]) == fingerprint(torch.tensor([0.0, 1.0, 0.0]))


def test_a_module_counts_by_weights_and_settings():
    torch = pytest.importorskip("torch")

    def made(seed=0, heads=2, kind=torch.nn.ReLU):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            attention = torch.nn.MultiheadAttention(4, heads)
            return torch.nn.Sequential(torch.nn.Linear(4, 4), attention, kind())

    assert fingerprint(made()) == fingerprint(made())
    assert fingerprint(made().eval()) == fingerprint(made().train())
    others = [made(seed=1), made(heads=4), made(kind=torch.nn.Tanh)]
    assert len({fingerprint(module) for module in (made(), *others)}) == 4


def test_a_tensor_outside_the_state_counts():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self, points):
            super().__init__()
            self.points = torch.tensor(points)

    assert fingerprint(Net([1.0])) != fingerprint(Net([2.0]))


def test_a_space_with_a_local_metric_counts_by_its_distances():
    points = [[0.0], [1.0], [3.0]]
    one = Space(points, lambda a, b: float(abs(a - b).sum()))
    two = Space(points, lambda a, b: float(abs(a - b).sum()))
    wider = Space(points, lambda a, b: float(2 * abs(a - b).sum()))
    assert not one.has_named_metric
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != wider.fingerprint != Space(points).fingerprint


def test_mechanisms_under_local_metrics_count_by_their_channel():
    """Two metrics that agree on the points, and not on the outputs."""
    space, outputs = [[0.0], [1.0]], Space([[0.0], [1.0], [5.0]])
    near = Exponential(Space(space, lambda a, b: float(abs(a - b).sum())), 1.0, outputs)
    far = Exponential(Space(space, lambda a, b: float(abs(a - b).sum() * (3 if max(a, b) > 2 else 1))), 1.0, outputs)
    np.testing.assert_array_equal(near.space.distances, far.space.distances)
    assert not np.array_equal(near.log_matrix, far.log_matrix)
    assert near.fingerprint != far.fingerprint


def test_a_mechanism_that_is_not_a_dataclass_counts_by_its_channel():
    class Flat(Mechanism):
        def __init__(self, space, width):
            self.space, self.width = space, width

        @property
        def claimed_epsilon(self):
            return np.inf

        def log_likelihood(self, index):
            rows = np.zeros((len(index), len(self.space)))
            rows[:, 0] = self.width
            return rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))

    space = Space([[0.0], [1.0]])
    assert Flat(space, 1.0).fingerprint == Flat(space, 1.0).fingerprint
    assert Flat(space, 1.0).fingerprint != Flat(space, 2.0).fingerprint


def test_tiers_count_labels_names_scales_and_whether_they_are_public():
    def made(labels=(0, 1), names=("a", "b"), scales=(0.5, 1.0), is_public=True):
        return Tiers(list(labels), names=names, scales=scales, is_public=is_public)

    variants = [made(), made(labels=(1, 0)), made(names=("a", "c")), made(scales=(0.5, 0.9)), made(is_public=False)]
    assert len({tiers.fingerprint for tiers in variants}) == len(variants)
    assert made().fingerprint == made().fingerprint


def test_levels_change_no_release_and_no_fingerprint():
    """Which tiers share a scale matters while scales are looked for; a policy does not keep it."""
    plain = Tiers([0, 1], names=("a", "b"), scales=(0.5, 0.5), is_public=True)
    shared = Tiers([0, 1], names=("a", "b"), scales=(0.5, 0.5), is_public=True, levels=(0, 0))
    space = Space([[0.0], [1.0]])
    np.testing.assert_array_equal(Tiered(space, plain, 1.0).log_matrix, Tiered(space, shared, 1.0).log_matrix)
    assert plain.fingerprint == shared.fingerprint


def test_a_fingerprint_is_the_same_as_it_was():
    """Stored certificates and policies hold fingerprints: the way contents are written down must not change unseen."""
    assert fingerprint((1, "a", 0.5, None)) == "164d3a63c57add416f13aaea1c1150b401a863c1bd38e256273ef1e9de4080b9"
    tiers = Tiers([0, 1], names=("PII", "PoII"), scales=(0.5, 1.0), is_public=True)
    assert (
        Exponential(Space([[0.0], [1.0]]), 1.5).fingerprint
        == "ed13706d9891f6fc7b27c5d39b1272b89026e986fe203440e67b690b5375681d"
    )
    assert tiers.fingerprint == "520c281e3ccfe978f1e8bcce0b1489f57e60ed3ad90cd0056c63c910c93c6648"


def test_torch_is_not_imported():
    called = "import sys; from oddshift.base.identity import fingerprint; fingerprint({'a': [1.0]}); "
    called += "assert not {'torch', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", called], check=True)


def test_large_arrays_are_not_copied():
    """Ten million numbers (80 MB) are hashed where they lie."""
    import tracemalloc

    array = np.zeros(10_000_000)
    tracemalloc.start()
    try:
        fingerprint(array)
        fingerprint(np.broadcast_to(array[:1000], (10_000, 1000)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
