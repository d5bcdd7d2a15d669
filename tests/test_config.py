"""What only a file about texts says: detectors, tiers that are public or not, paper mode and presets."""

from typing import get_args

import pytest

from oddshift.adapt import PRESETS
from oddshift.adapt.settings import PresetName
from oddshift.app.configuration import parse_config
from oddshift.app.demo import PEOPLE
from oddshift.base.errors import InvalidInput

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


def refused(text):
    with pytest.raises(InvalidInput) as caught:
        parse_config(text, "audit.toml")
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_demo_is_a_configuration():
    assert parse_config(PEOPLE, "demo").data.kind == "people"


def test_a_key_is_named_as_the_file_has_it():
    nested = TEXT.replace('{kind = "patterns"}', '{kind = "pipeline", path = "en", lables = ["X"]}')
    assert "unknown key data.detectors.0.lables, did you mean labels?" in refused(nested)


def test_whether_tiers_are_public_must_be_said():
    assert refused(TEXT.replace("is_public = true", "")) == "audit.toml: missing key data.is_public"


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
    assert message in refused(TEXT.replace(old, new))


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
    assert "adapt.preset='AmPL-2'" in refused(asked + '[adapt]\npreset = "AmPL-2"\n')
