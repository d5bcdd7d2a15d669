"""Unknown values: words without a point, cells outside a domain, places outside all cells, each with its row."""

import numpy as np

import oddshift as od
from oddshift.app.configured_runs import StoredCodec
from oddshift.app.watch.windows import RECALL, UNKNOWN, Baseline, window_values
from oddshift.audit.scan import Budget
from oddshift.audit.settings import AuditSettings
from oddshift.data.dataset import Dataset
from oddshift.mechanisms import Exponential

TEXTS = ["Ann met Bob.", "Bob met Ann.", "Ann saw Cleo and Bob.", "Cleo met Ann."] * 3


def found(data, columns):
    codec = data.fit(np.ones(len(data), dtype=bool))
    return codec.unknown_values(codec.encode(columns), columns)


def test_words_without_a_point_are_unknown():
    data = od.texts(TEXTS, vectors="from-text", detectors=["capitals"])
    seen = found(data, {"text": ["Ann met Zed.", "nobody", "Bob saw Ann."]})
    assert sorted(zip(seen.rows.tolist(), seen.is_unknown.tolist(), strict=True)) == [
        (0, False),
        (0, True),
        (2, False),
        (2, False),
    ]


def test_cells_outside_their_domain_are_unknown_and_missing_ones_do_not_count():
    columns = {"age": [20, 30, 40, 50] * 3, "town": ["a", "b", "a", "b"] * 3}
    data = od.table(columns, settings={"numeric": ["age"], "categorical": ["town"]})
    seen = found(data, {"age": [35, None, 900], "town": ["a", "c", None]})
    assert seen.rows.tolist() == [0, 2, 0, 1]
    assert seen.is_unknown.tolist() == [False, True, False, True]


def test_places_outside_all_cells_are_unknown():
    fixes = {"lat": [39.9, 40.0, 40.1], "lon": [116.3, 116.4, 116.5], "who": ["a", "a", "b"]}
    settings = {"user": "who", "timestamp": "", "trip": "", "every": 0}
    seen = found(od.trajectories(fixes, settings=settings), {**fixes, "lat": [39.9, 51.0, 40.1]})
    assert seen.is_unknown[np.argsort(seen.rows)].tolist() == [False, True, False]


def test_of_vectors_it_cannot_be_said():
    data = od.embeddings(np.eye(3), settings={"points": "fit"})
    assert found(data, data.columns) is None


def test_a_window_of_texts_has_unknown_words_and_planted_names():
    data = od.texts(TEXTS, vectors="from-text", detectors=["capitals"])
    codec = data.fit(np.ones(len(data), dtype=bool))
    budget = Budget(Exponential(codec.space, 1.0), codec.tiers, 1.0)
    baseline = Baseline("", StoredCodec.of(codec), budget, (), AuditSettings(epsilon=1.0), ())
    window = Dataset({"text": [f"Then he met Ann. {word} Zed." for word in ("one", "two", "three")]}, data.settings)
    units, values = window_values(baseline, window, np.random.default_rng(0))
    assert units == 3
    assert values[UNKNOWN].tolist() == [0.5] * 3
    assert values[RECALL].tolist() == [1.0] * 3
