"""From a configuration: remapping, all words, channels on words, the rule of tiers, tasks, an attribute, subgroups."""

import csv

import numpy as np
import pytest

from oddshift import InvalidInput
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured, run_audit
from oddshift.app.release_quality import check_use, measured_use
from oddshift.app.report.page_sections import Sources, leaks
from oddshift.app.run import adapt_task, knowledge_of
from oddshift.app.run_folder import read_run
from oddshift.audit import AuditSettings
from oddshift.data.codecs import TextCodec, TextSettings
from oddshift.data.detectors import Capitals
from oddshift.data.embedded import PeopleSettings
from oddshift.data.preparation import prepare
from oddshift.mechanisms import Deletion, Exponential, MechanismSettings, NoiseCharacter
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import expected_loss

pytest.importorskip("sklearn")

NAMES = {"sport": ["Anna", "Berta", "Clara", "Dora"], "trade": ["Emil", "Franz", "Georg", "Hans"]}
CONFIG = """
[data]
kind = "text"
path = "letters.csv"
is_public = true
tokeniser = "plain"
label = "topic"
subgroup = "age"
detectors = [{{kind = "gazetteer", path = "names.txt"}}]
{data}
[mechanism]
epsilon = {epsilon}
{mechanism}
[audit]
delta = 0.2
attackers = []
{audit}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Letters in which the topic decides the names and half of the other words."""
    folder, rng = tmp_path_factory.mktemp("letters"), np.random.default_rng(0)
    (folder / "names.txt").write_text("\n".join(name for names in NAMES.values() for name in names))
    words = {"sport": ["ball", "goal", "race"], "trade": ["money", "price", "stock"]}
    with (folder / "letters.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["topic", "age", "text"])
        for k in range(120):
            topic = ("sport", "trade")[k % 2]
            said = [*rng.choice(NAMES[topic], 3), *rng.choice(words[topic], 2), *rng.choice(["and", "then", "so"], 4)]
            writer.writerow([topic, ("old", "young")[k % 3 == 0], " ".join(said)])
    return folder


def config(data="", mechanism="", audit="", epsilon=3.0):
    return CONFIG.format(data=data, mechanism=mechanism, audit=audit, epsilon=epsilon)


def asked(home, **parts):
    return parse_config(config(**parts), "config", home)


@pytest.fixture(scope="module")
def prepared(home):
    return prepare_configured(asked(home))


def known(prepared, **mechanism):
    return knowledge_of(prepared, MechanismSettings(**mechanism), 3.0)


def used(prepared, there, **settings):
    return measured_use(prepared, there, AuditSettings(epsilon=3.0, **settings), "cosine")


def test_a_configuration_reaches_a_stored_audit_and_its_report(home, tmp_path):
    text = config(audit='attribute = "label"\ntasks = ["classification", "retrieval"]', mechanism="remap = true")
    found = run_audit(text, tmp_path / "run", home=home)
    assert found.mechanism.startswith("Remap(")
    use = read_run(tmp_path / "run").use
    assert use == found.use
    assert [task.name for task in use.tasks] == ["classification", "retrieval"]
    assert use.attribute.documents == 24
    assert {row.subgroup for row in use.losses} == {"old", "young"}
    assert all(sentence in found.warnings for sentence in use.sentences())
    page = str(leaks(Sources(name="letters", audit=found)))
    assert "What the release is good for" in page
    assert all(f"{row.loss:.4f}" in page for row in use.losses)


def test_an_attribute_is_inferred_where_the_release_tells_it_and_not_from_a_mask(prepared):
    open_release = used(prepared, known(prepared, epsilon=30.0), attribute="label").attribute
    masked = used(prepared, known(prepared, name="mask"), attribute="label").attribute
    assert open_release.accuracy > 0.9
    assert open_release.gain > 3 * open_release.gain_error
    assert masked.accuracy < 0.8
    assert masked.gain < 0.1


def test_a_task_survives_in_the_public_words_and_loses_with_the_names(prepared):
    found = used(prepared, known(prepared, name="mask"), tasks=("classification",))
    (task,) = found.tasks
    assert task.before == 1.0
    assert task.baseline <= task.after <= task.before
    assert found.losses == (), "a mask is not a point that a cost can compare"


@pytest.mark.parametrize(
    ("mechanism", "kind", "outputs"),
    [
        ({"outputs": "words"}, Exponential, 8 + 9),
        ({"name": "deletion", "probability": 0.5}, Deletion, 8 + 1),
        ({"name": "noise_character", "probability": 0.5, "alphabet": "x"}, NoiseCharacter, None),
    ],
)
def test_every_output_of_a_word_mechanism_is_a_word_that_a_task_can_read(prepared, mechanism, kind, outputs):
    there = known(prepared, **mechanism)
    assert isinstance(there.mechanism, kind)
    assert outputs is None or there.mechanism.n_outputs == outputs
    assert len(prepared.codec.words_released(there.mechanism)) == there.mechanism.n_outputs
    assert 0.0 <= used(prepared, there, tasks=("retrieval",)).tasks[0].after <= 1.0


def test_a_remapped_release_costs_no_more_than_the_one_that_was_drawn(prepared):
    plain, remapped = (known(prepared, remap=remap, epsilon=1.0) for remap in (False, True))
    assert isinstance(remapped.mechanism, Remap)
    assert remapped.mechanism.inner.fingerprint == plain.mechanism.fingerprint
    assert remapped.mechanism.cost.name == "cosine"
    drawn, moved = (expected_loss(there.mechanism, plain.weights, "cosine") for there in (plain, remapped))
    assert moved < drawn


def test_what_is_remapped_in_an_audit_is_remapped_in_an_adaptation(home):
    assert asked(home).adapt.remap == "auto"
    assert asked(home, mechanism="remap = true").adapt.remap == "always"
    said = asked(home, mechanism="remap = true", audit='[adapt]\nremap = "never"')
    assert said.adapt.remap == "never"


def test_the_rule_of_any_occurrence_takes_stop_words_and_single_finds():
    texts = ["We met Will and Mary there"] + ["they will and will not come with mary"] * 3
    chosen = {"tokeniser": "plain", "is_public": True, "tier_names": ("PII",)}
    found = {
        rule: set(TextCodec.fit({"text": texts}, TextSettings(tier_rule=rule, **chosen), detectors=[Capitals()])
                  .lexicon.everywhere)
        for rule in ("most", "any")
    }  # fmt: skip
    assert "mary" in found["any"] - found["most"]
    assert found["most"] < found["any"]


def test_the_rule_of_tiers_comes_from_the_configuration(home):
    assert asked(home, data='tier_rule = "any"').data.settings.tier_rule == "any"
    with pytest.raises(InvalidInput, match="tier_rule='any'"):
        asked(home, data='tier_rule = "any"\nshare = 0.3')
    with pytest.raises(InvalidInput, match="tier_rule"):
        asked(home, data='tier_rule = "some"')


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"attribute": "label"}, "attribute='label' needs data.label"),
        ({"attribute": "subgroup"}, "attribute='subgroup' needs data.subgroup"),
        ({"tasks": ("retrieval",)}, "needs texts with data.label"),
    ],
)
def test_what_the_data_do_not_have_is_refused(settings, says):
    with pytest.raises(InvalidInput, match=says):
        check_use(prepare(PeopleSettings(documents=30), 0), AuditSettings(epsilon=3.0, **settings))


def test_unknown_tasks_and_attributes_are_refused():
    for wrong in ({"tasks": ("guessing",)}, {"attribute": "name"}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            AuditSettings(epsilon=1.0, **wrong)


def test_all_words_cannot_be_adapted(home, prepared):
    with pytest.raises(InvalidInput, match="audited but not adapted"):
        adapt_task(prepared, MechanismSettings(outputs="words"), asked(home).adapt)
