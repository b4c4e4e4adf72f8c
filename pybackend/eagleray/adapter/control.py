"""The control server: JSON lines of `protocol` on the adapter's own socket."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable
from typing import Any

from eagleray import __version__
from eagleray.adapter import protocol
from eagleray.adapter.protocol import (
    AttachParams,
    Hello,
    IgnoreParams,
    Mapping,
    WorkerKey,
    WorkerState,
    to_json,
)
from eagleray.adapter.registry import Registry
from eagleray.common.errors import EaglerayError, adapter_in_use, internal, worker_silent

log = logging.getLogger(__name__)


# A worker deep in native code answers nothing; attaching has limits of its own.
ANSWER_S = 20.0


class Control:
    """Serves all control clients; `shut_down` is called when one of them asked for it."""

    def __init__(self, registry: Registry, shut_down: Callable[[], None]) -> None:
        self._registry = registry
        self._shut_down = shut_down
        self.clients = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, until it is gone; its requests may overtake one another."""
        self.clients += 1
        client = _Client(self._registry, self._shut_down, writer)
        try:
            while line := await reader.readline():
                client.take(line)
        except (OSError, ValueError) as error:
            log.info("a control client: %r", error)
        finally:
            self.clients -= 1
            client.close()


class _Client:
    def __init__(
        self, registry: Registry, shut_down: Callable[[], None], writer: asyncio.StreamWriter
    ) -> None:
        self._registry = registry
        self._shut_down = shut_down
        self._writer = writer
        self._answering: set[asyncio.Task[None]] = set()

    def take(self, line: bytes) -> None:
        task = asyncio.create_task(self._answer(line))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def close(self) -> None:
        """What was asked goes on: a worker must not be lost because the one who asked is."""
        if self._changed in self._registry.listeners:
            self._registry.listeners.remove(self._changed)
        self._writer.close()

    async def _answer(self, line: bytes) -> None:
        request_id, answer = None, {}
        try:
            request = json.loads(line)
            request_id = request.get("id")
            op, params = request["op"], request.get("params") or {}
            limit = None if op == protocol.ATTACH else ANSWER_S
            answer = {"result": await asyncio.wait_for(self._result(op, params), limit)}
        except asyncio.TimeoutError:
            answer = {"error": _error(worker_silent("The worker", ANSWER_S))}
        except EaglerayError as error:
            answer = {"error": _error(error)}
        except Exception as error:
            log.exception("a control request")
            answer = {"error": _error(internal(repr(error)))}
        self._send({"id": request_id, **answer})

    async def _result(self, op: str, params: dict[str, Any]) -> dict[str, Any]:
        registry = self._registry
        if op == protocol.HELLO:
            return to_json(Hello(protocol.PROTOCOL, __version__, os.getpid()))
        if op == protocol.ATTACH:
            return to_json(await registry.attach(_attach_params(params)))
        if op == protocol.WORKERS:
            return _workers(registry.states())
        if op == protocol.CONTINUE:
            await registry.run_on(_key(params))
        elif op == protocol.RELEASE:
            await registry.release(_key(params))
        elif op == protocol.SET_MAPPINGS:
            await registry.set_mappings(_key(params), _mappings(params))
        elif op == protocol.READ_FILE:
            return await registry.read_file(_key(params), str(params["path"]))
        elif op == protocol.IGNORE:
            await registry.ignore(IgnoreParams(**params))
        elif op == protocol.SUBSCRIBE:
            if self._changed not in registry.listeners:
                registry.listeners.append(self._changed)
            return _workers(registry.states())
        elif op == protocol.SHUTDOWN:
            self._refuse_while_in_use()
            self._shut_down()
        else:
            raise internal(f"unknown operation {op!r}")
        return {}

    def _refuse_while_in_use(self) -> None:
        count = len(self._registry.states())
        if count:
            raise adapter_in_use(count)

    def _changed(self, states: list[WorkerState]) -> None:
        self._send({"event": "workers", **_workers(states)})

    def _send(self, message: dict[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")


def _attach_params(params: dict[str, Any]) -> AttachParams:
    return AttachParams(**{**params, "mappings": _mappings(params)})


def _mappings(params: dict[str, Any]) -> list[Mapping]:
    return [Mapping(str(m["remote"]), str(m["local"])) for m in params.get("mappings") or []]


def _key(params: dict[str, Any]) -> WorkerKey:
    return WorkerKey(str(params["session"]), str(params["worker_id"]))


def _workers(states: list[WorkerState]) -> dict[str, Any]:
    return {"workers": [to_json(state) for state in states]}


def _error(error: EaglerayError) -> dict[str, str]:
    return {
        "code": error.code,
        "message": error.message,
        "next_step": error.next_step,
        "detail": error.detail,
    }
