"""What a release says before its certificate: the counts of its words, and what the run of its policy found."""

import re
from dataclasses import replace

import pytest

from oddshift.adapt.result import TierLeft
from oddshift.app.display import expected_lines, released_line
from oddshift.audit.release_use import DataFate, KindFate
from oddshift.data.codecs import KindCounts
from oddshift.protect.policies import load_policy, save_policy
from policies import people_policy
from reports import made_up_adaptation

FATE = DataFate(kinds=(KindFate(name="PERSON", found=9, perturbed=9),), planted=50, recalled=48, recall=(0.9, 0.99))
LEFT = (TierLeft(tier="PII", before=0.02, alone=0.05, together=0.11, worst=0.4, upper=0.18),)


@pytest.fixture(scope="module")
def policy():
    return people_policy()


@pytest.fixture(scope="module")
def adapted(policy):
    return replace(
        made_up_adaptation(), mechanism=repr(policy.mechanism()), left=LEFT, fate=FATE, detector="a pipeline"
    )


def test_all_kinds_are_added_up():
    kinds = {
        "PERSON": KindCounts(found=10, perturbed=8, marked=2, unchanged=1),
        "GPE": KindCounts(found=4, perturbed=4, unchanged=2),
    }
    said = released_line(kinds, "text")
    assert re.findall(r"\d+%?", said)[:5] == ["14", "12", "3", "25%", "2"]


def test_the_run_of_the_policy_says_what_is_missed_and_guessed(adapted):
    missed, guessed = expected_lines(adapted)
    assert "between 1% and 10% of such names are probably missed" in missed
    assert "PII guessed first: 2% before any release, 5% from one, 11% together (upper bound 18%)" in guessed


def test_secrets_that_were_given_are_not_missed(adapted):
    assert all("missed" not in line for line in expected_lines(replace(adapted, detector="none (columns a)")))


def test_a_policy_keeps_its_sentences_and_one_without_them_has_none(policy, tmp_path):
    assert policy.terms.sentences == ()
    save_policy(tmp_path, replace(policy, terms=replace(policy.terms, sentences=("PII guessed first: 2%",))))
    assert load_policy(tmp_path).terms.sentences == ("PII guessed first: 2%",)
