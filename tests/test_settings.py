"""The settings of both questions: defaults, refusals, and agreement with the configuration file."""

from dataclasses import MISSING, fields

import pytest
from pydantic import TypeAdapter, ValidationError

from oddshift.adapt.settings import SHARED, AdaptSettings
from oddshift.app.configuration import parse_config
from oddshift.audit.settings import AuditSettings
from oddshift.base.errors import InvalidInput


def defaults(kind):
    """The default of every field that has one, those that are made anew for each object included."""
    made = {field.name: field.default_factory() for field in fields(kind) if field.default_factory is not MISSING}
    return made | {field.name: field.default for field in fields(kind) if field.default is not MISSING}


def test_shared_options_have_the_same_defaults_in_both():
    audit, adapt = defaults(AuditSettings), defaults(AdaptSettings)
    common = set(audit) & set(adapt)
    caps = {"success", "advantage"}  # a file states them in each table
    assert common == set(SHARED) - {"epsilon", "delta"} | caps
    assert {name: audit[name] for name in common} == {name: adapt[name] for name in common}


def test_defaults_are_those_of_the_configuration_file():
    parsed = parse_config('[data]\nkind = "people"\n[mechanism]\nepsilon = 1.0\n[audit]\ndelta = 0.1\n', "here")
    assert parsed.audit == AuditSettings(epsilon=1.0, delta=0.1)
    assert parsed.adapt == AdaptSettings(epsilon=1.0, delta=0.1)


def test_the_loop_starts_as_the_file_says():
    asked = AdaptSettings(epsilon=1.0, delta=0.1)
    assert (asked.rounds, asked.first_step) == (10, 1.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": 0.0}, "epsilon=0.0"),
        ({"delta": 1.0}, "delta=1.0"),
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"law": "best"}, "law='best'"),
        ({"method": "guess"}, "method='guess'"),
        ({"attackers": "plugin"}, "expected a tuple of names"),
        ({"attackers": ("",)}, "expected a tuple of names"),
        ({"epochs": 0}, "epochs=0"),
        ({"gamma": 1.0}, "gamma=1.0"),
        ({"upper": "luck"}, "upper='luck'"),
        ({"worst_positions": 0}, "worst_positions=0"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_an_audit_refuses_what_it_cannot_answer(given, message):
    with pytest.raises(InvalidInput, match=message):
        AuditSettings(**{"epsilon": 1.0, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delta": 0.0}, "delta=0.0"),
        ({"law": "worst"}, "law='worst'"),
        ({"objective": "best"}, "objective='best'"),
        ({"cost": "money"}, "cost='money'"),
        ({"grid": ()}, r"expected scales in \(0, 1\]"),
        ({"grid": (0.5, 1.5)}, r"expected scales in \(0, 1\]; calibrate"),
        ({"documents": 0}, "documents=0"),
        ({"rounds": -1}, "rounds=-1"),
        ({"first_step": 0.0}, "first_step=0.0"),
        ({"tolerance": -1.0}, "tolerance=-1.0"),
        ({"rate_weight": -1.0}, "rate_weight=-1.0"),
        ({"decay": float("inf")}, "decay=inf"),
    ],
)
def test_an_adaptation_refuses_what_it_cannot_answer(given, message):
    with pytest.raises(InvalidInput, match=message):
        AdaptSettings(**{"epsilon": 1.0, "delta": 0.1, **given})


@pytest.mark.parametrize("kind", [AuditSettings, AdaptSettings])
def test_a_parser_of_files_can_read_them_and_refuses_unknown_keys(kind):
    reader = TypeAdapter(kind)
    given = {"epsilon": 2, "delta": 0.05, "attackers": ["own"], "seed": 3}
    assert reader.validate_python(given) == kind(epsilon=2.0, delta=0.05, attackers=("own",), seed=3)
    with pytest.raises(ValidationError, match="epsilom"):
        reader.validate_python({**given, "epsilom": 1.0})
    with pytest.raises(ValidationError, match=r"alpha=2\.0"):
        reader.validate_python({**given, "alpha": 2.0})


def test_the_cost_is_that_of_the_question_or_cosine():
    assert AdaptSettings(epsilon=1.0, delta=0.1).cost_name == "cosine"
    assert AdaptSettings(epsilon=1.0, delta=0.1, cost="haversine").cost_name == "haversine"
