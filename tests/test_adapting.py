"""Adaptation from a configuration: the run folder, the policy, the command line, and what is refused.

What an audit certified at the scales as they stand, an adaptation of the same question does not refuse.
"""

import json

import numpy as np
import pytest
from studies.known_laws import chain

from command_line import run_here
from oddshift.adapt.settings import AdaptSettings
from oddshift.app.configured_runs import run_adapt
from oddshift.app.run import Run
from oddshift.app.run_folder import read_adaptation
from oddshift.audit import AuditSettings
from oddshift.audit.measurement import certify_uniforms, part_streams
from oddshift.base.errors import InvalidInput
from oddshift.data.preparation import prepare_records
from oddshift.evidence.certificates import verify_file
from oddshift.mechanisms import MechanismSettings
from oddshift.model.records import Records
from oddshift.model.space import Space
from oddshift.protect.policies import load_policy

SMALL = """\
[data]
kind = "people"
documents = 500
by_kind = false

[mechanism]
epsilon = 1.5
{mechanism}
[audit]
delta = {delta}
attackers = ["exact"]

[adapt]
grid = [0.6, 0.8, 1.0]
documents = 80
rounds = 1
{adapt}
"""


def config(*, delta=0.1, mechanism="", adapt=""):
    return SMALL.format(delta=delta, mechanism=mechanism, adapt=adapt)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return folder, run_adapt(config(), folder)


UNDECIDED = config(delta=0.06, adapt='objective = "weighted"\nrate_weight = 0.0')


@pytest.fixture(scope="module")
def undecided(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undecided")
    return folder, run_adapt(UNDECIDED, folder)


def test_the_policy_is_the_mechanism_that_was_certified(run):
    folder, found = run
    policy = load_policy(folder / "policy.json")
    assert policy.tiers.scales == found.chosen
    assert policy.terms.certificate.state == "certified"
    assert repr(policy.mechanism()) == found.mechanism


def test_the_evidence_can_be_computed_again(run):
    folder, found = run
    files = sorted((folder / "evidence").glob("adapted-*.npz"))
    assert len(files) == len(found.tier_names)
    assert all(verify_file(file, require="certified").holds for file in files)


def test_a_finished_adaptation_is_read_and_another_configuration_refused(run):
    folder, found = run
    assert run_adapt(config(), folder).chosen == found.chosen == read_adaptation(folder).chosen
    with pytest.raises(InvalidInput, match="the run of another configuration"):
        run_adapt(config(delta=0.2), folder)


def test_nothing_certified_leaves_an_adaptation_and_no_policy(undecided):
    folder, found = undecided
    assert found.state == "undecided"
    assert not (folder / "policy.json").exists()
    assert read_adaptation(folder).warnings == found.warnings


def test_attackers_can_be_retrained_at_every_scale_as_in_the_paper(tmp_path):
    text = config(adapt="retrain = true").replace("[0.6, 0.8, 1.0]", "[0.8, 1.0]").replace('"exact"', '"plugin"')
    found = run_adapt(text, tmp_path)
    assert found.attacker == "plugin"
    assert found.settings.grid == (0.8, 1.0)


def test_a_calibrated_mechanism_spends_what_is_left(run, tmp_path):
    found = run_adapt(config(mechanism="calibrated = true"), tmp_path)
    assert found.choice("EM").loss < run[1].choice("EM").loss


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (config().replace("delta = 0.1\n", ""), "missing key audit.delta"),
        (config(mechanism='name = "deletion"'), "has no scales to adapt"),
        (config(adapt="grit = 1"), r"unknown key adapt.grit, did you mean grid\?"),
        (config(adapt="").replace("[0.6, 0.8, 1.0]", "[0.5, 1.2]"), r"expected scales in \(0, 1\]"),
        (config(delta=0.0001, adapt='forms = {"*" = "noise"}'), "cannot be certified in tier"),
        (config(adapt='search_attacker = "nobody"'), "search_attacker='nobody'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_policy(text, message, tmp_path):
    with pytest.raises(InvalidInput, match=message):
        run_adapt(text, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_command_prints_what_comes_next_and_its_exit_code_is_the_answer(run, tmp_path):
    folder, found = run
    file = tmp_path / "people.toml"
    file.write_text(config())
    shown = run_here("adapt", file, "--out", folder)
    assert (shown.code, shown.problem) == (0, "")
    assert shown.out.startswith("May I publish it?")
    assert shown.out.index("What is it good for?") < shown.out.index("next: oddshift report")
    plain = json.loads(run_here("adapt", file, "--out", folder, "--json").out)
    assert (plain["state"], tuple(plain["chosen"])) == ("certified", found.chosen)
    assert plain["policy"] == str(folder / "policy.json")


def test_the_command_says_no_with_exit_code_two(undecided, tmp_path):
    file = tmp_path / "people.toml"
    file.write_text(UNDECIDED)
    shown = run_here("adapt", file, "--out", undecided[0], "--details")
    assert (shown.code, shown.problem) == (2, "")
    assert "Not yet" in shown.out
    assert "larger delta" in " ".join(shown.out.split())


SEEDS = range(4)
DELTA = 0.06


@pytest.fixture(scope="module")
def asked():
    """For some seeds the state of the audit, and the adaptation: rates lie close to δ, so that chance decides."""
    found = []
    for seed in SEEDS:
        made = chain(words=6, length=3, strength=0.5, rng=np.random.default_rng(seed))
        prepared = prepare_records(made.draw(700, np.random.default_rng([seed, 1])), None, seed)
        shared = {"epsilon": 1.0, "delta": DELTA, "attackers": ("plugin",), "seed": seed}
        state = Run(prepared, MechanismSettings()).audit(AuditSettings(**shared)).result.verdict.state
        grid = {"grid": (0.4, 0.7, 1.0), "documents": 140}
        found.append((state, Run(prepared, MechanismSettings()).adapt(AdaptSettings(**shared, **grid)).result))
    return found


def test_what_the_audit_certified_is_tested_and_certified_by_the_adaptation(asked):
    states = [state for state, _ in asked]
    assert "certified" in states
    assert set(states) != {"certified"}, "the question is a close one"
    for state, found in asked:
        tested = [row.state for row in found.sequence if set(row.scales) == {1.0}]
        if state == "certified":
            assert "certified" in tested
            assert found.chosen is not None


def test_scale_1_is_the_last_test_or_a_line_says_why_it_was_not_reached(asked):
    for _, found in asked:
        reached = {1.0} == set(found.sequence[-1].scales)
        said = any("scale 1 included, was not tested: the tests end at scales" in line for line in found.warnings)
        assert reached or said or found.chosen is None


def test_both_release_the_certify_documents_with_the_same_noise():
    records = Records.from_documents(Space([[0.0], [1.0]]), [[0, 1], [1]])
    np.testing.assert_array_equal(certify_uniforms(3, records), part_streams(3)[1].random(3))
