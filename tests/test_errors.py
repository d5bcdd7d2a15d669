"""The tree of exceptions: one root, and every refusal is a ValueError too."""

import inspect
import pickle

import pytest

import oddshift
from oddshift.base import errors
from oddshift.base.errors import (
    ImpossibleObservation,
    InvalidInput,
    NoGuarantee,
    OddshiftError,
    TamperedEvidence,
    TooLarge,
)

REFUSALS = (TooLarge, ImpossibleObservation, NoGuarantee, TamperedEvidence)


def test_every_refusal_is_invalid_input_and_a_value_error():
    for kind in (InvalidInput, *REFUSALS):
        assert issubclass(kind, OddshiftError)
        assert issubclass(kind, InvalidInput)
        assert issubclass(kind, ValueError)
    assert not issubclass(OddshiftError, ValueError)


def test_no_refusal_is_a_special_case_of_another():
    for kind in REFUSALS:
        assert kind.__bases__ == (InvalidInput,)


def test_the_docstring_draws_exactly_the_classes_of_the_module():
    drawn = {word for word in errors.__doc__.replace("└── ", "").replace("├── ", "").split() if word[0].isupper()}
    classes = {name for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert classes <= drawn
    assert all(kind.__doc__ for kind in vars(errors).values() if inspect.isclass(kind))


def test_a_refusal_crosses_a_process_with_its_message():
    again = pickle.loads(pickle.dumps(TooLarge("n=9, expected at most 3")))
    assert type(again) is TooLarge
    assert str(again) == "n=9, expected at most 3"


def test_one_except_clause_catches_what_the_library_refuses():
    for wrong in (
        lambda: oddshift.Space([[0.0], [0.0]]),
        lambda: oddshift.Exponential(oddshift.Space([[0.0]]), -1.0),
        lambda: oddshift.Joint([[0.5, 0.6]]),
        lambda: oddshift.bounds.betting_upper([2.0], 0.05),
        lambda: oddshift.witness.guess_game(5, 3, 1.0, 0.05),
    ):
        with pytest.raises(OddshiftError) as caught:
            wrong()
        assert "expected" in str(caught.value)
        assert "\n" not in str(caught.value)
