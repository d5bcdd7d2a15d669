"""How independent pieces of work are mapped: one after the other, over processes, or over a Dask cluster.

A performance setting and nothing else: a task carries its own seed, so the results are the same, bit for bit, whichever
way they were computed on one machine. Everything goes through joblib.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from oddshift.base.arrays import one_of, whole
from oddshift.base.errors import InvalidInput

Task = TypeVar("Task")
Result = TypeVar("Result")

KINDS = ("serial", "processes", "cluster")


@dataclass(frozen=True)
class Execution:
    """`serial`; `processes` with that many workers (joblib's loky); or `cluster`, the Dask scheduler at `address`."""

    kind: str = "serial"
    workers: int = 2
    address: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        one_of(self.kind, "kind", KINDS)
        whole(self.workers, "workers", 1)
        if self.kind == "cluster" and not self.address:
            raise InvalidInput("a cluster has no address, expected that of a Dask scheduler, such as tcp://host:8786")


SERIAL = Execution()


def run(function: Callable[[Task], Result], tasks: Iterable[Task], execution: Execution = SERIAL) -> list[Result]:
    """function(task) for every task, in order. A worker that dies is replaced and its task is done again.

    >>> run(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    work: Sequence[Task] = list(tasks)
    if execution.kind == "serial" or not work:
        return [_single_threaded(function, task) for task in work]
    if execution.kind == "processes":
        return _joblib(function, work, n_jobs=execution.workers, backend="loky")
    return _on_cluster(function, work, execution.address)


def _joblib(function: Callable[[Task], Result], work: Sequence[Task], **settings: Any) -> list[Result]:
    from joblib import Parallel, delayed

    results: list[Result] = Parallel(**settings)(delayed(_single_threaded)(function, task) for task in work)
    return results


def _on_cluster(function: Callable[[Task], Result], work: Sequence[Task], address: str) -> list[Result]:
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise InvalidInput("execution on a cluster needs the extra: pip install 'oddshift[cluster]'") from error
    from joblib import parallel_config

    make: Any = Client
    with make(address, set_as_default=False) as client, parallel_config(backend="dask", client=client):
        return _joblib(function, work)


def _single_threaded(function: Callable[[Task], Result], task: Task) -> Result:
    """One thread of linear algebra for each worker: sums are made in one order, and cores are not oversubscribed."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return function(task)
