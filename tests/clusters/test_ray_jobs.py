"""The job API, by a server that answers as Ray does and as it should not."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from eagleray.common.errors import EaglerayError
from eagleray.observe.hangs.collecting.cluster import ClusterPictures
from eagleray.observe.look_inside.cluster_processes import ClusterProcesses
from eagleray.ray import cluster_query
from eagleray.ray import jobs as ray_jobs
from eagleray.ray.cluster_query import ClusterQuery
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.job_logs import follow
from eagleray.ray.local_nodes import LocalNode
from eagleray.ray.rows import NodeRow

TRACEBACK = "Traceback (most recent call last):\n  File x\nValueError: runtime_env is broken\n"
NODE = "618ba3b9c77eb57b5c2a0ded6da9e350d90c5252aae792c4977181bf"
VERSION = {"ray_version": "2.60.0", "session_name": "session_1", "ray_commit": "c"}

UNREACHED = """Traceback (most recent call last):
  File "ray/dashboard/modules/job/job_head.py", line 376, in submit_job
    resp = await job_agent_client.submit_job_internal(submit_request)
aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host 192.0.2.2:52365 ssl:default [Connect call failed]
"""


class JobServer:
    """One dashboard with jobs; a job runs the answers of `states`, the last of which stays."""

    def __init__(self) -> None:
        self.token = ""
        self.refuses = 0
        self.refusal = TRACEBACK
        self.not_yet = 0
        self.states: list[dict[str, object]] = []
        self.logs = ""
        self.asked: list[tuple[str, str]] = []
        self.submitted: list[dict[str, object]] = []
        self.packages: dict[str, bytes] = {}
        self.deleted: set[str] = set()
        # A job is submitted, and its answer waits for the other.
        self.arrived, self.answers = asyncio.Event(), asyncio.Event()
        self.answers.set()
        # Ray's facts about the nodes and their agents.
        self.raylets: list[dict[str, object]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path, method = request.path, request.method
        if path == "/api/authentication_mode":
            return web.json_response({"authentication_mode": "token"})
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401, text="Unauthorized: Missing authentication token")
        self.asked.append((method, path))
        if path == "/api/version":
            return web.json_response(VERSION)
        if path == "/api/v0/nodes":
            return web.json_response({"result": True, "data": {"result": {"result": []}}})
        if path == "/nodes":
            summary = [
                {"ip": raylet["nodeManagerAddress"], "raylet": raylet} for raylet in self.raylets
            ]
            return web.json_response({"result": True, "msg": "", "data": {"summary": summary}})
        if path.startswith("/api/packages/gcs/"):
            return await self._package(request)
        if path == "/api/jobs/" and method == "POST":
            return await self._submit(request)
        if path.startswith("/api/v0/logs/stream"):
            return web.Response(text=self.logs[:5])
        return self._job(request)

    async def _package(self, request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        if request.method == "PUT":
            self.packages[name] = await request.read()
            return web.Response()
        return web.Response(status=200 if name in self.packages else 404)

    async def _submit(self, request: web.Request) -> web.Response:
        if self.not_yet:
            self.not_yet -= 1
            said = "No available agent to submit job, please try again later."
            return web.Response(status=500, text=said)
        if self.refuses:
            return web.Response(status=self.refuses, text=self.refusal)
        self.submitted.append(await request.json())
        self.arrived.set()
        await self.answers.wait()
        return web.json_response({"submission_id": "job_1"})

    def _job(self, request: web.Request) -> web.Response:
        job = request.path.split("/")[3]
        if job in self.deleted or not self.states:
            return web.Response(status=404, text=f"Job {job} does not exist")
        if request.path.endswith("/logs"):
            return web.json_response({"logs": self.logs})
        if request.method == "DELETE":
            self.deleted.add(job)
            return web.json_response({"deleted": True})
        if request.method == "POST":
            return web.json_response({"stopped": True})
        state = self.states[0] if len(self.states) == 1 else self.states.pop(0)
        return web.json_response({"driver_node_id": "n1", **state})


@pytest.fixture
async def server() -> AsyncIterator[tuple[JobServer, Dashboard]]:
    jobs = JobServer()
    application = web.Application(client_max_size=2**26)
    application.router.add_route("*", "/{path:.*}", jobs.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    dashboard = Dashboard(f"http://127.0.0.1:{port}", lambda look: jobs.token or None)
    yield jobs, dashboard
    # The end of the server waits for what it still answers.
    jobs.answers.set()
    await dashboard.close()
    await runner.cleanup()


Server = tuple[JobServer, Dashboard]


async def test_error_of_a_refused_job_is_the_last_line_of_the_reason(server: Server) -> None:
    jobs, dashboard = server
    for status in (500, 400):
        jobs.refuses = status
        with pytest.raises(EaglerayError) as raised:
            await dashboard.job_api.submit("true", runtime_env={}, metadata={})
        assert raised.value.code == "job-refused"
        assert raised.value.output.endswith("ValueError: runtime_env is broken")
        assert jobs.asked.count(("POST", "/api/jobs/")) == 1, "it is never sent twice"
        jobs.asked.clear()


async def test_agent_that_has_ended_is_the_reason(server: Server) -> None:
    """Ray 2.60 lists it until it has missed some health checks."""
    jobs, dashboard = server
    jobs.refuses, jobs.refusal = 500, UNREACHED
    with pytest.raises(EaglerayError) as raised:
        await dashboard.job_api.submit("true", runtime_env={}, metadata={})
    assert raised.value.code == "no-job-agent"
    assert "192.0.2.2:52365" in raised.value.output


async def test_cluster_that_has_just_been_started_is_queried_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, dashboard = server
    monkeypatch.setattr(ray_jobs, "AGAIN_S", (0.0, 0.0))
    jobs.not_yet = 2
    assert await dashboard.job_api.submit("true", runtime_env={}, metadata={}) == "job_1"
    jobs.not_yet = 3
    with pytest.raises(EaglerayError) as raised:
        await dashboard.job_api.submit("true", runtime_env={}, metadata={})
    assert raised.value.code == "no-job-agent"
    assert "No available agent" in raised.value.output


def raylet(*, is_head: bool = True, **more: object) -> dict[str, object]:
    """The entry of a node in `/nodes?view=summary` (Ray 2.60)."""
    return {
        "nodeId": NODE,
        "nodeManagerAddress": "10.0.0.3",
        "isHeadNode": is_head,
        "startTimeMs": "1795907684170",
        "state": "ALIVE",
        "dashboardAgentListenPort": -1,
        **more,
    }


async def test_submission_that_no_agent_would_take_fails_with_the_cause(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray 2.60 tries for ten seconds to find the agent of the head before it answers."""
    jobs, dashboard = server
    monkeypatch.setattr(ray_jobs, "QUICK_S", 0.0)
    jobs.raylets = [raylet(), raylet(is_head=False, dashboardAgentListenPort=52365)]
    jobs.answers.clear()
    with pytest.raises(EaglerayError) as raised:
        await dashboard.job_api.submit("true", runtime_env={}, metadata={})
    assert raised.value.code == "no-job-agent"
    assert raised.value.message == (
        "The job agent of node 10.0.0.3 isn't running. It couldn't open its port."
    )


