"""`oddshift witness`: a mechanism given as a function, drawn from and judged; one clear line for what cannot be."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from oddshift.app.black_box import find_function, sampler_of
from oddshift.app.cli import app
from oddshift.base.errors import InvalidInput

MODULE = """
import numpy as np
WORDS = [f"w{k}" for k in range(12)]
POINTS = np.arange(12.0)[:, None] / 2
RNG = np.random.default_rng(0)
GAP = np.abs(POINTS - POINTS.T)

def table(rate):
    weight = np.exp(-rate * GAP)
    return np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)

HONEST, CARELESS = table(0.5), table(3.0)

def honest(word):
    return WORDS[int(np.searchsorted(HONEST[int(word[1:])], RNG.random()))]

def careless(word):
    return WORDS[int(np.searchsorted(CARELESS[int(word[1:])], RNG.random()))]

def noise(vector):
    return vector + RNG.laplace(scale=1.0, size=1)

def little_noise(vector):
    return vector + RNG.laplace(scale=0.2, size=1)

def broken(word):
    raise KeyError(word)

def nothing(word):
    return None

value = 3
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "strange_noise.py").write_text(MODULE)
    (tmp_path / "fails.py").write_text("import not_there")
    (tmp_path / "words.txt").write_text("".join(f"w{k} {k / 2}\n" for k in range(12)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def invoke(name, *options, epsilon="1"):
        few = ["--explore", "200", "--confirm", "1500", "--pairs", "6"]
        return CliRunner().invoke(app, ["witness", name, "--words", "words.txt", "--epsilon", epsilon, *few, *options])

    return invoke


def test_a_careless_mechanism_is_shown_and_the_answer_is_no(run):
    done = run("strange_noise:careless")
    assert done.exit_code == 2
    assert done.output.startswith("12 words, at most 11,400 draws, about ")
    assert "Leakage above epsilon = 1 was shown" in done.output


def test_an_honest_mechanism_is_undecided(run):
    done = run("strange_noise:honest")
    assert done.exit_code == 0
    assert "Undecided, which is not a pass" in done.output


@pytest.mark.parametrize(("name", "code"), [("noise", 0), ("little_noise", 2)])
def test_vectors_are_given_and_taken(run, name, code):
    assert run(f"strange_noise:{name}", "--vectors").exit_code == code


def test_json_is_one_object_with_what_was_counted(run):
    done = run("strange_noise:careless", "--json")
    found = json.loads(done.output)
    assert done.exit_code == 2
    assert found["shown"]
    assert found["epsilon"] == 1.0 < found["lower_bound"] < 6.0
    assert found["draws"] == 11_400
    assert found["cpu_seconds"] > 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("strange_noise", "not of the form MODULE:FUNCTION"),
        ("not_a_module:f", "module 'not_a_module' cannot be imported: ModuleNotFoundError"),
        ("fails:f", "module 'fails' cannot be imported: ModuleNotFoundError: No module named 'not_there'"),
        ("strange_noise:missing", "'strange_noise' has no 'missing'"),
        ("strange_noise:value", "is an int, expected a function"),
        ("strange_noise:broken", "the function failed: KeyError: 'w0'"),
        ("strange_noise:nothing", "the function gave a NoneType, expected a word or a vector"),
    ],
)
def test_what_cannot_be_drawn_from_is_said_in_one_line(run, name, message):
    done = run(name)
    assert isinstance(done.exception, InvalidInput)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--metric", "chess"), "metric='chess'"), (("--limit", "1"), "limit=1"), (("--alpha", "2"), "alpha=2.0")],
)
def test_options_are_checked(run, options, message):
    assert message in str(run("strange_noise:honest", *options).exception)


def test_importance_draws_are_an_option_no_longer(run):
    done = run("strange_noise:honest", "--importance", "strange_noise:honest")
    assert done.exit_code == 2
    assert "No such option: --importance" in done.output


def test_functions_inside_a_class_and_the_draws_of_each():
    assert find_function("pathlib:Path.exists").__name__ == "exists"
    draw = sampler_of(lambda vector: vector + 1, ["a", "b"], np.array([[0.0, 1.0], [2.0, 3.0]]))
    assert draw(np.array([1, 0, 1]), np.random.default_rng(0)).tolist() == [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
