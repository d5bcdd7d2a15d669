"""What the source promises about itself: imports point one way, files and functions stay small, starting is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "oddshift"

ROOMS = [
    "base",
    "model",
    "mechanisms",
    "leakage",
    "bounds",
    "evidence",
    "attackers",
    "audit",
    "adapt",
    "data",
    "protect",
    "app",
]
"""The rooms, each importing only from those above it and from itself."""

HEAVY = (
    "torch",
    "pandas",
    "spacy",
    "presidio_analyzer",
    "presidio_anonymizer",
    "sklearn",
    "pyarrow",
    "dask",
    "matplotlib",
    "altair",
    "joblib",
    "highspy",
    "scipy.stats",
    "scipy.optimize",
)

FILES = sorted(SOURCE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text()) for path in FILES}
NAMES = {path: ".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in FILES}


def part(name):
    """The room that a module belongs to: the first word below oddshift."""
    return name.removeprefix("oddshift").lstrip(".").split(".")[0]


def imported(tree):
    """Every oddshift module or name that a file imports, anywhere in it, annotations apart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("oddshift"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("oddshift"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that their direction can be read"


def test_every_file_is_in_a_room():
    assert len(ROOMS) <= 12
    known = {*ROOMS, "__init__", "__main__"}
    assert {part(name) for name in NAMES.values()} - known == set()


@pytest.mark.parametrize("path", FILES, ids=NAMES.values())
def test_imports_point_one_way(path):
    own = part(NAMES[path])
    if own in {"__init__", "__main__"}:
        return
    for name in imported(TREES[path]):
        other = part(name)
        assert other, f"{NAMES[path]} imports the package itself, which imports everything"
        assert ROOMS.index(other) <= ROOMS.index(own), f"{NAMES[path]} imports {name}, which comes later"


def module_of(name):
    """The file that an imported name lives in, as a dotted name below oddshift."""
    names = set(NAMES.values())
    below = name.removeprefix("oddshift.")
    candidates = [below, f"{below}.__init__", below.rpartition(".")[0], f"{below.rpartition('.')[0]}.__init__"]
    return next((c for c in candidates if c in names), None)


def test_no_import_cycles():
    edges = {
        NAMES[path]: {m for m in map(module_of, imported(tree)) if m and m != NAMES[path]}
        for path, tree in TREES.items()
    }
    done, active = set(), []

    def visit(module):
        if module in active:
            raise AssertionError(" -> ".join([*active[active.index(module) :], module]))
        if module not in done:
            active.append(module)
            for other in edges[module]:
                visit(other)
            active.pop()
            done.add(module)

    for module in edges:
        visit(module)


def test_no_file_over_350_lines():
    long = {NAMES[path]: lines for path in FILES if (lines := len(path.read_text().splitlines())) > 350}
    assert long == {}


def test_no_function_over_50_lines():
    long = {
        f"{NAMES[path]}.{node.name}": lines
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and (lines := node.end_lineno - node.lineno + 1) > 50
    }
    assert long == {}


def test_classes_are_one_deep():
    """A concrete class has at most one ancestor of ours, and that one has none (errors are a tree on purpose)."""
    bases = {
        node.name: {b.id for b in node.bases if isinstance(b, ast.Name)}
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and NAMES[path] != "base.errors"
    }
    deep = [name for name, above in bases.items() for b in above if bases.get(b, set()) & set(bases)]
    assert deep == []


def test_nothing_is_pickled_and_no_global_seed_is_set():
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "dill", "cloudpickle", "shelve", "marshal"}, NAMES[path]
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), NAMES[path]
                assert node.value.value is False, NAMES[path]
        assert "np.random.seed" not in path.read_text()


def twice(names):
    """Names that more than one file uses."""
    homes = {}
    for name, home in names:
        homes.setdefault(name, set()).add(home)
    return {name: sorted(found) for name, found in homes.items() if len(found) > 1}


def test_no_two_modules_share_a_name():
    assert twice((name.split(".")[-1], name) for name in NAMES.values() if not name.endswith("__init__")) == {}


def test_no_two_public_classes_share_a_name():
    classes = (
        (node.name, NAMES[path])
        for path, tree in TREES.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert twice(classes) == {}


def test_no_file_is_called_by_what_it_is_not():
    assert not {Path(name).name for name in NAMES.values()} & {"utils", "helpers", "common", "misc"}


def test_first_docstring_line_defines_the_notion():
    for path, tree in TREES.items():
        assert ast.get_docstring(tree), NAMES[path]


PROGRAM = """
import sys, time
before = time.process_time()
import oddshift
print(time.process_time() - before)
print(*sys.modules)
"""


def test_importing_is_light():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    seconds, modules = run.stdout.splitlines()
    loaded = set(modules.split())
    print(f"import oddshift: {float(seconds):.2f} s of CPU, {len(loaded)} modules")
    assert loaded.isdisjoint(HEAVY)
    assert float(seconds) < 5.0