async def test_slow_submission_waits_for_an_agent_that_serves(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, dashboard = server
    monkeypatch.setattr(ray_jobs, "QUICK_S", 0.0)
    jobs.raylets = [raylet(dashboardAgentListenPort=52365)]
    jobs.answers.clear()
    submitting = asyncio.create_task(dashboard.job_api.submit("true", runtime_env={}, metadata={}))
    while ("GET", "/nodes") not in jobs.asked:
        await asyncio.sleep(0)
    jobs.answers.set()
    assert await submitting == "job_1"


async def test_older_ray_without_an_agent_is_queried_again_only_just_after_its_start(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray before 2.60 doesn't report the ports of its agents."""
    jobs, dashboard = server
    monkeypatch.setattr(ray_jobs, "AGAIN_S", (0.0,))
    older = raylet()
    del older["dashboardAgentListenPort"]
    jobs.raylets, jobs.not_yet = [older], 2
    with pytest.raises(EaglerayError, match="The dashboard finds no agent"):
        await dashboard.job_api.submit("true", runtime_env={}, metadata={})
    assert jobs.not_yet == 1
    older["startTimeMs"] = str(int(time.time() * 1000))
    assert await dashboard.job_api.submit("true", runtime_env={}, metadata={}) == "job_1"


async def test_token_goes_with_what_is_submitted(server: Server) -> None:
    jobs, dashboard = server
    jobs.token = "secret"
    said = await dashboard.job_api.submit(
        "true", runtime_env={"env_vars": {"A": "1"}}, metadata={"name": "n"}, submission_id="job_1"
    )
    assert said == "job_1"
    assert jobs.submitted == [
        {
            "entrypoint": "true",
            "runtime_env": {"env_vars": {"A": "1"}},
            "metadata": {"name": "n"},
            "submission_id": "job_1",
        }
    ]


async def test_packages_are_handed_over_once(server: Server) -> None:
    jobs, dashboard = server
    api, name = dashboard.job_api, "_ray_pkg_0123.zip"
    assert not await api.has_package(name)
    await api.put_package(name, b"PK")
    assert await api.has_package(name)
    assert jobs.packages == {name: b"PK"}
    with pytest.raises(ValueError, match="no name of a package"):
        await api.has_package("../../jobs/x")


async def test_unknown_job_is_reported(server: Server) -> None:
    _, dashboard = server
    for doing in (dashboard.job_api.state, dashboard.job_api.logs, dashboard.job_api.delete):
        with pytest.raises(EaglerayError) as raised:
            await doing("gone/../x")
        assert raised.value.code == "no-job"


async def test_log_is_followed_to_its_last_byte(server: Server) -> None:
    jobs, dashboard = server
    jobs.logs = "first\nsecond\n"
    jobs.states = [{"status": "PENDING", "driver_node_id": None}, {"status": "RUNNING"}]
    jobs.states += [{"status": "SUCCEEDED", "driver_exit_code": 0}]
    assert "".join([text async for text in follow(dashboard, "job_1")]) == jobs.logs
    state = await dashboard.job_api.state("job_1")
    assert (state.ended, state.code) == (True, 0)


async def test_starting_cluster_of_this_machine_is_queried_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray before 2.60; its agent, a child of the raylet, takes some seconds to open its port."""
    jobs, dashboard = server
    monkeypatch.setattr(ray_jobs, "AGAIN_S", (0.0,))
    older = raylet(startTimeMs=str(int(time.time() * 1000)))
    del older["dashboardAgentListenPort"]
    jobs.raylets, jobs.not_yet = [older], 1
    # Nothing listens there: the port belongs to no service.
    local = {older["nodeId"]: LocalNode(NODE, "127.0.0.1", os.getpid(), Path("/"), "", 1)}

    async def local_nodes(nodes: object) -> object:
        return local

    monkeypatch.setattr(dashboard, "local_nodes", local_nodes)
    assert await dashboard.job_api.submit("true", runtime_env={}, metadata={}) == "job_1"
    older["startTimeMs"], jobs.not_yet = "1795907684170", 1
    with pytest.raises(EaglerayError, match=r"isn't running\. It doesn't listen on port 1\."):
        await dashboard.job_api.submit("true", runtime_env={}, metadata={})
    # One that has its port never starts to listen.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        local[older["nodeId"]] = LocalNode(NODE, "127.0.0.1", 1, Path("/"), "", port)
        older["startTimeMs"], jobs.not_yet = str(int(time.time() * 1000)), 1
        with pytest.raises(EaglerayError, match=f"port {port} is taken by PID {os.getpid()}"):
            await dashboard.job_api.submit("true", runtime_env={}, metadata={})


@pytest.mark.parametrize("python", ["", "/nowhere/bin/python"])
@pytest.mark.usefixtures("at_once")
async def test_query_is_sent_as_a_job_where_the_python_of_the_node_is_gone(
    server: Server, python: str
) -> None:
    jobs, dashboard = server
    jobs.states = [{"status": "SUCCEEDED"}]

    async def local_nodes(_dashboard: Dashboard, _nodes: object) -> dict[str, LocalNode]:
        return {NODE: LocalNode(NODE, "127.0.0.1", os.getpid(), Path("/"), python, 0)}

    asking = ClusterQuery(local_nodes)
    with pytest.raises(EaglerayError) as raised:
        await asking.ask(dashboard, "list", "text", {}, 5)
    assert raised.value.code == "job-failed"
    assert len(jobs.submitted) == 1
    await asking.close()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_query, "RAY_POLL_S", 0.0)
    monkeypatch.setattr(cluster_query, "END_S", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_answer_comes_behind_its_mark_and_the_job_is_taken_away(server: Server) -> None:
    jobs, dashboard = server
    jobs.states = [{"status": "SUCCEEDED"}]
    asking = ClusterQuery()
    with pytest.raises(EaglerayError) as raised:
        await asking.ask(dashboard, "list", "text", {"a": 1}, 5)
    assert raised.value.code == "job-failed"
    env = jobs.submitted[0]["runtime_env"]["env_vars"]
    said = json.loads(env["EAGLERAY_ASKED"])
    assert (env["EAGLERAY_TEXT"], said["a"], len(said["mark"])) == ("text", 1, 32)
    await asking.close()
    assert jobs.deleted == {"job_1"}


@pytest.mark.usefixtures("at_once")
async def test_job_that_hangs_is_stopped(server: Server) -> None:
    jobs, dashboard = server
    jobs.states = [{"status": "RUNNING"}]
    asking = ClusterQuery()
    with pytest.raises(EaglerayError) as raised:
        await asking.ask(dashboard, "list", "text", {}, 0.01)
    assert raised.value.code == "job-unfinished"
    await asking.close()
    assert ("POST", "/api/jobs/job_1/stop") in jobs.asked


async def no_rows(_: Dashboard) -> list[object]:
    return []


async def inspect(dashboard: Dashboard) -> None:
    node = NodeRow("n1", "10.0.0.2", "node-1", alive=True, head=True)
    processes = ClusterProcesses()
    try:
        await processes.process(dashboard, node, 4711, lambda text: None)
    finally:
        await processes.close()


async def take(dashboard: Dashboard) -> None:
    pictures = ClusterPictures()
    try:
        await pictures.take(dashboard)
    finally:
        await pictures.close()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("work", [inspect, take])
async def test_job_that_arrives_while_its_submission_is_cancelled_is_removed(
    server: Server,
    work: Callable[[Dashboard], Coroutine[Any, Any, None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs, dashboard = server
    for name in ("nodes", "actors", "all_workers", "unended_tasks"):
        monkeypatch.setattr(Dashboard, name, no_rows)
    jobs.states = [{"status": "RUNNING"}]
    jobs.answers.clear()
    working = asyncio.create_task(work(dashboard))
    await jobs.arrived.wait()
    working.cancel()
    # The cancellation ends the submission first.
    await asyncio.sleep(0)
    jobs.answers.set()
    with pytest.raises(asyncio.CancelledError):
        await working
    [job] = [each["submission_id"] for each in jobs.submitted]
    assert ("POST", f"/api/jobs/{job}/stop") in jobs.asked
    assert jobs.deleted == {job}
    left = [name for name in jobs.packages if "request" in name]
    # Ray deletes a package some time after a client has asked for it.
    assert [("GET", f"/api/packages/gcs/{name}") for name in left] == [
        each for each in jobs.asked if each[0] == "GET" and "request" in each[1]
    ]
