"""The places at which the inference server of a run may answer: sockets of this machine, or a port of a job behind a route."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import psutil

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import JOB_STATE, SERVER_IN_JOB, SERVER_START, PollSchedule
from eagleray.protocol.route_spec import RouteSpec
from eagleray.rollouts.servers.engines import LOOPBACK
from eagleray.rollouts.servers.failures import last_text
from eagleray.rollouts.servers.listen_address import ProgramSockets, ServerAddress
from eagleray.rollouts.servers.port_owner import owner_of_port
from eagleray.runs.model import RunState
from eagleray.slurm.hostlist import expand
from eagleray.slurm.queue import SlurmQueue
from eagleray.tools.processes import born, lives, process_tree, run_of

END_STEPS = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
_END_POLL_S = 0.05
# As uvicorn, vLLM, SGLang and llama.cpp print where they listen; only a hint, since the texts differ by version.
_PRINTED = re.compile(
    r"(?:listening|running|serving|started|starting|launched).{0,60}?\bhttps?://[\w.\[\]:-]*?:(\d{2,5})\b",
    re.IGNORECASE,
)


class ServerPlace(Protocol):
    """Where the server runs: on this machine, or behind a route.  `schedule`: how often it is polled while it starts."""

    @property
    def schedule(self) -> PollSchedule: ...

    async def addresses(self, state: RunState) -> Sequence[ServerAddress]:
        """The addresses at which it may answer, as this machine reaches them."""

    def owner_of(self, port: int) -> str:
        """Returns the owner of the port there, "" if unknown."""

    async def end_rest(self) -> None:
        """Ends what the end of its program has left of it."""

    async def close(self) -> None: ...


class LocalPlace:
    """A program of this machine: its sockets, and all processes that it has started."""

    schedule = SERVER_START

    def __init__(self, port: int, run: str) -> None:
        self._port = port
        self._run = run
        self._sockets = ProgramSockets()
        self._program = (0, 0.0)

    async def addresses(self, state: RunState) -> Sequence[ServerAddress]:
        program = state.program
        if program is None:
            return []
        self._program = (program.pid, program.born)
        return await off_loop(partial(self._sockets.addresses, program, self._port))

    def owner_of(self, port: int) -> str:
        return owner_of_port(port)

    async def end_rest(self) -> None:
        """An engine's processes keep its GPU memory and port when only its API server is killed."""
        for number, limit_s in END_STEPS:
            rest = await off_loop(self._rest)
            for pid in rest:
                send_to(pid, number)
            for _ in range(int(limit_s / _END_POLL_S) if rest else 0):
                if not any(lives(pid, birth) for pid, birth in rest.items()):
                    break
                await asyncio.sleep(_END_POLL_S)

    def _rest(self) -> dict[int, float]:
        if not self._program[0]:
            return {}
        tree = {**self._sockets.tree, **process_tree(*self._program), **self._daemons()}
        return {pid: birth for pid, birth in tree.items() if lives(pid, birth)}

    def _daemons(self) -> dict[int, float]:
        """Returns processes that have left its tree and its session; they began after it, with its environment."""
        births = {pid: born(pid) for pid in psutil.pids()}
        since = self._program[1]
        return {pid: at for pid, at in births.items() if at >= since and run_of(pid) == self._run}

    async def close(self) -> None:
        """It holds nothing."""


def send_to(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


class JobPlace:
    """A job: its port comes from the command, or from its output.

    `open_port` opens that port of the job's node as an address of this machine, which lasts as long as this process; it
    returns None while the job has no node, and raises while nothing answers.
    """

    schedule = SERVER_IN_JOB

    def __init__(
        self,
        port: int,
        output: Path,
        open_port: Callable[[str, int], Awaitable[ServerAddress | None]],
    ) -> None:
        self._port = port
        self._output = output
        self._open_port = open_port

    async def addresses(self, state: RunState) -> Sequence[ServerAddress]:
        if not state.external_id:
            return []
        port = self._port or await off_loop(partial(printed_port, self._output))
        if not port:
            return []
        try:
            address = await self._open_port(state.external_id, port)
        except EaglerayError:
            return []
        return [] if address is None else [address]

    def owner_of(self, port: int) -> str:
        return ""

    async def end_rest(self) -> None:
        """Ray, SLURM and the launcher of a remote program do that."""

    async def close(self) -> None:
        """Its tunnel ends with this process."""


OpenRoutes = Callable[[list[RouteSpec], str, int, "int | None"], Awaitable[str]]


class LocalPort:
    """A port of 127.0.0.1 that leads to a server behind a route.

    It is the same each time, since programs that are being debugged have it in their environment: also for another adapter,
    and for the next supervisor, which gets the `last` address of the server.
    """

    def __init__(self, open_routes: OpenRoutes, last: str = "") -> None:
        self._open_routes = open_routes
        self._port = urlsplit(last).port or 0

    async def open(self, route: RouteSpec, port: int) -> ServerAddress:
        """Another port if that has been taken meanwhile."""
        try:
            socket = await self._open_routes([route], LOOPBACK, port, self._port)
        except EaglerayError as error:
            if error.code != "port-taken" or not self._port:
                raise
            socket = await self._open_routes([route], LOOPBACK, port, 0)
        self._port = int(socket.rpartition(":")[2])
        return ServerAddress(LOOPBACK, self._port)


class SlurmPort:
    """Opens ports on the first node of a SLURM job, on which its script runs; `ssh` is the login node, "" for this machine."""

    def __init__(self, queue: SlurmQueue, ssh: str, local: LocalPort) -> None:
        self._queue = queue
        self._ssh = ssh
        self._local = local

    async def open(self, job: str, port: int) -> ServerAddress | None:
        listed = (await self._queue.get(self._ssh, JOB_STATE.interval_s(0.0))).job(job)
        if listed is None or listed.state != "running" or not listed.nodelist:
            return None
        return await self._local.open(RouteSpec(self._ssh, job, expand(listed.nodelist)[0]), port)


def printed_port(output: Path) -> int:
    """The port that the last line about listening names; 0 without such a line."""
    ports = _PRINTED.findall(last_text(output))
    return int(ports[-1]) if ports else 0
