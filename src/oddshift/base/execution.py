"""How independent pieces of work are mapped: one after the other, over processes, or over a Dask cluster.

A performance setting and nothing else: a task carries its own seed, so the results are the same, bit for bit, whichever
way they were computed on one machine.

How far some work is and what it will cost: functions that are told, and two that say nothing.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

from oddshift.base.arrays import one_of, whole
from oddshift.base.errors import InvalidInput, OddshiftError
from oddshift.base.spacy_import import is_torch_spared, sparing_torch

Task = TypeVar("Task")
Result = TypeVar("Result")

KINDS = ("serial", "processes", "cluster")

LOCAL = "local"
"""The address of a Dask cluster that is started on this machine and stopped when the work is done."""

WORKER_GROWTH = 4_000_000_000
"""Bytes by which a worker process may grow after its first task before it is replaced."""


WITHOUT_WORKERS = 60.0
"""Seconds after which the tasks of a cluster without a single worker are given up."""


class WorkerLost(OddshiftError, RuntimeError):
    """Workers died before their tasks were done, which says nothing about the tasks."""


@dataclass(frozen=True)
class Execution:
    """`serial`; `processes` with that many workers (joblib's loky); or `cluster`, the Dask scheduler at `address`.

    With the address `local`, a Dask cluster of that many workers is started on this machine.
    """

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
    if execution.kind == "serial" or not work or _is_worker():
        return [_single_threaded(function, task) for task in work]
    if execution.kind == "processes":
        return _joblib(_for_workers(function, execution), work, n_jobs=execution.workers, backend="loky")
    in_worker = _for_workers(partial(_numbered, function), execution)
    found = dict(_cluster_unordered(in_worker, list(enumerate(work)), execution))
    return [found[number] for number in range(len(work))]


def run_unordered(
    function: Callable[[Task], Result], tasks: Iterable[Task], execution: Execution = SERIAL
) -> Iterator[Result]:
    """function(task) for every task, each result as soon as it is there.

    When workers die, a cluster does their tasks again; `WorkerLost` is raised where processes died, where a cluster has
    given up, or where it has had no worker for WITHOUT_WORKERS seconds.

    >>> sorted(run_unordered(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    work: Sequence[Task] = list(tasks)
    if execution.kind == "serial" or not work or _is_worker():
        yield from (_single_threaded(function, task) for task in work)
    elif execution.kind == "processes":
        in_worker = _for_workers(function, execution)
        yield from _joblib_unordered(in_worker, work, n_jobs=execution.workers, backend="loky")
    else:
        yield from _cluster_unordered(_for_workers(function, execution), work, execution)


def _for_workers(function: Callable[[Task], Result], execution: Execution) -> Callable[[Task], Result]:
    """The function as a worker calls it; workers that this process starts leave torch out where this process does."""
    is_own = execution.kind == "processes" or execution.address == LOCAL
    leader = os.getpid() if execution.kind == "processes" else 0  # workers of a cluster have a nanny
    return partial(_in_worker, function, is_spared=is_own and is_torch_spared(), leader=leader)


def _joblib_unordered(in_worker: Callable[[Task], Result], work: Sequence[Task], **settings: Any) -> Iterator[Result]:
    from joblib import Parallel, delayed

    made = Parallel(**settings, return_as="generator_unordered", batch_size=1)
    try:
        yield from made(delayed(in_worker)(task) for task in work)
    except BrokenExecutor as error:
        raise WorkerLost("a process died") from error


def _cluster_unordered(
    in_worker: Callable[[Task], Result], work: Sequence[Task], execution: Execution
) -> Iterator[Result]:
    """The tasks on a cluster, whatever is left of it; joblib would do them here while one worker is all there is."""
    client_of, _ = _distributed()
    from dask.distributed import KilledWorker, as_completed
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    with started(execution) as running, client_of(running.address, set_as_default=False) as client:
        futures = client.map(in_worker, work, pure=False)
        try:
            with _given_up_without_workers(client, futures):
                for future in as_completed(futures, loop=client.loop):
                    yield future.result()
        except (KilledWorker, FutureCancelledError, CommClosedError) as error:
            raise WorkerLost("workers of the cluster died, and it has none left for the rest") from error


@contextmanager
def _given_up_without_workers(client: Any, futures: Sequence[Any]) -> Iterator[None]:
    """Cancel the tasks of a cluster that has lost all of its workers: Dask would wait for others for ever."""
    over = threading.Event()

    def look() -> None:
        alive = time.monotonic()
        while not over.wait(WITHOUT_WORKERS / 10):
            with suppress(OSError):  # a scheduler that is gone ends the tasks itself
                if client.scheduler_info()["workers"]:
                    alive = time.monotonic()
                elif time.monotonic() - alive > WITHOUT_WORKERS:
                    client.cancel(futures, force=True)
                    return

    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def _numbered(function: Callable[[Task], Result], task: tuple[int, Task]) -> tuple[int, Result]:
    number, own = task
    return number, function(own)


def _joblib(in_worker: Callable[[Task], Result], work: Sequence[Task], **settings: Any) -> list[Result]:
    from joblib import Parallel, delayed

    results: list[Result] = Parallel(**settings)(delayed(in_worker)(task) for task in work)
    return results


@contextmanager
def started(execution: Execution) -> Iterator[Execution]:
    """The same execution for several calls: a cluster on this machine is started once, and stopped at the end."""
    if execution.kind != "cluster" or execution.address != LOCAL:
        yield execution
        return
    _, make = _distributed()
    settings = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "silence_logs": 50}
    with environment_of_workers(), make(n_workers=execution.workers, **settings) as cluster:
        yield replace(execution, address=cluster.scheduler_address)


@contextmanager
def environment_of_workers() -> Iterator[None]:
    """What Dask sets in the environment of workers, without its limit of kept memory, and only for them.

    Dask lets a worker return freed memory to the system from 64 kB on, and arrays that come and go are then faulted in
    each time: an audit takes more than twice as long. It also leaves these variables in this process, for whatever it
    starts later.
    """
    import dask

    names = "distributed.nanny.pre-spawn-environ"
    before = {name: os.environ.get(name) for name in dask.config.get(names)}
    try:
        with dask.config.set({f"{names}.MALLOC_TRIM_THRESHOLD_": None}):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _distributed() -> tuple[Any, Any]:
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError as error:
        raise InvalidInput("execution on a cluster needs the extra: pip install 'oddshift[cluster]'") from error
    return Client, LocalCluster


_here = threading.local()


def _is_worker() -> bool:
    """Whether this is a task in a worker: what a task maps is done one after the other, by the worker itself."""
    return getattr(_here, "is_worker", False)


def _in_worker(function: Callable[[Task], Result], task: Task, is_spared: bool = False, leader: int = 0) -> Result:
    _here.is_worker = True
    if leader and leader == os.getppid():
        _end_with(leader)
    _keep_worker()
    try:
        with sparing_torch() if is_spared else nullcontext():
            return _single_threaded(function, task)
    finally:
        _here.is_worker = False


@cache
def _end_with(leader: int) -> None:
    """End this worker soon after the process that leads it: one that was killed cannot tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == leader:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _keep_worker() -> None:
    """Let a worker grow: loky would stop one that is 300 MB larger than after its first task, and its caches are."""
    loky = sys.modules.get("joblib.externals.loky.process_executor")
    if loky is not None:
        loky._MAX_MEMORY_LEAK_SIZE = WORKER_GROWTH  # type: ignore[attr-defined]


def _single_threaded(function: Callable[[Task], Result], task: Task) -> Result:
    """One thread of linear algebra for each worker: sums are made in one order, and cores are not oversubscribed."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return function(task)


Progress = Callable[[str, int, int], None]
"""A function of what is being done, how many steps are done, and their total (0 where it is not known)."""


def silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""
