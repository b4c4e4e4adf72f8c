"""Ports on which a node listens for itself only: the routes that end on that very node."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from eagleray.features.clusters.addresses import place
from eagleray.features.clusters.heads import is_loopback
from eagleray.features.clusters.terminals import name_in_job
from eagleray.features.clusters.ways import Ways
from eagleray.protocol.route_spec import DIRECT, RouteSpec, checked
from eagleray.ray.rows import NodeRow
from eagleray.tools.host_names import host_of
from eagleray.tools.processes import local_addresses


class OwnPorts:
    """Finds them by how the cluster is reached."""

    def __init__(self, ways: Ways, local: Callable[[], frozenset[str]] = local_addresses) -> None:
        self._ways = ways
        self._local = local

    def routes(self, cluster: str, node: NodeRow) -> list[RouteSpec]:
        """The routes to the localhost of a node; [] when there is none, or it is not known.  Raises `unknown-node` for odd names.

        1. A node that is this machine: none is needed.
        2. A node of a SLURM job: a step of the job on it.
        3. The host itself beyond which the cluster is: the connection to it.
        4. Another node, of a cluster that this machine reaches by itself: ssh to it.
        5. Another node beyond an ssh host: none.
        """
        if not node.ip:
            return []
        where, reached = place(cluster), self._ways.reached(cluster)
        if self._ways.is_near(cluster) and (is_loopback(node.ip) or node.ip in self._local()):
            return [DIRECT]
        if where.job:
            name = name_in_job(reached.head if reached else None, node)
            return [checked(RouteSpec(ssh=where.ssh, job=where.job, node=name))] if name else []
        if where.ssh:
            on_host = node.head and is_loopback(urlsplit(where.url).hostname or "")
            return [RouteSpec(ssh=where.ssh)] if on_host else []
        return [RouteSpec(ssh=host_of(node.ip))]
