"""The whole sidecar in its process, with a cluster and an adapter that are faked."""

from __future__ import annotations

import importlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import NoneType
from typing import Any

import pytest
from eagleray.clusters import messages as clusters
from eagleray.debug.attaching import messages as debugging
from eagleray.debug.workers import messages as workers
from eagleray.sidecar.typescript import FEATURES, requests_of
from eagleray.wire.requests import Notification

from tests.fakes.adapter import FakeAdapter, state
from tests.fakes.dashboard import FakeDashboard
from tests.sidecar.stdio_client import StdioClient, sidecar


@pytest.fixture
async def panel(dashboard: FakeDashboard) -> AsyncIterator[StdioClient]:
    async with sidecar() as client:
        await client.initialize()
        yield client


def all_requests() -> list[Any]:
    modules = [importlib.import_module(f"eagleray.{name}.messages") for name in FEATURES]
    declared = [value for module in modules for value in requests_of(module).values()]
    return [value for value in declared if not isinstance(value, Notification)]


async def rows(panel: StdioClient, count: int = 3) -> list[dict[str, Any]]:
    """The rows of the first snapshot that has so many."""
    snapshot = await panel.heard(workers.CHANGED, lambda value: value["stops"]["paused"] == count)
    return [worker for group in snapshot["groups"] for worker in group["workers"]]


async def test_every_method_is_answered(panel: StdioClient) -> None:
    """With params that are wrong for most: what counts is that an answer comes, and which kind."""
    for request in all_requests():
        answer = await panel.ask(
            request, {} if request.params is NoneType else {"pids": "none", "paths": "none"}
        )
        code = answer.get("error", {}).get("code")
        assert code == (None if request.params is NoneType else -32602), (request.method, answer)


async def test_clusters_and_paused_workers_are_notified(
    panel: StdioClient, dashboard: FakeDashboard
) -> None:
    listed = await panel.heard(
        clusters.CHANGED, lambda value: [c["state"] for c in value["clusters"]] == ["connected"]
    )
    assert listed["clusters"][0]["id"] == dashboard.address
    paused = await rows(panel)
    assert {row["state"] for row in paused} == {"paused"}
    assert (await panel.result(workers.REFRESH))["stops"]["paused"] == 3
    changed = await panel.heard(
        clusters.CHANGED, lambda value: value["clusters"][0]["stops"]["paused"] == 3
    )
    assert changed["clusters"][0]["sentence"].endswith(", 3 paused")


