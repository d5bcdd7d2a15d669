"""The configuration file: every table refuses what it does not know, and one line says which key and why.

What only a file about texts says: detectors, tiers that are public or not, paper mode and presets.
"""

from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from oddshift.adapt import PRESETS
from oddshift.adapt.settings import SHARED, AdaptSettings, PresetName
from oddshift.app.api import IN_MEMORY, written_configuration
from oddshift.app.configuration import (
    LONGEST_FILE,
    TABLES,
    Configuration,
    FileData,
    LedgerSettings,
    data_settings,
    parse_config,
    read_config,
    validated,
)
from oddshift.app.demo import PEOPLE
from oddshift.app.sweep_settings import SweepSettings
from oddshift.attackers.fitting import PaperOptions
from oddshift.audit.settings import AuditSettings
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution
from oddshift.data.embedded import PeopleSettings
from oddshift.mechanisms import Exponential
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.model.space import Space
from oddshift.protect.ledger.terms import UserLimit

ASKED = {
    "data": {"kind": '"people"'},
    "mechanism": {"epsilon": "1.5"},
    "audit": {"delta": "0.05"},
    "adapt": {},
    "users": {},
    "ledger": {},
    "execution": {},
    "sweep": {"seed": "[0]"},
}
"""The least that a file must say, table by table, in TOML."""

CLASSES = {
    "data": PeopleSettings,
    "mechanism": MechanismSettings,
    "audit": AuditSettings,
    "adapt": AdaptSettings,
    "users": UserLimit,
    "ledger": LedgerSettings,
    "execution": Execution,
    "sweep": SweepSettings,
}


def written(**more):
    """The text of that file with further keys, by table."""
    lines = []
    for table, keys in ASKED.items():
        lines.append(f"[{table}]")
        lines += [f"{name} = {value}" for name, value in {**keys, **more.get(table, {})}.items()]
    return "\n".join(lines)


def refused(text):
    """The one line that refuses a file."""
    with pytest.raises(InvalidInput) as caught:
        parse_config(text, "audit.toml")
    (line,) = str(caught.value).splitlines()
    return line


def keys_of(table):
    """The keys that a file may hold in a table."""
    names = [f.name for f in fields(CLASSES[table]) if f.init]
    return [name for name in names if table != "adapt" or name not in SHARED]


EVERY_KEY = [(table, key) for table in TABLES for key in keys_of(table)]


def test_the_least_file_is_read_with_its_defaults():
    found = parse_config(written(), "audit.toml")
    assert isinstance(found, Configuration)
    assert found.data == PeopleSettings()
    assert found.mechanism == MechanismSettings(epsilon=1.5)
    assert found.audit == AuditSettings(epsilon=1.5, delta=0.05)  # the budget of the mechanism
    assert found.adapt == AdaptSettings(epsilon=1.5, delta=0.05)
    assert found.execution == Execution()
    assert found.files == {}


@pytest.mark.parametrize(("table", "key"), EVERY_KEY)
def test_a_key_with_a_slip_names_the_one_that_was_meant(table, key):
    said = refused(written(**{table: {f"{key}z": "1"}}))
    assert said == f"audit.toml: unknown key {table}.{key}z, did you mean {key}?"


@pytest.mark.parametrize("table", TABLES)
def test_a_key_like_no_other_lists_those_that_there_are(table):
    said = refused(written(**{table: {"qqq": "1"}}))
    assert said.startswith(f"audit.toml: unknown key {table}.qqq, expected one of ")
    assert all(key in said for key in keys_of(table))


@pytest.mark.parametrize(("table", "key"), EVERY_KEY)
def test_no_key_takes_a_table_of_tables(table, key):
    needed = {"budget": "3"} if table == "users" else {}
    said = refused(written(**{table: {**needed, key: "{a = {b = 1}}"}}))
    assert said.startswith("audit.toml: ")
    assert f"{table}.{key}" in said


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("value", "kind"), [("5", "an int"), ('"x"', "a str"), ("[1]", "a list"), ("true", "a bool")])
def test_a_table_must_be_a_table(table, value, kind):
    assert refused(f"{table} = {value}") == f"audit.toml: {table} is {kind}, expected a table [{table}]"


