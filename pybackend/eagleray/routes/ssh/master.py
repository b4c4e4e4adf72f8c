"""One connection to an ssh destination, made by the person's own ssh, kept alive and made anew when it breaks."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from eagleray.common import tasks
from eagleray.common.tasks import wait_for_event
from eagleray.routes.ssh import command, errors, mux, paths
from eagleray.routes.ssh.askpass import AskUser
from eagleray.routes.ssh.attempts import AttemptFailed, ConnectAttempts, SshTarget
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.errors import forward_error
from eagleray.routes.ssh.process import ReplacedError, SshProcess, SshStream, forward_within
from eagleray.routes.ssh.system_watch import NetworkWatch, SleepWatch
from eagleray.routes.transport import Health, State

log = logging.getLogger(__name__)

DEGRADED_S = 3.0
GIVEN_UP_S = 8.0

_TICK_S = 0.2
# One that asks again and again need not wait for the network each time.
_REST_S = 2.0
# A process that still serves a terminal is not waited for.
_RETIRED_S = 2.0


class SshMaster:
    """Owns the ssh processes to one destination; all of it on one event loop.

    Nothing is started before the first `connect` or `argv`.  `folder` is private (0700); control sockets
    lie in it.  `ask` puts a question to the person and is cancelled when the one who asked is gone; it is
    used for the first connection and after `reconnect`, never by what goes on by itself.  `changed` is
    called after each change of `health`.

    1. The first connection is one attempt, with questions.
    2. A connection that has not answered for 3 s is suspect, as after a sleep of the machine: new ones are
       tried beside it.  The first that is ready takes its place, unless the old one answers before.
    3. What the old one carries stays with it until it ends or ssh itself gives it up.
    4. What only the person can mend (a password, a changed host key) ends the trying: `lost`.
    """

    def __init__(
        self,
        destination: str,
        folder: Path,
        ask: AskUser,
        changed: Callable[[], None],
        options: Callable[[], SshOptions] = SshOptions,
    ) -> None:
        self.destination = destination
        self.health = Health("connecting", f"Connecting to {destination}.")
        folder = paths.control_folder(folder)
        self._target = SshTarget(destination, folder, options)
        self._ask = ask
        self._changed = changed
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._trying = ConnectAttempts(self._target, self._wake.set)
        self._current: SshProcess | None = None
        self._old: set[SshProcess] = set()
        self._wants_questions = True
        self._was_ready = False
        self._suspect_since: float | None = None
        # Why no more is tried: at once if there is no connection, else when the current one ends.
        self._barred: AttemptFailed | None = None
        self._problem: AttemptFailed | None = None
        self._message = ""
        self._failed_at = 0.0
        self._is_closed = False
        paths.remove_stale(folder)

    async def connect(self, host: str, port: int, client: int, limit_s: float) -> SshStream:
        """Carries `host:port` of the far end to the socket of which `client` is a descriptor.

        Waits until there is a connection, `limit_s` at most (not counted while the person is being asked).
        Returns when the far end is truly connected; raises an EaglerayError with the reason otherwise, and
        then nothing has been read from the socket.  `client` stays the caller's, who may close it when this
        has returned.
        """
        address = f"{host}:{port}"
        left = limit_s
        while True:
            process, left = await self._connection(left)
            began = time.monotonic()
            try:
                return await forward_within(process, host, port, client, left)
            except mux.ForwardRefused as error:
                raise forward_error(address, self.destination, str(error)) from error
            except ReplacedError:
                # It fell silent while it was asked, and another one is there.
                left -= time.monotonic() - began
            except (FileNotFoundError, ConnectionError, mux.MuxError) as error:
                log.info("the control socket to %s: %r", self.destination, error)
                self._set_aside(process)
                left -= time.monotonic() - began
            except asyncio.TimeoutError as error:
                if self._suspect_since is not None:
                    raise errors.ssh_lost(self.destination) from error
                raise errors.far_slow(address, self.destination, limit_s) from error
            except OSError as error:
                raise errors.ssh_failed(self.destination, str(error)) from error

    async def argv(self, remote: Sequence[str], limit_s: float) -> list[str]:
        """The local command that runs `remote` on the destination over this connection, without a terminal.

        Waits as `connect` does.  Quoting for the shell at the far end is done here.  It asks the person nothing.
        """
        process, _ = await self._connection(limit_s)
        ssh = command.program(self._target.options())
        return command.client(ssh, self.destination, process.control_path, remote)

    def reconnect(self) -> None:
        """The person asks for a new connection now; questions may be put to them again."""
        self._wants_questions = True
        self._problem = self._barred = None
        self._suspect()
        self._begin()

    async def close(self) -> None:
        """Ends all that is forwarded, and all processes that carry nothing for anybody else."""
        self._is_closed = True
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await self._trying.end()
        processes = [*self._old, *([self._current] if self._current else [])]
        for process in processes:
            for forwarded in list(process.streams):
                forwarded.close()
            if process.silent_s < DEGRADED_S:
                process.retire()
            else:
                process.stop()
        await asyncio.gather(*(process.wait(_RETIRED_S) for process in processes))
        self._say("lost", f"The connection to {self.destination} was closed.")

    async def _connection(self, limit_s: float) -> tuple[SshProcess, float]:
        """A connection that answers, and what is left of the time."""
        left = limit_s
        while True:
            current = self._current
            if self.health.state == "ready" and current is not None:
                return current, left
            if self._is_closed:
                raise errors.ssh_lost(self.destination)
            self._begin()
            if self._problem is not None:
                raise self._problem.error
            if left <= 0:
                if self._was_ready:
                    raise errors.ssh_lost(self.destination)
                raise errors.ssh_slow(self.destination, limit_s)
            began, was_asking = time.monotonic(), self._trying.is_asking
            await wait_for_event(self._news, left)
            left -= 0 if was_asking else time.monotonic() - began

    def _begin(self) -> None:
        """Starts what keeps the connection, unless it runs or the last failure is too fresh or final."""
        if self._is_closed or (self._keeping is not None and not self._keeping.done()):
            return
        if self._problem is not None:
            is_fresh = time.monotonic() - self._failed_at < _REST_S
            if self._problem.final or is_fresh:
                return
            self._problem = None
        self._wants_questions = self._wants_questions or not self._was_ready
        self._keeping = tasks.lasting(self._keep, f"ssh {self.destination}")

    async def _keep(self) -> None:
        sleep_watch, network_watch = SleepWatch(), NetworkWatch()
        while self._problem is None:
            is_ready = self.health.state == "ready"
            if sleep_watch.has_slept() or (not is_ready and network_watch.has_changed()):
                self._suspect()
            self._judge()
            self._take_up()
            self._try()
            self._say_how_it_is()
            await wait_for_event(self._wake, _TICK_S)
            self._wake.clear()

    def _suspect(self) -> None:
        """Nothing is believed of the current connection before its next answer, and a new one is tried at once."""
        self._trying.hurry()
        self._suspect_since = time.monotonic()
        if self._current is not None:
            self._current.probe()
        self._wake.set()

    def _set_aside(self, process: SshProcess) -> None:
        """It takes no more streams: it is about to end, or somebody has removed its socket."""
        if self._current is process:
            self._current = None
            self._put_by(process)
            self._say_how_it_is()
            self._wake.set()

    def _put_by(self, process: SshProcess) -> None:
        """What it carries stays with it."""
        self._old.add(process)
        process.is_replaced.set()

    def _judge(self) -> None:
        """Whether the current connection is there and answers."""
        self._old = {old for old in self._old if not old.has_ended}
        for old in self._old:
            if not old.streams:
                old.retire()
        current = self._current
        if current is None:
            return
        if current.has_ended:
            log.info("ssh to %s ended: %s", self.destination, current.stderr.last)
            self._message = current.stderr.last
            self._current = None
        elif self._suspect_since is not None and current.last_answer > self._suspect_since:
            # The person's own attempt goes on: they wanted a new connection.
            if not self._wants_questions:
                self._suspect_since = self._barred = None
                self._trying.stop()
        elif self._suspect_since is None and current.silent_s >= DEGRADED_S:
            self._suspect_since = current.last_answer

    def _take_up(self) -> None:
        """What the attempts came to."""
        process, failures = self._trying.take_results()
        for attempt, failed in failures:
            log.debug("no connection to %s: %s", self.destination, failed.error)
            self._message = failed.message
            if attempt.asks:
                self._wants_questions = False
            if failed.final or not self._was_ready:
                self._barred = failed
        if process is not None:
            self._adopt(process)
        elif self._barred is not None and self._current is None:
            self._problem, self._barred = self._barred, None
            self._failed_at = time.monotonic()
            self._trying.stop()

    def _adopt(self, process: SshProcess) -> None:
        log.info("connected to %s", self.destination)
        if self._current is not None:
            self._put_by(self._current)
        self._current = process
        self._was_ready = True
        self._wants_questions = False
        self._suspect_since = self._barred = None
        self._message = ""
        self._trying.stop()

    def _try(self) -> None:
        is_needed = self._current is None or self._suspect_since is not None
        if not is_needed or self._problem is not None or self._barred is not None:
            return
        if self._wants_questions:
            self._trying.start_with_questions(self._ask)
        else:
            self._trying.start_next()

    def _say_how_it_is(self) -> None:
        host, current = self.destination, self._current
        if self._problem is not None:
            self._say("lost", str(self._problem.error))
        elif self._trying.is_asking:
            state: State = "reconnecting" if self._was_ready else "connecting"
            self._say(state, "ssh waits for your answer.")
        elif current is None and not self._was_ready:
            self._say("connecting", f"Connecting to {host}.")
        elif current is None:
            self._say("reconnecting", f"The connection to {host} is lost; a new one is being made.")
        elif self._suspect_since is None:
            self._say("ready")
        elif self._wants_questions or current.silent_s >= GIVEN_UP_S:
            self._say("reconnecting", f"A new connection to {host} is being made.")
        else:
            self._say("degraded", f"{host} does not answer; a new connection is being made.")

    def _say(self, state: State, reason: str = "") -> None:
        seen = self.health
        since = seen.since if seen.state == state else time.monotonic()
        control = str(self._current.control_path) if state == "ready" and self._current else ""
        self.health = Health(state, reason, self._message, since, control)
        if self.health != seen:
            self._news.set()
            self._news = asyncio.Event()
            self._changed()
