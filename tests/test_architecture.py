"""What the source promises about itself: imports point one way, files and functions stay small, starting is light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from oddshift.attackers import ATTACKERS
from oddshift.data.codecs import CODECS
from oddshift.data.detectors import DETECTORS
from oddshift.mechanisms import MECHANISMS
from oddshift.model.metric import METRICS

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


def test_nothing_that_is_ignored_is_in_the_repository():
    """A link to a virtual environment that is committed replaces the environment itself where it is checked out."""
    root = SOURCE.parent.parent
    if not (root / ".git").exists():
        pytest.skip("no repository")
    tracked = ["git", "-C", str(root), "ls-files", "--cached", "--ignored", "--exclude-standard"]
    assert subprocess.run(tracked, capture_output=True, text=True, check=True).stdout == ""


def test_every_file_is_in_a_room():
    assert len(ROOMS) <= 12
    known = {*ROOMS, "__init__", "__main__"}
    assert {part(name) for name in NAMES.values()} - known == set()


def test_imports_point_one_way():
    for path, tree in TREES.items():
        own = part(NAMES[path])
        for name in () if own in {"__init__", "__main__"} else imported(tree):
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


COMMANDS = "app.commands."
"""Commands import what they run when they run, so that `oddshift --help` stays light."""

LOCAL = {
    "app.attacker_choice": {"attackers.paper"},  # load torch
    "attackers.fitting": {
        "attackers.paper",
        "attackers.reconstruction",
    },  # load torch
    "protect.integrations.spacy_component": {"protect", "protect.policies"},  # spaCy imports it for every pipeline
}
"""Modules of ours that another one of ours imports inside a function, because of what they load."""


def local_imports(tree):
    """Modules of ours that functions of a file import."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside = [node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)]
            for node in inside:
                names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                yield from (name.removeprefix("oddshift.") for name in names if (name or "").startswith("oddshift"))


def test_our_own_modules_are_imported_at_the_top_unless_they_load_much():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("oddshift.") for name in run.stdout.splitlines()[1].split()}
    for path, tree in TREES.items():
        found, name = set(local_imports(tree)), NAMES[path]
        if name.startswith(COMMANDS):
            assert found & loaded == set(), f"{name} imports inside a function what is loaded anyway"
        else:
            assert found == LOCAL.get(name, set()), name


CUTE = {
    *("look", "looks", "believed", "apart", "given", "blueprint", "blueprints", "starting", "checkup", "pieces"),
    *("ruler", "effort", "scout", "said", "told", "likes"),
}
"""Words that name no notion, whatever they are used for."""

ORDINARY = {"look_up", "GIVEN_NAMES"}
"""Names in which one of these words is the right one."""

NOT_ALONE = {"under", "parts", "words", "point"}
"""Words that say too little as the whole name of a module or class, whichever folder it is in."""


