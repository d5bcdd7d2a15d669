"""A package of somebody else adds a metric, a mechanism, an attacker, a detector and a codec through entry points.

The package is examples/lantern, laid out on the path as pip would install it: its modules and a .dist-info folder.
"""

import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import oddshift as od
from added_package import LANTERN, PICTURES, PIXELS, REGISTRIES, forget, shades_csv
from oddshift.app.cli import app
from oddshift.app.configuration import parse_config
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec, Encoded
from oddshift.data.dataset import Dataset
from oddshift.data.detectors import DETECTORS, Detector
from oddshift.data.preparation import prepare
from oddshift.mechanisms import MECHANISMS
from oddshift.model.metric import METRICS, Metric
from oddshift.protect.policies.terms import metric_from, metric_parts

SHADES = """
[data]
kind = "shades"
path = "shades.csv"
levels = 6

[mechanism]
name = "blend"

[audit]
epsilon = 0.02
delta = 0.2
attackers = ["same-secret"]
"""


def test_every_registry_lists_what_the_package_adds(lantern):
    added = {registry.group: list(registry)[-1] for registry in REGISTRIES}
    assert added == {
        "oddshift.metrics": "chebyshev",
        "oddshift.mechanisms": "blend",
        "oddshift.attackers": "same-secret",
        "oddshift.detectors": "hashtags",
        "oddshift.codecs": "shades",
    }
    assert "lantern" not in sys.modules  # listing loads nothing
    assert isinstance(METRICS["chebyshev"], Metric)
    assert issubclass(MECHANISMS["blend"], od.Mechanism)
    assert isinstance(DETECTORS["hashtags"]().detector(), Detector)


def test_without_the_package_its_names_are_refused(tmp_path):
    shades_csv(tmp_path)
    for text, message in (
        (SHADES, r"data\.kind='shades', expected one of text, table, location, vectors, people"),
        (
            SHADES.replace('"shades"', '"vectors"', 1).replace("levels = 6", 'metric = "chebyshev"'),
            "metric='chebyshev'",
        ),
        (text_config("hashtags"), r"data\.detectors\.0\.kind='hashtags', expected one of pipeline, patterns"),
    ):
        with pytest.raises(InvalidInput, match=message):
            parse_config(text, "a.toml", tmp_path)


def text_config(detector):
    return f"""
[data]
kind = "text"
path = "posts.csv"
tokeniser = "plain"
count = 1
is_public = true

[[data.detectors]]
kind = "{detector}"

[audit]
epsilon = 1.0
"""


def test_a_configuration_asks_for_codec_mechanism_and_attacker_by_name(lantern, tmp_path):
    shades_csv(tmp_path)
    config = tmp_path / "shades.toml"
    config.write_text(SHADES)
    run = tmp_path / "run"
    done = CliRunner().invoke(app, ["audit", str(config), "--out", str(run)])
    assert done.exit_code == 2, done.output  # it ran, and the answer is no
    found = od.load_run(run).audit
    assert found.verdict.state == "violated"
    assert [attacker.name for attacker in found.attackers] == ["null", "own", "same-secret"]
    report = tmp_path / "report.html"
    assert CliRunner().invoke(app, ["report", str(run), "--out", str(report)]).exit_code == 0
    assert "same-secret" in report.read_text()


def test_the_four_commands_protect_data_of_the_package(lantern, tmp_path):
    """The codec, the attacker and the policy of the page, from the configuration to the released file."""
    source, run, out = shades_csv(tmp_path), tmp_path / "run", tmp_path / "protected.csv"
    (tmp_path / "shades.toml").write_text(SHADES.replace('[mechanism]\nname = "blend"\n', ""))
    for command, code in ((["audit"], 2), (["adapt"], 0)):
        done = CliRunner().invoke(app, [*command, str(tmp_path / "shades.toml"), "--out", str(run)])
        assert done.exit_code == code, done.output
    assert od.load_policy(run).state == "certified"
    done = CliRunner().invoke(app, ["protect", str(source), str(out), "--policy", str(run / "policy.json")])
    assert done.exit_code == 0, done.output
    raw, released = (np.loadtxt(path, delimiter=",", skiprows=1, dtype=int) for path in (source, out))
    assert np.array_equal(released[:, 0], raw[:, 0])
    assert set(released[:, 1]) <= {0, 51, 102, 153, 204, 255}
    assert (released[:, 1] != raw[:, 1]).mean() > 0.5


