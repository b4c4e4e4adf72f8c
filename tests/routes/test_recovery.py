"""Many that wait for a lost route: one tries for all, and all return when it is back."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from eagleray.common.retry import Backoff
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.routes import recovery
from eagleray.routes.routes import Routes
from eagleray.routes.transport import Health, State

LOGIN = RouteSpec(ssh="login")
MANY = 200
AT_ONCE = Backoff(0.0, 0.0)


@dataclass
class Carrier:
    """A connection in whichever state a test puts it."""

    changed: Any
    health: Health = field(default_factory=lambda: Health("reconnecting"))

    def be(self, state: State) -> None:
        self.health = Health(state)
        self.changed()

    async def close(self) -> None: ...


class Waiting:
    """So many callers that wait for their turn."""

    def __init__(self, routes: Routes, specs: list[RouteSpec], limit_s: float = math.inf) -> None:
        self.returned = 0
        self.tasks = [asyncio.create_task(self._wait(routes, specs, limit_s)) for _ in range(MANY)]

    async def _wait(self, routes: Routes, specs: list[RouteSpec], limit_s: float) -> None:
        await routes.recovery.turn(specs, AT_ONCE, 1, limit_s)
        self.returned += 1


class Turns:
    """So many turns are due at once; the next one is not within this test."""

    def __init__(self, count: int) -> None:
        self._count = count

    def jittered_s(self, tries: int) -> float:
        return 0.0 if tries <= self._count else 3600.0


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> tuple[Routes, list[Carrier]]:
    monkeypatch.setattr(recovery, "_LONGEST_SPREAD_S", 0.0)
    carriers: list[Carrier] = []

    def make(spec: RouteSpec, changed: Any, base: object) -> Any:
        carriers.append(Carrier(changed))
        return carriers[-1]

    routes = Routes(make)
    routes.hold("a test", LOGIN)
    return routes, carriers


async def turns_of_the_loop() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("due", [0, 1, 3])
async def test_one_caller_tries_for_all_while_the_route_is_lost(
    made: tuple[Routes, list[Carrier]], monkeypatch: pytest.MonkeyPatch, due: int
) -> None:
    routes, [carrier] = made
    monkeypatch.setattr(recovery, "OF_ROUTE", Turns(due))
    waiting = Waiting(routes, [LOGIN])
    await turns_of_the_loop()
    assert waiting.returned == due
    carrier.be("degraded")
    await turns_of_the_loop()
    assert waiting.returned == due
    carrier.be("ready")
    await asyncio.gather(*waiting.tasks)
    await routes.close()


async def test_loss_after_a_recovery_restarts_the_back_off(
    made: tuple[Routes, list[Carrier]], monkeypatch: pytest.MonkeyPatch
) -> None:
    routes, [carrier] = made
    monkeypatch.setattr(recovery, "OF_ROUTE", Turns(1))
    for _ in range(2):
        waiting = Waiting(routes, [LOGIN])
        await turns_of_the_loop()
        assert waiting.returned == 1
        carrier.be("ready")
        await asyncio.gather(*waiting.tasks)
        carrier.be("reconnecting")
    await routes.close()


async def test_caller_returns_at_its_limit(made: tuple[Routes, list[Carrier]]) -> None:
    routes, _ = made
    await asyncio.gather(*Waiting(routes, [LOGIN], limit_s=0.0).tasks)
    await routes.close()


async def test_route_without_a_connection_is_retried_by_each_caller(
    made: tuple[Routes, list[Carrier]],
) -> None:
    routes, _ = made
    await asyncio.gather(*Waiting(routes, [DIRECT, LOGIN]).tasks)
    await routes.close()


def test_pauses_with_jitter_differ_and_keep_to_their_limits() -> None:
    backoff = Backoff(1.0, 60.0)
    pauses = {backoff.jittered_s(20) for _ in range(50)}
    assert len(pauses) > 10 and all(60.0 <= pause <= 75.0 for pause in pauses)
