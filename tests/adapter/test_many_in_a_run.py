"""Sixty-four workers of a run that hit a breakpoint at once: all are held, and all resume."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from eagleray.protocol import dap
from eagleray.protocol.dap import Message
from eagleray.remote.injected.debug_proxy import handle
from eagleray.remote.injected.debugpy.channel import accepted

from tests.adapter.harness import AdapterProcess, ControlClient, Json, until
from tests.adapter.proxied import LINE, PUBLIC, RUN, SOURCE, RunClient

MANY = 64


class Debuggers:
    """Debuggers that stop at once; sixty-four real ones would keep the machine busy for minutes."""

    def __init__(self) -> None:
        self.lines: list[list[int]] = []
        self.went_on = 0
        self._serving: list[asyncio.Task[None]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def channel(self) -> socket.socket:
        """The proxy's end of a channel over which one of them takes its clients."""
        ours, theirs = socket.socketpair()
        self._loop.call_soon_threadsafe(self._loop.add_reader, ours, self._accept, ours)
        return theirs

    def close(self) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, doing: Any) -> None:
        asyncio.run_coroutine_threadsafe(doing, self._loop).result(60)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _accept(self, channel: socket.socket) -> None:
        client = accepted(channel)
        if client is None:
            self._loop.remove_reader(channel)
            channel.close()
        else:
            self._serving.append(self._loop.create_task(self._serve(client)))

    async def _serve(self, client: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client)

        def say(*messages: Message) -> None:
            writer.write(b"".join(dap.encode(message) for message in messages))

        attach: Message = {}
        while (asked := await dap.read(reader)) is not None:
            command = asked["command"]
            if command == "attach":
                attach = asked
                say(dap.event("initialized"))
                continue
            say(dap.success(asked, self._body(command, asked.get("arguments") or {})))
            if command == "configurationDone":
                said = {"reason": "breakpoint", "threadId": 1, "allThreadsStopped": True}
                say(dap.success(attach), dap.event("stopped", said))
            if command == "continue":
                self.went_on += 1
        writer.close()

    def _body(self, command: str, arguments: Message) -> Message:
        if command == "setBreakpoints":
            lines = [point["line"] for point in arguments["breakpoints"]]
            self.lines.append(lines)
            points = [{"id": line, "verified": True, "line": line} for line in lines]
            return {"breakpoints": points}
        if command == "stackTrace":
            frame = {"id": 1, "name": "work", "line": LINE, "source": {"path": str(SOURCE)}}
            return {"stackFrames": [frame], "totalFrames": 1}
        return {"threads": [{"id": 1, "name": "MainThread"}]} if command == "threads" else {}


@contextmanager
def waiting(number: int, debuggers: Debuggers) -> Iterator[int]:
    """A worker that waits at its debug proxy; returns the port of the proxy."""
    who = {
        "worker_id": f"w{number}",
        "kind": "worker",
        "class": "Policy",
        "matches": True,
        "pid": os.getpid(),
        "node_ip": "127.0.0.1",
        "session": "session_1",
        "rank": number,
        "state": "free",
        "files": {},
    }
    made = handle.start_proxy(RUN, PUBLIC, 600, "127.0.0.1", who)

    def on_line(said: Json) -> None:
        if said.get("op") == "debug":
            with debuggers.channel() as channel:
                made.send("listening", passing=[channel.fileno()], debugpy="1.8.22")

    try:
        made.serve(on_line)
        made.send("waiting", files={str(SOURCE): str(SOURCE)})
        yield made.port
    finally:
        made.close()


def test_all_workers_are_held_and_resume(adapter: AdapterProcess, control: ControlClient) -> None:
    debuggers = Debuggers()
    with ExitStack() as stack:
        stack.callback(debuggers.close)
        ports = [stack.enter_context(waiting(number, debuggers)) for number in range(MANY)]
        run = RunClient(control)
        stack.callback(control.call, "run_end", run=RUN)
        for port in ports:
            control.call("run_worker", run=RUN, host="127.0.0.1", port=port)

        def held() -> list[Json]:
            return [one for one in control.call("workers")["workers"] if one["stop"]]

        until(lambda: len(held()) == MANY, "all of them stand")
        assert {one["worker_id"] for one in held()} == {f"w{number}" for number in range(MANY)}
        assert debuggers.lines == [[LINE]] * MANY
        (line,) = run.state()["lines"]
        assert (line["state"], len(line["workers"])) == ("verified", MANY)
        for one in held():
            control.call("continue", session="session_1", worker_id=one["worker_id"])
        until(lambda: debuggers.went_on == MANY and not held(), "all of them run on")
