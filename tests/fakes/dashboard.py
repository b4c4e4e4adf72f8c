"""A Ray dashboard for tests: its good answers come from a real one, its faults from the world.

Answers lie in `recorded/ray-<version>.json` (see `record.py`).  Tests change `rows` and `fault` while it runs.
"""

from __future__ import annotations

import asyncio
import copy
import fnmatch
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web
from eagleray.ray.dashboard import Dashboard

RECORDED = Path(__file__).parent / "recorded"
LISTS = ("workers", "tasks", "actors", "nodes")
# The id of `policy-0`, a paused worker in the recorded answers.
POLICY = "c7b60196080e2c97d84be92296aeccd5398198290dc1e004d1f3a5ee"


class FakeDashboard:
    """Serves on a free port of 127.0.0.1 between `start` and `stop`.

    `fault` is "" or one of the methods `_fault_*`; `requests` keeps every request that came.
    `token` makes it ask for a token as Ray does.
    """

    def __init__(self, version: str = "2.60.0") -> None:
        self.recorded: dict[str, dict[str, Any]] = json.loads(
            (RECORDED / f"ray-{version}.json").read_text()
        )
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: self._result(name)["result"] for name in LISTS
        }
        self.version: dict[str, Any] = json.loads(self.recorded["version"]["body"])
        self.jobs: list[dict[str, Any]] = json.loads(self.recorded["jobs"]["body"])
        self.logs: dict[str, str] = {}
        # By the id of a node, below its logs; the logs of a node without a fault come as they are.
        self.files: dict[str, dict[str, bytes]] = {}
        self.gone_nodes: set[str] = set()
        self.token = ""
        self.fault = ""
        self.requests: list[web.Request] = []
        self.ended = asyncio.Event()
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def session(self) -> str:
        """The session that the client should name."""
        return str(self.version.get("session_name", f"head-{self.rows['nodes'][0]['node_id']}"))

    @property
    def paused(self) -> list[dict[str, Any]]:
        return [row for row in self.rows["workers"] if (row["num_paused_threads"] or 0) > 0]

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def sent_tokens(self) -> list[str]:
        """Every credential that came, wherever it stood."""
        names = ("Authorization", "X-Ray-Authorization", "Cookie")
        return [r.headers[name] for r in self.requests for name in names if name in r.headers]

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> None:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        self.ended.clear()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]

    async def stop(self) -> None:
        self.ended.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def resume(self, worker_id: str) -> None:
        for row in self.rows["workers"]:
            if row["worker_id"] == worker_id:
                row["num_paused_threads"] = 0

    def restart(self, session: str) -> None:
        """Another cluster at the same address: nothing of the old one is left."""
        self.version["session_name"] = session
        self.rows = {name: [] for name in LISTS}

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if self.fault:
            answer: web.StreamResponse = await getattr(self, f"_fault_{self.fault}")(request)
            return answer
        if request.path == "/api/authentication_mode":
            if self.recorded["authentication_mode"]["status"] == 404:
                return self._recorded("authentication_mode")
            mode = "token" if self.token else "disabled"
            return web.json_response({"authentication_mode": mode})
        if self.token and (refused := self._refused(request)):
            return self._recorded(refused)
        return self._good(request)

    def _refused(self, request: web.Request) -> str:
        given = request.headers.get("Authorization")
        if given is None:
            return "no-token"
        return "" if given == f"Bearer {self.token}" else "bad-token"

    def _good(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/api/version":
            return web.json_response(self.version)
        if request.path == "/api/jobs/":
            return web.json_response(self.jobs)
        if request.path == "/api/profiling_enabled":
            return self._recorded("profiling_enabled")
        if request.path == "/worker/traceback":
            return self._recorded("traceback")
        if request.path.startswith("/api/v0/logs"):
            return self._log(request)
        name = request.path.rpartition("/")[2]
        return self._list(name, request) if name in self.rows else web.Response(status=404)

    def _list(self, name: str, request: web.Request) -> web.Response:
        rows = self.rows[name]
        if "num_paused_threads" in request.query.getall("filter_keys", []):
            rows = self.paused
        whole = json.loads(self.recorded[name]["body"])
        whole["data"]["result"] = {
            "total": len(self.rows[name]),
            "num_after_truncation": len(rows),
            "num_filtered": len(rows),
            "result": rows,
            "partial_failure_warning": "",
            "warnings": None,
        }
        return web.json_response(whole)

    def _node_file(self, request: web.Request, node: str) -> web.StreamResponse:
        """As Ray answers: the end of a file unless all its lines are asked for, as one text without a length."""
        if node in self.gone_nodes:
            said = {"result": False, "msg": f"Agent for node id: {node} doesn't exist.", "data": {}}
            return web.json_response(said, status=500)
        if request.path == "/api/v0/logs":
            found = fnmatch.filter(self.files[node], request.query["glob"])
            return web.json_response(
                {"result": True, "msg": "", "data": {"result": {"internal": found}}}
            )
        content = self.files[node].get(request.query["filename"])
        if content is None:
            return web.Response(status=500, text="File not found")
        lines = int(request.query.get("lines", "1000"))
        if lines != -1:
            content = b"".join(content.splitlines(keepends=True)[-(lines or 1000) :])
        return web.Response(body=content, content_type="text/plain")

    def _log(self, request: web.Request) -> web.StreamResponse:
        if (node := request.query.get("node_id", "")) in self.files:
            return self._node_file(request, node)
        if request.path == "/api/v0/logs":
            names = {"worker_err": [name for name in self.logs if name.endswith(".err")]}
            data = {"result": names} if self.logs else self._recorded_json("log_files")["data"]
            return web.json_response({"result": True, "msg": "", "data": data})
        name = request.query["filename"]
        if name in self.logs:
            return web.Response(text=self.logs[name])
        known = name in self.recorded["log_file"]["path"]
        return self._recorded("log_file" if known else "no_log_file")

    def _recorded_json(self, name: str) -> Any:
        return json.loads(self.recorded[name]["body"])

    def _result(self, name: str) -> dict[str, Any]:
        result: dict[str, Any] = self._recorded_json(name)["data"]["result"]
        return copy.deepcopy(result)

    def _recorded(self, name: str) -> web.Response:
        answer = self.recorded[name]
        headers = {"Content-Type": answer["type"]}
        return web.Response(status=answer["status"], body=answer["body"].encode(), headers=headers)

    async def _fault_error_500(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"result": False, "msg": "out of order", "data": {}}, status=500)

    async def _fault_protobuf(self, request: web.Request) -> web.StreamResponse:
        """The answer of Ray 2.9.1 with a protobuf that is too new for it: only lists fail."""
        if not request.path.startswith("/api/v0"):
            return self._good(request)
        said = "MessageToDict() got an unexpected keyword argument 'including_default_value_fields'"
        return web.json_response({"result": False, "msg": said, "data": {}}, status=500)

    async def _fault_busy_429(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"result": False, "msg": "max in-flight", "data": {}}, status=429)

    async def _fault_garbage(self, request: web.Request) -> web.StreamResponse:
        return web.Response(body=bytes(range(256)) * 20, content_type="application/json")

    async def _fault_nested(self, request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"[" * 200_000, content_type="application/json")

    async def _fault_other_json(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "ok", "data": [1, 2, {"result": None}]})

    async def _fault_web_page(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html><h1>Jupyter</h1></html>", content_type="text/html")

    async def _fault_not_found(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=404, text="404: Not Found")

    async def _fault_login_401(self, request: web.Request) -> web.StreamResponse:
        """Something else that wants credentials."""
        return web.Response(status=401, headers={"WWW-Authenticate": "Basic"}, text="log in")

    async def _fault_redirect(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/login?next=" + request.path)

    async def _fault_huge(self, request: web.Request) -> web.StreamResponse:
        """100 MB, as far as the client takes them."""
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        for _ in range(100):
            await answer.write(b" " * 2**20)
        await answer.write_eof()
        return answer

    async def _fault_silent(self, request: web.Request) -> web.StreamResponse:
        """Takes the question and never answers."""
        await self.ended.wait()
        return web.Response()

    async def _fault_drip(self, request: web.Request) -> web.StreamResponse:
        """Answers byte by byte, and never comes to the end."""
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        while not self.ended.is_set():
            await answer.write(b" ")
            await asyncio.sleep(0.02)
        return answer

    async def _fault_hang_up(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


# A client that waits long: the machines that run the tests may be slow.
patient = partial(Dashboard, quick_s=60.0, list_s=60.0)


@asynccontextmanager
async def dashboard(version: str = "2.60.0") -> AsyncIterator[FakeDashboard]:
    """A fake dashboard that runs within the block."""
    fake = FakeDashboard(version)
    await fake.start()
    try:
        yield fake
    finally:
        await fake.stop()


@asynccontextmanager
async def no_http(said: bytes) -> AsyncIterator[str]:
    """The address of a server that says `said` to everybody, and no HTTP."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
