"""Concurrent attempts to connect to an ssh destination, until one of them is ready."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import jittered
from eagleray.routes.ssh import askpass, command, errors, mux, paths
from eagleray.routes.ssh.askpass import Askpass, AskUser
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.process import ECHO, SshProcess

# For the attempt with questions; the time to answer doesn't count, but that to find a phone does.  Servers
# wait for 120 s.
FIRST_S = 90.0
# The kernel repeats a lost packet of a new connection after 1, 3 and 7 s (RFC 6298), so a fresh attempt finds a link
# that has come back sooner.  Later attempts are rarer: each attempt through a jump host that answers is an
# authentication there, 4,800 an hour at first, 60 after ten minutes.
_PACES = ((30.0, 0.75), (300.0, 2.5), (600.0, 7.5), (math.inf, 60.0))
# The time limit of an attempt is four paces, and at most this.
_LONGEST_S = 30.0
AT_ONCE = 4
_LONGEST_USUAL_S = 3.0


class ConnectAttempts:
    """Owns the attempts to one target: automatic ones are paced, the one with questions runs alone."""

    def __init__(self, target: SshTarget, changed: Callable[[], None]) -> None:
        self._target = target
        self._changed = changed
        self._running: dict[asyncio.Task[SshProcess | AttemptFailed], ConnectAttempt] = {}
        self._ending: set[asyncio.Task[SshProcess | AttemptFailed]] = set()
        self._began: float | None = None
        self._due = -math.inf
        # How long a connection takes here, including jump hosts.
        self._usual_s = 0.0

    @property
    def is_asking(self) -> bool:
        """Whether the user is being asked now."""
        return any(attempt.is_asking for attempt in self._running.values())

    def start_with_questions(self, ask: AskUser) -> None:
        """Starts the attempt with questions, unless it runs."""
        if not any(attempt.asks for attempt in self._running.values()):
            self.stop()
            self._start(ConnectAttempt(self._target, FIRST_S, self._changed, ask))

    def start_next(self) -> None:
        """Starts another attempt if it is due, with jitter: several machines may have lost the same host."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
        tried_s = now - self._began
        pace_s = next(pace for until, pace in _PACES if tried_s < until)
        pace_s = max(pace_s, self._usual_s)
        if len(self._running) < AT_ONCE and now >= self._due:
            self._due = now + jittered(pace_s)
            limit_s = min(pace_s * AT_ONCE, _LONGEST_S)
            self._start(ConnectAttempt(self._target, limit_s, self._changed))

    def hurry(self) -> None:
        """Starts the paces from the beginning, with an attempt at once: the network may have changed."""
        self._began, self._due = None, -math.inf

    def take_results(self) -> tuple[SshProcess | None, list[tuple[ConnectAttempt, AttemptFailed]]]:
        """Returns the results of attempts that have ended: a ready process, and the failures."""
        failures = []
        ready: SshProcess | None = None
        for task in [task for task in self._running if task.done()]:
            attempt, outcome = self._running.pop(task), task.result()
            if isinstance(outcome, AttemptFailed):
                failures.append((attempt, outcome))
            elif ready is None:
                ready = outcome
                self._usual_s = min(attempt.took_s, _LONGEST_USUAL_S)
            else:
                outcome.stop()
        return ready, failures

    def stop(self) -> None:
        """Cancels all attempts."""
        for task in self._running:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ended)
        self._running.clear()
        self.hurry()

    async def end(self) -> None:
        """Cancels all attempts and waits for their processes."""
        self.stop()
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _start(self, attempt: ConnectAttempt) -> None:
        task = tasks.shared(_outcome(attempt), "ssh")
        self._running[task] = attempt
        task.add_done_callback(lambda _: self._changed())

    def _ended(self, task: asyncio.Task[SshProcess | AttemptFailed]) -> None:
        self._ending.discard(task)
        outcome = None if task.cancelled() or task.exception() else task.result()
        if isinstance(outcome, SshProcess):
            # It became ready while it was being stopped.
            outcome.stop()


async def _outcome(attempt: ConnectAttempt) -> SshProcess | AttemptFailed:
    """Returns a failure instead of raising it: failed attempts are usual and not logged."""
    try:
        return await attempt.run()
    except AttemptFailed as error:
        return error


log = logging.getLogger(__name__)

# The user's master answers at once, or is as dead as its link.
_REUSE_S = 5.0
_TICK_S = 0.1
# For the network alone; a host that is silent for that long doesn't answer the user either.
_CONNECT_S = 15.0


@dataclass(eq=False)
class AttemptFailed(Exception):
    """The failure of an attempt.  `final`: automatic attempts would fail in the same way."""

    error: EaglerayError
    final: bool
    message: str = ""


