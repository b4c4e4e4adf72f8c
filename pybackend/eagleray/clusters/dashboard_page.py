"""The address at which a browser of this machine opens the dashboard of a cluster."""

from __future__ import annotations

from functools import partial
from typing import Literal
from urllib.parse import urlsplit

from eagleray.clusters.addresses import parse_address
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.connections import ConnectionResolver
from eagleray.clusters.credentials import TokenRules
from eagleray.clusters.model import DashboardPage
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError

# Any port that is free.
ANY_PORT = 0


class DashboardPages:
    """Finds the page of a dashboard; a tunnel that it opens serves only this user, while this process is connected.

    1. A dashboard that this machine reaches directly has its own address, also in a job of this machine.
    2. Any other gets a port of 127.0.0.1 that leads to it by the cluster's connection.
    """

    def __init__(
        self, watch: ClusterWatch, connections: ConnectionResolver, tokens: TokenRules
    ) -> None:
        self._watch = watch
        self._connections = connections
        self._tokens = tokens

    async def of(self, cluster: str) -> DashboardPage:
        """The page; raises `unknown-cluster`, or the error of the connection."""
        self._watch.status(cluster)
        connection = self._connections.connection(cluster)
        url = connection.url if connection else parse_address(cluster).url
        if not self._connections.is_local(cluster):
            host, port = self._connections.dashboard_address(cluster)
            opened = await self._connections.open_port(cluster, host, port, ANY_PORT, shared=False)
            parts = urlsplit(url)
            url = f"{parts.scheme or 'http'}://{opened.socket}{parts.path}"
        return DashboardPage(url, await self._asks_for(cluster))

    async def _asks_for(self, cluster: str) -> Literal["nothing", "token", "headers"]:
        if await off_loop(partial(self._tokens.headers_for, cluster)):
            return "headers"
        try:
            mode = await self._watch.dashboard(cluster).authentication_mode()
        except EaglerayError:
            # The browser shows what is wrong.
            return "nothing"
        return "token" if mode == "token" else "nothing"
