"""How a command is run on a node that no port leads to: as a step of its job, or by ssh from where a route ends."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.slurm.client import step_of

# Nobody is there to answer, and no host is believed that the login node does not know.
_SSH = (
    "ssh",
    *("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=10"),
    *("-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes"),
)

WrapCommand = Callable[[list[str]], list[str]]


def on_node(route: RouteSpec, host: str) -> WrapCommand:
    """What makes of a command one that is run where the route's ssh ends; raises `bad-route` for no name of a host."""
    node = checked(RouteSpec(job=route.job or "1", node=host)).node
    if route.job:
        return lambda words: [*step_of(route.job, [node.partition(".")[0]]), *words]
    # What ssh is given there it joins for a shell.
    return lambda words: [*_SSH, node, shlex.join(words)]