async def test_attach_returns_a_debug_socket(
    panel: StdioClient, dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    row = (await rows(panel))[0]
    asked = {"cluster": dashboard.address, "worker": row["worker_id"], "workspace_folders": []}
    attached = await panel.result(debugging.ATTACH, {**asked, "workDoneToken": "t"})
    assert attached["socket"] == f"/run/{row['worker_id']}.sock"
    assert (attached["path"], attached["line"], attached["local"]) == ("/remote/train.py", 24, "")
    said = [value["value"] for name, value in panel.notifications if name == "$/progress"]
    assert [value["kind"] for value in said] == ["begin", "report", "report", "end"]
    params = next(params for op, params in fake_adapter.asked if op == "attach")
    assert (params["session"], params["host"]) == (dashboard.session, "10.9.9.9")


async def test_configuration_may_name_the_cluster_differently(
    panel: StdioClient, dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    row = (await rows(panel))[0]
    for written in (str(dashboard.port), f"localhost:{dashboard.port}", f"{dashboard.address}/"):
        asked = {"cluster": written, "worker": row["worker_id"], "workspace_folders": []}
        assert (await panel.result(debugging.ATTACH, asked))["cluster"] == dashboard.address


async def test_worker_that_continued_before_the_click_is_an_error(
    panel: StdioClient, dashboard: FakeDashboard
) -> None:
    row = (await rows(panel))[0]
    dashboard.resume(row["worker_id"])
    await panel.heard(workers.CHANGED, lambda value: value["stops"]["paused"] == 2)
    asked = {"cluster": dashboard.address, "worker": row["worker_id"], "workspace_folders": []}
    error = (await panel.ask(debugging.ATTACH, asked))["error"]
    assert error["data"]["code"] == "worker-ran-on"
    named = {"cluster": dashboard.address, "worker_ids": [row["worker_id"]]}
    outcome = await panel.result(debugging.CONTINUE, named)
    assert (outcome["done"], outcome["failures"]) == (0, [])


async def test_held_workers_outlive_the_sidecar(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    fake_adapter.change(state("w9", cluster=dashboard.address, session=dashboard.session))
    for _ in range(2):
        async with sidecar() as panel:
            await panel.initialize()
            await panel.heard(workers.CHANGED, lambda value: value["stops"]["held"] == 1)
            await panel.kill()
    assert [op for op, _ in fake_adapter.asked] == ["subscribe", "subscribe"]


async def test_worker_that_is_held_too_long_is_reported(
    panel: StdioClient, dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    fake_adapter.change(state("w9", cluster=dashboard.address, held_s=20 * 60.0))
    said = await panel.heard(debugging.HELD_LONG)
    assert said == {
        "cluster": dashboard.address,
        "worker_id": "w9",
        "name": "name of w9",
        "held_s": 20 * 60,
    }


async def test_ignored_breakpoints_do_not_stop_workers(
    panel: StdioClient, dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    row, *others = await rows(panel)
    named = {"cluster": dashboard.address, "worker_ids": [row["worker_id"]]}
    outcome = await panel.result(debugging.IGNORE, named)
    assert (outcome["done"], outcome["failures"], len(outcome["ignored"])) == (1, [], 1)
    location = {"cluster": dashboard.address, "path": "/remote/train.py", "line": 24}
    (rule,) = (await panel.result(debugging.IGNORED))["ignored"]
    assert location.items() <= rule.items()
    # The places where the others wait are unknown: they are read and released.
    ids = {row["worker_id"] for row in others}
    while any(id_ not in fake_adapter.states or fake_adapter.states[id_].stop for id_ in ids):
        await panel.result(workers.REFRESH)
    await panel.result(debugging.FORGET_IGNORED, rule)
    assert await panel.result(debugging.IGNORED) == {"ignored": []}


@pytest.mark.parametrize("fault", ["status_500", "garbage", "redirect"])
async def test_failing_cluster_is_reported_and_others_continue(
    panel: StdioClient, dashboard: FakeDashboard, fault: str
) -> None:
    await rows(panel)
    dashboard.fault = fault
    await panel.heard(
        clusters.CHANGED,
        lambda value: value["clusters"][0]["state"] not in ("connected", "connecting"),
    )
    dashboard.fault = ""
    panel.notifications.clear()
    await panel.heard(clusters.CHANGED, lambda value: value["clusters"][0]["state"] == "connected")


async def test_token_is_not_written_to_disk_or_log(
    dashboard: FakeDashboard, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    dashboard.token = "typed-in-token"
    async with sidecar() as panel:
        await panel.initialize()
        said = {"cluster": dashboard.address, "token": dashboard.token}
        cluster = await panel.result(clusters.SET_ACCESS, said)
        assert cluster["state"] == "connected"
        bad = {"cluster": 3, "token": dashboard.token}
        assert (await panel.ask(clusters.SET_ACCESS, bad))["error"]["code"] == -32602
        assert await panel.end() == 0
    assert dashboard.token not in capfd.readouterr().err
    for file in own_home.rglob("*"):
        assert not file.is_file() or dashboard.token not in file.read_text(errors="replace")


async def test_sidecar_never_imports_ray(panel: StdioClient) -> None:
    await rows(panel)
    mapped = Path(f"/proc/{panel.process.pid}/maps").read_text()
    assert "/ray/_raylet" not in mapped


async def test_sidecar_runs_isolated(own_home: Path) -> None:
    """As packaged: no site-packages, libraries by `--libs` alone."""
    import aiohttp

    libs = str(Path(aiohttp.__file__).parents[1])
    from tests.sidecar.stdio_client import START, started

    async with started("-I", "-S", str(START), "--libs", libs, "sidecar") as client:
        assert json.dumps(await client.initialize()).count("eagleray")
        assert (await client.result(clusters.LIST)) == {
            "clusters": [],
            "hints": [],
            "jobs": [],
            "hosts": [],
        }
        assert await client.end() == 0
