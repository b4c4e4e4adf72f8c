"""All live workers: actors, tasks, drivers, idle ones, and actors that have no worker yet."""

from __future__ import annotations

from eagleray.debug.workers.live_workers import fetch_live_nodes, fetch_live_workers
from eagleray.debug.workers.model import LiveWorker
from eagleray.ray.rows import NodeRow, RuntimeEnv

from tests.debug.workers.fakes import FakeDashboard
from tests.debug.workers.rows import actor_row, job_row, task_row, worker_row


async def live(dashboard: FakeDashboard) -> list[LiveWorker]:
    return await fetch_live_workers(dashboard)


async def test_every_kind_with_its_state_and_what_it_runs() -> None:
    dashboard = FakeDashboard()
    dashboard.workers = [
        worker_row("idle", pid=1, paused_threads=0),
        worker_row("task", pid=2),
        worker_row("actor", pid=3),
        worker_row("driver", pid=4, kind="driver"),
        worker_row("spill", pid=5, kind="other"),
    ]
    dashboard.tasks = [
        task_row("task", name="reward", pid=2),
        task_row("actor", pid=3, actor_id="a1"),
    ]
    dashboard.actor_rows = [
        actor_row(pid=3, name="policy_1"),
        actor_row("a2", pid=0, node_id="", name="policy_0", state="PENDING_CREATION"),
    ]
    dashboard.job_rows = [job_row(driver_pid=4)]
    shown = [
        (w.worker_id, w.kind, w.name, w.rank, w.state, w.running) for w in await live(dashboard)
    ]
    assert shown == [
        ("driver", "driver", "driver · train.py", None, "running", ""),
        ("", "actor", "policy_0", 0, "pending", ""),
        ("actor", "actor", "policy_1", 1, "running", "PolicyWorker.train"),
        ("task", "task", "reward", None, "running", "reward"),
        ("idle", "idle", "idle", None, "idle", ""),
    ]


async def test_live_nodes_are_listed_with_the_head_first() -> None:
    dashboard = FakeDashboard()
    dashboard.node_rows = [
        NodeRow("n3", "10.0.0.3", "c", alive=True, head=False),
        NodeRow("n2", "10.0.0.2", "b\n", alive=True, head=False),
        NodeRow("n1", "10.0.0.1", "z", alive=True, head=True),
        NodeRow("n0", "10.0.0.9", "gone", alive=False, head=False),
    ]
    nodes = await fetch_live_nodes(dashboard)
    assert [(node.node_id, node.name, node.is_head) for node in nodes] == [
        ("n1", "z", True),
        ("n2", "b", False),
        ("n3", "c", False),
    ]


async def test_actor_that_runs_nothing_is_not_an_idle_worker() -> None:
    dashboard = FakeDashboard()
    dashboard.workers = [worker_row(pid=3)]
    dashboard.actor_rows = [actor_row(pid=3, runtime_env=RuntimeEnv(env={"RANK": "5"}))]
    (worker,) = await live(dashboard)
    assert (worker.kind, worker.class_name, worker.rank, worker.running) == (
        "actor",
        "PolicyWorker",
        5,
        "",
    )


async def test_hostile_names_are_one_printable_line() -> None:
    dashboard = FakeDashboard()
    dashboard.workers = [worker_row(pid=3)]
    dashboard.actor_rows = [actor_row(pid=3, class_name="A\x1b]0;x\x07", name="evil\n$(bug) **x**")]
    (worker,) = await live(dashboard)
    assert (worker.name, worker.class_name) == ("evil $(bug) **x**", "A ]0;x")


async def test_workers_of_our_own_jobs_and_of_ray_itself_are_not_listed() -> None:
    dashboard = FakeDashboard()
    dashboard.workers = [
        worker_row("ours", pid=3),
        worker_row("driver", pid=4, kind="driver"),
        worker_row("program", pid=5, kind="driver"),
        worker_row("dashboard", pid=6, kind="driver"),
        worker_row("supervisor", pid=7),
    ]
    dashboard.actor_rows = [
        actor_row(pid=3, class_name="EaglerayInspector"),
        actor_row(pid=7, class_name="JobSupervisor", name="_ray_internal_job_actor_raysubmit_1"),
    ]
    dashboard.job_rows = [
        job_row(driver_pid=4, submission_id="eagleray_0a1b"),
        job_row(driver_pid=5),
    ]
    assert [worker.worker_id for worker in await live(dashboard)] == ["program"]
