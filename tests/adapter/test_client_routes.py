"""The client's side of sockets, commands, states and questions, against an adapter that is told what to say."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter_client.adapters import Adapters
from eagleray.common import private_socket
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import adapter_socket
from eagleray.protocol import control
from eagleray.protocol.control import Question, RouteState, SshSettings
from eagleray.protocol.route_spec import RouteSpec

from tests.routes.ssh_fixtures import until

LOGIN = RouteSpec(ssh="login")
SAID = {"ssh": "login", "job": "", "node": ""}
READY = {"route": SAID, "state": "ready", "reason": "", "message": "", "since_s": 1.0, "grown": 1}
OPS = ["open_socket", "leave", "run", "reconnect", "asks", "answer", "ssh_options", "subscribe"]


class Saying:
    """An adapter that knows `ops` and answers what `answers` has."""

    def __init__(self, ops: list[str]) -> None:
        self.ops = ops
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, dict[str, Any]] = {"subscribe": {"workers": [], "routes": [READY]}}
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                said = json.loads(line)
                hello = {"protocol": control.PROTOCOL, "version": "0.0.1", "ops": self.ops}
                result = hello if said["op"] == "hello" else self.answers.get(said["op"], {})
                if said["op"] != "hello":
                    self.asked.append((said["op"], said["params"]))
                writer.write(json.dumps({"id": said["id"], "result": result}).encode() + b"\n")
        writer.close()

    def tell(self, event: str, **more: Any) -> None:
        for writer in self._writers:
            writer.write(json.dumps({"event": event, **more}).encode() + b"\n")

    def close(self) -> None:
        for writer in self._writers:
            writer.close()

    def ops_asked(self) -> list[str]:
        return [op for op, _ in self.asked if op != "subscribe"]


@contextlib.asynccontextmanager
async def saying(ops: list[str]) -> AsyncIterator[Saying]:
    adapter = Saying(ops)
    server = await private_socket.serve(adapter_socket(), adapter.serve, limit=control.MAX_LINE)
    yield adapter
    server.stop()
    adapter.close()


@pytest.fixture
async def adapters(short_home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Adapters]:
    monkeypatch.setenv("EAGLERAY_HOME", str(short_home))
    made = Adapters(start=False)
    yield made
    await made.close()


async def test_sockets_and_commands(adapters: Adapters) -> None:
    async with saying(OPS) as adapter:
        adapter.answers["open_socket"] = {"socket": "/run/s.sock", "route": SAID}
        adapter.answers["run"] = {"code": 1, "stdout": "a", "stderr": "b"}
        opened = await adapters.open_socket([LOGIN], "node-1", 8265)
        assert (opened.socket, opened.route) == ("/run/s.sock", LOGIN)
        ran = await adapters.run("login", ["squeue", "--me"], "in", 5)
        assert (ran.code, ran.stdout, ran.stderr) == (1, "a", "b")
        await adapters.reconnect(LOGIN)
        await adapters.leave([LOGIN])
        assert adapter.asked == [
            (
                "open_socket",
                {
                    "routes": [SAID],
                    "host": "node-1",
                    "port": 8265,
                    "tcp_port": None,
                    "shared": False,
                    "probe": True,
                },
            ),
            ("run", {"ssh": "login", "argv": ["squeue", "--me"], "stdin": "in", "limit_s": 5}),
            ("reconnect", {"route": SAID}),
            ("leave", {"routes": [SAID]}),
        ]


async def test_an_adapter_that_does_not_know_routes(adapters: Adapters) -> None:
    async with saying([]) as adapter:
        with pytest.raises(EaglerayError) as error:
            await adapters.open_socket([LOGIN], "node-1", 8265)
        assert error.value.code == "adapter-too-old"
        adapters.asks(lambda question: None, lambda number: None)
        await adapters.leave([LOGIN])
        assert adapter.ops_asked() == []


async def test_states_are_told(adapters: Adapters) -> None:
    heard: list[list[RouteState]] = []
    end = adapters.listen_routes(heard.append)
    async with saying(OPS) as adapter:
        await until(lambda: bool(heard))
        assert [(state.route, state.state) for state in adapters.route_states()] == [
            (LOGIN, "ready")
        ]
        adapter.tell("routes", routes=[{**READY, "state": "lost", "reason": "cut"}])
        await until(lambda: heard[-1][0].reason == "cut")
    await until(lambda: adapters.route_states() == [])
    end()


async def test_questions_come_and_go(adapters: Adapters) -> None:
    asked: list[Question] = []
    over: list[int] = []
    adapters.use_ssh(SshSettings("/opt/ssh", reuse=False))
    adapters.asks(asked.append, over.append)
    async with saying(OPS) as adapter:
        await until(lambda: "asks" in adapter.ops_asked())
        assert adapter.asked[0][0] == "ssh_options"
        assert adapter.asked[0][1]["program"] == "/opt/ssh"
        for number in (7, 8, 9):
            adapter.tell("question", id=number, ssh="login", prompt=f"{number}?", kind="secret")
        await until(lambda: len(asked) == 3)
        assert [question.prompt for question in asked] == ["7?", "8?", "9?"]
        await adapters.answer(asked[0].id, "letmein")
        assert ("answer", {"id": 7, "text": "letmein"}) in adapter.asked
        adapter.tell("question_over", id=8)
        await until(lambda: over == [asked[1].id])
        await adapters.answer(asked[1].id, "too late")
        assert adapter.ops_asked().count("answer") == 1
    # The adapter is gone, and with it what it had asked.
    await until(lambda: over == [asked[1].id, asked[2].id])
