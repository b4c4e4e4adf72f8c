"""The transport through a step of a SLURM job, for nodes without an open port."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.retry import Backoff
from eagleray.common.route_errors import link_lost
from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes.srun.process import SrunProcess
from eagleray.routes.srun.stderr import FATAL
from eagleray.routes.transport import ForwardedStream, Health, State, Transport

log = logging.getLogger(__name__)

_PING_S = 1.0
_DEGRADED_S = 3.0
# How long a silent link may come back; the bridge itself waits longer.
_LOST_S = 60.0
# A new request within this time gets the same error without another `srun`.
_AGAIN_S = 5.0
_BACKOFF = Backoff(1.0, 30.0)
# Accounting shows every step: after so many failures in a row only a click starts another one.
_MOST_FAILED = 6


class SrunTransport:
    """Owns one `srun` at a time; starts it when first needed, and again after a loss."""

    def __init__(self, spec: RouteSpec, changed: Callable[[], None], base: Transport) -> None:
        self.health = Health("connecting")
        self._spec = spec
        self._changed = changed
        self._base = base
        self._process: SrunProcess | None = None
        self._starting: asyncio.Task[SrunProcess] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._was_ready = False
        self._heard_at = 0.0
        self._failed: tuple[float, EaglerayError] | None = None
        self._failures = 0
        self._ready_at = 0.0
        self._forwarded: set[ForwardedStream] = set()

    async def forward(
        self, client: socket.socket, host: str, port: int, limit_s: float
    ) -> ForwardedStream:
        process = await self._ready()
        over: list[ForwardedStream] = []
        stream = await process.open(host, port, limit_s, lambda: over[0].close() if over else None)
        forwarded = ForwardedStream(stream.abort)
        over.append(forwarded)
        client.setblocking(False)
        await asyncio.get_running_loop().connect_accepted_socket(lambda: stream, client)
        self._forwarded.add(forwarded)
        ended = tasks.owned(forwarded.ended.wait(), "forwarded", tasks.only_logged)
        ended.add_done_callback(lambda _: self._forwarded.discard(forwarded))
        return forwarded

    async def argv(self, remote: list[str]) -> list[str]:
        return await self._base.argv(remote)

    def reconnect(self) -> None:
        self._failed, self._failures = None, 0
        if self._process is not None:
            self._process.give_up(link_lost(self._spec.text, t("a new connection is made")))
        elif self._starting is None:
            self._keep(0)

    async def close(self) -> None:
        running = [task for task in (self._keeping, self._starting) if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    async def _ready(self) -> SrunProcess:
        """Returns the running process, or the one that is being started; raises a recent failure again."""
        if self._process is not None and self._process.problem is None:
            return self._process
        if self._failed is not None and self._is_barred(self._failed[0]):
            raise self._failed[1]
        if self._starting is None:
            self._starting = tasks.shared(self._start(), self._spec.text)
        # A cancelled caller must not cancel it for the others.
        return await asyncio.shield(self._starting)

    def _is_barred(self, failed_at: float) -> bool:
        """Whether another step would only repeat the last failure, or needs a click."""
        return self._failures >= _MOST_FAILED or time.monotonic() - failed_at < _AGAIN_S

    async def _start(self) -> SrunProcess:
        if self._was_ready:
            self._set("reconnecting", t("The job step has ended. Starting another one…"))
        else:
            self._set("connecting", t("Starting a step of job {job}…", job=self._spec.job))
        process = SrunProcess(self._spec, self._on_heard, lambda: self._on_end(process))
        try:
            await process.start(self._base)
        except EaglerayError as error:
            self._failed = (time.monotonic(), error)
            self._failures += 1
            self._set("lost", error.message, process.last_line)
            raise
        finally:
            self._starting = None
        self._process = process
        self._was_ready = True
        self._failed, self._ready_at = None, time.monotonic()
        self._on_heard()
        self._set("ready")
        if self._keeping is not None:
            self._keeping.cancel()
        lost = link_lost(self._spec.text, t("it isn't watched any more"))
        self._keeping = tasks.owned(
            self._watch(process), self._spec.text, lambda _: process.give_up(lost)
        )
        return process

    async def _watch(self, process: SrunProcess) -> None:
        """Pings the bridge every second."""
        while process.problem is None:
            process.ping()
            await asyncio.sleep(_PING_S)
            silent = time.monotonic() - self._heard_at
            if silent > _LOST_S:
                process.give_up(link_lost(self._spec.text, t("it didn't answer for a minute")))
            elif silent > _DEGRADED_S and self.health.state == "ready":
                self._set("degraded", t("{node} is not responding.", node=self._spec.node))

    def _on_heard(self) -> None:
        self._heard_at = time.monotonic()
        if self.health.state == "degraded":
            self._set("ready")

    def _on_end(self, process: SrunProcess) -> None:
        if self._process is not process:
            return
        self._process = None
        # An early end counts as a failure, or it would be started over and over.
        lived_long = time.monotonic() - self._ready_at >= _LOST_S
        self._failures = 0 if lived_long else self._failures + 1
        problem = process.problem or link_lost(self._spec.text)
        log.info("the bridge of %s ended: %s", self._spec.text, problem.code)
        for forwarded in list(self._forwarded):
            forwarded.lose(link_lost(self._spec.text) if problem.code != "link-lost" else problem)
        self._set("lost", problem.message, process.last_line)
        if problem.code not in FATAL:
            self._keep(1)

    def _keep(self, failures: int) -> None:
        if self._keeping is not None and self._keeping is not asyncio.current_task():
            self._keeping.cancel()
        again = tasks.restarted(lambda: self._again(failures), self._spec.text)
        self._keeping = tasks.owned(again, self._spec.text, tasks.only_logged)

    async def _again(self, failures: int) -> None:
        """Reconnects, unless the error is fatal or too many steps have failed."""
        while self._failures < _MOST_FAILED:
            if failures:
                await asyncio.sleep(_BACKOFF.wait_s(failures))
            failures += 1
            self._failed = None
            try:
                await self._ready()
            except EaglerayError as error:
                if error.code in FATAL:
                    return
            else:
                return

    def _set(self, state: State, reason: str = "", message: str = "") -> None:
        self.health = Health(state, reason, message)
        self._changed()
