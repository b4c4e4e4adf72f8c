"""What the adapter is asked about the routes that it owns: sockets into clusters, commands, questions."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagleray.adapter_client.connection import AdapterConnection
from eagleray.adapter_client.connections import MEMORY_S, AdapterConnections
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.listeners import Listeners
from eagleray.common.paths import adapter_socket
from eagleray.protocol import control, route_spec
from eagleray.protocol.control import OpenedSocket, Question, Ran, RouteState, SshSettings
from eagleray.protocol.route_spec import RouteSpec

# The command has a limit of its own; making the route to it may take a person who looks for a code.
PERSON_S = 240.0

RoutesListener = Callable[[list[RouteState]], None]
OnQuestion = Callable[[Question], None]
OnOver = Callable[[int], None]


class AdapterRoutes(AdapterConnections):
    """Sockets and routes last as long as this client is connected; two clients share them."""

    def __init__(self, start: bool) -> None:
        super().__init__(start)
        self._route_states: dict[Path, list[RouteState]] = {}
        self._route_listeners = Listeners[[list[RouteState]]]()
        self._asked: tuple[OnQuestion, OnOver] | None = None
        self._ssh: SshSettings | None = None
        self._questions: dict[int, tuple[Path, int]] = {}
        self._question_ids = itertools.count(1)
        self._telling: set[asyncio.Task[None]] = set()

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
        """A socket here that leads to `host:port` through the first of `routes` that reaches it.

        It really connects, so that an error says why it cannot.  Asking again gives the same socket and
        the reason why connections through it now fail.  `tcp_port` (0: any) makes it a port of 127.0.0.1,
        for every user of this machine if it is `shared`.
        Without `probe` it does not connect: what listens there takes one connection only.
        """
        params: dict[str, Any] = {"routes": _said(routes), "host": host, "port": port}
        params |= {"tcp_port": tcp_port, "shared": shared, "probe": probe}
        said = await (await self._ours()).request(control.OPEN_SOCKET, params, PERSON_S)
        return OpenedSocket(str(said["socket"]), route_spec.of_json(said["route"]))

    async def sockets_lost(self) -> None:
        """Returns when the adapter that opened our sockets has ended, and they with it."""
        connection = self._connections.get(adapter_socket())
        if connection is not None:
            await connection.lost.wait()

    async def leave(self, routes: list[RouteSpec]) -> None:
        """This client needs these routes, and the sockets over them, no longer; starts no adapter."""
        for connection in await self._reachable():
            with contextlib.suppress(EaglerayError):
                await connection.request(control.LEAVE, {"routes": _said(routes)}, MEMORY_S)

    async def run(self, ssh: str, argv: list[str], stdin: str = "", limit_s: float = 30.0) -> Ran:
        """A command on an ssh destination, without a terminal; one that fails is no error."""
        params = {"ssh": ssh, "argv": argv, "stdin": stdin, "limit_s": limit_s}
        said = await (await self._ours()).request(control.RUN, params, limit_s + PERSON_S)
        return Ran(int(said["code"]), str(said["stdout"]), str(said["stderr"]))

    async def argv(self, ssh: str, argv: list[str]) -> list[str]:
        """The local command that runs `argv` on an ssh destination, over the connection that is shared."""
        params = {"ssh": ssh, "argv": argv}
        said = await (await self._ours()).request(control.ARGV, params, PERSON_S)
        return [str(word) for word in said["argv"]]

    async def reconnect(self, route: RouteSpec) -> None:
        """A new connection for a route that is lost or degraded, now."""
        for connection in await self._reachable():
            with contextlib.suppress(EaglerayError):
                params = {"route": route_spec.to_json(route)}
                await connection.request(control.RECONNECT, params, MEMORY_S)

    def route_states(self) -> list[RouteState]:
        """What was told last, without asking; [] while nobody listens."""
        return [state for states in self._route_states.values() for state in states]

    def listen_routes(self, listener: RoutesListener) -> Callable[[], None]:
        """Calls `listener` with all routes whenever one changes, on the loop; the answer ends that."""
        self._keep_watching()
        return self._route_listeners.add(listener)

    def asks(self, on_question: OnQuestion, on_over: OnOver) -> Callable[[], None]:
        """From now on what ssh asks may come to `on_question`; `on_over`: it wants no answer any more.

        The answer ends it for adapters that are met later.
        """
        self._asked = (on_question, on_over)
        self._introduce_again()
        self._keep_watching()

        def end() -> None:
            self._asked = None

        return end

    async def answer(self, question_id: int, text: str | None) -> None:
        """What the person typed, None if it was cancelled; a question that is over takes no answer."""
        path, theirs = self._questions.pop(question_id, (None, 0))
        connection = self._connections.get(path) if path is not None else None
        if connection is not None and not connection.lost.is_set():
            await connection.request(control.ANSWER, {"id": theirs, "text": text}, MEMORY_S)

    def use_ssh(self, settings: SshSettings) -> None:
        """The person's settings, for every adapter and for connections made from now on."""
        self._ssh = settings
        self._introduce_again()

    def _introduce_again(self) -> None:
        for path, connection in self._connections.items():
            # A connection that fails here is opened again, and introduced then.
            task = tasks.owned(self._on_opened(path, connection), "adapter", tasks.only_logged)
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _on_opened(self, path: Path, connection: AdapterConnection) -> None:
        await super()._on_opened(path, connection)
        if not connection.knows(control.ASKS):
            return
        with contextlib.suppress(EaglerayError):
            if self._ssh is not None:
                said = control.to_json(self._ssh)
                await connection.request(control.SSH_OPTIONS, said, MEMORY_S)
            if self._asked is not None:
                await connection.request(control.ASKS, {}, MEMORY_S)

    def _on_event(self, path: Path, event: dict[str, Any]) -> None:
        """Without a name it is the answer to a subscription."""
        name = event.get("event", "")
        if "workers" in event:
            self._on_workers(path, event["workers"])
        if name == "changes":
            self._on_changes(path, event["changed"], event["gone"])
        if "routes" in event:
            self._on_routes(path, event["routes"])
        if name == "question":
            self._on_question(path, event)
        elif name == "question_over":
            self._on_over(path, int(event["id"]))

    def _on_gone(self, path: Path) -> None:
        super()._on_gone(path)
        if self._route_states.get(path):
            self._on_routes(path, [])
        for there, number in list(self._questions.values()):
            if there == path:
                self._on_over(path, number)

    def _on_workers(self, path: Path, said: list[dict[str, Any]]) -> None:
        """These are all workers of one adapter now."""

    def _on_changes(
        self, path: Path, changed: list[dict[str, Any]], gone: list[dict[str, Any]]
    ) -> None:
        """Some workers of one adapter have changed, or are gone."""

    def _on_routes(self, path: Path, said: list[dict[str, Any]]) -> None:
        self._route_states[path] = [route_state(one) for one in said]
        self._route_listeners.tell(self.route_states())

    def _on_question(self, path: Path, said: dict[str, Any]) -> None:
        if self._asked is not None:
            number = next(self._question_ids)
            self._questions[number] = (path, int(said["id"]))
            kind = said["kind"]
            question = Question(number, str(said["ssh"]), str(said["prompt"]), kind)
            self._asked[0](question)

    def _on_over(self, path: Path, theirs: int) -> None:
        for number, there in list(self._questions.items()):
            if there == (path, theirs):
                del self._questions[number]
                if self._asked is not None:
                    self._asked[1](number)


def route_state(said: dict[str, Any]) -> RouteState:
    """A route as an adapter says it; keys of newer versions are left out."""
    known = {key: said[key] for key in RouteState.__dataclass_fields__ if key in said}
    return RouteState(**{**known, "route": route_spec.of_json(said["route"])})


def _said(routes: list[RouteSpec]) -> list[dict[str, str]]:
    return [route_spec.to_json(route) for route in routes]
