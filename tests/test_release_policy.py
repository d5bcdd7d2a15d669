"""A policy in use: the same kind out as in, each call a release of its own, kept in a folder and read back the same."""

import numpy as np
import pytest

from encoding import table, vector_policy
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableSettings
from oddshift.mechanisms import Exponential, Mask
from oddshift.model.metric import METRICS, Pairwise, scaled, summed
from oddshift.model.space import Space
from oddshift.protect.policies.terms import metric_from, metric_parts
from oddshift.protect.release import ReleasePolicy, load_release_policy

POINTS = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [6.0, 5.0]])
SPACE = Space(POINTS)
FAR = 1e6
"""An ε so large that a row becomes its nearest point."""

COLUMNS = {"age": [20, 30, 40, 50] * 10, "sex": ["f", "m"] * 20}
SETTINGS = TableSettings(numeric=("age",), categorical=("sex",), domains={"age": (20, 30, 40, 50)}, masked=("name",))


def vectors(epsilon=FAR):
    return ReleasePolicy(vector_policy(Exponential(SPACE, epsilon)))


def rows(epsilon=FAR):
    made = table(COLUMNS, SETTINGS)
    return ReleasePolicy(made.policy(Exponential(made.space, epsilon)))


def test_an_array_comes_out_as_an_array_of_nearest_points():
    released = vectors().apply(np.array([[0.1, 0.9], [5.9, 5.0], [0.0, 0.0]]))
    assert isinstance(released, np.ndarray)
    assert released.tolist() == [[0.0, 1.0], [6.0, 5.0], [0.0, 0.0]]


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_and_tuples_come_out_as_they_are(kind):
    released = vectors().apply(kind([[0.1, 0.9]]))
    assert type(released) is kind
    assert np.array(released).tolist() == [[0.0, 1.0]]


def test_with_noise_only_points_of_the_policy_are_released_and_calls_differ():
    policy = vectors(0.1)
    many = np.repeat([[0.0, 0.0]], 200, axis=0)
    one, two = policy.apply(many), policy.apply(many)
    assert {tuple(row) for row in one.tolist()} <= {tuple(row) for row in POINTS.tolist()}
    assert one.tolist() != two.tolist()


def test_a_mask_releases_nothing_of_a_row():
    released = ReleasePolicy(vector_policy(Mask(SPACE))).apply(np.zeros((2, 2)))
    assert np.isnan(np.array(released, dtype=float)).all()


def test_a_table_keeps_its_columns_and_empties_masked_ones():
    given = {"age": [21, 49], "sex": ["m", "f"], "name": ["Ann", "Bob"]}
    released = rows().apply(given)
    assert {name: list(cells) for name, cells in released.items()} == {
        "age": [20, 50],
        "sex": ["m", "f"],
        "name": [None, None],
    }
    assert given["name"] == ["Ann", "Bob"]


def test_a_column_that_the_policy_does_not_know_is_refused_unless_it_is_allowed_by_name():
    given = {"age": [20], "sex": ["f"], "name": ["Ann"], "note": ["secret note"]}
    with pytest.raises(InvalidInput, match="column 'note' is not known to the policy") as refused:
        rows().apply(given)
    assert "secret note" not in str(refused.value)
    assert list(rows().apply(given, clear=["note"])["note"]) == ["secret note"]


def test_a_table_without_a_column_of_the_policy_is_refused():
    with pytest.raises(InvalidInput, match="the table has no column 'sex' among its 1"):
        rows().apply({"age": [20]})


def test_no_rows_in_no_rows_out():
    nothing = {"age": [], "sex": [], "name": []}
    assert rows().apply(nothing) == nothing


def test_a_saved_policy_is_read_back_the_same_from_its_folder_or_its_file(tmp_path):
    policy = vectors(1.5)
    saved = policy.save(tmp_path / "policy")
    assert (policy.folder, saved.folder) == (None, tmp_path / "policy")
    for place in (tmp_path / "policy", tmp_path / "policy" / "policy.json"):
        again = load_release_policy(place)
        assert again.fingerprint == policy.fingerprint
        assert again.folder == tmp_path / "policy"
        assert again.policy.mechanism().fingerprint == policy.policy.mechanism().fingerprint


def test_files_need_a_folder_for_their_ledger(tmp_path):
    with pytest.raises(InvalidInput, match=r"the policy was not saved, expected policy\.save\(folder\) first"):
        vectors().protect(tmp_path / "in.npy", tmp_path / "out.npy")


def test_an_uncertified_policy_says_so_and_shows_no_point():
    policy = rows()
    assert policy.state == "not certified"
    assert policy.sentence == "Nobody measured what this policy leaks."
    assert repr(policy) == "Policy(table, 6 points, exponential, not certified)"


METRIC_EXAMPLES = {
    **{name: METRICS[name] for name in METRICS},
    "scaled": scaled("euclidean", 2.5),
    "summed": summed([("euclidean", [0]), (scaled("hamming", 3.0), [1])]),
    "summed once": summed([("manhattan", [1, 0])]),
}


@pytest.mark.parametrize("name", METRIC_EXAMPLES)
def test_a_metric_in_plain_fields_is_the_same_metric_again(name):
    metric = METRIC_EXAMPLES[name]
    again = metric_from(metric_parts(metric))
    points = POINTS + 1.0
    assert again.name == metric.name
    assert np.array_equal(again.between(points, points), metric.between(points, points))
    assert metric_parts(again) == metric_parts(metric)


@pytest.mark.parametrize("inner", [Pairwise(lambda a, b: 1.0), scaled(lambda a, b: 1.0, 2.0)], ids=["plain", "scaled"])
def test_a_metric_that_only_code_can_compute_is_refused(inner):
    with pytest.raises(InvalidInput, match="a callable metric cannot be stored in a policy, expected one of"):
        metric_parts(inner)


def test_an_unknown_metric_of_a_stored_policy_is_refused():
    (part,) = metric_parts(METRICS["euclidean"])
    odd = type(part)(name="warp", factor=1.0, columns=())
    with pytest.raises(InvalidInput, match="the policy names the metric 'warp', expected one of euclidean"):
        metric_from((odd,))
