"""The routes that the adapters own: sockets into clusters, commands, and questions of ssh."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from eagleray.adapter_client.connection import AdapterConnection
from eagleray.adapter_client.connections import MEMORY_S, USER_S, AdapterConnections
from eagleray.common.errors import EaglerayError
from eagleray.common.listeners import Listeners
from eagleray.common.paths import adapter_socket
from eagleray.protocol import adapter_control
from eagleray.protocol.adapter_control import (
    ClosedQuestion,
    CommandOutput,
    LeaveRoutes,
    OpenedSocket,
    OpenSocket,
    QuestionAnswer,
    Reconnect,
    RemoteCommand,
    RouteState,
    RouteStates,
    SshCommand,
    SshQuestion,
    SshSettings,
)
from eagleray.protocol.jsonlines import Empty
from eagleray.protocol.route_spec import RouteSpec

RoutesListener = Callable[[list[RouteState]], None]
OnQuestion = Callable[[SshQuestion], None]
OnOver = Callable[[int], None]


class AdapterRoutes:
    """A part of `AdapterClient`.  Sockets and routes last as long as the client is connected; clients share them."""

    def __init__(self, connections: AdapterConnections) -> None:
        self._connections = connections
        self._states: dict[Path, list[RouteState]] = {}
        self._listeners = Listeners[[list[RouteState]]]()
        self._callbacks: tuple[OnQuestion, OnOver] | None = None
        self._ssh: SshSettings | None = None
        self._questions: dict[int, tuple[Path, int]] = {}
        self._question_ids = itertools.count(1)
        connections.on_event(adapter_control.ROUTES_EVENT, self._on_routes)
        connections.on_event(adapter_control.QUESTION_EVENT, self._on_question)
        connections.on_event(adapter_control.QUESTION_OVER_EVENT, self._on_over)
        connections.on_opened.append(self._introduce)
        connections.on_gone.append(self._on_gone)

    async def open_socket(
        self,
        routes: list[RouteSpec],
        host: str,
        port: int,
        tcp_port: int | None = None,
        *,
        shared: bool = False,
        probe: bool = True,
    ) -> OpenedSocket:
        """Opens a local socket that leads to `host:port` through the first of `routes` that reaches it.

        The adapter connects once, so that an error has the reason.  The same request again returns the same socket, and
        raises the reason if connections through it now fail.  `tcp_port` (0: any) makes it a port of 127.0.0.1, for
        every user of this machine if it is `shared`.  Without `probe` the adapter does not connect: the server
        accepts one connection only.
        """
        params = OpenSocket(routes, host, port, tcp_port, shared, probe)
        return await (await self._connections.current()).request(
            adapter_control.OPEN_SOCKET, params, USER_S
        )

    async def sockets_lost(self) -> None:
        """Returns when the adapter that opened our sockets has ended, and they with it."""
        connection = self._connections.at(adapter_socket())
        if connection is not None:
            await connection.lost.wait()

    async def leave(self, routes: list[RouteSpec]) -> None:
        """Releases these routes and the sockets over them; starts no adapter."""
        for connection in await self._connections.reachable():
            with contextlib.suppress(EaglerayError):
                await connection.request(adapter_control.LEAVE, LeaveRoutes(routes), MEMORY_S)

    async def run(
        self, ssh: str, argv: list[str], stdin: str = "", limit_s: float = 30.0
    ) -> CommandOutput:
        """Runs a command on an ssh destination, without a terminal; a failed command raises no error."""
        return await (await self._connections.current()).request(
            adapter_control.RUN_COMMAND, RemoteCommand(ssh, argv, stdin, limit_s), limit_s + USER_S
        )

    async def argv(self, ssh: str, argv: list[str]) -> list[str]:
        """Returns the local command that runs `argv` on an ssh destination, over the shared connection."""
        connection = await self._connections.current()
        return (await connection.request(adapter_control.ARGV, SshCommand(ssh, argv), USER_S)).argv

    async def reconnect(self, route: RouteSpec) -> None:
        """Makes a new connection now, for a route that is lost or degraded."""
        for connection in await self._connections.reachable():
            with contextlib.suppress(EaglerayError):
                await connection.request(adapter_control.RECONNECT, Reconnect(route), MEMORY_S)

    def route_states(self) -> list[RouteState]:
        """Returns the last event without a request; [] without a listener."""
        return [state for states in self._states.values() for state in states]

    def listen_routes(self, listener: RoutesListener) -> Callable[[], None]:
        """Calls `listener` with all routes whenever one changes, on the loop; the returned function ends that."""
        self._connections.subscribe()
        return self._listeners.add(listener)

    def asks(self, on_question: OnQuestion, on_over: OnOver) -> Callable[[], None]:
        """Answers questions of ssh: calls `on_question` with each, and `on_over` with its id when it needs no answer any more.

        The returned function ends that for adapters that are found later.
        """
        self._callbacks = (on_question, on_over)
        self._connections.introduce_again()
        self._connections.subscribe()

        def end() -> None:
            self._callbacks = None

        return end

    async def answer(self, question_id: int, text: str | None) -> None:
        """Sends what the user typed, None for cancelled; an answer to a question that is over is dropped."""
        path, number = self._questions.pop(question_id, (None, 0))
        connection = self._connections.at(path) if path is not None else None
        if connection is not None:
            await connection.request(adapter_control.ANSWER, QuestionAnswer(number, text), MEMORY_S)

    def use_ssh(self, settings: SshSettings) -> None:
        """Passes the user's settings to every adapter, for new connections."""
        self._ssh = settings
        self._connections.introduce_again()

    async def _introduce(self, connection: AdapterConnection) -> None:
        with contextlib.suppress(EaglerayError):
            if self._ssh is not None:
                await connection.request(adapter_control.SSH_OPTIONS, self._ssh, MEMORY_S)
            if self._callbacks is not None:
                await connection.request(adapter_control.ASKS, Empty(), MEMORY_S)

    def _on_gone(self, path: Path) -> None:
        if self._states.get(path):
            self._on_routes(path, RouteStates([]))
        for of, number in list(self._questions.values()):
            if of == path:
                self._on_over(path, ClosedQuestion(number))

    def _on_routes(self, path: Path, event: RouteStates) -> None:
        self._states[path] = event.routes
        self._listeners.notify(self.route_states())

    def _on_question(self, path: Path, question: SshQuestion) -> None:
        if self._callbacks is not None:
            number = next(self._question_ids)
            self._questions[number] = (path, question.id)
            self._callbacks[0](replace(question, id=number))

    def _on_over(self, path: Path, closed: ClosedQuestion) -> None:
        for number, question in list(self._questions.items()):
            if question == (path, closed.id):
                del self._questions[number]
                if self._callbacks is not None:
                    self._callbacks[1](number)
