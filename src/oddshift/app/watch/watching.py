"""Watch a run: audit windows of new data under its policy, without fitting, until a change is certified.

The paper's sliding windows for drift (Section 1): new data are audited window after window, and the attackers and the
policy are made again from the newest windows when an alarm says so.

An audit on sliding windows learns from the older ones, chooses with newer ones and certifies on the newest: its slices
are disjoint, those of successive audits overlap. The page shows every series, and the evidence for a change.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.app.configuration import Configuration, FileData, parse_config, read_config
from oddshift.app.configured_runs import prepare_configured, read_kept
from oddshift.app.report.figures import LinePlot
from oddshift.app.report.markup import Html, items, join, table, tag
from oddshift.app.report.page import page_frame
from oddshift.app.resources import Means
from oddshift.app.run import Run
from oddshift.app.run_folder import ADAPTATION, CONFIG, POLICY, inputs_of, refuse_no_run, refuse_other_run
from oddshift.app.watch.series import (
    NewWindow,
    SeriesLine,
    Watch,
    WatchedSeries,
    count_window,
    counted_windows,
    is_counted,
    series_sentence,
    watch_of,
    watch_state,
    watched_series,
)
from oddshift.app.watch.windows import (
    Baseline,
    content_of_window,
    cut_windows,
    make_baseline,
    read_baseline,
    read_window_data,
    save_baseline,
    window_values,
)
from oddshift.audit import Audit
from oddshift.base.arrays import FloatArray, IntArray, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.bounds.betting import ShiftStream
from oddshift.data.dataset import Dataset
from oddshift.data.preparation import Prepared, prepare
from oddshift.model.records import FRACTIONS
from oddshift.protect.policies import Policy, load_policy

NewData = str | Path | Dataset
"""A file, or a data set in memory."""


def watch(
    run: str | Path,
    new: NewData | Sequence[NewData],
    *,
    window: int = 0,
    alpha: float = 0.05,
    reference: Dataset | None = None,
) -> Watch:
    """Audit windows of new data under the policy of a run folder, and say whether a change is certified.

    Every file (or data set) of `new` is a window, or is cut into windows of `window` rows. Watched are the rate of
    every tier under the attackers of the run, their log score, the share of unknown values, and for texts the recall
    on planted names. A window that was counted before is not counted again. `reference` is the data of the run, where
    they were in memory; it is needed once.

    **Guarantee**: without a change an alarm is ever raised with probability at most `alpha`, however many windows
    come: each series is an e-process that may be looked at after every window, and their levels sum to `alpha`. It
    assumes that units (documents, users) are independent and that none is in two windows.

    >>> import numpy as np
    >>> import oddshift as od
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> def documents(n, alike):  # six secrets each; in a share of the documents they are all the same
    ...     drawn, same = rng.integers(0, 3, (n, 6)), rng.random((n, 1)) < alike
    ...     corners = np.array([[4.0, 4.0], [4.0, 8.0], [8.0, 4.0]])[np.where(same, drawn[:, :1], drawn).ravel()]
    ...     return od.embeddings(corners, groups=np.repeat(np.arange(n), 6), settings={"points": "fit"})
    >>> data = documents(400, 0.4)
    >>> with TemporaryDirectory() as folder:
    ...     _ = od.audit(data, epsilon=1.0, delta=0.05, attackers=["plugin"]).save(folder)
    ...     quiet = watch(folder, [documents(100, 0.4) for _ in range(3)], reference=data)
    ...     later = watch(folder, [documents(300, 0.9) for _ in range(3)])
    >>> quiet.state, later.state, [alarm.series for alarm in later.alarms]
    ('quiet', 'alarm', ['log score'])
    """
    home, level = Path(run), unit_open(alpha, "alpha")
    baseline = _baseline(home, reference)
    series = watched_series(baseline)
    settings = baseline.codec.settings
    places = [new] if isinstance(new, str | Path | Dataset) else list(new)
    with watch_state(home, {"baseline": baseline.key, "alpha": repr(level)}) as db:
        read = [_read(db, read_window_data(place, settings), window, baseline, series) for place in places]
        windows = counted_windows(db)
    counted, known, waiting = (sum(numbers) for numbers in zip(*read, strict=True))
    return watch_of(series, windows, level, (counted, known, waiting), baseline.notes)


def _read(
    db: sqlite3.Connection, data: Dataset, rows: int, baseline: Baseline, series: Sequence[WatchedSeries]
) -> tuple[int, int, int]:
    """Count the windows of one data set: how many are new, how many were known, and the rows that fill no window."""
    windows = list(cut_windows(data, rows))
    new = [_count(db, one, baseline, series) for one in windows]
    return sum(new), len(new) - sum(new), len(data) - sum(map(len, windows))


def _count(db: sqlite3.Connection, one: Dataset, baseline: Baseline, series: Sequence[WatchedSeries]) -> bool:
    """Measure a window and add it to the evidence; False when it was counted before.

    The same window always gets the same noise, so that a process that was killed changes nothing.
    """
    content = content_of_window(one)
    if is_counted(db, content):
        return False
    seeds = [baseline.settings.seed, 32, int(content[:16], 16)]
    units, found = window_values(baseline, one, np.random.default_rng(seeds))
    by_name = {each.name: each for each in series}
    values = {name: values for name, values in found.items() if name in by_name}
    rng = np.random.default_rng([*seeds, 1])

    def grow(name: str, values: FloatArray, earlier: list[FloatArray], state: Mapping[str, Any]) -> ShiftStream:
        one = by_name[name]
        return replace(one.start, **state).update(one.compared(values, earlier, rng))

    return count_window(db, NewWindow(content, one.source, units, values), grow)


def _baseline(home: Path, reference: Dataset | None) -> Baseline:
    """The kept baseline of a run, or a new one from its data; one of another policy is refused."""
    refuse_no_run(home)
    policy = load_policy(home) if (home / POLICY).is_file() else None
    found = read_baseline(home)
    if found is None:
        found = _made(home, reference, policy)
        save_baseline(home, found)
    if found.policy != ("" if policy is None else policy.sha256):
        raise InvalidInput(f"{home} has another policy than when its watch began, expected a new run folder")
    return found


def _made(home: Path, reference: Dataset | None, policy: Policy | None) -> Baseline:
    config = parse_config(read_config(home / CONFIG), str(home / CONFIG), home.absolute().parent)
    if reference is not None:
        return make_baseline(prepare(reference, config.audit.seed), config.mechanism, config.audit, policy, {})
    if not isinstance(config.data, FileData):
        raise InvalidInput("the run is about the embedded corpus, expected a run of a file")
    if not config.data.path.exists():
        raise InvalidInput(
            f"{config.data.path}, the data of the run, is not there; expected it once, when a watch begins "
            "(from Python: reference=)"
        )
    inputs = inputs_of(config)
    refuse_other_run(home, inputs)
    earlier = read_kept(home, inputs)
    fits = {} if earlier is None else dict(earlier.fits)
    return make_baseline(prepare_configured(config), config.mechanism, config.audit, policy, fits)


FEWEST_WINDOWS = 3
"""One to learn from, one to choose with, one to certify on."""


def sliding_parts(windows: int) -> IntArray:
    """The part of each window, the oldest first: 0 to learn from, 1 to choose with, 2 to certify on.

    >>> sliding_parts(5), sliding_parts(3)
    (array([0, 0, 0, 1, 2]), array([0, 1, 2]))
    """
    if windows < FEWEST_WINDOWS:
        raise InvalidInput(f"{windows} windows, expected at least {FEWEST_WINDOWS}: to learn, to choose and to certify")
    _, choosing, certifying = (max(1, round(share * windows)) for share in FRACTIONS)
    return np.repeat([0, 1, 2], [windows - choosing - certifying, choosing, certifying])


def audit_again(run: str | Path, new: Sequence[str | Path], folder: Path, *, window: int = 0) -> Audit:
    """Audit the newest windows as the configuration of a run says, and adapt if the run was adapted, in a new folder.

    `new` are the files in order of time. The new run can be watched from the windows that follow.
    """
    home = Path(run)
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInput(f"{folder} is not empty, expected a new folder for the new run")
    text = read_config(home / CONFIG)
    config = parse_config(text, str(home / CONFIG), home.absolute().parent)
    if not isinstance(config.data, FileData):
        raise InvalidInput("the run is about the embedded corpus, expected a run of a file")
    datasets = [read_window_data(place, config.data.settings) for place in new]
    prepared = _prepared([one for data in datasets for one in cut_windows(data, window)], config)
    asked = Run(prepared, config.mechanism, Means(execution=config.execution), text, config.users)
    found = asked.audit(config.audit)
    found.save(folder)
    policy = None
    if (home / ADAPTATION).is_file() and config.adapt is not None:
        fixed = asked.adapt(config.adapt)
        released = fixed.policy or fixed.proposal
        fixed.save(folder)
        if released is not None:
            released.save(folder)
            policy = released.policy
    save_baseline(folder, make_baseline(prepared, config.mechanism, config.audit, policy, asked.means.fits))
    return found.result


def _prepared(windows: Sequence[Dataset], config: Configuration) -> Prepared:
    """The rows of all windows, cut into parts by the age of their window."""
    parts = np.repeat(sliding_parts(len(windows)), list(map(len, windows)))
    names = windows[0].columns
    columns = {name: [cell for one in windows for cell in one.columns[name]] for name in names}
    return prepare(Dataset(columns, windows[0].settings, "the windows"), config.audit.seed, parts)


PAGE = "watch.html"
"""Name of the page in a run folder."""


def watch_page(found: Watch, name: str) -> str:
    """The whole page as one string that needs no other file.

    **Guarantee**: it holds means and counts only, no value of the data; it makes no network request.
    """
    return page_frame(
        [
            ("state", "What was found", _state(found)),
            ("evidence", "Evidence for a change", _evidence(found)),
            ("series", "Window after window", join([_windows(found), *map(_means, found.series)])),
        ],
        name=name,
        foot="Made by oddshift watch from the run folder and the windows.",
    )


def _state(found: Watch) -> Html:
    lines = [
        *(alarm.sentence for alarm in found.alarms),
        f"Without a change, the chance that there is ever an alarm is at most {found.alpha:g}.",
        "The units of all windows are taken as independent, and none as being in two of them.",
        *found.notes,
    ]
    return tag("div", None, tag("p", {"class": "says"}, found.sentence), items(lines))


def _evidence(found: Watch) -> Html:
    highest = max(found.series, key=lambda one: max(one.log_e, default=0.0))
    said = (
        f"The largest evidence is {max(highest.log_e, default=0.0):.1f}, of {highest.name}; an alarm needs "
        f"{found.threshold:.1f}, ln({len(found.series)} series / {found.alpha:g}), the dashed line."
    )
    lines = {one.name: list(enumerate((0.0, *one.log_e))) for one in found.series}
    return LinePlot("ln E of every series", said, "window", "ln E", lines, level=found.threshold).figure.html


def _windows(found: Watch) -> Html:
    """Every window with its units and the mean of every series."""
    rows = [
        [name, f"{units:,}", *("-" if (mean := one.means[k]) is None else f"{mean:.4f}" for one in found.series)]
        for k, (name, units) in enumerate(zip(found.windows, found.units, strict=True))
    ]
    return table(("window", "units", *(one.name for one in found.series)), rows, "Windows")


def _means(one: SeriesLine) -> Html:
    """The mean of a series in every window that has one, with δ or the mean in the audit as a dashed line."""
    points = [(k, mean) for k, mean in enumerate(one.means, 1) if mean is not None]
    said, level = f"{series_sentence(one)}.", one.reference if one.delta is None else one.delta
    if not points:
        return tag("p", None, said)
    return LinePlot(one.name, said, "window", "mean", {one.name: points}, level=level).figure.html
