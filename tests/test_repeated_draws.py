"""One draw for each secret of what is read together, in memory and over the blocks of a file."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import data_file
from oddshift.protect import Ledger, ProtectSettings, Sanitizer, protect
from oddshift.protect.noise import keyed_uniforms
from oddshift.protect.policies import load_policy, save_policy
from policies import NAMES, names_in, names_policy

TEXTS = [f"{a} met {b}. {a} left {b} and {a}." for a in NAMES[:3] for b in NAMES[3:]]


def test_equal_secrets_of_a_document_come_out_alike():
    for text in Sanitizer(names_policy()).texts(TEXTS):
        a, b, *rest = names_in(text)
        assert rest == [a, b, a]


def test_documents_are_drawn_apart():
    shown = [names_in(text)[0] for text in Sanitizer(names_policy()).texts([TEXTS[0]] * 200)]
    assert len(set(shown)) == 10


def test_each_occurrence_by_itself_where_that_is_asked_for():
    shown = [names_in(text) for text in Sanitizer(names_policy(repeats="each")).texts(TEXTS * 5)]
    assert sum(words[0] == words[2] for words in shown) < len(shown) / 2


def test_sentences_are_drawn_apart_where_they_are_read_apart():
    shown = [names_in(text) for text in Sanitizer(names_policy(joint_by="sentence")).texts(TEXTS * 5)]
    assert all(words[2] == words[4] for words in shown)
    assert sum(words[0] == words[2] for words in shown) < len(shown) / 2


def test_a_user_has_one_draw_for_each_secret_over_all_blocks_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 64)
    save_policy(tmp_path / "run", names_policy(joint_by="user"))
    policy = load_policy(tmp_path / "run")
    rows = [(f"u{k % 4}", text) for k, text in enumerate(TEXTS * 3)]
    with (tmp_path / "in.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("who", "text"), *((who, f"{n} {text}") for n, (who, text) in enumerate(rows))])
    free = ProtectSettings(allow_uncertified=True)
    protect(tmp_path / "in.csv", tmp_path / "out.csv", policy, Ledger.beside(tmp_path / "run"), free)
    with (tmp_path / "out.csv").open(newline="") as stream:
        shown = list(csv.DictReader(stream))
    drawn = {}
    for (who, text), row in zip(rows, shown, strict=True):
        for secret, output in zip(names_in(text), names_in(row["text"]), strict=True):
            drawn.setdefault((who, secret), set()).add(output)
    assert all(len(outputs) == 1 for outputs in drawn.values())
    assert len({(secret, *outputs) for (_, secret), outputs in drawn.items()}) > len(NAMES)  # users are drawn apart


def test_a_file_without_its_users_is_refused(tmp_path):
    save_policy(tmp_path / "run", names_policy(joint_by="user"))
    (tmp_path / "in.csv").write_text("text\nnamea met\n")
    free = ProtectSettings(allow_uncertified=True)
    policy = load_policy(tmp_path / "run")
    with pytest.raises(InvalidInput, match="has no column 'who'"):
        protect(tmp_path / "in.csv", tmp_path / "out.csv", policy, Ledger.beside(tmp_path / "run"), free)


def test_keyed_uniforms_are_uniform_and_depend_on_key_unit_and_point():
    units, points = [b"u%d" % (k % 100) for k in range(20_000)], np.arange(20_000) // 100
    z = keyed_uniforms(b"one key", units, points)
    assert ((z >= 0) & (z < 1)).all()
    assert len(np.unique(z)) == 20_000
    assert abs(np.histogram(z, bins=20, range=(0, 1))[0] - 1000).max() < 150
    other = keyed_uniforms(b"another", units, points)
    assert abs(np.corrcoef(z, other)[0, 1]) < 0.03
    np.testing.assert_array_equal(z, keyed_uniforms(b"one key", units, points))


def test_the_key_is_new_for_every_sanitizer_and_repeats_under_a_seed():
    policy = names_policy(joint_by="user")
    one, two = Sanitizer(policy), Sanitizer(policy)
    assert one._draws.key() == one._draws.key() != two._draws.key()
    seeded = [Sanitizer.seeded_for_experiments(policy, 3)._draws.key() for _ in range(2)]
    assert seeded[0] == seeded[1]


def test_draws_follow_the_mechanism():
    """Over many documents the shared draw of a secret has the mechanism's law."""
    policy = names_policy()
    codec = policy.codec
    terms = replace(policy.terms.mechanism, epsilon=1.0, claimed_epsilon=1.0)
    sharp = replace(policy, terms=replace(policy.terms, mechanism=terms))
    shown = Sanitizer.seeded_for_experiments(sharp, 1).texts([f"{NAMES[0]} and {NAMES[0]}"] * 4000)
    times = np.bincount([codec.lexicon.words.index(names_in(text)[0]) for text in shown], minlength=10) / 4000
    expected = np.exp(sharp.mechanism().log_likelihood(np.array([codec.lexicon.words.index(NAMES[0])]))[0])
    assert abs(times - expected).max() < 0.04