@pytest.mark.parametrize("key", SHARED)
def test_what_an_adaptation_shares_with_the_audit_is_said_there(key):
    assert refused(written(adapt={key: "1"})) == (
        f"audit.toml: adapt.{key} belongs in the table [audit], expected it there"
    )


@pytest.mark.parametrize(
    ("table", "key", "value", "said"),
    [
        ("mechanism", "epsilon", "0", "mechanism.epsilon=0.0, expected a finite number > 0"),
        ("mechanism", "epsilon", "nan", "mechanism.epsilon=nan, expected a finite number > 0"),
        ("mechanism", "epsilon", "inf", "mechanism.epsilon=inf, expected a finite number > 0"),
        ("mechanism", "radius", "-1", "mechanism.radius=-1.0, expected a finite number > 0"),
        ("mechanism", "outputs", '"some"', "mechanism.outputs='some'"),
        ("mechanism", "calibrated", '"maybe"', "mechanism.calibrated='maybe'"),
        ("audit", "delta", "0", "audit.delta=0.0, expected"),
        ("audit", "delta", "1", "audit.delta=1.0, expected"),
        ("audit", "delta", "1e-12", "audit.delta=1e-12, expected at least 1e-09"),
        ("audit", "alpha", "0.5", "audit.alpha=0.5, expected 0 < alpha < 0.5"),
        ("audit", "law", '"best"', "audit.law='best'"),
        ("audit", "method", '"guess"', "audit.method='guess', expected one of"),
        ("audit", "attackers", '[""]', "audit.attackers=('',), expected a tuple of names"),
        ("audit", "epochs", "0", "audit.epochs=0, expected"),
        ("audit", "epochs", "1.5", "audit.epochs=1.5"),
        ("audit", "upper", '"lp"', "audit.upper='lp'"),
        ("audit", "worst_positions", "0", "audit.worst_positions=0, expected"),
        ("audit", "seed", "-1", "audit.seed=-1, expected"),
        ("audit", "success", "{PII = 1.0}", "audit.success['PII']=1.0, expected a share above 0 and below 1"),
        ("audit", "success", '{"" = 0.5}', "audit.success={'': 0.5}, expected a share for each tier by name"),
        ("audit", "advantage", "{PII = 0.0}", "audit.advantage['PII']=0.0, expected a share above 0 and below 1"),
        ("audit", "paper", "{tau = 0}", "audit.paper.tau=0.0, expected"),
        ("audit", "paper", "{width = 3}", "audit.paper.width=3, expected"),
        ("adapt", "grid", "[]", "adapt.grid=(), expected scales in (0, 1]"),
        ("adapt", "grid", "[0.5, 1.5]", "adapt.grid=(0.5, 1.5), expected scales in (0, 1]"),
        ("adapt", "documents", "0", "adapt.documents=0, expected"),
        ("adapt", "rounds", "-1", "adapt.rounds=-1, expected"),
        ("adapt", "first_step", "0", "adapt.first_step=0.0, expected"),
        ("adapt", "tolerance", "-1", "adapt.tolerance=-1.0, expected"),
        ("adapt", "rate_weight", "-1", "adapt.rate_weight=-1.0, expected a number >= 0"),
        ("adapt", "loss_weight", "inf", "adapt.loss_weight=inf, expected a number >= 0"),
        ("adapt", "decay", "nan", "adapt.decay=nan, expected a number >= 0"),
        ("adapt", "cost", '"dear"', "adapt.cost='dear'"),
        ("adapt", "objective", '"all"', "adapt.objective='all'"),
        ("users", "budget", '"much"', "users.budget='much'"),
        ("users", "past", '"refuse"', "missing key users.budget"),
        ("execution", "workers", "0", "execution.workers=0, expected"),
        ("execution", "kind", '"cloud"', "execution.kind='cloud', expected"),
        ("data", "documents", "0", "data.documents=0, expected"),
        ("data", "strength", "2", "data.strength=2.0, expected"),
    ],
)
def test_a_value_out_of_its_range_is_named_with_what_was_expected(table, key, value, said):
    assert refused(written(**{table: {key: value}})).startswith(f"audit.toml: {said}")


