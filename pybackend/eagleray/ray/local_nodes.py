"""The nodes of a cluster that are this machine, found by their raylets: they are read without an agent and without a job."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from attrs import evolve, frozen

from eagleray.ray.rows import NodeRow
from eagleray.tools.processes import own_commands

_NAMESPACES = ("pid", "mnt")


@frozen
class LocalNode:
    """A node whose PIDs and paths mean the same here as for Ray: `raylet` is the PID of its raylet.

    `python` is what starts its workers, "" if unknown, and `agent_port` the port on which its agent was told to take jobs, 0 if unknown.
    """

    node_id: str
    ip: str
    raylet: int
    logs: Path
    python: str
    agent_port: int


@frozen
class Raylet:
    """A raylet of this user on this machine, with the options of its command."""

    pid: int
    options: Mapping[str, str]

    @property
    def node_id(self) -> str:
        """The id of its node; "" for Ray before 2.60, whose raylets choose it themselves."""
        return self.options.get("node_id", "")

    @property
    def socket(self) -> str:
        return self.options.get("raylet_socket_name", "")


def own_raylets() -> list[Raylet]:
    """The raylets of this user in the namespaces of this process: in others, PIDs and paths mean something else."""
    return [
        Raylet(pid, _options(arguments[1:]))
        for pid, arguments in own_commands().items()
        if arguments[0].rpartition("/")[2] == "raylet" and _shares_namespaces(pid)
    ]


def local_nodes(
    nodes: Iterable[NodeRow], raylets: Collection[Raylet], sockets: Mapping[str, str]
) -> dict[str, LocalNode]:
    """The living nodes that have one of the raylets: by the id in its command, or by the `sockets` of nodes, by their ids."""
    by_id = {raylet.node_id: raylet for raylet in raylets if raylet.node_id}
    by_socket = {raylet.socket: raylet for raylet in raylets if not raylet.node_id}
    fitting = (
        (node, by_id.get(node.node_id) or by_socket.get(sockets.get(node.node_id, "-")))
        for node in nodes
        if node.alive
    )
    return {
        node.node_id: evolve(node_of(raylet), node_id=node.node_id, ip=node.ip)
        for node, raylet in fitting
        if raylet
    }


def _options(arguments: Iterable[str]) -> dict[str, str]:
    pairs = (option[2:].partition("=") for option in arguments if option.startswith("--"))
    return {name: value for name, _, value in pairs}


def node_of(raylet: Raylet) -> LocalNode:
    options = raylet.options
    logs = options.get("log_dir") or f"{options.get('session_dir', '')}/logs"
    python = next(iter(_arguments(options, "python_worker_command")), "")
    agent = _options(_arguments(options, "dashboard_agent_command"))
    port = agent.get("listen-port", "")
    agent_port = int(port) if port.isdecimal() else 0
    ip = options.get("node_ip_address", "")
    return LocalNode(raylet.node_id, ip, raylet.pid, Path(logs), python, agent_port)


def _arguments(options: Mapping[str, str], name: str) -> list[str]:
    """The arguments of the command in an option; [] if it can't be told apart."""
    try:
        return shlex.split(options.get(name, ""))
    except ValueError:
        return []


def _shares_namespaces(pid: int) -> bool:
    try:
        return all(
            Path(f"/proc/{pid}/ns/{name}").readlink() == Path(f"/proc/self/ns/{name}").readlink()
            for name in _NAMESPACES
        )
    except OSError:
        return False
