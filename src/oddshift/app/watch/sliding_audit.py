"""Audit again on sliding windows: learn from the older windows, choose with newer ones, certify on the newest.

The paper's protocol for drift: the slices of one audit are disjoint, those of successive audits overlap, because a
window that was certified on is chosen with and then learned from as newer ones arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from oddshift.app.configuration import Configuration, FileData, parse_config, read_config
from oddshift.app.illustration import illustrate
from oddshift.app.made_policies import with_user_limit
from oddshift.app.preparation import Prepared, prepare
from oddshift.app.questions import ask_adapt, ask_audit
from oddshift.app.runs import ADAPTATION, CONFIG, write_adaptation, write_run
from oddshift.app.watch.baseline import make_baseline, save_baseline
from oddshift.app.watch.new_windows import DataWindow, cut_windows, read_window_data
from oddshift.app.work_means import Means
from oddshift.audit import Audit
from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.dataset import Dataset
from oddshift.model.records import FRACTIONS
from oddshift.protect.policies import Policy, save_policy

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
    means = Means(execution=config.execution)
    found = ask_audit(prepared, config.mechanism, config.audit, means=means)
    illustrate(found).write(folder)
    write_run(folder, found.result, text)
    policy = _adapted(prepared, config, means, folder, text) if (home / ADAPTATION).is_file() else None
    save_baseline(folder, make_baseline(prepared, config.mechanism, config.audit, policy, means.fits))
    return found.result


def _prepared(windows: Sequence[DataWindow], config: Configuration) -> Prepared:
    """The rows of all windows, cut into parts by the age of their window."""
    parts = np.repeat(sliding_parts(len(windows)), [len(one.data) for one in windows])
    names = windows[0].data.columns
    columns = {name: [cell for one in windows for cell in one.data.columns[name]] for name in names}
    return prepare(Dataset(columns, windows[0].data.settings, "the windows"), config.audit.seed, parts)


def _adapted(prepared: Prepared, config: Configuration, means: Means, folder: Path, text: str) -> Policy | None:
    if config.adapt is None:
        return None
    found = ask_adapt(prepared, config.mechanism, config.adapt, means=means)
    write_adaptation(folder, found.result, text)
    if found.policy is None:
        return None
    policy = with_user_limit(found.policy, config.users)
    save_policy(folder, policy)
    return policy
