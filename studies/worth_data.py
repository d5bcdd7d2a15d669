"""The data of the study of worth: a sample of each, cut into what is adapted on and what is held out, and its goals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn import datasets
from statsmodels import datasets as other

import oddshift as od
from oddshift.adapt.settings import RepairChoice
from oddshift.data.codecs import data_folder
from oddshift.data.dataset import Dataset
from oddshift.data.detectors import Pipeline
from oddshift.data.embedded import people

HELD = 0.2
"""The share of the documents, or of the trips, that nothing reads before the end."""


@dataclass(frozen=True)
class Source:
    """A data set with the goals that are asked of it; `target` is the column that a table's task predicts."""

    name: str
    read: Callable[[], Dataset]
    epsilon: float
    delta: float
    target: str = ""
    unit: str = ""
    repair: RepairChoice = "auto"

    def cut(self) -> tuple[Dataset, Dataset]:
        """What is adapted on, and what is held out: whole trips where there are any."""
        data = self.read()
        rows = np.arange(len(data)) if not self.unit else np.unique(data.columns[self.unit], return_inverse=True)[1]
        units = int(rows.max()) + 1
        chosen = np.random.default_rng(1).permutation(units)[: round(HELD * units)]
        held = np.isin(rows, chosen)
        return tuple(replace(data, columns=data.rows(part)) for part in (~held, held))  # type: ignore[return-value]


def framed(values: np.ndarray | pd.DataFrame) -> Callable[[], Dataset]:
    """A table with plain names of columns."""
    rows = np.asarray(values, dtype=np.float64)
    return lambda: od.table(pd.DataFrame(rows, columns=[f"c{c}" for c in range(rows.shape[1])]))


def published_texts(name: str, most: int) -> Callable[[], Dataset]:
    """A sample of a published corpus, its names found by the small pipeline, with published word vectors."""

    def read() -> Dataset:
        home = data_folder()
        frame = pd.read_csv(home / f"{name}.csv", keep_default_na=False)
        frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[:most]]
        joined = frame["text"] if "title" not in frame else frame["title"] + ". " + frame["text"]
        pipeline = Pipeline(home / "ner" / "en_core_web_sm_ner")
        return od.texts(joined.tolist(), vectors=str(home / "glove.6B.100d.npz"), detectors=[pipeline])

    return read


def made_up() -> Dataset:
    """The embedded corpus of people."""
    return od.texts(list(people(3_000).texts))


def trips() -> Dataset:
    """Trips around Beijing, each counted as a unit: eleven people are too few to certify anything about people."""
    frame = pd.read_csv(data_folder() / "trajectories.csv", dtype={"user": str, "trip": str})
    near = frame[frame["lat"].between(39.7, 40.2) & frame["lon"].between(116.1, 116.7)]
    near = near.assign(trip=near["user"] + near["trip"]).drop(columns="user")
    return od.trajectories(near, settings={"user": "", "trip": "trip"})


def _tables() -> dict[str, Callable[[], Dataset]]:
    cancer, sugar, wine = (getattr(datasets, f"load_{name}")() for name in ("breast_cancer", "diabetes", "wine"))
    return {
        "fair": framed(other.fair.load_pandas().data),
        "anes96": framed(other.anes96.load_pandas().data.iloc[:, 1:]),
        "diabetes": framed(np.column_stack([sugar.data, sugar.target])),
        "WDBC": framed(np.column_stack([cancer.data[:, :10], cancer.target])),
        "wine": framed(np.column_stack([wine.data, wine.target == 0])),
        "randhie": framed(other.randhie.load_pandas().data.iloc[::5]),
    }


TABLES = _tables()

SOURCES = (
    Source("embedded corpus", made_up, 1.5, 0.05, repair="best"),
    Source("AG News", published_texts("ag_news", 3_200), 1.5, 0.1, repair="best"),
    Source("IMDB", published_texts("imdb", 700), 2.0, 0.1, repair="best"),
    Source("Amazon", published_texts("amazon", 2_000), 2.0, 0.1, repair="best"),
    Source("fair", TABLES["fair"], 4.0, 0.1, target="c8"),
    Source("anes96", TABLES["anes96"], 4.0, 0.1, target="c8"),
    Source("diabetes", TABLES["diabetes"], 4.0, 0.1, target="c10"),
    Source("WDBC", TABLES["WDBC"], 4.0, 0.1, target="c10"),
    Source("wine", TABLES["wine"], 4.0, 0.2, target="c13"),
    Source("randhie", TABLES["randhie"], 4.0, 0.2, target="c0"),
    Source("GeoLife", trips, 2.0, 0.2, unit="trip"),
)
