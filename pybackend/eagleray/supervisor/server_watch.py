"""Watches the inference server of a run: where it listens, when it generates its first token, and whether it still answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import evolve

from eagleray.common.l10n import t
from eagleray.common.retry import SERVER_HEALTH, Backoff
from eagleray.rollouts.servers.engines import BY_NAME
from eagleray.rollouts.servers.errors import key_rejected, no_answer, no_token
from eagleray.rollouts.servers.failures import engine_death, last_text, reason_of
from eagleray.rollouts.servers.health import HEALTH_S, STARTING_HEALTH_S, FirstToken, Health
from eagleray.rollouts.servers.listen_address import ServerAddress
from eagleray.runs.model import RunState, ServerPlan, ServerStatus
from eagleray.runs.records import RunRecord
from eagleray.supervisor.server_addresses import ServerPlace

# A silent server is asked again before it counts as unhealthy.
MOST_SILENCES = 2
# Ports that don't speak HTTP are rarely tried again.
FOREIGN = Backoff(first_s=0.2, longest_s=30.0)
# How long any of several ports may take for its health; the server itself answers the next request.
_ANY_PORT_S = 1.0


class Probe(Protocol):
    """`ServerProbe`, or what stands for it in a test."""

    async def health(self, url: str, limit_s: float = HEALTH_S) -> Health: ...

    async def first_token(
        self, url: str, *, named: str = "", on_demand: bool = False
    ) -> FirstToken: ...

    async def close(self) -> None: ...


class ServerWatch:
    """Belongs to the supervisor of a run, which calls `update` in each round and whenever `on_news` is called.

    The server is starting until its first real token; unhealthy while it rejects our key, generates nothing or stays
    silent.  Until then it is polled often, as a port that nothing listens at costs nothing; afterwards rarely.
    """

    def __init__(
        self,
        record: RunRecord,
        plan: ServerPlan,
        place: ServerPlace,
        probe: Probe,
        on_news: Callable[[], None] = lambda: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._record = record
        self._plan = plan
        self._place = place
        self._probe = probe
        self.on_news = on_news
        self._now = now
        self._state = record.state()
        self._status = status_at_adoption(self._state.server or ServerStatus("starting"))
        self._since = now()
        self._silences = 0
        self._foreign: dict[ServerAddress, int] = {}
        self._due: dict[ServerAddress, float] = {}
        engine = BY_NAME.get(plan.engine)
        self._on_demand = engine is not None and engine.loads_on_demand

    def update(self, state: RunState) -> RunState:
        """The state of the run with its server's state."""
        self._state = state
        return evolve(state, server=self._status)

    def last_state(self, state: RunState, code: int | None) -> RunState:
        """The state of a run whose program has ended."""
        reason = ""
        if state.phase != "stopping" and code != 0:
            reason = reason_of(
                last_text(self._record.output), code, self._plan, self._place.owner_of
            )
        elif state.phase != "stopping" and self._status.phase == "starting":
            reason = t("The server exited while it started.")
        elif state.phase != "stopping":
            reason = engine_death(last_text(self._record.output))
        return evolve(state, server=evolve(self._status, reason=reason))

    async def run(self) -> None:
        """Polls until it is cancelled."""
        while True:
            await self.poll()
            schedule = self._place.schedule if self._status.phase == "starting" else SERVER_HEALTH
            await asyncio.sleep(schedule.interval_s(self._now() - self._since))

    async def close(self) -> None:
        await self._probe.close()
        await self._place.close()

    async def end_rest(self) -> None:
        await self._place.end_rest()

    async def poll(self) -> None:
        """1. An address that was ready: only its health.

        2. Each address at which it may answer, until one gives a token.
        """
        if self._status.phase == "ready":
            await self._check_health()
            return
        addresses = await self._place.addresses(self._state)
        for address in await self._healthy(addresses):
            if await self._try_token(address):
                return

    async def _healthy(self, addresses: Sequence[ServerAddress]) -> list[ServerAddress]:
        """An engine has other ports, such as ports of its collectives, which are left alone once they turn out as such."""
        due = [item for item in addresses if self._due.get(item, 0.0) <= self._now()]
        limit_s = STARTING_HEALTH_S if self._plan.port else _ANY_PORT_S
        answers = await asyncio.gather(*(self._probe.health(item.url, limit_s) for item in due))
        for item, health in zip(due, answers, strict=True):
            if health == "foreign" and not self._plan.port:
                self._foreign[item] = self._foreign.get(item, 0) + 1
                self._due[item] = self._now() + FOREIGN.wait_s(self._foreign[item])
        return [item for item, health in zip(due, answers, strict=True) if health == "ok"]

    async def _try_token(self, address: ServerAddress) -> bool:
        """Whether it has generated one."""
        first = await self._probe.first_token(
            address.url, named=self._plan.model, on_demand=self._on_demand
        )
        warning = self._warning(address)
        status = ServerStatus("starting", address.url, first.model, warning=warning)
        if first.outcome == "token":
            self._set(evolve(status, phase="ready", ready_at=time.time()))
        elif first.outcome == "refused":
            self._set(evolve(status, phase="unhealthy", reason=key_rejected()))
        elif first.outcome == "no-token":
            self._set(evolve(status, phase="unhealthy", reason=no_token(first.detail)))
        elif self._status.phase == "starting":
            self._set(status)
        return first.outcome == "token"

    async def _check_health(self) -> None:
        health = await self._probe.health(self._status.url)
        self._silences = 0 if health == "ok" else self._silences + 1
        if self._silences >= MOST_SILENCES:
            self._silences = 0
            why = no_answer(self._status.url)
            self._set(evolve(self._status, phase="unhealthy", reason=why))

    def _warning(self, address: ServerAddress) -> str:
        has_key = bool(self._record.server_key())
        if address.is_open:
            return (
                t("Other machines can reach this server.")
                if has_key
                else t("Other machines can use this server, which has no key.")
            )
        return "" if has_key else t("This server has no key: every user here can use it.")

    def _set(self, status: ServerStatus) -> None:
        if status == self._status:
            return
        if status.phase != self._status.phase:
            self._since = self._now()
        self._status = status
        self.on_news()


def status_at_adoption(last: ServerStatus) -> ServerStatus:
    """The status of a server whose earlier supervisor has ended, and with it the port that led there."""
    if last.phase != "ready":
        return last
    return evolve(last, phase="unhealthy", reason=no_answer(last.url))