def test_further_problems_are_counted():
    said = refused(written(audit={"alpha": '"x"', "seed": '"y"'}))
    assert said.startswith("audit.toml: audit.alpha='x': ")
    assert said.endswith("(and 1 more)")


def test_a_long_value_is_cut():
    said = refused(written(audit={"alpha": f'"{"x" * 5_000}"'}))
    assert len(said) < 200


@pytest.mark.parametrize("audit", [{"delta": None}, {"law": '"worst"'}])
def test_nothing_can_be_adapted_without_a_delta_or_to_the_worst_law(audit):
    text = written(audit={key: value for key, value in audit.items() if value})
    text = text.replace("delta = 0.05", "") if "delta" in audit else text
    assert parse_config(text, "audit.toml").adapt is None


def test_the_budget_of_the_audit_may_differ_from_that_of_the_mechanism():
    found = parse_config(written(audit={"epsilon": "3"}), "audit.toml")
    assert (found.mechanism.epsilon, found.audit.epsilon, found.adapt.epsilon) == (1.5, 3.0, 3.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 3_000 + "]" * 3_000, "is nested too deeply"),
        ("[data", "is not a TOML file"),
        (f"a = {'9' * 5_000}", "is not a TOML file"),
        ("a = 1\na = 2", "is not a TOML file"),
        ("", "missing key audit.epsilon"),
    ],
)
def test_what_is_no_configuration_is_one_short_line(text, said):
    line = refused(text)
    assert said in line
    assert len(line) < 260


def test_only_a_short_text_file_is_read(tmp_path):
    with pytest.raises(InvalidInput, match="is a folder, expected a TOML file"):
        read_config(tmp_path)
    long = tmp_path / "long.toml"
    long.write_bytes(b"#" * (LONGEST_FILE + 1))
    with pytest.raises(InvalidInput, match=f"has over {LONGEST_FILE} bytes"):
        read_config(long)
    long.write_bytes(b"#" * LONGEST_FILE)
    assert len(read_config(long)) == LONGEST_FILE


def test_a_file_that_is_not_utf_8_is_named_with_its_line(tmp_path):
    file = tmp_path / "latin.toml"
    file.write_bytes("# one\n# two\n# caf\xe9\n".encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"latin\.toml line 3 is not UTF-8"):
        read_config(file)


def test_paths_are_looked_for_next_to_the_file_first(tmp_path):
    (tmp_path / "rows.csv").write_text("age\n1\n")
    text = written().replace('kind = "people"', 'kind = "location"\npath = "rows.csv"')
    found = parse_config(text, "audit.toml", tmp_path)
    assert isinstance(found.data, FileData)
    assert found.data.path == (tmp_path / "rows.csv").resolve()
    assert found.files == {"data.path": found.data.path}
    assert parse_config(text, "audit.toml").data.path == Path("rows.csv")


def test_an_unknown_kind_of_data_lists_those_that_there_are():
    with pytest.raises(InvalidInput, match=r"data\.kind='film', expected one of text, .*people"):
        data_settings("film", {})
    assert "data.kind='film'" in refused(written().replace('"people"', '"film"'))


