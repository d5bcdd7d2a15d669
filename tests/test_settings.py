"""The settings of both questions: defaults, refusals, and agreement with the configuration file."""

from dataclasses import MISSING, fields

import pytest
from pydantic import TypeAdapter, ValidationError

from oddshift.adapt.settings import SHARED, AdaptSettings
from oddshift.app.configuration import parse_config
from oddshift.audit.settings import AuditSettings


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
