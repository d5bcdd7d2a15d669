import os
import signal
import time

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution, run


def square(x):
    return x * x


def slow_square(x):
    time.sleep(0.4)
    return x * x


@pytest.mark.parametrize("execution", [Execution(), Execution("processes", 2)])
def test_results_come_in_order(execution):
    assert run(square, range(20), execution) == [x * x for x in range(20)]


def test_no_task_is_no_result():
    assert run(square, [], Execution("processes", 2)) == []


def test_what_cannot_be_run_is_refused():
    with pytest.raises(InvalidInput, match="kind='threads'"):
        Execution("threads")
    with pytest.raises(InvalidInput, match="workers=0"):
        Execution("processes", 0)
    with pytest.raises(InvalidInput, match="a cluster has no address"):
        Execution("cluster")


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_killed_dask_worker_is_replaced_and_its_work_done_again():
    distributed = pytest.importorskip("distributed", reason="needs the extra: pip install 'oddshift[cluster]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        execution = Execution("cluster", address=cluster.scheduler_address)
        killer = os.fork()
        if killer == 0:
            time.sleep(1.5)
            os.kill(victim, signal.SIGKILL)
            os._exit(0)
        try:
            assert run(slow_square, range(12), execution) == [x * x for x in range(12)]
        finally:
            os.waitpid(killer, 0)
