"""Registries: our own entries first, those of installed packages when asked for, no name twice.

The tree of exceptions: one root, and every refusal is a ValueError too.
"""

import inspect
import pickle
import subprocess
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import numpy as np
import pytest

import oddshift
import oddshift.base.registry as registry_module
from oddshift.attackers import ATTACKERS
from oddshift.attackers.controls import Own
from oddshift.base import errors
from oddshift.base.errors import (
    ImpossibleObservation,
    InvalidInput,
    NoGuarantee,
    NotInstalled,
    OddshiftError,
    TamperedEvidence,
    TooLarge,
)
from oddshift.base.registry import Registry, StoredName
from oddshift.mechanisms import MECHANISMS, Exponential
from worlds import ring

GROUP = "oddshift.attackers"


def fit_my_own(known, rng, options=None):
    return Own(known, name="mine")


@pytest.fixture
def installed(monkeypatch):
    """Pretend that packages with these entry points are installed."""

    def install(*points):
        monkeypatch.setattr(registry_module, "_installed", lambda group: [p for p in points if p.group == group])

    return install


def point(name, value="test_registry:fit_my_own", group=GROUP):
    return EntryPoint(name=name, value=value, group=group)


def fresh(**own):
    return Registry("attacker", GROUP, own)


def test_without_other_packages_it_is_our_own(installed):
    installed()
    found = fresh(a=1, b=2)
    assert (list(found), len(found), found["b"]) == (["a", "b"], 2, 2)
    assert "c" not in found
    with pytest.raises(KeyError):
        found["c"]


def test_an_entry_point_adds_a_name_and_is_loaded_only_when_asked_for(installed):
    installed(point("zeta", value="no_such_module:fit"), point("mine"), point("elsewhere", group="oddshift.mechanisms"))
    found = fresh(own=0)
    assert list(found) == ["own", "mine", "zeta"]  # listing loads nothing
    assert "zeta" in found
    assert found["mine"] is fit_my_own
    with pytest.raises(
        InvalidInput, match=r"attacker 'zeta' of an installed package cannot be loaded: .*no_such_module"
    ):
        found["zeta"]


def test_a_name_that_is_taken_is_refused_in_one_line(installed):
    installed(point("own"))
    with pytest.raises(InvalidInput, match="adds the attacker 'own', which oddshift has already") as refused:
        list(fresh(own=0))
    assert "\n" not in str(refused.value)


def test_two_packages_with_one_name_are_refused_and_the_same_entry_twice_is_not(installed):
    installed(point("mine"), point("mine", value="other:fit"))
    with pytest.raises(InvalidInput, match="both add the attacker 'mine'"):
        list(fresh())
    installed(point("mine"), point("mine"))
    assert list(fresh()) == ["mine"]


def test_an_unknown_name_lists_all_that_are_known(installed):
    installed(point("mine"))
    with pytest.raises(InvalidInput, match=r"audit\.attackers names the attacker 'oracle', expected one of own, mine"):
        fresh(own=0).find("oracle", "audit.attackers")
    assert fresh(own=5).find("own", "audit.attackers") == 5


def test_a_retired_name_is_refused_with_what_to_use():
    assert "masked" not in ATTACKERS
    with pytest.raises(InvalidInput, match=r"'masked'.*portfolio"):
        ATTACKERS.find("masked", "audit.attackers")


class Distribution:
    name, version = "lamps", "2.1"


def of_package(name):
    return SimpleNamespace(name=name, group=GROUP, value="x:y", dist=Distribution(), load=lambda: "the entry")


