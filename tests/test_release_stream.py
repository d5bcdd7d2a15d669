"""Streams: every line is answered once and in order, records are claimed before their draw, visits when they close."""

import json
import os
import signal
import sys
import threading
from dataclasses import replace

import pytest

from oddshift.app.cli import main
from oddshift.app.commands.service import serve
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceCodec, PlaceSettings
from oddshift.mechanisms import Exponential
from oddshift.model.space import Space
from oddshift.protect import Ledger, ProtectSettings, UserLimit
from oddshift.protect.policies import make_policy, save_policy
from oddshift.protect.stream import MOST_LINES, ReleaseStream
from policies import NAMES, names_in, names_policy

FREE = ProtectSettings(allow_uncertified=True)
POLICY = names_policy()


def line_of(number, **more):
    return json.dumps({"n": number, "text": f"{NAMES[number % 10]} wrote {number}.", **more}) + "\n"


@pytest.fixture
def stream(tmp_path):
    def made(policy=POLICY, settings=FREE):
        return ReleaseStream(policy, Ledger.beside(tmp_path), settings)

    return made


def test_every_line_is_answered_in_order_and_only_its_secrets_change(stream, tmp_path):
    lines = [line_of(n, kept=" é ") for n in range(MOST_LINES + 50)]
    answers = list(stream().answers(lines))
    assert len(answers) == len(lines)
    for number, answer in enumerate(answers):
        row = json.loads(answer)
        (name,) = names_in(row["text"])
        assert name in NAMES
        assert answer == line_of(number, kept=" é ").replace(NAMES[number % 10], name)
    assert sum(answer == line for answer, line in zip(answers, lines, strict=True)) < len(lines) / 4
    assert Ledger.beside(tmp_path).totals().records == len(lines)


def test_a_record_is_released_once_however_it_comes_again(stream):
    one = stream()
    first, second, third = one.answers([line_of(1), line_of(2), line_of(1)])
    assert "error" not in first
    assert "error" not in second
    assert "released before" in json.loads(third)["error"]
    assert "released before" in json.loads(next(stream().answers([line_of(2)])))["error"]
    again = list(stream(settings=replace(FREE, allow_repeat=True)).answers([line_of(2), line_of(2)]))
    assert not any("error" in answer for answer in again)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("nonsense namea\n", "line 2 is not a JSON document"),
        ("\n", "empty line"),
        ('{"n": 5}\n', "has no column 'text'"),
        ('{"n": 5, "text": 7}\n', "is an int, expected text"),
        ('{"n": 5, "text": "a", "nameb": 1}\n', "a key that the first line lacks"),
    ],
)
def test_a_bad_line_is_answered_by_an_error_that_quotes_nothing(stream, bad, words):
    good, answer, after = stream().answers([line_of(1), bad, line_of(2)])
    assert json.loads(good)["n"] == 1
    assert words in json.loads(answer)["error"]
    assert "name" not in answer
    assert json.loads(after)["n"] == 2


def test_new_keys_may_be_allowed(stream):
    answers = stream(settings=replace(FREE, allow_new_keys=True)).answers([line_of(1), line_of(2, more=1)])
    assert [json.loads(answer).get("more") for answer in answers] == [None, 1]


def test_users_are_limited_line_by_line(stream):
    limit = UserLimit(budget=2.5 * POLICY.terms.mechanism.claimed_epsilon)
    one = stream(settings=replace(FREE, user="who", limit=limit))
    answers = [json.loads(answer) for answer in one.answers([line_of(n, who="ann") for n in range(4)])]
    assert ["error" in answer for answer in answers] == [False, False, True, True]
    assert "beyond the budget" in answers[2]["error"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (ProtectSettings(), "not certified"),
        (replace(FREE, keep_releases=True), "cannot keep releases"),
        (replace(FREE, dry_run=True), "rehearse"),
        (replace(FREE, user="who", limit=UserLimit(budget=1.0, past="mask")), "past_budget='mask' in a stream"),
    ],
)
def test_what_a_stream_cannot_do_is_refused_at_the_start(stream, settings, words):
    with pytest.raises(InvalidInput, match=words):
        stream(settings=settings)


