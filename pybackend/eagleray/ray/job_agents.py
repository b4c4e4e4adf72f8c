"""Why a cluster starts no jobs: Ray's agent on a node, which would start them, couldn't open its port."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Mapping, Sequence

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.ray.local_nodes import LocalNode
from eagleray.ray.rows import AgentRow
from eagleray.tools.processes import children, command, listener_at, listener_pid

# Longer than a node needs to start its agent.
_STARTING_S = 120.0
_AGENTS = ("ray::DashboardAgent", "/ray/dashboard/agent.py")


@frozen
class DeadAgent:
    """A node whose agent takes no jobs, and why in a sentence."""

    node: str
    why: str


def dead_agent(
    agents: Sequence[AgentRow], local: Mapping[str, LocalNode], *, is_missing: bool
) -> DeadAgent | None:
    """The agent whose absence keeps jobs from starting, None if all serve or that isn't known; reads /proc.

    1. Ray says which agents serve no port (2.60): the head's agent starts jobs.
    2. Without that, if all nodes are this machine: none of their agents listens on its port, which another process has
    or
       which is still free when the agents should have started.
    3. Else the dashboard says that it has none (`is_missing`) when it should have started.
    """
    head = next((agent for agent in agents if agent.head), None)
    is_starting = head is not None and time.time() - head.started_ms / 1000 <= _STARTING_S
    if head is not None and head.listen_port is not None:
        return _dead(head, local) if head.listen_port < 0 else None
    if agents and all(agent.node_id in local for agent in agents):
        nodes = [local[agent.node_id] for agent in agents]
        if any(_may_listen(node) or (is_starting and _is_free(node)) for node in nodes):
            return None
        return _dead(head or agents[0], local)
    if head is not None and is_missing and not is_starting:
        return DeadAgent(head.ip, t("The dashboard finds no agent."))
    return None


def _dead(agent: AgentRow, local: Mapping[str, LocalNode]) -> DeadAgent:
    node = local.get(agent.node_id)
    if node is None or not node.agent_port:
        return DeadAgent(agent.ip, t("It couldn't open its port."))
    return DeadAgent(agent.ip, _why(node))


def _why(node: LocalNode) -> str:
    """The process that has the agent's port, if there is one; the agent itself tries only when it starts."""
    listener = listener_at(node.ip, node.agent_port)
    if listener is None:
        return t("It doesn't listen on port {port}.", port=node.agent_port)
    if listener.uid != os.getuid():
        return t(
            "Its port {port} is taken by a process of {user}.",
            port=node.agent_port,
            user=printable(_user(listener.uid)),
        )
    pid = listener_pid(listener)
    if pid is None:
        return t("Its port {port} is taken.", port=node.agent_port)
    arguments = command(pid)
    is_agent = any(name in word for word in arguments[:5] for name in _AGENTS)
    what = (
        t("agent of another Ray")
        if is_agent
        else arguments[0].rpartition("/")[2]
        if arguments
        else ""
    )
    return t(
        "Its port {port} is taken by PID {pid} ({what}).",
        port=node.agent_port,
        pid=pid,
        what=printable(what, 40),
    )


def _may_listen(node: LocalNode) -> bool:
    """Whether the agent, a child of the raylet, may have its port."""
    if not node.agent_port:
        return True
    listener = listener_at(node.ip, node.agent_port)
    return listener is not None and listener_pid(listener) in children(node.raylet)


def _is_free(node: LocalNode) -> bool:
    return listener_at(node.ip, node.agent_port) is None


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"UID {uid}"
