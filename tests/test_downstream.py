"""The study of downstream tasks: which releases score below dropping the words, in one sentence."""

from studies.downstream import ALONE, DROPPED, below_dropping, with_error


def test_releases_below_dropping_are_named():
    scores = {"EM at scale 1": 0.87, "EM at scale 0.5": 0.82, DROPPED: 0.83, ALONE: 0.79}
    said = below_dropping(scores)
    assert "simply dropped (83.0%): EM at scale 0.5 (82.0%)." in said
    assert "scale 1 " not in said
    assert ALONE not in said
    assert below_dropping({"EM": 0.9, DROPPED: 0.83, ALONE: 0.79}).startswith("Every release scores above")


def test_an_accuracy_comes_with_the_error_of_the_held_out_fifth():
    assert with_error(0.5, 500) == "50.0% ± 9.8%"
