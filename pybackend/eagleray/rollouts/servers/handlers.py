"""Answers the editor's requests about inference servers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from eagleray.rollouts.servers import messages
from eagleray.rollouts.servers.environment import environment_of
from eagleray.rollouts.servers.errors import bad_server_command
from eagleray.rollouts.servers.model import InferenceServer
from eagleray.rollouts.servers.servers import ServerRequest, Servers, ServerStartPlace
from eagleray.wire.records import fields_in

if TYPE_CHECKING:
    from eagleray.wire.requests import RequestServer


def register(server: RequestServer, servers: Servers) -> None:
    """Answers the requests of this feature."""
    handlers = InferenceHandlers(servers)
    server.on_request(messages.LIST, handlers.list)
    server.on_request(messages.START, handlers.start)
    server.on_request(messages.ADD, handlers.add)
    server.on_request(messages.REMOVE, handlers.remove)
    server.on_request(messages.VARIABLES, handlers.variables)


class InferenceHandlers:
    """One method per request."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    async def list(self) -> messages.ListedServers:
        return messages.ListedServers([_listed(item) for item in await self._servers.list()])

    async def add(self, request: messages.AddServer) -> messages.ListedServer:
        return _listed(await self._servers.add(request.url, key=request.key))

    async def remove(self, request: messages.ServerName) -> None:
        await self._servers.forget(request.name)

    async def start(self, request: messages.StartServer) -> messages.StartedServer:
        try:
            argv = shlex.split(request.command)
        except ValueError as error:
            raise bad_server_command(str(error)) from error
        prepared = await self._servers.prepare(
            ServerRequest(**fields_in(request, ServerStartPlace), argv=argv)
        )
        name = prepared.plan.server.name if prepared.plan.server else ""
        run = await self._servers.start(prepared, confirmed=request.confirmed)
        return messages.StartedServer(run, name)

    async def variables(self, request: messages.ServerName) -> messages.ServerVariables:
        return messages.ServerVariables(environment_of(await self._servers.resolve(request.name)))


def _listed(server: InferenceServer) -> messages.ListedServer:
    return messages.ListedServer(
        server.name, server.state, server.url, server.model, server.run_id, server.reason
    )
