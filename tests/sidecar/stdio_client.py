"""A JSON-RPC client that drives a sidecar in a subprocess, as an editor does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from eagleray.wire.requests import LongRequest, Notification, Request

ROOT = Path(__file__).parents[2]
START = ROOT / "pybackend" / "eagleray_start.py"
LIMIT_S = 60.0


Method = str | Request[Any, Any] | LongRequest[Any, Any] | Notification[Any]


def method_name(method: Method) -> str:
    return method if isinstance(method, str) else method.method


class StdioClient:
    """Owns the process.  Notifications are kept in `notifications`, in their order."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.notifications: list[tuple[str, Any]] = []
        self._answers: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._heard = asyncio.Condition()
        self._last_id = 0
        self._reading = asyncio.create_task(self._read())

    async def initialize(self, **options: Any) -> dict[str, Any]:
        params = {"processId": None, "rootUri": None, "capabilities": {}}
        answer = await self.ask("initialize", {**params, "initializationOptions": options})
        self.notify("initialized", {})
        return answer

    async def ask(self, method: Method, params: Any = None) -> dict[str, Any]:
        """The whole answer: with `result` or `error`."""
        _, answer = self.begin(method, params)
        return await asyncio.wait_for(answer, LIMIT_S)

    async def result(self, method: Method, params: Any = None) -> Any:
        answer = await self.ask(method, {} if params is None else params)
        assert "error" not in answer, answer
        return answer["result"]

    def begin(self, method: Method, params: Any) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        self._last_id += 1
        answer = self._answers[self._last_id] = asyncio.get_running_loop().create_future()
        self.send(
            {"jsonrpc": "2.0", "id": self._last_id, "method": method_name(method), "params": params}
        )
        return self._last_id, answer

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: Any) -> None:
        self.send_raw(json.dumps(message).encode())

    def send_raw(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def answer_to(self, request_id: Any) -> asyncio.Future[dict[str, Any]]:
        """The answer to a request that is sent with `send`."""
        return self._answers.setdefault(request_id, asyncio.get_running_loop().create_future())

    async def heard(self, method: Method, fits: Any = lambda value: True) -> Any:
        """The params of the first notification of that method that fits, waited for if need be."""

        def found() -> list[Any]:
            return [
                value
                for name, value in self.notifications
                if name == method_name(method) and fits(value)
            ]

        async with self._heard:
            await asyncio.wait_for(self._heard.wait_for(found), LIMIT_S)
        return found()[0]

    async def end(self) -> int:
        """Leaves as an editor does; the answer is the exit code."""
        await self.ask("shutdown")
        self.notify("exit", None)
        return await asyncio.wait_for(self.process.wait(), LIMIT_S)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        stdout = self.process.stdout
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = await stdout.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                await self._take(json.loads(await stdout.readexactly(length)))
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(EOFError("the sidecar ended"))

    async def _take(self, message: dict[str, Any]) -> None:
        if "method" in message:
            async with self._heard:
                self.notifications.append((message["method"], message.get("params")))
                self._heard.notify_all()
        else:
            answer = self._answers.pop(message["id"], None)
            if answer is not None and not answer.done():
                answer.set_result(message)

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await asyncio.gather(self._reading, return_exceptions=True)


@contextlib.asynccontextmanager
async def running(command: Sequence[str], **env: str) -> AsyncIterator[StdioClient]:
    """A sidecar process that ends with the block; its log goes to the test's standard error."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "pybackend"), **env},
        limit=2**26,
    )
    client = StdioClient(process)
    try:
        yield client
    finally:
        await client.kill()


def started(*command: str, **env: str) -> contextlib.AbstractAsyncContextManager[StdioClient]:
    """One that our own Python runs."""
    return running([sys.executable, *command], **env)


def sidecar(**env: str) -> contextlib.AbstractAsyncContextManager[StdioClient]:
    """The real one."""
    return started(str(START), "sidecar", **env)
