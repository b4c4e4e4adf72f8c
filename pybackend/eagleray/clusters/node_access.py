"""Access to the nodes of a cluster: terminals on them, and routes to ports that only the node itself reaches."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from eagleray.clusters.addresses import ClusterAddress, parse_address
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.connections import ConnectionResolver
from eagleray.clusters.job_head import JobHead, is_loopback
from eagleray.clusters.model import Terminal
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.slurm_errors import unknown_node
from eagleray.protocol.route_spec import DIRECT, RouteSpec, checked, host_of
from eagleray.ray.rows import NodeRow
from eagleray.tools.processes import local_addresses


class Terminals:
    """Builds the commands for terminals on nodes, by Ray's node id; "" is the head.

    1. A node of a SLURM job: a step of the job with a terminal, `srun --overlap --pty`, locally or through ssh.
    2. The ssh host itself behind which the cluster is: ssh to it.
    3. Another node behind an ssh host: ssh from that host to the node.
    4. A node that this machine reaches: a local shell, or ssh to it.
    """

    def __init__(
        self,
        watch: ClusterWatch,
        connections: ConnectionResolver,
        ssh: str = "",
        environ: Mapping[str, str] | None = None,
        local: Callable[[], frozenset[str]] = local_addresses,
    ) -> None:
        self._watch = watch
        self._connections = connections
        self._ssh = ssh or "ssh"
        self._environ = os.environ if environ is None else environ
        self._local = local

    async def on(self, cluster: str, node_id: str) -> Terminal:
        """The terminal on a node; raises `unknown-node`, or the error of the query for nodes."""
        address, connection = parse_address(cluster), self._connections.connection(cluster)
        head = connection.head if connection else None
        if address.job:
            return self._in_job(address, head, await self._node(cluster, node_id))
        node = await self._node(cluster, node_id)
        if not address.ssh:
            return self._direct(address, node)
        return self._behind_ssh(address, node, is_head=node is None or node.head)

    async def _node(self, cluster: str, node_id: str) -> NodeRow | None:
        """The row of a node; None for the head of a cluster that does not answer."""
        try:
            nodes = await self._watch.dashboard(cluster).nodes()
        except EaglerayError:
            if node_id:
                raise
            return None
        for node in nodes:
            if node.node_id == node_id or (not node_id and node.head):
                return node
        if node_id:
            raise unknown_node(node_id)
        return None

    def _in_job(
        self, address: ClusterAddress, head: JobHead | None, node: NodeRow | None
    ) -> Terminal:
        name = name_in_job(head, node)
        if not name:
            raise unknown_node(node.name if node else "head")
        checked(RouteSpec(ssh=address.ssh, job=address.job, node=name))
        step = ["srun", "--overlap", f"--jobid={address.job}", f"--nodelist={name}"]
        step += ["--nodes=1", "--ntasks=1", "--pty", "bash", "-l"]
        return Terminal(name, tuple(self._through(address.ssh, step) if address.ssh else step))

    def _behind_ssh(
        self, address: ClusterAddress, node: NodeRow | None, *, is_head: bool
    ) -> Terminal:
        ip = node.ip if node else ""
        on_host = is_loopback(urlsplit(address.url).hostname or "") and is_head
        if on_host or not ip or is_loopback(ip):
            return Terminal(address.ssh, (*self._shell_on(address.ssh),))
        return Terminal(
            _title(node), tuple(self._through(address.ssh, ["ssh", "-t", "--", host_of(ip)]))
        )

    def _direct(self, address: ClusterAddress, node: NodeRow | None) -> Terminal:
        ip = node.ip if node else urlsplit(address.url).hostname or ""
        if is_loopback(ip) or ip in self._local():
            return Terminal(t("this machine"), (self._environ.get("SHELL") or "/bin/sh",))
        return Terminal(_title(node) or ip, (*self._shell_on(host_of(ip)),))

    def _shell_on(self, host: str) -> list[str]:
        """ssh over the live connection, so that the user isn't prompted again; without one over a new connection."""
        control = self._connections.control_socket(host)
        shared = ["-S", control, "-o", "ControlMaster=no"] if control else []
        return [self._ssh, *shared, "-t", "--", host]

    def _through(self, host: str, command: list[str]) -> list[str]:
        """ssh joins its arguments to a line for the remote shell (man ssh), hence the quotes."""
        return [*self._shell_on(host), shlex.join(command)]


def name_in_job(head: JobHead | None, node: NodeRow | None) -> str:
    """SLURM's name of a node: by its address, otherwise by Ray's name of it."""
    if head is None:
        return ""
    if node is None:
        return head.node
    for name, addresses in head.addresses.items():
        if node.ip in addresses or node.name.split(".")[0] == name.split(".")[0]:
            return name
    return head.node if node.head else ""


def _title(node: NodeRow | None) -> str:
    return (node.name or node.ip) if node else ""


class NodeRoutes:
    """Routes to ports on which a node listens for itself only, by the cluster's connection."""

    def __init__(
        self, connections: ConnectionResolver, local: Callable[[], frozenset[str]] = local_addresses
    ) -> None:
        self._connections = connections
        self._local = local

    def routes(self, cluster: str, node: NodeRow) -> list[RouteSpec]:
        """The routes to the localhost of a node; [] if there is none, or none is known.

        Raises `bad-route` for names that are not valid.


        1. A node that is this machine: directly.
        2. A node of a SLURM job: a step of the job on it.
        3. The ssh host itself behind which the cluster is: the connection to it.
        4. Another node of a cluster that this machine reaches directly: ssh to it.
        5. Another node behind an ssh host: none.
        """
        if not node.ip:
            return []
        address, connection = parse_address(cluster), self._connections.connection(cluster)
        if self._connections.is_local(cluster) and (
            is_loopback(node.ip) or node.ip in self._local()
        ):
            return [DIRECT]
        if address.job:
            name = name_in_job(connection.head if connection else None, node)
            return [checked(RouteSpec(ssh=address.ssh, job=address.job, node=name))] if name else []
        if address.ssh:
            on_host = node.head and is_loopback(urlsplit(address.url).hostname or "")
            return [RouteSpec(ssh=address.ssh)] if on_host else []
        return [RouteSpec(ssh=host_of(node.ip))]
