import os
import signal
import time

import numpy as np
import pytest

from oddshift.base import execution as execution_module
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import LOCAL, Execution, WorkerLost, _for_workers, run, run_unordered
from oddshift.base.spacy_import import is_torch_spared, sparing_torch


def square(x):
    return x * x


def slow_square(x):
    time.sleep(0.4)
    return x * x


@pytest.mark.parametrize("execution", [Execution(), Execution("processes", 2)])
def test_results_come_in_order(execution):
    assert run(square, range(20), execution) == [x * x for x in range(20)]


def test_what_cannot_be_run_is_refused():
    with pytest.raises(InvalidInput, match="kind='threads'"):
        Execution("threads")
    with pytest.raises(InvalidInput, match="workers=0"):
        Execution("processes", 0)
    with pytest.raises(InvalidInput, match="a cluster has no address"):
        Execution("cluster")


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_killed_dask_workers_are_replaced_and_their_work_done_again():
    distributed = pytest.importorskip("distributed", reason="needs the extra: pip install 'oddshift[cluster]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as cluster:
        victims = [worker.pid for worker in cluster.workers.values()]
        execution = Execution("cluster", address=cluster.scheduler_address)
        killer = os.fork()
        if killer == 0:
            time.sleep(1.5)
            for victim in victims:  # all of them at once
                os.kill(victim, signal.SIGKILL)
            os._exit(0)
        try:
            assert run(slow_square, range(12), execution) == [x * x for x in range(12)]
        finally:
            os.waitpid(killer, 0)


TRIM, THREADS = "MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS"


def malloc_and_threads(_):
    return os.environ.get(TRIM), os.environ.get(THREADS)


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_local_cluster_leaves_malloc_and_the_environment_alone(monkeypatch):
    """Dask would make its workers return memory at every turn, and whatever this process starts later."""
    pytest.importorskip("distributed", reason="needs the extra: pip install 'oddshift[cluster]'")
    monkeypatch.delenv(TRIM, raising=False)
    monkeypatch.delenv(THREADS, raising=False)
    assert run(malloc_and_threads, [0], Execution("cluster", 1, LOCAL)) == [(None, "1")]
    assert malloc_and_threads(0) == (None, None)
    monkeypatch.setenv(TRIM, "131072")
    assert run(malloc_and_threads, [0], Execution("cluster", 1, LOCAL)) == [("131072", "1")]
    assert malloc_and_threads(0) == ("131072", None)


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_without_workers_is_given_up(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="needs the extra: pip install 'oddshift[cluster]'")
    monkeypatch.setattr(execution_module, "WITHOUT_WORKERS", 0.3)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0", silence_logs=50) as cluster:
        nobody = Execution("cluster", address=cluster.scheduler_address)
        with pytest.raises(WorkerLost, match="workers of the cluster died"):
            run(square, [1, 2], nobody)
        with pytest.raises(WorkerLost, match="workers of the cluster died"):
            list(run_unordered(square, [1, 2], nobody))


def threads_now(_):
    from threadpoolctl import threadpool_info

    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def refuse(x):
    raise InvalidInput(f"task {x} refused")


def seeded(seed):
    return float(np.random.default_rng(seed).standard_normal(1000).sum())


def test_every_task_has_one_thread_of_linear_algebra():
    counts = run(threads_now, [0], Execution())[0]
    assert counts
    assert set(counts) == {1}


def test_a_task_gives_the_same_bits_wherever_it_runs():
    assert run(seeded, range(6), Execution("processes", 2)) == run(seeded, range(6), Execution())


def test_a_refusal_inside_a_task_reaches_the_caller_as_it_is():
    for execution in (Execution(), Execution("processes", 2)):
        with pytest.raises(InvalidInput, match="task 3 refused"):
            run(refuse, [3], execution)


def test_tasks_are_taken_from_any_iterable_and_only_once():
    taken = []

    def tasks():
        for k in range(4):
            taken.append(k)
            yield k

    assert run(square, tasks()) == [0, 1, 4, 9]
    assert taken == [0, 1, 2, 3]


def test_without_tasks_no_cluster_is_asked_for():
    assert run(square, [], Execution("cluster", address="tcp://nowhere:1")) == []


@pytest.mark.parametrize("workers", [True, 1.0, -1, "2"])
def test_the_number_of_workers_is_a_whole_number_above_zero(workers):
    with pytest.raises(InvalidInput, match=r"workers=.*expected a whole number >= 1"):
        Execution("processes", workers)


def test_a_cluster_without_its_extra_says_how_to_install_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(InvalidInput, match=r"pip install 'oddshift\[cluster\]'"):
        run(square, [1], Execution("cluster", address="tcp://nowhere:1"))


def is_spared_there(_):
    return is_torch_spared()


def test_workers_that_a_command_starts_leave_torch_out_as_the_command_does():
    """Those of a user's process or cluster belong to the user, and get spaCy with torch as always."""
    own = Execution("processes", 1)
    assert run(is_spared_there, [0], own) == list(run_unordered(is_spared_there, [0], own)) == [False]
    with sparing_torch():
        assert run(is_spared_there, [0], own) == list(run_unordered(is_spared_there, [0], own)) == [True]
        made = {
            address: _for_workers(is_spared_there, Execution("cluster", 1, address)) for address in (LOCAL, "tcp://x")
        }
    assert {address: function(0) for address, function in made.items()} == {LOCAL: True, "tcp://x": False}
    assert not is_torch_spared()
