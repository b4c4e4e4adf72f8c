"""A terminal on a node of a cluster, as the argument vector of a command that runs here."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from attrs import frozen

from eagleray.common.errors import EaglerayError
from eagleray.common.slurm_errors import unknown_node
from eagleray.features.clusters.addresses import Place, place
from eagleray.features.clusters.cluster_watch import ClusterWatch
from eagleray.features.clusters.heads import Head, is_loopback
from eagleray.features.clusters.ways import Ways
from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.ray.rows import NodeRow
from eagleray.tools.host_names import host_of
from eagleray.tools.processes import local_addresses


@frozen
class Terminal:
    """What is run, without a shell."""

    title: str
    argv: tuple[str, ...]


class Terminals:
    """Makes them for nodes by Ray's id; "" is the head.

    1. A node of a SLURM job: a step of the job with a terminal, `srun --overlap --pty`, here or through ssh.
    2. The host itself beyond which the cluster is: ssh to it.
    3. Another node beyond an ssh host: ssh from there to the node.
    4. A node that this machine reaches: a shell here, or ssh to it.
    """

    def __init__(
        self,
        watch: ClusterWatch,
        ways: Ways,
        ssh: str = "",
        environ: Mapping[str, str] | None = None,
        local: Callable[[], frozenset[str]] = local_addresses,
    ) -> None:
        self._watch = watch
        self._ways = ways
        self._ssh = ssh or "ssh"
        self._environ = os.environ if environ is None else environ
        self._local = local

    async def on(self, cluster: str, node_id: str) -> Terminal:
        """Raises `unknown-node`, or what went wrong with asking for the nodes."""
        where, reached = place(cluster), self._ways.reached(cluster)
        head = reached.head if reached else None
        if where.job:
            return self._in_job(where, head, await self._node(cluster, node_id))
        node = await self._node(cluster, node_id)
        if not where.ssh:
            return self._direct(where, node)
        return self._beyond(where, node, is_head=node is None or node.head)

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

    def _in_job(self, where: Place, head: Head | None, node: NodeRow | None) -> Terminal:
        name = name_in_job(head, node)
        if not name:
            raise unknown_node(node.name if node else "head")
        checked(RouteSpec(ssh=where.ssh, job=where.job, node=name))
        step = ["srun", "--overlap", f"--jobid={where.job}", f"--nodelist={name}"]
        step += ["--nodes=1", "--ntasks=1", "--pty", "bash", "-l"]
        return Terminal(name, tuple(self._through(where.ssh, step) if where.ssh else step))

    def _beyond(self, where: Place, node: NodeRow | None, *, is_head: bool) -> Terminal:
        ip = node.ip if node else ""
        on_host = is_loopback(urlsplit(where.url).hostname or "") and is_head
        if on_host or not ip or is_loopback(ip):
            return Terminal(where.ssh, (*self._shell_on(where.ssh),))
        return Terminal(
            _title(node), tuple(self._through(where.ssh, ["ssh", "-t", "--", host_of(ip)]))
        )

    def _direct(self, where: Place, node: NodeRow | None) -> Terminal:
        ip = node.ip if node else urlsplit(where.url).hostname or ""
        if is_loopback(ip) or ip in self._local():
            return Terminal("this machine", (self._environ.get("SHELL") or "/bin/sh",))
        return Terminal(_title(node) or ip, (*self._shell_on(host_of(ip)),))

    def _shell_on(self, host: str) -> list[str]:
        """Over the connection that there is already, so that nothing is asked twice; else over one of its own."""
        control = self._ways.control(host)
        shared = ["-S", control, "-o", "ControlMaster=no"] if control else []
        return [self._ssh, *shared, "-t", "--", host]

    def _through(self, host: str, command: list[str]) -> list[str]:
        """ssh joins its arguments to a line for the shell there, hence the quotes."""
        return [*self._shell_on(host), shlex.join(command)]


def name_in_job(head: Head | None, node: NodeRow | None) -> str:
    """SLURM's name of a node: by its address, else by the name that Ray has for it."""
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
