"""An adapter that speaks the control protocol and has whatever workers a test gives it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from eagleray.common import private_socket
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import adapter_socket
from eagleray.protocol import adapter_control, jsonlines, runs
from eagleray.protocol.adapter_control import WorkerState, WorkerStop

STOP = WorkerStop("breakpoint", "/remote/train.py", 24, "train", "", 1)


def state(worker_id: str, **changes: Any) -> WorkerState:
    """A worker that is held at `STOP`."""
    held = WorkerState(
        session="session_1",
        worker_id=worker_id,
        cluster="http://c:8265",
        name=f"name of {worker_id}",
        pid=1,
        state="stopped",
        editor=False,
        held_s=0.0,
        rank="",
        stop=STOP,
        socket=f"/run/{worker_id}.sock",
    )
    return replace(held, **changes)


class FakeAdapter:
    """`asked` keeps every request that a test causes; `answers` says what attaching comes to."""

    def __init__(self) -> None:
        self.states: dict[str, WorkerState] = {}
        self.answers: dict[str, WorkerState | EaglerayError] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.runs: list[dict[str, Any]] = []
        self.protocol = adapter_control.PROTOCOL
        self.silent_about = ""
        self.kept_silent = asyncio.Event()
        self._subscribed: list[asyncio.StreamWriter] = []
        self._writers: list[asyncio.StreamWriter] = []

    def change(self, *states: WorkerState) -> None:
        """The workers are these now; subscribers are told."""
        self.states = {one.worker_id: one for one in states}
        for writer in self._subscribed:
            self._send_workers(writer)

    def say(self, message: dict[str, Any]) -> None:
        """Says something on every connection, asked or not."""
        for writer in self._writers:
            self._send(writer, message)

    def drop(self) -> None:
        """Ends all connections, as a killed adapter does."""
        for writer in self._writers:
            writer.close()
        self._subscribed.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                asked = json.loads(line)
                if asked["op"] == self.silent_about:
                    self.kept_silent.set()
                    continue
                try:
                    result = self._answer(asked["op"], asked["params"], writer)
                    self._send(writer, {"id": asked["id"], "result": result})
                    if asked["op"] == adapter_control.SUBSCRIBE.name:
                        self._send_workers(writer)
                except EaglerayError as error:
                    said = {"code": error.code, "message": error.message}
                    self._send(writer, {"id": asked["id"], "error": said})
        writer.close()

    def _answer(
        self, op: str, params: dict[str, Any], writer: asyncio.StreamWriter
    ) -> dict[str, Any]:
        if op == adapter_control.HELLO.name:
            return {"protocol": self.protocol, "version": "x", "pid": 1, "grown": "later"}
        if op == adapter_control.WORKERS.name:
            return self._workers()
        if op == runs.RUNS.name:
            return {"runs": self.runs}
        if op in (adapter_control.SSH_OPTIONS.name, adapter_control.ASKS.name):
            return {}
        self.asked.append((op, params))
        if op == adapter_control.SUBSCRIBE.name:
            self._subscribed.append(writer)
        if op == adapter_control.ATTACH.name:
            return self._attach(params)
        if op == adapter_control.RUN_COMMAND.name:
            return {"code": 255, "stdout": "", "stderr": "no such host"}
        if op == adapter_control.READ_FILE.name:
            return {"text": "x = 1\n", "truncated": False, "sha256": "00"}
        if op == adapter_control.RUN_COMMAND.name:
            return {"code": 0, "stdout": "", "stderr": ""}
        if op == adapter_control.IGNORE.name and params["ignore"]:
            self.change(*(_gone_by(state, params) for state in self.states.values()))
        if op in (adapter_control.CONTINUE.name, adapter_control.RELEASE.name):
            self.change(*(s for s in self.states.values() if s.worker_id != params["worker_id"]))
        return {}

    def _attach(self, params: dict[str, Any]) -> dict[str, Any]:
        worker_id = params["worker_id"]
        having = {key: params[key] for key in ("name", "session", "cluster")}
        answer = self.answers.get(worker_id) or state(worker_id, **having)
        if isinstance(answer, EaglerayError):
            raise answer
        self.change(*self.states.values(), answer)
        return {"socket": answer.socket, "worker": asdict(answer)}

    def _workers(self) -> dict[str, Any]:
        return {"workers": [{**asdict(s), "grown": 1} for s in self.states.values()]}

    def _send_workers(self, writer: asyncio.StreamWriter) -> None:
        self._send(writer, {"event": "workers", **self._workers()})

    def _send(self, writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
        writer.write(jsonlines.encode(message))


def _gone_by(state: WorkerState, rule: dict[str, Any]) -> WorkerState:
    """A worker that stands at an ignored place runs on and stays attached."""
    stop = state.stop
    if stop and (state.session, stop.path, stop.line) == (
        rule["session"],
        rule["path"],
        rule["line"],
    ):
        return replace(state, state="running", stop=None)
    return state


@contextlib.asynccontextmanager
async def running(version: str | None = None) -> AsyncIterator[FakeAdapter]:
    """An adapter of that version (ours) in the run folder."""
    path: Path = adapter_socket(version) if version else adapter_socket()
    adapter = FakeAdapter()
    server = await private_socket.serve(path, adapter.serve, limit=adapter_control.MAX_LINE)
    try:
        yield adapter
    finally:
        server.stop()
        adapter.drop()
