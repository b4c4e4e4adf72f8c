"""The client's side of sockets, commands, states and questions, against a scripted adapter."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter_client.client import AdapterClient
from eagleray.common import private_socket
from eagleray.common.paths import adapter_socket
from eagleray.protocol import adapter_control, jsonlines
from eagleray.protocol.adapter_control import RouteState, SshQuestion, SshSettings
from eagleray.protocol.route_spec import RouteSpec

from tests.routes.ssh_fixtures import until

LOGIN = RouteSpec(ssh="login")
ROUTE = {"ssh": "login", "job": "", "node": ""}
READY = {"route": ROUTE, "state": "ready", "reason": "", "message": "", "since_s": 1.0, "grown": 1}


class Saying:
    """An adapter that responds with `answers`."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                request = json.loads(line)
                hello = {"protocol": adapter_control.PROTOCOL, "version": "0.0.1", "pid": 1}
                result = hello if request["op"] == "hello" else self.answers.get(request["op"], {})
                if request["op"] != "hello":
                    self.requests.append((request["op"], request["params"]))
                writer.write(jsonlines.encode({"id": request["id"], "result": result}))
                if request["op"] == "subscribe":
                    self.send_event("routes", routes=[READY])
        writer.close()

    def send_event(self, event: str, **more: Any) -> None:
        for writer in self._writers:
            writer.write(jsonlines.encode({"event": event, **more}))

    def close(self) -> None:
        for writer in self._writers:
            writer.close()

    def operations(self) -> list[str]:
        return [op for op, _ in self.requests if op != "subscribe"]


@contextlib.asynccontextmanager
async def saying() -> AsyncIterator[Saying]:
    adapter = Saying()
    server = await private_socket.serve(
        adapter_socket(), adapter.serve, limit=adapter_control.MAX_LINE
    )
    yield adapter
    server.stop()
    adapter.close()


@pytest.fixture
async def adapters(
    short_home: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AdapterClient]:
    monkeypatch.setenv("EAGLERAY_HOME", str(short_home))
    made = AdapterClient(start=False)
    yield made
    await made.close()


async def test_client_opens_sockets_and_runs_commands(adapters: AdapterClient) -> None:
    async with saying() as adapter:
        adapter.answers["open_socket"] = {"socket": "/run/s.sock", "route": ROUTE}
        adapter.answers["run_command"] = {"code": 1, "stdout": "a", "stderr": "b"}
        opened = await adapters.routes.open_socket([LOGIN], "node-1", 8265)
        assert (opened.socket, opened.route) == ("/run/s.sock", LOGIN)
        ran = await adapters.routes.run("login", ["squeue", "--me"], "in", 5)
        assert (ran.code, ran.stdout, ran.stderr) == (1, "a", "b")
        await adapters.routes.reconnect(LOGIN)
        await adapters.routes.leave([LOGIN])
        assert adapter.requests == [
            (
                "open_socket",
                {
                    "routes": [ROUTE],
                    "host": "node-1",
                    "port": 8265,
                    "tcp_port": None,
                    "shared": False,
                    "probe": True,
                },
            ),
            (
                "run_command",
                {"ssh": "login", "argv": ["squeue", "--me"], "stdin": "in", "limit_s": 5},
            ),
            ("reconnect", {"route": ROUTE}),
            ("leave", {"routes": [ROUTE]}),
        ]


async def test_client_receives_states_of_routes(adapters: AdapterClient) -> None:
    heard: list[list[RouteState]] = []
    end = adapters.routes.listen_routes(heard.append)
    async with saying() as adapter:
        await until(lambda: bool(heard))
        assert [(state.route, state.state) for state in adapters.routes.route_states()] == [
            (LOGIN, "ready")
        ]
        adapter.send_event("routes", routes=[{**READY, "state": "lost", "reason": "cut"}])
        await until(lambda: heard[-1][0].reason == "cut")
    await until(lambda: adapters.routes.route_states() == [])
    end()


async def test_client_receives_questions_and_their_end(adapters: AdapterClient) -> None:
    questions: list[SshQuestion] = []
    over: list[int] = []
    adapters.routes.use_ssh(SshSettings("/opt/ssh", reuse=False))
    adapters.routes.asks(questions.append, over.append)
    async with saying() as adapter:
        await until(lambda: "asks" in adapter.operations())
        assert adapter.requests[0][0] == "ssh_options"
        assert adapter.requests[0][1]["program"] == "/opt/ssh"
        for number in (7, 8, 9):
            adapter.send_event(
                "question", id=number, ssh="login", prompt=f"{number}?", kind="secret"
            )
        await until(lambda: len(questions) == 3)
        assert [question.prompt for question in questions] == ["7?", "8?", "9?"]
        await adapters.routes.answer(questions[0].id, "letmein")
        assert ("answer", {"id": 7, "text": "letmein"}) in adapter.requests
        adapter.send_event("question_over", id=8)
        await until(lambda: over == [questions[1].id])
        await adapters.routes.answer(questions[1].id, "too late")
        assert adapter.operations().count("answer") == 1
    # The adapter is gone, and with it its questions.
    await until(lambda: over == [questions[1].id, questions[2].id])