def test_where_the_data_lie_and_how_they_are_computed_change_no_fingerprint(tmp_path):
    text = written().replace('kind = "people"', 'kind = "location"\npath = "{}rows.csv"')
    here, there = (parse_config(text.replace("{}", folder), "audit.toml") for folder in ("", "other/"))
    assert here.fingerprint == there.fingerprint
    assert here.fingerprint == replace(here, execution=Execution(workers=2)).fingerprint
    assert here.fingerprint != parse_config(text.replace("{}rows", "more"), "audit.toml").fingerprint


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("audit", "seed", "1"),
        ("audit", "delta", "0.06"),
        ("audit", "success", "{PII = 0.2}"),
        ("mechanism", "epsilon", "1.6"),
        ("mechanism", "calibrated", "true"),
        ("adapt", "rounds", "3"),
        ("data", "documents", "77"),
    ],
)
def test_every_question_has_a_fingerprint_of_its_own(table, key, value):
    plain = parse_config(written(), "audit.toml")
    assert parse_config(written(**{table: {key: value}}), "audit.toml").fingerprint != plain.fingerprint


def test_a_class_of_settings_is_filled_from_plain_values():
    assert validated(Execution, {"workers": 2}, "execution") == Execution(workers=2)
    with pytest.raises(InvalidInput, match=r"unknown key execution\.worker, did you mean workers"):
        validated(Execution, {"worker": 2}, "execution")


AUDITS = [
    AuditSettings(epsilon=2.5),
    AuditSettings(epsilon=2.5, delta=0.05, alpha=0.01, law="uniform", method="hoeffding_bentkus"),
    AuditSettings(epsilon=1e-7, delta=1e-5, attackers=("plugin", 'odd "name" \\ \x7f'), epochs=3),
    AuditSettings(epsilon=1.0, delta=0.5, success={"PII": 0.2, "*": 0.9}, advantage={"rate %": 0.5}),
    AuditSettings(epsilon=1.0, upper="diameter", independent=True, seed=12, worst_positions=7),
    AuditSettings(epsilon=1.0, delta=0.1, paper=PaperOptions(temperature="fitted", tau=2.0, epochs=4)),
]


@pytest.mark.parametrize("audit", AUDITS)
def test_a_question_asked_in_python_is_the_same_in_a_file(audit):
    mechanism = MechanismSettings(name="tiered", epsilon=2.0, scales=(0.5, 1.0), calibrated=True)
    data = PeopleSettings(documents=321, is_public=False)
    found = parse_config(written_configuration(data, mechanism, audit), "again.toml")
    assert (found.data, found.mechanism, found.audit) == (data, mechanism, audit)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"grid": (0.2, 1.0), "rounds": 0, "documents": 33},
        {"remap": "never", "cost": "euclidean", "objective": "weighted", "pooled": True},
        {"preset": "AmPL-P", "retrain": True, "tolerance": 1e-9},
    ],
)
def test_an_adaptation_is_written_without_what_the_audit_says_already(changed):
    audit = AuditSettings(epsilon=2.5, delta=0.05, seed=3, success={"PII": 0.3})
    shared = {name: getattr(audit, name) for name in SHARED}
    adapt = AdaptSettings(**shared, **changed)
    text = written_configuration(PeopleSettings(), MechanismSettings(epsilon=2.5), audit, adapt)
    found = parse_config(text, "again.toml")
    assert found.adapt == adapt
    assert "delta" not in text.split("[adapt]")[1]


def test_numbers_of_numpy_are_written_as_numbers():
    audit = AuditSettings(epsilon=np.float64(2.5), delta=np.float64(0.05), seed=np.int64(4))
    mechanism = MechanismSettings(epsilon=np.float64(2.5), scales=(np.float64(0.5),))
    found = parse_config(written_configuration(PeopleSettings(), mechanism, audit), "again.toml")
    assert found.audit == AuditSettings(epsilon=2.5, delta=0.05, seed=4)
    assert found.mechanism.scales == (0.5,)