@dataclass(frozen=True)
class SshTarget:
    """The destination, the ssh options, and the folder of our sockets."""

    destination: str
    folder: Path
    options: Callable[[], SshOptions]


class ConnectAttempt:
    """Owns what it starts until `run` has returned a process that is ready.

    With `ask` ssh may ask the user, and a master of theirs is used if
    there is one.  Without, whatever would have to be asked fails.
    """

    def __init__(
        self,
        target: SshTarget,
        limit_s: float,
        changed: Callable[[], None],
        ask: AskUser | None = None,
    ) -> None:
        self.asks = ask is not None
        self.took_s = 0.0
        self._target = target
        self._limit_s = limit_s
        self._changed = changed
        self._ask = ask
        self._askpass: Askpass | None = None

    @property
    def is_asking(self) -> bool:
        """Whether the user is being asked now."""
        return self._askpass is not None and self._askpass.is_open

    async def run(self) -> SshProcess:
        """Returns the process once it has echoed; raises AttemptFailed."""
        options = self._target.options()
        try:
            ssh = command.program(options)
            if self.asks and options.reuse:
                process = await self._reused(ssh)
                if process is not None:
                    return process
            return await self._own(ssh)
        except EaglerayError as error:
            raise AttemptFailed(error, final=True) from error
        except OSError as error:
            # No descriptors or processes are left, or the folder is gone.
            problem = errors.ssh_failed(self._target.destination, str(error))
            raise AttemptFailed(problem, final=False) from error

    async def _reused(self, ssh: str) -> SshProcess | None:
        target = self._target
        path = await mux.find_user_master(ssh, target.destination)
        if path is None:
            return None
        process = SshProcess(path, False, self._changed)
        argv = command.client(ssh, target.destination, path, ECHO, alone=True)
        with contextlib.suppress(AttemptFailed):
            return await self._started(process, argv, self._environment(), _REUSE_S)
        return None

    async def _own(self, ssh: str) -> SshProcess:
        target = self._target
        folder = paths.recreated(target.folder)
        path = paths.new_control_path(folder)
        process = SshProcess(path, True, self._changed)
        argv = command.master(ssh, target.destination, path, self._limit_s / 2, self.asks, ECHO)
        environment = self._environment()
        try:
            if self._ask is not None:
                self._askpass = Askpass(folder, f"{path.name}-ask", self._ask)
                environment.update(await self._askpass.start())
            process = await self._started(process, argv, environment, self._limit_s)
        finally:
            if self._askpass is not None:
                self._askpass.close()
        return await self._multiplexing(process)

    def _environment(self) -> dict[str, str]:
        """Returns the environment of an ssh that never prompts."""
        return {**askpass.without_askpass(os.environ), **self._target.options().environment}

    async def _started(
        self, process: SshProcess, argv: list[str], environment: dict[str, str], limit_s: float
    ) -> SshProcess:
        try:
            await process.start(argv, environment)
            left = limit_s
            while not process.is_ready:
                if process.has_ended or (self._askpass and self._askpass.was_cancelled):
                    raise self._failed(process)
                if left <= 0:
                    raise AttemptFailed(errors.ssh_slow(self._target.destination, limit_s), False)
                began = time.monotonic()
                await process.wait_changed(_TICK_S)
                # The time to answer isn't limited.
                left -= 0 if self.is_asking else time.monotonic() - began
            self.took_s = limit_s - left
            if process.stderr.has_changed_key:
                raise self._failed(process)
        except BaseException:
            process.stop()
            await process.wait()
            raise
        return process

    async def _multiplexing(self, process: SshProcess) -> SshProcess:
        """Checks the control socket: an ssh that couldn't make it runs without ("disabling multiplexing", `mux.c`)."""
        try:
            await asyncio.wait_for(mux.check(process.control_path), _REUSE_S)
        except (OSError, mux.MuxError, asyncio.TimeoutError) as error:
            process.stop()
            await process.wait()
            problem, _ = process.stderr.explain(self._target.destination)
            raise AttemptFailed(problem, False, str(error)) from error
        return process

    def _failed(self, process: SshProcess) -> AttemptFailed:
        host, stderr = self._target.destination, process.stderr
        error, final = stderr.explain(host)
        if self._askpass is not None and self._askpass.was_cancelled:
            error, final = errors.ssh_cancelled(host), True
        elif (
            self._askpass is not None and self._askpass.was_used and error.code == "ssh-key-refused"
        ):
            error = errors.ssh_answer_refused(host, stderr.text)
        elif not self.asks and final and stderr.offers_questions:
            error = errors.ssh_asks(host, "your password")
        elif error.code == "ssh-failed" and process.returncode in range(255):
            error, final = errors.ssh_no_shell(host, stderr.text), True
        return AttemptFailed(error, final, stderr.text)
