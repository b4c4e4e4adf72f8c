"""`eagleray tunnel`: a port of 127.0.0.1 that leads into a cluster until Ctrl-C."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from eagleray.app import App
from eagleray.cli.arguments import ADDRESS_HELP, completed
from eagleray.cli.output import say
from eagleray.clusters.connections import route_text
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.protocol.adapter_control import RouteState
from eagleray.protocol.errors import tunnel_ended
from eagleray.protocol.route_spec import RouteSpec
from eagleray.remote.injected import tcp_peer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster = parser.add_argument(
        "cluster_id",
        metavar="CLUSTER",
        help=t("Address of the cluster: {forms}.", forms=ADDRESS_HELP),
    )
    completed(cluster, "clusters")
    parser.add_argument(
        "to",
        metavar="HOST:PORT",
        nargs="?",
        type=_host_and_port,
        help=t("Target, as nodes of the cluster reach it. The default is the dashboard."),
    )
    parser.add_argument(
        "--port",
        metavar="PORT",
        type=_port,
        default=0,
        help=t("Local port. The default is a free one."),
    )
    parser.add_argument(
        "--shared", action="store_true", help=t("Let other users of this machine connect, too.")
    )


async def run(app: App, arguments: argparse.Namespace) -> int:
    cluster = await app.clusters.resolve(arguments.cluster_id, say)
    host, port = arguments.to or app.connections.dashboard_address(cluster)
    opened = await app.connections.open_port(
        cluster, host, port, arguments.port, shared=arguments.shared
    )
    say(
        t(
            "{socket} leads to {target} until Ctrl-C.",
            socket=opened.socket,
            target=f"{printable(host)}:{port}",
        )
    )
    if arguments.shared or not tcp_peer.is_supported():
        say(t("Every user of this machine can connect to it."))
    print(opened.socket, flush=True)
    end = app.adapters.routes.listen_routes(_print_changes())
    try:
        await app.adapters.routes.sockets_lost()
    finally:
        end()
    raise tunnel_ended(opened.socket)


def _print_changes() -> Callable[[list[RouteState]], None]:
    """Prints each change of a route."""
    printed: dict[RouteSpec, str] = {}

    def print_state(states: list[RouteState]) -> None:
        for state in states:
            if printed.setdefault(state.route, "ready") != state.state:
                printed[state.route] = state.state
                say(
                    f"{route_text(state.route) or 'direct'}: {state.state}. {state.reason}".rstrip()
                )

    return print_state


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2**16:
        raise argparse.ArgumentTypeError(t("must be a port from 0 to 65535"))
    return number


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise argparse.ArgumentTypeError(t("must be HOST:PORT"))
    return host, int(port)
