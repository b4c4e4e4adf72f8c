"""Routes into a SLURM job that start no step without a click: a bridge that is up is used again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from eagleray.common.errors import EaglerayError
from eagleray.common.slurm_errors import bridge_needs_click
from eagleray.features.clusters.heads import Head
from eagleray.features.clusters.job_steps import JobSteps
from eagleray.protocol.control import OpenedSocket, RouteState
from eagleray.protocol.route_spec import RouteSpec


class OpensRoutes(Protocol):
    """What owns the connections: `AdapterRoutes`."""

    async def open_socket(
        self,
        routes: list[RouteSpec],
        host: str,
        port: int,
        tcp_port: int | None = None,
        *,
        shared: bool = False,
    ) -> OpenedSocket: ...

    async def leave(self, routes: list[RouteSpec]) -> None: ...

    def route_states(self) -> list[RouteState]: ...

    def listen_routes(self, listener: Callable[[list[RouteState]], None]) -> Callable[[], None]: ...

    async def reconnect(self, route: RouteSpec) -> None: ...


async def head_of(found: Awaitable[Head], before: Head | None) -> Head:
    """The head that is found, or the one from before: where only a step sees it, its bridge may still be up."""
    try:
        return await found
    except EaglerayError as error:
        if error.code != "ray-not-on-usual-port" or before is None:
            raise
        return before


async def bridges_up(
    opens: OpensRoutes, routes: Sequence[RouteSpec], job: str, steps: JobSteps
) -> list[RouteSpec]:
    """Those of `routes` that may be tried; the bridge into a job is a step, too.

    1. With a click all of them, and a bridge that was given up is tried again.
    2. Else routes outside the job, and bridges that are up.
    """
    states = {one.route: one.state for one in opens.route_states()}
    if steps.allowed:
        for route in routes:
            if route.job and states.get(route) == "lost":
                await opens.reconnect(route)
        return list(routes)
    allowed = [one for one in routes if not one.job or states.get(one) in ("ready", "degraded")]
    if not allowed:
        raise bridge_needs_click(job)
    return allowed
