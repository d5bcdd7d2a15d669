"""`__all__` is what is public, the stable names keep their signatures, and every public name says what it does."""

import importlib
import inspect
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import oddshift as od

STABLE = {
    "Space": ["points", "metric"],
    "Space.from_distances": ["distances"],
    "Exponential": ["space", "epsilon", "outputs"],
    "Exponential.sample": ["self", "index", "rng"],
    "Exponential.invert": ["self", "index", "z"],
    "Channel": ["space", "log_matrix", "outputs", "is_estimate"],
    "true_epsilon": ["log_matrix", "distances"],
    "Joint": ["table"],
    "Independent": ["marginals"],
    "Markov": ["initial", "transitions", "length"],
    "log_posterior": ["prior", "log_matrices", "outputs"],
    "mpl": ["log_prior", "log_posterior", "distances"],
    "exact_leakage": ["prior", "log_matrices", "distances", "target"],
    "Leakage.rate": ["self", "epsilon", "pairs"],
    "upper_bound": ["prior", "log_matrices", "distances", "target", "method"],
    "bounds.hoeffding_upper": ["mean", "n", "alpha", "sides"],
    "bounds.clopper_pearson_upper": ["k", "n", "alpha"],
    "bounds.clopper_pearson_lower": ["k", "n", "alpha"],
    "bounds.hoeffding_bentkus_pvalue": ["mean", "n", "delta"],
    "bounds.maurer_pontil_upper": ["values", "alpha"],
    "bounds.betting_upper": ["values", "alpha"],
    "bounds.betting_lower": ["values", "alpha"],
    "bounds.robbins_upper": ["k", "n", "alpha"],
    "bounds.plan_clopper_pearson": ["delta", "p", "alpha", "power"],
    "bounds.failure_exponent": ["n", "delta", "xi"],
    "witness.two_arm": ["k_a", "n_a", "k_b", "n_b", "distance", "alpha"],
    "witness.guess_game": ["correct", "guesses", "distance", "alpha"],
}

DEFAULTS = {
    "Space": {"metric": "euclidean"},
    "exact_leakage": {"target": 0},
    "upper_bound": {"target": 0, "method": "lp"},
    "Leakage.rate": {"pairs": "uniform"},
    "bounds.hoeffding_upper": {"sides": 1},
    "Exponential": {"outputs": None},
}

BRIEF = {"InvalidInput", "OddshiftError", "WorstCase", "Mechanism"}  # no example of their own


FRONT_DOOR = ("texts", "table", "trajectories", "embeddings", "read", "audit", "adapt", "load_policy", "load_run")


@pytest.mark.parametrize("name", FRONT_DOOR)
def test_the_front_door_is_public_documented_and_shown_by_an_example(name):
    page = Path(__file__).resolve().parent.parent / "docs" / "api.md"
    assert name in od.__all__
    assert f"\n### {name}\n" in page.read_text()
    assert ">>> " in inspect.getdoc(getattr(od, name))  # tests/test_docs.py runs it


def find(name):
    value = od
    for word in name.split("."):
        value = getattr(value, word)
    return value


@pytest.mark.parametrize("name", STABLE)
def test_stable_names_keep_their_signatures(name):
    parameters = inspect.signature(find(name)).parameters
    assert list(parameters)[: len(STABLE[name])] == STABLE[name]
    extra = [p for p in list(parameters.values())[len(STABLE[name]) :] if p.default is p.empty]
    assert extra == []
    for word, default in DEFAULTS.get(name, {}).items():
        assert parameters[word].default == default


def test_all_is_what_is_public():
    hidden = {"TYPE_CHECKING", "Any", "ModuleType", "import_module"}
    eager = {
        name
        for name, value in vars(od).items()
        if not name.startswith("_") and not (isinstance(value, types.ModuleType) and name not in od.__all__)
    }
    assert set(od.__all__) == (eager - hidden) | set(od._ON_DEMAND)