def words_of(name):
    """The words that a name of a module, class, function or parameter is made of."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def public_names(body):
    """Names that others use: classes and functions with their parameters, fields and constants, methods."""
    for node in body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name) and target.id[0] != "_")
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and (node.name[0] != "_" or node.name == "__init__"):
            yield node.name
            if isinstance(node, ast.ClassDef):
                yield from public_names(node.body)
            else:
                yield from (argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))


def test_public_names_say_what_they_are():
    named = {(name, name.split(".")[-1]) for name in NAMES.values()}
    named |= {(NAMES[path], name) for path, tree in TREES.items() for name in public_names(tree.body)}
    cute = {f"{home}: {name}" for home, name in named if name not in ORDINARY and words_of(name) & CUTE}
    assert cute == set()


def test_modules_and_classes_have_names_that_say_enough():
    named = {name.split(".")[-1] for name in NAMES.values()}
    classes = (node for tree in TREES.values() for node in tree.body if isinstance(node, ast.ClassDef))
    named |= {node.name.lower() for node in classes}
    assert named & NOT_ALONE == set()


CLIPPED = re.compile(
    r"\b(?:one|row|number|nats|arrays?) a (?:document|position|row|user|tier|line|token|secret|word)\b"
    r"|\bled to\b|\bso many\b|\blikes? best\b|\bDear\b|\bmatters not\b|\btold apart\b|(?<!\.)\bbeside\b(?!\(| besides)"
    r"|(?<!here )\b(?:is|are) no (?!(?:longer|larger|smaller|more|less|better|worse|slower|faster|finer)\b)[a-z]"
)
"""Turns of phrase that a reader has to translate first: write "one for each document", "is not a", "next to"."""


def prose():
    """What readers read: docstrings and messages of the source, and the pages without their code."""
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{NAMES[path]}:{node.lineno}", node.value
    root = SOURCE.parent.parent
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        if page.name != "api.md":  # made from the docstrings
            yield page.name, re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_prose_is_written_in_whole_clauses():
    assert [f"{place}: {found[0]!r}" for place, text in prose() for found in CLIPPED.finditer(text)] == []


def test_nobody_but_a_codec_asks_which_class_a_codec_is():
    """What differs between kinds of data is a method of the codec or a field of its settings."""
    kinds = {CODECS[name] for name in ("text", "table", "location", "vectors")}
    asked = {kind.__name__ for kind in kinds} | {kind.settings_class.__name__ for kind in kinds}
    asked |= {"EncodedText", "EncodedTable", "EncodedPlaces", "EncodedVectors"}
    found = {
        (NAMES[path], ast.unparse(node))
        for path, tree in TREES.items()
        if not NAMES[path].startswith("data.codecs.")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
        if asked & set(re.findall(r"\w+", ast.unparse(node.args[1])))
    }
    assert found == set()


REGISTRIES = {
    "attackers.fitting": ATTACKERS,
    "data.codecs.__init__": CODECS,
    "data.detectors.__init__": DETECTORS,
    "mechanisms.named": MECHANISMS,
    "model.metric": METRICS,
}
"""The module in which each registry stands."""

SUBSETS = {
    ("app.commands.init_commands", "codec"),  # what the first line of `init` calls the data
    ("app.init.sections", "codec"),  # the data that `init` recognises
    ("app.run", "codec"),  # default costs of our own kinds
    ("model.nouns", "codec"),  # what a document of our own kinds is called
    ("attackers.backoff", "metric"),  # metrics with a shortcut
    ("audit.notes", "attacker"),  # the controls
    ("audit.settings", "attacker"),  # the attackers of an audit that names none
    ("data.detectors.storage", "detector"),  # those that a policy can keep
    ("mechanisms.channel", "metric"),  # metrics that are |a - b| on a line
}
"""Modules that treat some entries of a registry in a way of their own, and which."""

COST_MODULES = ("adapt.settings", "model.cost")
"""Costs, which are not metrics but share some of their names."""


def collections_of_names(tree):
    """What the displays of a file list as constants: keys of dictionaries, items of lists, tuples and sets."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            items = node.keys if isinstance(node, ast.Dict) else node.elts
            yield {item.value for item in items if isinstance(item, ast.Constant)}


def test_names_stand_in_their_registries_and_in_no_second_table():
    found, names = set(), {home: set(registry) for home, registry in REGISTRIES.items()}
    for path, tree in TREES.items():
        listed = [said for said in collections_of_names(tree) if len(said) > 1]
        for home, registry in REGISTRIES.items():
            if NAMES[path] not in (home, *COST_MODULES) and any(len(said & names[home]) > 1 for said in listed):
                found.add((NAMES[path], registry.what))
    assert found == SUBSETS


def test_the_configuration_looks_names_up_in_the_registries():
    """It imports the registries of what it builds, and settings are checked against them."""
    used = {
        "app.configuration": {"CODECS", "DETECTORS"},
        "data.dataset": {"CODECS"},
        "app.attacker_choice": {"ATTACKERS"},
        "mechanisms.named": {"MECHANISMS"},
        "data.codecs.text.settings": {"METRICS"},
        "data.codecs.vector_codec": {"METRICS"},
        "protect.policies.policy": {"CODECS", "MECHANISMS"},
        "protect.policies.terms": {"METRICS"},
    }
    trees = {name: TREES[path] for path, name in NAMES.items()}
    for home, registries in used.items():
        assert registries <= {node.id for node in ast.walk(trees[home]) if isinstance(node, ast.Name)}, home
    for registry in REGISTRIES.values():
        assert registry.group == f"oddshift.{registry.what}s"


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


HELP = """
import contextlib, io, sys
sys.argv = ["oddshift", "--help"]
from oddshift.app import cli
with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
    cli.main()
print("doctor" in said.getvalue())
print(*sys.modules)
"""


def test_help_is_light():
    """The list of commands needs their first lines, and none of what they run: the upper rooms are not loaded."""
    run = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    listed, modules = run.stdout.splitlines()
    assert listed == "True"
    loaded = set(modules.split())
    upper = {"attackers", "audit", "adapt", "data", "protect"}
    ours = {name.removeprefix("oddshift.") for name in loaded if name.startswith("oddshift.")}
    assert {name.split(".")[0] for name in ours} & upper == set()
    assert {name for name in ours if name.startswith("app.")} <= {"app.cli", "app.commands"} | {
        name for name in ours if name.startswith(COMMANDS)
    }
    assert loaded.isdisjoint(HEAVY)
