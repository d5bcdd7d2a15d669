"""No value that holds secrets shows them by accident: classes with data write their own repr, or have none."""

import ast
from functools import cache
from pathlib import Path

import pytest

import oddshift

SOURCE = Path(oddshift.__file__).parent
ROOMS = ("model", "data", "protect")
DATA_TYPES = ("Array", "ndarray", "Columns", "Mapping[str, list", "list[str]")
DATA_NAMES = {"texts", "words", "forms", "cells", "names", "entries", "surnames", "joined", "secret", "keys", "db"}
HARMLESS = {
    "Precomputed": "distances between points, which are public",
    "Claimed": "numbers of rows",
    "KeyBatch": "keyed hashes",
    "PolicyTerms": "forms of tiers: noise, surrogate or mark",
    "TierTerms": "names of tiers",
    "TierRule": "names of tiers",
    "TextFile": "names of columns",
    "ArrayFile": "names of columns",
    "SetJob": "names of columns",
    "SetClaim": "numbers of rows",
}
"""Classes whose fields look like data and are not, with what they are."""


def dataclasses_of(path):
    """Every dataclass of a file: its name, whether its repr is generated, and its fields that may hold data."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ClassDef):
            continue
        marks = [ast.unparse(mark) for mark in node.decorator_list]
        if not any(mark.startswith("dataclass") for mark in marks):
            continue
        is_written = any(isinstance(part, ast.FunctionDef) and part.name == "__repr__" for part in node.body)
        is_generated = not is_written and "repr=False" not in marks[0]
        fields = [part for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)]
        yield node.name, is_generated, [field for field in fields if may_hold_data(field)]


def may_hold_data(field):
    if field.value is not None and "repr=False" in ast.unparse(field.value):
        return False
    kind = ast.unparse(field.annotation)
    if kind == "int" or kind.startswith(("ClassVar", "Callable")):
        return False
    return any(word in kind for word in DATA_TYPES) or field.target.id in DATA_NAMES


FILES = sorted(path for room in ROOMS for path in (SOURCE / room).rglob("*.py"))


@cache
def found_classes():
    return [(path, *found) for path in FILES for found in dataclasses_of(path)]


def test_the_scan_sees_the_classes_that_hold_secrets():
    holding = {name for _, name, _, fields in found_classes() if fields}
    assert {"Records", "Spans", "Tokens", "Lexicon", "Dataset", "TextCells", "RecordKeys", "KeptCells"} <= holding


def test_no_class_with_data_has_a_generated_repr():
    shown = {
        name: [field.target.id for field in fields]
        for _, name, is_generated, fields in found_classes()
        if is_generated and fields and name not in HARMLESS
    }
    assert shown == {}


def test_every_exception_is_still_needed():
    needed = {name for _, name, is_generated, fields in found_classes() if is_generated and fields}
    assert set(HARMLESS) <= needed


@pytest.mark.parametrize(
    ("source", "is_flagged"),
    [
        ("@dataclass(frozen=True)\nclass A:\n    texts: tuple[str, ...]\n", True),
        ("@dataclass(frozen=True)\nclass A:\n    x: FloatArray\n", True),
        ("@dataclass(frozen=True, repr=False)\nclass A:\n    x: FloatArray\n", False),
        ("@dataclass\nclass A:\n    x: FloatArray\n    def __repr__(self): return 'A'\n", False),
        ("@dataclass\nclass A:\n    x: FloatArray = field(repr=False)\n", False),
        ("@dataclass\nclass A:\n    words: int\n", False),
        ("class A:\n    x: FloatArray\n", False),
    ],
)
def test_what_the_scan_flags(source, is_flagged, tmp_path):
    (tmp_path / "a.py").write_text(source)
    assert any(is_generated and fields for _, is_generated, fields in dataclasses_of(tmp_path / "a.py")) is is_flagged
