"""The requests of the feature `inference` and their records, printed as `extension/rollouts/servers/messages.ts`."""

from __future__ import annotations

from types import NoneType

from attrs import frozen

from eagleray.rollouts.servers.servers import ServerStartPlace
from eagleray.runs.model import ServerState
from eagleray.wire.requests import Request


@frozen
class ListedServer:
    """A server without its key; `run` is "" for an address that was added; `reason`: why it isn't ready."""

    name: str
    state: ServerState
    url: str
    model: str
    run: str
    reason: str


@frozen
class ListedServers:
    """All servers, the newest first."""

    servers: list[ListedServer]


@frozen(kw_only=True)
class StartServer(ServerStartPlace):
    """`command` is a line as it is typed in a shell; `confirmed`: a script may be submitted to SLURM."""

    command: str
    confirmed: bool = False


@frozen
class StartedServer:
    """Its run and name; it may still be starting."""

    run: str
    name: str


@frozen
class AddServer:
    """An address at which a server already runs, and its key, "" for none."""

    url: str
    key: str = ""


@frozen
class ServerName:
    """A server by its name."""

    name: str


@frozen
class ServerVariables:
    """The variables by which programs use a server, its key among them: never for a view."""

    variables: dict[str, str]


LIST = Request("eagleray/inference/list", NoneType, ListedServers)
START = Request("eagleray/inference/start", StartServer, StartedServer)
ADD = Request("eagleray/inference/add", AddServer, ListedServer)
REMOVE = Request("eagleray/inference/remove", ServerName, NoneType)
VARIABLES = Request("eagleray/inference/variables", ServerName, ServerVariables)
