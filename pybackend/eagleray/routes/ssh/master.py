"""The connection to an ssh destination by the user's own ssh, replaced when it breaks."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from eagleray.common import tasks
from eagleray.common.l10n import t
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
# A new request within this time gets the last failure again.
_REST_S = 2.0
# How long closing waits for a process, which may still serve a terminal.
_RETIRED_S = 2.0


class SshMaster:
    """Owns the ssh processes to one destination; all of it on one event loop.

    Nothing is started before the first `connect` or `argv`.  `folder` is private (0700) and holds the control
    sockets.  `ask` asks the user, and is cancelled when the ssh process is gone; it is used for the first
    connection and after `reconnect`, never by automatic attempts.  `changed` is called after each change of
    `health`.

    1. The first connection is one attempt, with questions.
    2. A connection that hasn't answered for 3 s is suspect, as after a sleep of the machine: attempts run
       beside it.  The first that is ready replaces it, unless the old one answers before.
    3. Streams of the old one stay with it until they end or ssh gives up.
    4. A failure that only the user can fix (a password, a changed host key) ends the attempts: `lost`.
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
        self.health = Health("connecting", t("Connecting to {host}…", host=destination))
        folder = paths.control_folder(folder)
        self._target = SshTarget(destination, folder, options)
        self._ask = ask
        self._changed = changed
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._supervision: asyncio.Task[None] | None = None
        self._attempts = ConnectAttempts(self._target, self._wake.set)
        self._current: SshProcess | None = None
        self._old: set[SshProcess] = set()
        self._wants_questions = True
        self._was_ready = False
        self._suspect_since: float | None = None
        # Why attempts stop: at once without a connection, else when the current one ends.
        self._barred: AttemptFailed | None = None
        self._problem: AttemptFailed | None = None
        self._message = ""
        self._failed_at = 0.0
        self._is_closed = False
        paths.remove_stale(folder)

    async def connect(self, host: str, port: int, client: int, limit_s: float) -> SshStream:
        """Connects `host:port` of the remote end with the socket of the descriptor `client`.

        Waits for a connection, `limit_s` at most (not counted while the user is being asked).
        Returns when the remote end is truly connected; raises an EaglerayError with the reason otherwise, and
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
                # It fell silent meanwhile and was replaced.
                left -= time.monotonic() - began
            except (FileNotFoundError, ConnectionError, mux.MuxError) as error:
                log.info("the control socket to %s: %r", self.destination, error)
                self._set_aside(process)
                left -= time.monotonic() - began
            except asyncio.TimeoutError as error:
                if self._suspect_since is not None:
                    raise errors.ssh_lost(self.destination) from error
                raise errors.remote_slow(address, self.destination, limit_s) from error
            except OSError as error:
                raise errors.ssh_failed(self.destination, str(error)) from error

    async def argv(self, remote: Sequence[str], limit_s: float) -> list[str]:
        """Returns the local command that runs `remote` on the destination over this connection, without a terminal.

        Waits as `connect` does.  Quotes for the remote shell.  Never asks the user.
        """
        process, _ = await self._connection(limit_s)
        ssh = command.program(self._target.options())
        return command.client(ssh, self.destination, process.control_path, remote)

    def reconnect(self) -> None:
        """Makes a new connection now because the user wants it; ssh may ask them again."""
        self._wants_questions = True
        self._problem = self._barred = None
        self._suspect()
        self._begin()

    async def close(self) -> None:
        """Ends all streams, and all processes that no other client uses."""
        self._is_closed = True
        if self._supervision is not None:
            self._supervision.cancel()
            await asyncio.gather(self._supervision, return_exceptions=True)
        await self._attempts.end()
        processes = [*self._old, *([self._current] if self._current else [])]
        for process in processes:
            for forwarded in list(process.streams):
                forwarded.close()
            if process.silent_s < DEGRADED_S:
                process.retire()
            else:
                process.stop()
        await asyncio.gather(*(process.wait(_RETIRED_S) for process in processes))
        self._set_health("lost", t("The connection to {host} is closed.", host=self.destination))

    async def _connection(self, limit_s: float) -> tuple[SshProcess, float]:
        """Returns a connection that answers, and the time that is left."""
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
            began, was_asking = time.monotonic(), self._attempts.is_asking
            await wait_for_event(self._news, left)
            left -= 0 if was_asking else time.monotonic() - began

    def _begin(self) -> None:
        """Starts the supervision of the connection, unless it runs or the last failure is too recent or final."""
        if self._is_closed or (self._supervision is not None and not self._supervision.done()):
            return
        if self._problem is not None:
            is_fresh = time.monotonic() - self._failed_at < _REST_S
            if self._problem.final or is_fresh:
                return
            self._problem = None
        self._wants_questions = self._wants_questions or not self._was_ready
        self._supervision = tasks.lasting(self._supervise, f"ssh {self.destination}")

    async def _supervise(self) -> None:
        sleep_watch, network_watch = SleepWatch(), NetworkWatch()
        while self._problem is None:
            is_ready = self.health.state == "ready"
            if sleep_watch.has_slept() or (not is_ready and network_watch.has_changed()):
                self._suspect()
            self._check_current()
            self._take_results()
            self._start_attempts()
            self._update_health()
            await wait_for_event(self._wake, _TICK_S)
            self._wake.clear()

    def _suspect(self) -> None:
        """Marks the current connection as suspect until its next answer, and starts an attempt at once."""
        self._attempts.hurry()
        self._suspect_since = time.monotonic()
        if self._current is not None:
            self._current.probe()
        self._wake.set()

    def _set_aside(self, process: SshProcess) -> None:
        """Opens no more streams on a process that is about to end, or whose socket was removed."""
        if self._current is process:
            self._current = None
            self._keep_for_streams(process)
            self._update_health()
            self._wake.set()

    def _keep_for_streams(self, process: SshProcess) -> None:
        """Keeps a replaced process for its streams."""
        self._old.add(process)
        process.is_replaced.set()

    def _check_current(self) -> None:
        """Checks whether the current connection exists and answers."""
        self._old = {old for old in self._old if not old.has_ended}
        for old in self._old:
            if not old.streams:
                old.retire()
        current = self._current
        if current is None:
            return
        if current.has_ended:
            log.info("ssh to %s ended: %s", self.destination, current.stderr.last)
            self._message = current.stderr.text
            self._current = None
        elif self._suspect_since is not None and current.last_answer > self._suspect_since:
            # The attempt with questions continues: the user wanted a new connection.
            if not self._wants_questions:
                self._suspect_since = self._barred = None
                self._attempts.stop()
        elif self._suspect_since is None and current.silent_s >= DEGRADED_S:
            self._suspect_since = current.last_answer

    def _take_results(self) -> None:
        """Takes the results of the attempts."""
        process, failures = self._attempts.take_results()
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
            self._attempts.stop()

    def _adopt(self, process: SshProcess) -> None:
        log.info("connected to %s", self.destination)
        if self._current is not None:
            self._keep_for_streams(self._current)
        self._current = process
        self._was_ready = True
        self._wants_questions = False
        self._suspect_since = self._barred = None
        self._message = ""
        self._attempts.stop()

    def _start_attempts(self) -> None:
        is_needed = self._current is None or self._suspect_since is not None
        if not is_needed or self._problem is not None or self._barred is not None:
            return
        if self._wants_questions:
            self._attempts.start_with_questions(self._ask)
        else:
            self._attempts.start_next()

    def _update_health(self) -> None:
        host, current = self.destination, self._current
        if self._problem is not None:
            self._set_health("lost", str(self._problem.error))
        elif self._attempts.is_asking:
            state: State = "reconnecting" if self._was_ready else "connecting"
            self._set_health(state, t("ssh waits for your answer."))
        elif current is None and not self._was_ready:
            self._set_health("connecting", t("Connecting to {host}…", host=host))
        elif current is None:
            self._set_health(
                "reconnecting", t("Lost connection to {host}. Reconnecting…", host=host)
            )
        elif self._suspect_since is None:
            self._set_health("ready")
        elif self._wants_questions or current.silent_s >= GIVEN_UP_S:
            self._set_health("reconnecting", t("Reconnecting to {host}…", host=host))
        else:
            self._set_health("degraded", t("{host} is not responding. Reconnecting…", host=host))

    def _set_health(self, state: State, reason: str = "") -> None:
        before = self.health
        since = before.since if before.state == state else time.monotonic()
        control = str(self._current.control_path) if state == "ready" and self._current else ""
        self.health = Health(state, reason, self._message, since, control)
        if self.health != before:
            self._news.set()
            self._news = asyncio.Event()
            self._changed()