def test_a_stored_name_leads_back_to_its_entry(installed):
    installed(of_package("theirs"), point("mine"))
    found = fresh(own=5)
    assert found.stored("own") == StoredName(name="own", package="oddshift", version="")
    assert found.stored("theirs") == StoredName(name="theirs", package="lamps", version="2.1")
    assert found.stored("mine") == StoredName(name="mine", package="", version="")  # it has no metadata
    assert [found.again(found.stored(name)) for name in ("own", "theirs", "mine")] == [5, "the entry", fit_my_own]


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (("gone", "lamps", "2.1"), "the attacker 'gone' of the package lamps is needed, which is not installed; "),
        (("gone", "", ""), "the attacker 'gone' of another package is needed, which is not installed; expected that"),
        (("theirs", "lamps", "2.0"), "is needed, and lamps 2.1 is installed; expected lamps 2.0"),
        (("theirs", "candles", "2.1"), "of the package candles is needed, and lamps 2.1 is installed"),
        (("own", "lamps", "2.1"), "is needed, and oddshift is installed; expected lamps 2.1"),
    ],
)
def test_an_entry_that_is_missing_or_another_is_refused_in_one_line(installed, stored, message):
    installed(of_package("theirs"))
    name, package, version = stored
    with pytest.raises(NotInstalled) as refused:
        fresh(own=5).again(StoredName(name=name, package=package, version=version))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_registries_of_attackers_and_mechanisms_are_open(installed, monkeypatch):
    monkeypatch.delitem(ATTACKERS.__dict__, "_others", raising=False)
    installed(point("mine"))
    world = ring(documents=20)
    assert ATTACKERS["mine"](world.known, np.random.default_rng(0)).name == "mine"
    assert "mine" in list(ATTACKERS)
    monkeypatch.delitem(ATTACKERS.__dict__, "_others", raising=False)
    assert (ATTACKERS.group, MECHANISMS.group) == ("oddshift.attackers", "oddshift.mechanisms")
    assert MECHANISMS["exponential"] is Exponential


def test_the_exact_attacker_needs_a_known_law():
    with pytest.raises(InvalidInput, match="'exact' needs data whose law is known"):
        ATTACKERS["exact"](ring(documents=20).known, np.random.default_rng(0))


def test_importing_looks_for_no_entry_points_and_loads_no_torch():
    program = (
        "import sys, oddshift, oddshift.attackers, oddshift.mechanisms; "
        "print([name for name in ('importlib.metadata', 'torch') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


REFUSALS = (TooLarge, ImpossibleObservation, NoGuarantee, TamperedEvidence)


def test_every_refusal_is_invalid_input_and_a_value_error():
    for kind in (InvalidInput, *REFUSALS):
        assert issubclass(kind, OddshiftError)
        assert issubclass(kind, InvalidInput)
        assert issubclass(kind, ValueError)
    assert not issubclass(OddshiftError, ValueError)


def test_no_refusal_is_a_special_case_of_another():
    for kind in REFUSALS:
        assert kind.__bases__ == (InvalidInput,)


def test_the_docstring_draws_exactly_the_classes_of_the_module():
    drawn = {word for word in errors.__doc__.replace("└── ", "").replace("├── ", "").split() if word[0].isupper()}
    classes = {name for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert classes <= drawn
    assert all(kind.__doc__ for kind in vars(errors).values() if inspect.isclass(kind))


def test_a_refusal_crosses_a_process_with_its_message():
    again = pickle.loads(pickle.dumps(TooLarge("n=9, expected at most 3")))
    assert type(again) is TooLarge
    assert str(again) == "n=9, expected at most 3"


def test_one_except_clause_catches_what_the_library_refuses():
    for wrong in (
        lambda: oddshift.Space([[0.0], [0.0]]),
        lambda: oddshift.Exponential(oddshift.Space([[0.0]]), -1.0),
        lambda: oddshift.Joint([[0.5, 0.6]]),
        lambda: oddshift.bounds.betting_upper([2.0], 0.05),
        lambda: oddshift.witness.guess_game(5, 3, 1.0, 0.05),
    ):
        with pytest.raises(OddshiftError) as caught:
            wrong()
        assert "expected" in str(caught.value)
        assert "\n" not in str(caught.value)
