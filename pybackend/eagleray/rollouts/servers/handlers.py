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

    async def listed() -> messages.ListedServers:
        return messages.ListedServers([_listed(item) for item in await servers.list()])

    async def add(request: messages.AddServer) -> messages.ListedServer:
        return _listed(await servers.add(request.url, key=request.key))

    async def start(request: messages.StartServer) -> messages.StartedServer:
        try:
            argv = shlex.split(request.command)
        except ValueError as error:
            raise bad_server_command(str(error)) from error
        prepared = await servers.prepare(
            ServerRequest(**fields_in(request, ServerStartPlace), argv=argv)
        )
        name = prepared.plan.server.name if prepared.plan.server else ""
        run = await servers.start(prepared, confirmed=request.confirmed)
        return messages.StartedServer(run, name)

    async def variables(request: messages.ServerName) -> messages.ServerVariables:
        return messages.ServerVariables(environment_of(await servers.resolve(request.name)))

    server.on_request(messages.LIST, listed)
    server.on_request(messages.START, start)
    server.on_request(messages.ADD, add)
    server.on_request(messages.REMOVE, lambda request: servers.forget(request.name))
    server.on_request(messages.VARIABLES, variables)


def _listed(server: InferenceServer) -> messages.ListedServer:
    return messages.ListedServer(
        server.name, server.state, server.url, server.model, server.run_id, server.reason
    )