def test_the_questions_stay_questions_after_their_rooms_are_imported():
    program = (
        "import oddshift.audit.scan, oddshift.adapt.adapting\nimport oddshift as od\n"
        "from oddshift import adapt, audit\n"
        "assert callable(od.audit) and callable(od.adapt) and audit is od.audit and adapt is od.adapt\n"
        "from oddshift.audit import Audit\nassert 'texts' in dir(od)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = od.nothing


def test_names_are_in_order():
    assert sorted(od.__all__, key=lambda n: (not n[0].isupper(), n)) == list(od.__all__)


PUBLIC = [name for name in od.__all__ if not isinstance(getattr(od, name), types.ModuleType)]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_says_what_it_does(name):
    text = inspect.getdoc(getattr(od, name)) or ""
    assert len(text.splitlines()[0]) > 15, name
    if name not in BRIEF and not name.startswith("estimate_"):
        told = ">>>" in text or "**Guarantee**" in text
        assert told or not inspect.isfunction(getattr(od, name)), f"{name} has no example and no guarantee"


def test_mechanisms_and_bounds_state_their_guarantee():
    for name in ("Exponential", "Truncated", "PathExponential", "Tiered", "Mask", "Geometric", "RandomizedResponse"):
        assert "**Guarantee**" in inspect.getdoc(getattr(od, name)), name
    for name in ("true_epsilon", "exact_leakage", "upper_bound", "calibrate", "Remap"):
        assert "**Guarantee**" in inspect.getdoc(getattr(od, name)), name


def test_no_public_signature_takes_anything():
    for name in PUBLIC:
        value = getattr(od, name)
        if not (inspect.isclass(value) and issubclass(value, Exception)):
            kinds = {p.kind for p in inspect.signature(value).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds, name


def test_refusals_are_value_errors():
    assert issubclass(od.InvalidInput, ValueError)
    with pytest.raises(ValueError, match=r"epsilon=-1\.0, expected a finite number > 0"):
        od.Exponential(od.Space([[0.0], [1.0]]), epsilon=-1.0)


def test_the_short_story_of_the_design():
    space = od.Space([[0.0], [1.0], [3.0]], metric="euclidean")
    em = od.Exponential(space, epsilon=1.0)
    assert em.log_matrix.shape == (3, 3)
    assert em.sample(np.array([0, 2]), np.random.default_rng(0)).shape == (2,)
    assert em.invert(np.array([0]), np.array([0.0])).tolist() == [0]
    prior = od.Markov([0.2, 0.3, 0.5], np.full((3, 3), 1 / 3), 2)
    leak = od.exact_leakage(prior, [em.log_matrix] * 2, space.distances, target=1)
    assert leak.single <= leak.joint <= od.upper_bound(prior, [em.log_matrix] * 2, space.distances, target=1)


VERBS = {
    *("Add", "Audit", "Certify", "Compute", "Count", "Cut", "Do", "Draw", "Encode", "Estimate", "Find", "Learn"),
    *("Make", "Measure", "Pair", "Plan", "Raise", "Read", "Reject", "Release", "Report", "Return", "Round", "Run"),
    *("Say", "Store", "Tag", "Take", "Tell", "Write"),
}
"""How the docstring of a public function begins: with what the function does."""


def described_functions():
    """Every function of docs/api.md."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "docs"))
    try:
        import write_api
    finally:
        sys.path.pop(0)
    for module in write_api.MODULES:
        package = importlib.import_module(module)
        yield from (value for name in package.__all__ if inspect.isfunction(value := getattr(package, name)))


def test_every_public_function_says_in_a_sentence_what_it_does():
    first = {f"{f.__module__}.{f.__name__}": inspect.getdoc(f).split(maxsplit=1)[0] for f in described_functions()}
    assert len(first) > 100
    assert {name: word for name, word in first.items() if word not in VERBS} == {}
