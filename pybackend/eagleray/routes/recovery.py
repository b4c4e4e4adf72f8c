"""Retries over a lost route: one caller tries for all, and the others wait until the route is back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from eagleray.common.listeners import Listeners
from eagleray.common.retry import Backoff
from eagleray.common.tasks import wait_for_event
from eagleray.protocol.route_spec import RouteSpec

# Attempts over a lost route.  The route itself retries its connection, and reports a loss at once.
OF_ROUTE = Backoff(first_s=2.0, longest_s=60.0)
# When a route is back, the waiting callers retry one after another, with this average distance.
_APART_S = 0.002
_LONGEST_SPREAD_S = 5.0


@dataclass
class _Lost:
    """The callers that wait for the same routes."""

    due: float
    tries: int = 1
    waiting: int = 0


class OpenRoutes(Protocol):
    """The part of `Routes` that recovery uses."""

    listeners: Listeners[[]]

    def may_reach(self, specs: Sequence[RouteSpec]) -> bool: ...
    def hold(self, holder: Hashable, spec: RouteSpec) -> object: ...
    def release(self, holder: Hashable) -> None: ...


class Recovery:
    """Decides when callers retry; owned by `Routes`."""

    def __init__(self, routes: OpenRoutes) -> None:
        self._routes = routes
        self._lost: dict[tuple[RouteSpec, ...], _Lost] = {}
        self._changed = asyncio.Event()
        routes.listeners.add(self._route_changed)

    async def turn(
        self, specs: Sequence[RouteSpec], backoff: Backoff, failures: int, limit_s: float
    ) -> None:
        """Returns when the caller should retry after that many failures, or after `limit_s`.

        1. A route may reach the remote end: after a pause with jitter by `backoff`.
        2. All are lost: when one is back, after a pause that differs between callers; or when it is this
           caller's turn to try for all of them.  The routes stay open meanwhile.
        """
        if self._routes.may_reach(specs):
            await asyncio.sleep(min(backoff.jittered_s(failures), limit_s))
            return
        holder = object()
        for spec in specs:
            self._routes.hold(holder, spec)
        try:
            await self._route_back(tuple(specs), limit_s)
        finally:
            self._routes.release(holder)

    async def _route_back(self, specs: tuple[RouteSpec, ...], limit_s: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + limit_s
        lost = self._lost.setdefault(specs, _Lost(loop.time() + OF_ROUTE.jittered_s(1)))
        lost.waiting += 1
        most = lost.waiting
        try:
            while (now := loop.time()) < end:
                most = max(most, lost.waiting)
                if self._routes.may_reach(specs):
                    spread = min(_LONGEST_SPREAD_S, _APART_S * most)
                    await asyncio.sleep(random.uniform(0, spread))  # noqa: S311 (nothing secret)
                    return
                if now >= lost.due:
                    lost.tries += 1
                    lost.due = now + OF_ROUTE.jittered_s(lost.tries)
                    return
                await wait_for_event(self._changed, min(end, lost.due) - now)
        finally:
            lost.waiting -= 1
            self._forget_recovered()

    def _forget_recovered(self) -> None:
        for specs, lost in list(self._lost.items()):
            if not lost.waiting and self._routes.may_reach(specs):
                del self._lost[specs]

    def _route_changed(self) -> None:
        self._forget_recovered()
        self._changed.set()
        self._changed = asyncio.Event()
