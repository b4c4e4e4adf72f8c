"""The control server: serves the operations on the adapter's own socket."""

from __future__ import annotations

import asyncio
import logging

from eagleray.adapter.control.operations import AdapterParts, Operations
from eagleray.adapter.control.questions import Asker, current_asker
from eagleray.adapter.control.subscription import Subscription
from eagleray.adapter.sessions.backpressure import ClientWriter
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, internal
from eagleray.common.l10n import t
from eagleray.common.worker_errors import worker_silent
from eagleray.protocol import adapter_control, jsonlines, runs
from eagleray.protocol.jsonlines import Json

log = logging.getLogger(__name__)

# A worker deep in native code answers nothing.
ANSWER_S = 20.0

# These have time limits of their own; while a route is made, the user may have to find a code.
_UNLIMITED = frozenset(
    {
        adapter_control.ATTACH.name,
        adapter_control.OPEN_SOCKET.name,
        adapter_control.RUN_COMMAND.name,
        adapter_control.ARGV.name,
        runs.RUN_WORKER.name,
        runs.RUN_PAUSE.name,
    }
)
# Cancelled when the client disconnects, since no other client can use the result; attaching is not cancelled.
_FOR_CLIENT = frozenset(
    {adapter_control.OPEN_SOCKET.name, adapter_control.RUN_COMMAND.name, adapter_control.ARGV.name}
)


class ClientCount:
    """How many control clients are connected."""

    def __init__(self) -> None:
        self.count = 0


class ControlServer:
    """Serves all control clients, which it counts in `clients`."""

    def __init__(self, parts: AdapterParts, clients: ClientCount) -> None:
        self._parts = parts
        self._clients = clients

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one client until it disconnects; its requests may overtake one another."""
        self._clients.count += 1
        client = _Client(self._parts, writer)
        try:
            while line := await reader.readline():
                client.serve(line)
        except (OSError, ValueError) as error:
            log.info("a control client: %r", error)
        finally:
            self._clients.count -= 1
            client.close()


class _Client:
    def __init__(self, parts: AdapterParts, writer: asyncio.StreamWriter) -> None:
        self._parts = parts
        self._asker = Asker(self._send)
        self._operations = Operations(parts, self._asker, self._subscribe)
        self._writer = ClientWriter(writer, "A control client")
        self._answering: set[asyncio.Task[None]] = set()
        self._for_client: set[asyncio.Task[None]] = set()
        self._subscription: Subscription | None = None

    def serve(self, line: bytes) -> None:
        task = tasks.owned(self._answer(line), "control request", lambda _: self.close())
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def close(self) -> None:
        for task in self._for_client:
            task.cancel()
        if self._subscription is not None:
            self._subscription.close()
        self._operations.close()
        self._writer.close()

    async def _answer(self, line: bytes) -> None:
        current_asker.set(self._asker)
        number = None
        try:
            request = jsonlines.decode(line)
            number = request.get("id")
            result = await self._result(request["op"], request.get("params") or {})
            response = jsonlines.response(number, result)
        except asyncio.TimeoutError:
            response = jsonlines.refusal(number, worker_silent(t("The worker"), ANSWER_S))
        except EaglerayError as error:
            response = jsonlines.refusal(number, error)
        except Exception as error:
            log.exception("a control request")
            response = jsonlines.refusal(number, internal(repr(error)))
        self._send(response)
        if self._subscription is not None:
            # Its events must not overtake the response.
            self._subscription.start()

    async def _result(self, op: str, params: Json) -> object:
        operation = self._operations.table.get(op)
        if operation is None:
            raise internal(f"unknown operation {op!r}")
        task = asyncio.current_task()
        if op in _FOR_CLIENT and task is not None:
            self._for_client.add(task)
            task.add_done_callback(self._for_client.discard)
        return await asyncio.wait_for(operation(params), None if op in _UNLIMITED else ANSWER_S)

    def _subscribe(self) -> None:
        if self._subscription is None:
            self._subscription = Subscription(self._parts, self._writer, self._send)

    def _send(self, message: Json) -> None:
        self._writer.write(jsonlines.encode(message))