CELLS = Space([[39.9 + 0.01 * a, 116.3 + 0.01 * b] for a in range(4) for b in range(4)], "haversine")


def test_rows_without_a_name_need_an_id(stream):
    codec = PlaceCodec(PlaceSettings(user="", timestamp="", trip="", every=0.0), CELLS)
    policy = make_policy(codec, Exponential(CELLS, 1.0), codec.tiers)
    with pytest.raises(InvalidInput, match="expected an id"):
        stream(policy)
    (answer,) = stream(policy, replace(FREE, id="id", clear=("id",))).answers(['{"id": 1, "lat": 39.9, "lon": 116.3}'])
    assert set(json.loads(answer)) == {"id", "lat", "lon"}


class Pipe:
    """A pipe that a service reads, and the answers that it sent."""

    def __init__(self):
        self.reader, self.writer = os.pipe()
        self.sent = []

    def write(self, *lines):
        os.write(self.writer, "".join(lines).encode("utf-8", "surrogateescape"))

    def close(self):
        os.close(self.writer)


def test_a_service_answers_until_its_input_ends(stream):
    pipe = Pipe()
    pipe.write(line_of(1), "\udcff\n", line_of(2).rstrip())
    pipe.close()
    assert serve(stream(), pipe.reader, pipe.sent.append) == 2
    assert [json.loads(answer).get("n") for answer in pipe.sent] == [1, None, 2]
    assert "not UTF-8" in pipe.sent[1]


def test_every_answer_is_sent_before_the_next_line_comes(stream):
    pipe, waiting = Pipe(), threading.Event()
    sent = []

    def ask():
        for number in range(5):
            pipe.write(line_of(number))
            assert waiting.wait(20.0)
            waiting.clear()
        pipe.close()

    asking = threading.Thread(target=ask)
    asking.start()
    serve(stream(), pipe.reader, lambda answer: (sent.append(json.loads(answer)["n"]), waiting.set()))
    asking.join()
    assert sent == list(range(5))


def test_a_signal_ends_the_service_after_the_lines_that_were_read(stream):
    pipe, before = Pipe(), signal.getsignal(signal.SIGTERM)
    pipe.write(line_of(1), line_of(2), '{"n": 3, "te')

    def send(answer):
        if not pipe.sent:
            os.kill(os.getpid(), signal.SIGTERM)
        pipe.sent.append(answer)

    assert serve(stream(), pipe.reader, send) == 2
    assert [json.loads(answer)["n"] for answer in pipe.sent] == [1, 2]
    assert signal.getsignal(signal.SIGTERM) == before
    pipe.close()


def test_the_command_answers_standard_input(tmp_path, monkeypatch, capsys):
    save_policy(tmp_path, POLICY)
    pipe = Pipe()
    pipe.write(line_of(1), line_of(2))
    pipe.close()
    words = ["oddshift", "protect", "--stream", "--policy", str(tmp_path), "--allow-uncertified"]
    monkeypatch.setattr(sys, "argv", words)
    with open(pipe.reader) as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
    assert [json.loads(line)["n"] for line in capsys.readouterr().out.splitlines()] == [1, 2]


@pytest.mark.parametrize(
    ("more", "words"),
    [(["in.csv", "out.csv", "--stream"], "expected neither IN nor OUT"), (["in.csv"], "IN or OUT is missing")],
)
def test_a_stream_has_neither_input_nor_output_names(tmp_path, monkeypatch, capsys, more, words):
    save_policy(tmp_path, POLICY)
    monkeypatch.setattr(sys, "argv", ["oddshift", "protect", *more, "--policy", str(tmp_path), "--allow-uncertified"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert words in capsys.readouterr().err