def test_python_gives_the_same_verdict(lantern, tmp_path):
    shades_csv(tmp_path)
    data = od.read(tmp_path / "shades.csv", kind="shades", settings={"levels": 6})
    assert repr(data) == f"Dataset(shades, {PICTURES * PIXELS} rows, 2 columns)"
    found = od.audit(data, "blend", epsilon=0.02, delta=0.2, attackers=["same-secret"])
    assert found.verdict.state == "violated"
    own, same = (next(a for a in found.attackers if a.name == name) for name in ("own", "same-secret"))
    assert same.tiers[0].top1 > own.tiers[0].top1  # four releases of one shade tell more than one


def test_a_metric_by_name_reaches_the_points_and_a_policy(lantern):
    rows = np.random.default_rng(0).normal(size=(90, 2))
    data = od.embeddings(rows, settings={"metric": "chebyshev", "least": 2})
    space = prepare(data, seed=0).split.fit.space
    assert space.metric == METRICS["chebyshev"]
    largest = np.abs(space.points[:, None] - space.points[None]).max(axis=2)
    assert np.allclose(space.distances, largest)
    parts = metric_parts(space.metric)
    assert metric_from(parts) == METRICS["chebyshev"]
    forget()
    sys.path.remove(str(lantern))
    with pytest.raises(InvalidInput, match="the policy names the metric 'chebyshev', expected one of euclidean"):
        metric_from(parts)


def test_a_detector_by_name_finds_words_in_both_doors(lantern, tmp_path):
    told = {"ann": "sails along the coast", "bob": "bakes bread at night", "eve": "plays chess on trains"}
    posts = [f"today #{tag} {what} number{n}" for n in range(10) for tag, what in told.items()]
    data = od.texts(posts, "from-text", ["hashtags"], settings={"tokeniser": "plain", "count": 1})
    prepared = prepare(data, seed=0)
    assert prepared.detector == "hashtags"
    assert set(told) <= set(prepared.names)
    (tmp_path / "posts.csv").write_text("\n".join(["text", *posts, ""]))
    config = parse_config(text_config("hashtags"), "posts.toml", tmp_path)
    assert config.data.settings.detectors == data.settings.detectors


def test_the_codec_keeps_the_promises_of_codecs(lantern):
    from lantern.shades import ShadeCodec, ShadeSettings

    columns = {"picture": ["a", "b", "a", "b"], "shade": ["0", "255", "100", "31"]}
    codec = ShadeCodec.fit(columns, ShadeSettings(levels=6))
    encoded = codec.encode(columns)
    assert isinstance(codec, Codec)
    assert isinstance(encoded, Encoded)
    assert encoded.records.offsets.tolist() == [0, 2, 4]
    assert encoded.decode(encoded.records.points) == {"shade": [0, 255, 102, 51]}
    assert encoded.decode([0] * 4, masked=True) == {"shade": [None] * 4}
    again = ShadeCodec.from_policy(*codec.to_policy(), codec.space, codec.tiers)
    assert np.array_equal(again.encode(columns).records.points, encoded.records.points)
    assert Dataset(columns, ShadeSettings()).kind == "shades"


def test_the_page_shows_the_package_as_it_is():
    """Every class and every entry point of the page stands in the example package, word for word."""
    page = (LANTERN.parent.parent / "docs" / "adding.md").read_text()
    source = "\n".join(path.read_text() for path in sorted((LANTERN / "src").rglob("*.py")))
    classes = re.findall(r"^@dataclass[^\n]*\nclass (?:[^\n]+\n|\n+(?= ))+", page, flags=re.MULTILINE)
    shown = [each for each in classes if "class Squared" not in each]
    assert len(shown) == 8
    for each in shown:
        assert each in source, each.splitlines()[1]
    (points,) = re.findall(r"```toml\n(\[project\.entry-points.*?)```", page, flags=re.DOTALL)
    assert points.rstrip() in (LANTERN / "pyproject.toml").read_text()