def test_default_values_and_what_has_no_place_in_a_file_are_left_out():
    mechanism = Exponential(Space([[0.0], [1.0]]), 2.0)
    text = written_configuration(object(), mechanism, AuditSettings(epsilon=2.0))
    assert "# records that were built in Python" in text
    assert "# the object " in text
    assert text.split("[audit]")[1].split() == ["epsilon", "=", "2.0"]
    assert IN_MEMORY not in text


TEXT = """
[data]
kind = "text"
path = "mail.csv"
vectors = "glove.npz"
is_public = true
detectors = [{kind = "patterns"}]
[mechanism]
epsilon = 2.5
"""


def refused_of_text(text):
    with pytest.raises(InvalidInput) as caught:
        parse_config(text, "audit.toml")
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_demo_is_a_configuration():
    assert parse_config(PEOPLE, "demo").data.kind == "people"


def test_a_key_is_named_as_the_file_has_it():
    nested = TEXT.replace('{kind = "patterns"}', '{kind = "pipeline", path = "en", lables = ["X"]}')
    assert "unknown key data.detectors.0.lables, did you mean labels?" in refused_of_text(nested)


def test_whether_tiers_are_public_must_be_said():
    assert refused_of_text(TEXT.replace("is_public = true", "")) == "audit.toml: missing key data.is_public"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = 2.5", "epsilon = 'x'", "mechanism.epsilon='x': input should be a valid number"),
        ('kind = "text"', 'kind = "film"', "data"),
        ('"patterns"}]', '"pattern"}]', "data.detectors.0.kind='pattern', expected one of pipeline, patterns"),
        ("detectors = [{", "detectors = 5 #", "data.detectors is not a list of tables"),
        ('path = "mail.csv"', "", "missing key data.path"),
        ('kind = "text"', "", "missing key data.kind"),
        ("epsilon = 2.5", "", "missing key audit.epsilon"),
    ],
)
def test_wrong_values_are_one_line_with_the_value(old, new, message):
    assert message in refused_of_text(TEXT.replace(old, new))


def test_guessed_people_reach_a_tier():
    """A name after a title is a PERSON, and a label that led to no tier would release it."""
    from oddshift.data.codecs import TextCodec, TextSettings
    from oddshift.data.detectors import Capitals, CapitalsSettings

    texts = [
        "Then Mr. Kamali saw Ann and left.",
        "So Mrs. Kamali left Ann here and met.",
        "Now Mr. Kamali and Ann met.",
    ]
    assert set(Capitals().detect(texts).labels) == {"CAPITALISED", "PERSON"}
    codec = TextCodec.fit({"text": texts}, TextSettings(is_public=True, detectors=(CapitalsSettings(),)))
    assert {"kamali", "ann"} <= set(codec.point_names)


def test_paper_mode_is_configured_in_a_table_of_its_own():
    asked = '[audit.paper]\ntemperature = "fitted"\nprior = "empirical"\nsplit = "pair"\n'
    asked += "width = 32\nepochs = 5\ntau = 2.0\n"
    config = parse_config(TEXT + "[audit]\ndelta = 0.1\n" + asked, "audit.toml")
    paper = config.audit.paper
    assert (paper.temperature, paper.prior, paper.split) == ("fitted", "empirical", "pair")
    assert (paper.width, paper.epochs, paper.tau, paper.tau_base) == (32, 5, 2.0, 1.0)
    assert config.adapt.paper == paper, "an adaptation shares it"
    assert config.fingerprint != parse_config(TEXT + "[audit]\ndelta = 0.1\n", "audit.toml").fingerprint


def test_a_preset_names_a_method_of_the_paper():
    asked = TEXT + "[audit]\ndelta = 0.1\n"
    for name in PRESETS:
        assert parse_config(asked + f'[adapt]\npreset = "{name}"\n', "audit.toml").adapt.preset == name
    assert set(get_args(PresetName)) == {"", *PRESETS}
    assert "adapt.preset='AmPL-2'" in refused_of_text(asked + '[adapt]\npreset = "AmPL-2"\n')
