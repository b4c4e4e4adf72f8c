"""One attempt to connect to an ssh destination, from the command line to the first echo."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.routes.asking import Ask
from eagleray.routes.ssh import askpass, command, errors, mux, paths, reuse
from eagleray.routes.ssh.askpass import Askpass
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.process import ECHO, SshProcess

log = logging.getLogger(__name__)

# The person's master answers at once, or it is as dead as the link beneath it.
_REUSE_S = 5.0
_TICK_S = 0.1
# For the network alone; a hop that is silent for that long will not answer the person either.
_CONNECT_S = 15.0


@dataclass(eq=False)
class Failed(Exception):
    """Why an attempt failed.  `final`: nothing would change if we tried again without the person."""

    error: EaglerayError
    final: bool
    message: str = ""


@dataclass(frozen=True)
class Target:
    """Where to, with whose ssh, and where our sockets may lie."""

    destination: str
    folder: Path
    options: Callable[[], SshOptions]


class Attempt:
    """Owns what it starts until `run` has returned a process that is ready.

    With `ask` it is the person's attempt: ssh may put its questions, and a master of theirs is used if
    there is one.  Without, whatever would have to be asked fails.
    """

    def __init__(
        self, target: Target, limit_s: float, changed: Callable[[], None], ask: Ask | None = None
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
        """Whether the person is to answer something now."""
        return self._askpass is not None and self._askpass.is_open

    async def run(self) -> SshProcess:
        """The process once it has echoed; raises Failed."""
        options = self._target.options()
        try:
            ssh = command.program(options)
            if self.asks and options.reuse:
                process = await self._reused(ssh)
                if process is not None:
                    return process
            return await self._own(ssh)
        except EaglerayError as error:
            raise Failed(error, final=True) from error
        except OSError as error:
            # No descriptors or processes are left, or the folder is gone.
            problem = errors.ssh_failed(self._target.destination, str(error))
            raise Failed(problem, final=False) from error

    async def _reused(self, ssh: str) -> SshProcess | None:
        target = self._target
        path = await reuse.live_master(ssh, target.destination)
        if path is None:
            return None
        process = SshProcess(path, False, self._changed)
        argv = command.client(ssh, target.destination, path, ECHO, alone=True)
        with contextlib.suppress(Failed):
            return await self._started(process, argv, self._environment(), _REUSE_S)
        return None

    async def _own(self, ssh: str) -> SshProcess:
        target = self._target
        folder = paths.remade(target.folder)
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
        """That of an ssh which asks nobody."""
        return {**askpass.without(os.environ), **self._target.options().environment}

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
                    raise Failed(errors.ssh_slow(self._target.destination, limit_s), False)
                began = time.monotonic()
                await process.wait_changed(_TICK_S)
                # The person may take their time.
                left -= 0 if self.is_asking else time.monotonic() - began
            self.took_s = limit_s - left
            if process.words.tell_of_changed_key:
                raise self._failed(process)
        except BaseException:
            process.stop()
            await process.wait()
            raise
        return process

    async def _multiplexing(self, process: SshProcess) -> SshProcess:
        """ssh runs on without multiplexing when it could not make its socket."""
        try:
            await asyncio.wait_for(mux.check(process.control_path), _REUSE_S)
        except (OSError, mux.MuxError, asyncio.TimeoutError) as error:
            process.stop()
            await process.wait()
            problem, _ = process.words.why(self._target.destination)
            raise Failed(problem, False, str(error)) from error
        return process

    def _failed(self, process: SshProcess) -> Failed:
        host, words = self._target.destination, process.words
        error, final = words.why(host)
        if self._askpass is not None and self._askpass.was_cancelled:
            error, final = errors.ssh_cancelled(host), True
        elif self._askpass is not None and self._askpass.asked and error.code == "ssh-key-refused":
            error = errors.ssh_answer_refused(host, words.last)
        elif not self.asks and final and words.offers_questions:
            error = errors.ssh_asks(host, "your password")
        elif error.code == "ssh-failed" and process.returncode in range(255):
            error, final = errors.ssh_no_shell(host, words.last), True
        return Failed(error, final, words.last)
