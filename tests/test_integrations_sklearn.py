"""The scikit-learn transformer does what scikit-learn expects, and releases what the policy's mechanism says."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import encoding
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential, Mask
from oddshift.model.space import Space
from oddshift.protect import seeded_uniforms
from oddshift.protect.integrations import MetricPrivacyTransformer
from oddshift.protect.policies import save_policy
from policies import DOMAINS, TABLE, people_policy, table_policy

ROWS = np.random.default_rng(2).normal(size=(30, 3))
MANY = np.repeat(ROWS, 40, axis=0)

NOT_FOR_NOISE = {
    "check_methods_sample_order_invariance": "rows in another order meet other uniforms: each release draws its own",
    "check_methods_subset_invariance": "a row alone meets another uniform than in a batch: each release draws its own",
}


@parametrize_with_checks(
    [
        MetricPrivacyTransformer(epsilon=1.0),
        MetricPrivacyTransformer(epsilon=1.0, metric="manhattan", calibrated=True),
    ],
    expected_failed_checks=lambda estimator: NOT_FOR_NOISE,
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_rows_are_released_through_the_exponential_mechanism(metric):
    fitted = MetricPrivacyTransformer(epsilon=1.5, metric=metric, random_state=4).fit(ROWS)
    space = Space(ROWS, metric)
    seed = int(np.random.RandomState(4).randint(2**31))
    outputs = Exponential(space, 1.5).invert(np.arange(30), seeded_uniforms(seed)(30))
    np.testing.assert_array_equal(fitted.transform(ROWS), ROWS[outputs])
    assert fitted.policy_.mechanism().exact_epsilon <= 1.5


def test_calibration_spends_the_budget_exactly():
    fitted = MetricPrivacyTransformer(epsilon=1.5, calibrated=True).fit(ROWS)
    assert fitted.policy_.mechanism().exact_epsilon == pytest.approx(1.5, rel=1e-5)
    assert fitted.policy_.terms.mechanism.calibrated


def test_equal_rows_are_one_point_and_new_rows_go_to_the_nearest():
    fitted = MetricPrivacyTransformer(epsilon=1e6).fit(MANY)
    assert len(fitted.policy_.space) == len(ROWS)
    np.testing.assert_array_equal(fitted.transform(ROWS + 1e-6), ROWS)


def test_noise_comes_from_the_operating_system():
    fitted = MetricPrivacyTransformer(epsilon=1.0).fit(ROWS)
    np.random.seed(0)  # noqa: NPY002 (the global state must not matter)
    first = fitted.transform(MANY)
    np.random.seed(0)  # noqa: NPY002
    assert (first != fitted.transform(MANY)).any()


def test_random_state_repeats_and_a_generator_goes_on():
    seeded = MetricPrivacyTransformer(epsilon=1.0, random_state=3)
    first = seeded.fit_transform(MANY)
    np.testing.assert_array_equal(first, seeded.transform(MANY))
    np.testing.assert_array_equal(first, clone(seeded).fit(MANY).transform(MANY))
    running = MetricPrivacyTransformer(epsilon=1.0, random_state=np.random.RandomState(3)).fit(ROWS)
    assert (running.transform(MANY) != running.transform(MANY)).any()


def test_a_table_policy_is_applied_from_memory_and_from_its_file(tmp_path):
    policy = table_policy(epsilon=1e6)
    for given in (policy, save_policy(tmp_path, policy), str(tmp_path)):
        released = MetricPrivacyTransformer(policy=given).fit_transform([[29.0, 8.0], [44.0, 1.2]])
        assert released.tolist() == [[30.0, 9.0], [41.0, 1.0]]
    rows = np.tile([[30.0, 2.0]], (200, 1))
    noisy = MetricPrivacyTransformer(policy=table_policy(epsilon=0.5)).fit_transform(rows)
    assert [set(column) for column in noisy.T.tolist()] == [set(map(float, values)) for values in DOMAINS.values()]


@pytest.mark.parametrize("kind", ["table", "vectors"])
def test_a_mask_gives_nan(kind):
    space = Space(ROWS)
    policy = {
        "table": lambda: table_policy(epsilon=None),
        "vectors": lambda: encoding.vector_policy(Mask(space)),
    }[kind]()
    rows = ROWS[:5, :2] if kind == "table" else ROWS
    assert np.isnan(MetricPrivacyTransformer(policy=policy).fit_transform(rows)).all()


def test_names_of_columns_are_kept_and_compared_with_the_policy():
    table = pa.table(TABLE)
    fitted = MetricPrivacyTransformer(policy=table_policy()).fit(table)
    assert fitted.get_feature_names_out().tolist() == ["age", "pay"]
    with pytest.raises(InvalidInput, match=r"^columns pay, age, expected age, pay$"):
        MetricPrivacyTransformer(policy=table_policy()).fit(table.select(["pay", "age"]))


def test_it_stands_in_pipelines_and_column_transformers():
    loaded = load_breast_cancer()
    scores = {}
    for epsilon in (0.01, 1e6):
        noisy = make_pipeline(StandardScaler(), MetricPrivacyTransformer(epsilon=epsilon, random_state=0))
        model = make_pipeline(noisy, LogisticRegression(max_iter=500)).fit(loaded.data, loaded.target)
        scores[epsilon] = model.score(loaded.data, loaded.target)
    assert scores[1e6] > 0.95
    assert scores[0.01] < 0.75
    parts = make_column_transformer((MetricPrivacyTransformer(epsilon=1e6), [0, 2]), remainder="passthrough")
    np.testing.assert_array_equal(parts.fit_transform(ROWS), ROWS[:, [0, 2, 1]])
    assert parts.get_feature_names_out()[0] == "metricprivacytransformer__x0"


REFUSED = [
    ({}, r"^epsilon=None and policy=None, expected one of the two$"),
    ({"epsilon": 1.0, "policy": "p.json"}, r"^epsilon=1.0 and policy='p.json', expected one of the two$"),
    ({"epsilon": -1.0}, r"epsilon=-1.0, expected"),
    ({"epsilon": 1.0, "metric": "cosine"}, r"^metric='cosine', expected"),
    ({"policy": "nowhere.json"}, r"^nowhere.json is not a file, expected a policy.json; `adapt` writes one"),
    ({"policy": 3}, r"^policy is an int, expected a Policy or the path of a policy.json$"),
]


@pytest.mark.parametrize(("parameters", "line"), REFUSED)
def test_what_cannot_be_used_is_refused_at_fit(parameters, line):
    with pytest.raises(InvalidInput, match=line):
        MetricPrivacyTransformer(**parameters).fit(ROWS)


def test_policies_about_other_data_are_refused():
    with pytest.raises(InvalidInput, match=r"^Policy\(text, .*\), expected one of vectors, or of a table with numeric"):
        MetricPrivacyTransformer(policy=people_policy()).fit(ROWS)
    with pytest.raises(InvalidInput, match=r"^X has 3 columns, expected 2 like the policy$"):
        MetricPrivacyTransformer(policy=table_policy()).fit(ROWS)


def test_a_display_shows_no_value():
    shown = repr(MetricPrivacyTransformer(policy=table_policy()))
    assert "Policy(table, 6 points, exponential, not certified)" in shown


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(["sklearn", "spacy", "presidio_anonymizer"]))
import oddshift.protect.integrations
for name in oddshift.protect.integrations.__all__:
    try:
        getattr(oddshift.protect.integrations, name)
    except oddshift.InvalidInput as error:
        print(error)
"""


def test_libraries_that_are_missing_are_named():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "scikit-learn is not installed; get it with: pip install 'oddshift[tables]'",
        "Presidio is not installed; get it with: pip install 'oddshift[text]'",
        "spaCy is not installed; get it with: pip install 'oddshift[text]'",
    ]
