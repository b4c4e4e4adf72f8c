"""Paused workers, all workers and logs of a real cluster, asked as the panel asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from eagleray.adapter_client.client import AdapterClient
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.debug.workers.live_workers import fetch_live_workers
from eagleray.debug.workers.log_search import matcher, search
from eagleray.debug.workers.logs import Logs
from eagleray.debug.workers.model import PausedWorker, all_workers
from eagleray.debug.workers.paused_workers import PausedWorkers
from eagleray.debug.workers.stop_location import stop_in_dump
from eagleray.protocol.adapter_control import AttachParams
from eagleray.ray.dashboard import Dashboard
from eagleray.tools.pyspy import PySpy

from tests.dap_client import DapClient
from tests.debug.workers.fakes import FakeAdapters, until
from tests.ray_cluster import (
    PATIENCE_S,
    PROGRAMS,
    RayCluster,
    temporary_home,
    wait_for,
)

pytestmark = [pytest.mark.real_ray, pytest.mark.cluster("profiling")]

PROGRAM = PROGRAMS / "cases" / "paused_kinds.py"
WAITING = 6
TITLES = {"Policy.train", "Slow.__init__", "inner", "failing", "Driver"}
CHILD_ERROR = "RuntimeError: child failed at 41"


@pytest.fixture(scope="module")
def cluster(shared_cluster: RayCluster) -> Iterator[RayCluster]:
    program = shared_cluster.run(PROGRAM)
    try:
        # Eight workers that each load a debugger take their time on two cores.
        wait_for("all to pause", lambda: len(shared_cluster.paused()) >= WAITING, 3 * PATIENCE_S)
        yield shared_cluster
    finally:
        program.end()


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home() as folder:
        yield folder


@pytest.fixture
async def watch(cluster: RayCluster) -> AsyncIterator[ClusterWatch]:
    watching = ClusterWatch()
    watching.add(Dashboard(cluster.address), poll=False)
    yield watching
    await watching.close()


async def rows_of(watch: ClusterWatch, spy: PySpy) -> dict[str, PausedWorker]:
    """The rows by name, once Ray has listed what each of them runs, up to a second late."""
    workers = PausedWorkers(watch, FakeAdapters(), spy)
    rows: dict[str, PausedWorker] = {}
    try:
        groups = await workers.refresh(locate_s=60)
        rows = {row.name: row for row in all_workers(groups)}

        def named() -> bool:
            rows.clear()
            rows.update({row.name: row for row in all_workers(workers.groups())})
            titles = {row.title for row in rows.values()}
            return len(rows) == WAITING and titles == TITLES

        await until(named)
    finally:
        await workers.close()
    return rows


def line(text: str) -> int:
    lines = PROGRAM.read_text().splitlines()
    return next(number for number, one in enumerate(lines, 1) if f"# {text}" in one)


@pytest.mark.parametrize("by", ["dashboard", "py-spy"])
async def test_each_paused_worker_has_name_rank_kind_and_line(
    cluster: RayCluster, watch: ClusterWatch, by: str
) -> None:
    rows = await rows_of(watch, PySpy("" if by == "dashboard" else None))
    path = PROGRAM.name if by == "dashboard" else str(PROGRAM)
    shown = {
        name: (
            row.title,
            row.rank,
            row.kind,
            row.location and (row.location.path, row.location.line),
        )
        for name, row in rows.items()
    }
    assert shown == {
        "policy_0": ("Policy.train", 0, "breakpoint", (path, line("train"))),
        "policy_9": ("Policy.train", 1, "breakpoint", (path, line("train"))),
        "Slow": ("Slow.__init__", None, "breakpoint", (path, line("init"))),
        "inner": ("inner", None, "breakpoint", (path, line("nested"))),
        "failing": ("failing", None, "post-mortem", None),
        f"driver · {PROGRAM.name}": ("Driver", None, "breakpoint", (path, line("driver"))),
    }
    assert all(row.port and row.node_ip and row.pid for row in rows.values())


async def test_py_spy_alone_finds_each_stop(cluster: RayCluster) -> None:
    stops = []
    for row in cluster.paused():
        dump = await PySpy().dump(row["pid"])
        assert dump is not None
        stops.append(stop_in_dump(dump))
    kinds = sorted(stop.kind for stop in stops if stop)
    assert kinds == ["breakpoint"] * (WAITING - 1) + ["post-mortem"]


async def test_live_workers_are_listed_with_what_they_run(watch: ClusterWatch) -> None:
    (status,) = watch.statuses()
    live = await fetch_live_workers(watch.dashboard(status.cluster))
    shown = {(w.kind, w.name, w.state, w.running) for w in live if w.kind != "idle"}
    assert {
        ("driver", f"driver · {PROGRAM.name}", "running", ""),
        ("actor", "policy_0", "running", "Policy.train"),
        ("actor", "quiet_3", "running", ""),
        ("task", "outer", "running", "outer"),
    } <= shown


async def test_logs_are_opened_searched_and_followed_without_escapes_and_secrets(
    watch: ClusterWatch,
) -> None:
    (status,) = watch.statuses()
    live = await fetch_live_workers(watch.dashboard(status.cluster))
    worker = next(worker for worker in live if worker.name == "policy_0")
    logs = Logs(watch.dashboard)
    end = await logs.tail(status.cluster, worker.worker_id, "out", 100)
    assert "training begins\n" in end.text and "hunter22" not in end.text
    found = await search(
        logs, status.cluster, live, matcher("^training begins", True, True), lambda *_: None
    )
    assert {match.name for match in found.matches} == {"policy_0", "policy_9"}
    assert [text for text in found.unread if not text.startswith("driver")] == []
    following = logs.follow(status.cluster, worker.worker_id, "out")
    assert "training begins" in (await following.__anext__()).text
    await following.aclose()


async def test_relaying_parent_is_listed_below_its_failed_child(
    cluster: RayCluster, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAGLERAY_HOME", str(home))
    program = cluster.run("cases/shapes.py", "relay")
    watching, adapters = ClusterWatch(), AdapterClient()
    watching.add(Dashboard(cluster.address))
    workers = PausedWorkers(watching, adapters.sessions)
    following = asyncio.create_task(workers.run())

    def row(name: str) -> PausedWorker | None:
        rows = all_workers(workers.groups())
        return next((row for row in rows if row.name == name), None)

    try:
        await until(lambda: row("failing_child") is not None, PATIENCE_S)
        child = row("failing_child")
        assert child is not None and child.children == ()
        target = AttachParams(
            child.session, child.worker_id, child.cluster, child.name, child.node_ip, child.port
        )
        attached = await adapters.sessions.attach(target)
        await until(lambda: _has(row("failing_child"), "held", CHILD_ERROR), PATIENCE_S)
        client = await asyncio.to_thread(_continued, attached.socket)
        await until(
            lambda: [w.name for w in _children(row("failing_child"))] == ["relaying_parent"],
            PATIENCE_S,
        )
        assert _has(row("failing_child"), "running", "")
        client.close()
    finally:
        program.end()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await workers.close()
        await watching.close()
        await adapters.close()


def _has(worker: PausedWorker | None, state: str, exception: str) -> bool:
    return worker is not None and (worker.state, worker.exception) == (state, exception)


def _children(worker: PausedWorker | None) -> tuple[PausedWorker, ...]:
    return worker.children if worker else ()


def _continued(path: str) -> DapClient:
    """An editor that has attached, continued the worker from its stop, and stays connected."""
    client = DapClient.unix(path)
    client.attach()
    thread = client.wait_for("stopped")["body"]["threadId"]
    client.request("continue", threadId=thread)
    return client
