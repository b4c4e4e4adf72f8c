"""Commands on nodes without an open port: as a step of the job, or by ssh from the end of a route."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.slurm.client import step_of

# Nobody can answer questions, and hosts unknown to the login node are rejected.
_SSH = (
    "ssh",
    *("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=10"),
    *("-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes"),
)

WrapCommand = Callable[[list[str]], list[str]]


def on_node(route: RouteSpec, host: str) -> WrapCommand:
    """Returns a function that wraps a command for the end of the route's ssh; raises `bad-route` for an invalid host."""
    node = checked(RouteSpec(job=route.job or "1", node=host)).node
    if route.job:
        return lambda words: [*step_of(route.job, [node.partition(".")[0]]), *words]
    # ssh joins its arguments for a shell.
    return lambda words: [*_SSH, node, shlex.join(words)]
