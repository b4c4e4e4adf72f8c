"""What one control client can ask the adapter for."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from eagleray import __version__
from eagleray.adapter.control.questions import Asker, Questions
from eagleray.adapter.runs import operations
from eagleray.adapter.runs.operations import runs_json
from eagleray.adapter.runs.runs import Runs
from eagleray.adapter.sessions.registry import Registry
from eagleray.protocol import control, route_spec
from eagleray.protocol.control import (
    AttachParams,
    Hello,
    IgnoreParams,
    Mapping,
    OpenedSocket,
    Ran,
    RouteState,
    WorkerKey,
    WorkerState,
    to_json,
)
from eagleray.protocol.errors import adapter_in_use
from eagleray.routes.relay import Relays
from eagleray.routes.routes import Routes

Json = dict[str, Any]


@dataclass(frozen=True)
class Parts:
    """What the adapter is made of, for those who serve its clients."""

    registry: Registry
    runs: Runs
    routes: Routes
    relays: Relays
    questions: Questions
    set_ssh: Callable[[str, bool | None, Json], None]
    shut_down: Callable[[], None]


class Operations:
    """The operations of one client, by name.  `asker` is the client as the one who is asked."""

    def __init__(self, parts: Parts, asker: Asker, subscribe: Callable[[bool], None]) -> None:
        self._parts = parts
        self._registry = parts.registry
        self._asker = asker
        self._subscribe = subscribe
        self.table: dict[str, Callable[[Json], Awaitable[Json]]] = {
            control.HELLO: self._hello,
            control.ATTACH: self._attach,
            control.WORKERS: self._workers,
            control.CONTINUE: self._continue,
            control.RELEASE: self._release,
            control.SET_MAPPINGS: self._set_mappings,
            control.READ_FILE: self._read_file,
            control.MOUNTS: self._mounts,
            control.IGNORE: self._ignore,
            control.SUBSCRIBE: self._subscribed,
            control.OPEN_SOCKET: self._open_socket,
            control.LEAVE: self._leave,
            control.RUN: self._run,
            control.ARGV: self._argv,
            control.RECONNECT: self._reconnect,
            control.ROUTES: self._routes,
            control.ASKS: self._asks,
            control.ANSWER: self._answer,
            control.SSH_OPTIONS: self._ssh_options,
            control.SHUTDOWN: self._shutdown,
            **operations.table(parts.runs),
        }

    def close(self) -> None:
        """The client is gone: what it alone needed ends."""
        self._parts.relays.leave(self._asker)
        self._parts.routes.let_go(self._asker)
        self._parts.questions.remove(self._asker)

    # --- workers -------------------------------------------------------------------------------

    async def _hello(self, params: Json) -> Json:
        return to_json(Hello(control.PROTOCOL, __version__, os.getpid(), list(self.table)))

    async def _attach(self, params: Json) -> Json:
        return to_json(await self._registry.attach(_attach_params(params)))

    async def _workers(self, params: Json) -> Json:
        return workers_json(self._registry.states())

    async def _continue(self, params: Json) -> Json:
        await self._registry.run_on(_key(params))
        return {}

    async def _release(self, params: Json) -> Json:
        await self._registry.release(_key(params))
        return {}

    async def _set_mappings(self, params: Json) -> Json:
        await self._registry.set_mappings(_key(params), _mappings(params))
        return {}

    async def _read_file(self, params: Json) -> Json:
        return await self._registry.read_file(_key(params), str(params["path"]))

    async def _mounts(self, params: Json) -> Json:
        return to_json(await self._registry.mounts(_key(params)))

    async def _ignore(self, params: Json) -> Json:
        await self._registry.ignore(IgnoreParams(**params))
        return {}

    async def _subscribed(self, params: Json) -> Json:
        only_changes = params.get("changes") is True
        self._subscribe(only_changes)
        if only_changes:
            return {}
        told = {**workers_json(self._registry.states()), **routes_json(self._parts.routes)}
        return {**told, **runs_json(self._parts.runs.states())}

    async def _shutdown(self, params: Json) -> Json:
        count = len(self._registry.states())
        if count:
            raise adapter_in_use(count)
        self._parts.shut_down()
        return {}

    # --- routes --------------------------------------------------------------------------------

    async def _open_socket(self, params: Json) -> Json:
        specs, host, port = _specs(params), str(params["host"]), int(params["port"])
        tcp_port = params.get("tcp_port")
        address, route = await self._parts.relays.open(
            self._asker,
            specs,
            host,
            port,
            tcp_port,
            shared=params.get("shared") is True,
            probe=params.get("probe") is not False,
        )
        self._parts.routes.hold(self._asker, route)
        return to_json(OpenedSocket(address, route))

    async def _leave(self, params: Json) -> Json:
        specs = _specs(params)
        self._parts.relays.leave(self._asker, specs)
        for one in specs:
            self._parts.routes.let_go(self._asker, one)
        return {}

    async def _run(self, params: Json) -> Json:
        ssh = route_spec.of_json({"ssh": params.get("ssh")}).ssh
        self._parts.routes.hold(self._asker, route_spec.RouteSpec(ssh=ssh))
        ended = await self._parts.routes.run(
            ssh,
            [str(word) for word in params["argv"]],
            str(params.get("stdin", "")).encode(),
            float(params.get("limit_s", 30.0)),
        )
        texts = (text.decode("utf-8", "replace") for text in (ended.stdout, ended.stderr))
        return to_json(Ran(ended.code, *texts))

    async def _argv(self, params: Json) -> Json:
        route = route_spec.of_json({"ssh": params.get("ssh")})
        carrier = self._parts.routes.hold(self._asker, route)
        return {"argv": await carrier.argv([str(word) for word in params["argv"]])}

    async def _reconnect(self, params: Json) -> Json:
        self._parts.routes.reconnect(route_spec.of_json(params["route"]))
        return {}

    async def _routes(self, params: Json) -> Json:
        return routes_json(self._parts.routes)

    async def _ssh_options(self, params: Json) -> Json:
        reuse, environment = params.get("reuse"), params.get("environment")
        self._parts.set_ssh(
            str(params.get("program", "")),
            reuse if isinstance(reuse, bool) else None,
            environment if isinstance(environment, dict) else {},
        )
        return {}

    async def _asks(self, params: Json) -> Json:
        self._parts.questions.add(self._asker)
        return {}

    async def _answer(self, params: Json) -> Json:
        text = params.get("text")
        self._parts.questions.answer(int(params["id"]), None if text is None else str(text))
        return {}


def workers_json(states: list[WorkerState]) -> Json:
    return {"workers": [to_json(state) for state in states]}


def routes_json(routes: Routes) -> Json:
    now = time.monotonic()
    states = [
        RouteState(
            route, health.state, health.reason, health.message, now - health.since, health.control
        )
        for route, health in routes.states()
    ]
    return {"routes": [to_json(state) for state in states]}


def _attach_params(params: Json) -> AttachParams:
    known = {key: params[key] for key in AttachParams.__dataclass_fields__ if key in params}
    return AttachParams(**{**known, "mappings": _mappings(params), "routes": _specs(params)})


def _specs(params: Json) -> list[route_spec.RouteSpec]:
    said = params.get("routes") or [route_spec.to_json(route_spec.DIRECT)]
    return [route_spec.of_json(one) for one in said]


def _mappings(params: Json) -> list[Mapping]:
    return [Mapping(str(m["remote"]), str(m["local"])) for m in params.get("mappings") or []]


def _key(params: Json) -> WorkerKey:
    return WorkerKey(str(params["session"]), str(params["worker_id"]))
