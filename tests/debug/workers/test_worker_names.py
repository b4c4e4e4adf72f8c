"""The identities of the paused workers: requested only at new pauses, and again while Ray does not know yet."""

from __future__ import annotations

import asyncio

from eagleray.debug.workers.model import Key
from eagleray.debug.workers.worker_facts import ClusterLists
from eagleray.debug.workers.worker_names import Describer, ShownWorkers
from eagleray.ray.rows import WorkerRow

from tests.debug.workers.fakes import FakeDashboard, until
from tests.debug.workers.rows import CLUSTER, IP, SESSION, actor_row, job_row, task_row, worker_row

KEY: Key = (SESSION, "w1")


def wanted(*rows: WorkerRow, wait: int = 1, session: str = SESSION) -> ShownWorkers:
    return ShownWorkers(session, {row.worker_id: row for row in rows}, frozenset({wait}))


def describer(dashboard: FakeDashboard, again_s: tuple[float, ...] = ()) -> Describer:
    return Describer(lambda cluster: dashboard, lambda: None, again_s)


async def test_pause_is_described_once_and_the_next_one_again() -> None:
    dashboard = FakeDashboard()
    dashboard.tasks = [task_row()]
    asks = describer(dashboard)
    asks.want(CLUSTER, wanted(worker_row()))
    await asks.settled()
    assert asks.facts[KEY].titles == ("PolicyWorker.train",)
    asks.want(CLUSTER, wanted(worker_row()))
    await asks.settled()
    assert dashboard.asked.count("running_tasks") == 1
    dashboard.tasks = [task_row(name="PolicyWorker.eval")]
    asks.want(CLUSTER, wanted(worker_row(), wait=2))
    await asks.settled()
    assert asks.facts[KEY].titles == ("PolicyWorker.eval",)
    await asks.close()


async def test_worker_is_queried_until_ray_lists_its_task() -> None:
    dashboard = FakeDashboard()
    asks = describer(dashboard, again_s=(0.0, 0.0, 0.0, 0.0))
    asks.want(CLUSTER, wanted(worker_row()))
    await asks.settled()
    assert asks.facts[KEY].name == "worker 100"
    await until(lambda: dashboard.asked.count("running_tasks") >= 2)
    dashboard.tasks = [task_row()]
    asks.want(CLUSTER, wanted(worker_row(), wait=2))
    await until(lambda: asks.facts[KEY].name == "PolicyWorker.train")
    await asks.close()


async def test_facts_stay_when_a_later_list_lacks_them() -> None:
    dashboard = FakeDashboard()
    dashboard.tasks = [task_row()]
    asks = describer(dashboard)
    asks.want(CLUSTER, wanted(worker_row()))
    await asks.settled()
    dashboard.tasks = []
    asks.want(CLUSTER, wanted(worker_row(), wait=2))
    await asks.settled()
    assert asks.facts[KEY].titles == ("PolicyWorker.train",)
    await asks.close()


async def test_failing_dashboard_keeps_facts_and_is_queried_again() -> None:
    dashboard = FakeDashboard()
    dashboard.broken = {"running_tasks"}
    asks = describer(dashboard, again_s=(0.0,) * 1000)
    asks.want(CLUSTER, wanted(worker_row()))
    await asks.settled()
    assert KEY not in asks.facts and asks.homes[KEY].pid == 100
    dashboard.tasks, dashboard.broken = [task_row()], set()
    await until(lambda: KEY in asks.facts)
    await asks.close()


async def test_without_the_actors_the_tasks_still_name_the_worker() -> None:
    dashboard = FakeDashboard()
    dashboard.tasks, dashboard.broken = [task_row()], {"actors", "jobs"}
    asks = describer(dashboard)
    asks.want(CLUSTER, wanted(worker_row(), worker_row("d", kind="driver")))
    await asks.settled()
    assert asks.facts[KEY].titles == ("PolicyWorker.train",)
    assert asks.facts[SESSION, "d"].name == "driver"
    await asks.close()


async def test_held_worker_is_searched_among_all_workers() -> None:
    dashboard = FakeDashboard()
    dashboard.workers, dashboard.tasks = [worker_row(paused_threads=0)], [task_row()]
    asks = describer(dashboard)
    asks.want(CLUSTER, ShownWorkers(SESSION, {"w1": None}, frozenset({1})))
    await asks.settled()
    assert asks.homes[KEY].node_ip == IP and asks.facts[KEY].task_ids
    await asks.close()


async def test_hidden_worker_is_forgotten() -> None:
    dashboard = FakeDashboard()
    asks = describer(dashboard)
    asks.want(CLUSTER, wanted(worker_row()))
    await asks.settled()
    asks.want(CLUSTER, wanted())
    assert not asks.facts and not asks.homes
    asks.want(CLUSTER, wanted(worker_row(), session="session_2", wait=3))
    await asks.settled()
    assert list(asks.facts) == [("session_2", "w1")]
    asks.forget(CLUSTER)
    assert not asks.facts
    await asks.close()


async def test_no_query_is_made_without_paused_workers() -> None:
    dashboard = FakeDashboard()
    asks = describer(dashboard)
    asks.want(CLUSTER, wanted())
    await asks.settled()
    await asyncio.sleep(0)
    assert dashboard.asked == []
    await asks.close()


def test_actor_in_its_init_is_found_by_pid_and_node() -> None:
    creating = task_row(worker_id="", pid=7, node_id="", actor_id="a1", name="Init.__init__")
    lists = ClusterLists([creating], [actor_row(name="init_1", pid=0, node_id="")], [], [])
    facts = lists.describe("w1", worker_row(pid=7))
    assert (facts.name, facts.titles, facts.name_rank) == ("init_1", ("Init.__init__",), 1)
    assert lists.describe("w2", worker_row("w2", pid=8)).titles == ("worker 8",)


def test_idle_actor_is_found_by_its_process() -> None:
    lists = ClusterLists([], [actor_row(pid=7)], [], [])
    assert lists.describe("w1", worker_row(pid=7)).titles == ("PolicyWorker",)


def test_driver_is_found_by_its_process_or_by_its_job_id() -> None:
    by_pid = ClusterLists([], [], [job_row(driver_pid=9)], [])
    driver = worker_row("01000000" + "f" * 48, kind="driver", pid=9)
    assert by_pid.describe(driver.worker_id, driver).name == "driver · train.py"
    by_id = ClusterLists([], [], [job_row(driver_pid=0)], [])
    assert by_id.describe(driver.worker_id, driver).name == "driver · train.py"
