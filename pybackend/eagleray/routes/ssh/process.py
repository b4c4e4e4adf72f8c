"""One ssh process; its session echoes our probes, which shows the health of the connection."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eagleray.common import tasks
from eagleray.common.tasks import wait_for_event
from eagleray.routes.commands import start_process
from eagleray.routes.ssh import mux
from eagleray.routes.ssh.errors import StderrLines, ssh_missing

# The command of the session; every login shell can start it.
ECHO = ("exec", "cat")

PROBE_S = 1.5
# A start file of the remote shell may have read earlier probes.
_PROBE_AGAIN_S = 3.0
_KILL_S = 2.0
_LATE_S = 1.0
# Longer than until it is killed.
_GONE_S = 10.0


class SshStream:
    """One TCP connection over the ssh that listens on `control_path`.

    `ended` is set when ssh has closed it, for whatever reason.  `lost` is set when its ssh process has died, up
    to a second later; it stays clear when one of its two ends closes it.
    """

    def __init__(self, control_path: Path, close: Callable[[], None]) -> None:
        self.ended = asyncio.Event()
        self.lost = asyncio.Event()
        self._control_path = control_path
        self._close = close

    async def is_lost(self) -> bool:
        """Whether the stream ended because ssh itself did.

        Sends a request to ssh: a live one answers at once whatever the state of its link, and the end of a process is
        reported late.
        """
        try:
            await asyncio.wait_for(mux.check(self._control_path), _LATE_S)
        except (ConnectionError, mux.MuxError):
            return True
        except (OSError, asyncio.TimeoutError):
            # An ssh that ends removes its socket, but so do programs that clean /tmp.
            await wait_for_event(self.lost, _LATE_S)
        return self.lost.is_set()

    def close(self) -> None:
        """Ends the connection without waiting for data in flight."""
        self._close()


class SshProcess:
    """Owns an ssh process and its pipes until `stop`; `changed` is called when it is ready or has ended.

    `control_path` is where the master listens: this process if it `owns_path`, else the user's own.
    The process dies with us even when we are killed: its session ends at the end of its input.  While it still
    logs in, it ends when its question fails, a security key gives up (30 s) or the server does (120 s).
    """

    def __init__(self, control_path: Path, owns_path: bool, changed: Callable[[], None]) -> None:
        self.control_path = control_path
        self._owns_path = owns_path
        self.stderr = StderrLines()
        self.is_ready = False
        self.has_ended = False
        self.last_answer = time.monotonic()
        self.streams: set[SshStream] = set()
        self.is_replaced = asyncio.Event()
        self._just_ended: set[SshStream] = set()
        self._changed = changed
        self._news = asyncio.Event()
        self._token = f"eagleray-{secrets.token_hex(8)}".encode()
        self._answered = re.compile(re.escape(self._token) + rb" (\d+)\s*$")
        self._sent = 0
        self._sent_at = 0.0
        self._heard = 0
        self._opening = 0
        self._is_stopping = False
        self._stdin = -1
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._pipes: list[PipeLines] = []

    async def start(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        """Starts `argv`; raises `ssh-missing`."""
        # Our own pipes, since a process that ssh leaves behind (ControlPersist of a jump host) may keep their
        # ends open, and for asyncio a process runs until its pipes are closed (python/cpython#119710).
        pipes = [os.pipe() for _ in range(3)]
        (stdin, self._stdin), (out, stdout), (err, stderr) = pipes
        try:
            self._process = await start_process(
                *argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=dict(environment),
                # Without a terminal it asks through the helper, and our terminal's keys don't reach it.
                start_new_session=True,
            )
        except BaseException as error:
            self._close_stdin()
            os.close(out)
            os.close(err)
            if isinstance(error, OSError):
                raise ssh_missing(argv[0]) from error
            raise
        finally:
            for end in (stdin, stdout, stderr):
                os.close(end)
        os.set_blocking(self._stdin, False)
        self._pipes = [PipeLines(out, self._take_answer), PipeLines(err, self._take_stderr)]
        # A connection without probes counts as silent and is replaced; `_ending` reports its end in any case.
        self._tasks = [
            tasks.owned(self._probing(), "probes of ssh", tasks.only_logged),
            tasks.owned(self._ending(), "end of ssh", tasks.only_logged),
        ]

    @property
    def silent_s(self) -> float:
        """The time since the last answer."""
        return time.monotonic() - self.last_answer

    @property
    def returncode(self) -> int | None:
        return self._process.returncode if self._process is not None else None

    async def wait_changed(self, limit_s: float) -> None:
        """Returns after the next change, or after `limit_s`."""
        await wait_for_event(self._news, limit_s)
        self._news.clear()

    def probe(self) -> None:
        """Sends a probe now."""
        self._sent += 1
        self._sent_at = time.monotonic()
        # A full pipe holds earlier probes; a closed one means that the process ends.
        with contextlib.suppress(OSError):
            os.write(self._stdin, b"%s %d\n" % (self._token, self._sent))

    async def forward(self, host: str, port: int, client: int) -> SshStream:
        """Calls `mux.forward` for this connection; raises ForwardRefused with the reason, if ssh gave one."""
        if not self._opening:
            # Reasons of earlier requests must not explain this one.
            self._refusal()
            self.stderr.forget_refusals()
        self._opening += 1
        try:
            sock = await mux.forward(self.control_path, host, port, client)
        except mux.ForwardRefused as error:
            raise mux.ForwardRefused(self._refusal()) from error
        finally:
            self._opening -= 1
        loop = asyncio.get_running_loop()

        def end() -> None:
            if forwarded in self.streams:
                self.streams.discard(forwarded)
                loop.remove_reader(sock)
                sock.close()
                forwarded.ended.set()
                self._notify()

        def hear() -> None:
            with contextlib.suppress(BlockingIOError):
                try:
                    is_over = not sock.recv(4096)
                except ConnectionError:
                    is_over = True
                if is_over:
                    end()
                    # The end of ssh itself is reported a little later than the end of its sockets.
                    self._just_ended.add(forwarded)
                    loop.call_later(_LATE_S, self._just_ended.discard, forwarded)

        forwarded = SshStream(self.control_path, end)
        self.streams.add(forwarded)
        loop.add_reader(sock, hear)
        return forwarded

    def retire(self) -> None:
        """Ends the process when it has no more users; a terminal of the user may be one."""
        if not self.is_ready:
            self.stop()
            return
        if self._owns_path:
            self.control_path.unlink(missing_ok=True)
        self._close_stdin()

    def stop(self) -> None:
        """Ends the process and all its streams."""
        if self._is_stopping:
            return
        self._is_stopping = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if self.is_ready:
                    # ssh ends its ProxyCommand itself; other processes of its group may be in use, such
                    # as the master of a jump host.
                    self._process.terminate()
                else:
                    # Before that it would leave behind a jump host's ssh, which keeps connecting.
                    os.killpg(self._process.pid, signal.SIGTERM)
                asyncio.get_running_loop().call_later(_KILL_S, self._kill)
        elif self._process is None:
            self.has_ended = True
        self._close_stdin()

    async def wait(self, limit_s: float = _GONE_S) -> None:
        """Waits for the end of the process, at most `limit_s`."""
        if self._tasks:
            await asyncio.wait(self._tasks[1:], timeout=limit_s)

    def _refusal(self) -> str:
        """Returns why a stream was just refused: ssh writes it before it answers, so it is in the pipe already."""
        for pipe in self._pipes[1:]:
            pipe.read()
        return self.stderr.next_refusal()

    def _kill(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def _take_answer(self, line: bytes) -> None:
        # A start file of the shell may have printed before it without ending its line.
        answer = self._answered.search(line)
        if answer is None:
            return
        self._heard = max(self._heard, int(answer[1]))
        self.last_answer = time.monotonic()
        self.is_ready = True
        self._notify()

    def _take_stderr(self, line: bytes) -> None:
        self.stderr.take(line.decode(errors="replace"))

    async def _probing(self) -> None:
        while True:
            waits = self._heard < self._sent
            if not waits or time.monotonic() - self._sent_at >= _PROBE_AGAIN_S:
                self.probe()
            await asyncio.sleep(PROBE_S)

    async def _ending(self) -> None:
        assert self._process is not None
        try:
            await self._process.wait()
        finally:
            self._tasks[0].cancel()
            for pipe in self._pipes:
                pipe.close()
            self._close_stdin()
            if self._owns_path:
                # A killed master leaves its socket behind.
                self.control_path.unlink(missing_ok=True)
            self.has_ended = True
            for forwarded in [*self.streams, *self._just_ended]:
                forwarded.lost.set()
                forwarded.close()
            self._notify()

    def _notify(self) -> None:
        self._news.set()
        self._changed()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1


_LONGEST_LINE = 2**16


class PipeLines:
    """Owns the reading end of a pipe and calls `take` for each line."""

    def __init__(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        self._descriptor = descriptor
        self._take = take
        self._rest = b""
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self.read)

    def close(self) -> None:
        """Reads the rest of the pipe and closes it: a process left behind may hold the other end open."""
        while self._descriptor >= 0 and self.read():
            pass
        self._end()

    def read(self) -> bool:
        try:
            data = os.read(self._descriptor, _LONGEST_LINE)
        except OSError:
            return False
        if not data:
            self._end()
            return False
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_LONGEST_LINE:]
        for line in lines:
            self._take(line)
        return True

    def _end(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            if self._rest:
                self._take(self._rest)


class ReplacedError(Exception):
    """Another connection replaced the one that was to open a stream."""


async def forward_within(
    process: SshProcess, host: str, port: int, client: int, limit_s: float
) -> SshStream:
    """Calls `SshProcess.forward` while the process isn't replaced; raises TimeoutError or ReplacedError."""
    forwarding = tasks.shared(process.forward(host, port, client), f"{host}:{port}")
    replaced = tasks.shared(process.is_replaced.wait(), "replaced")
    is_taken = False
    try:
        both: set[asyncio.Future[Any]] = {forwarding, replaced}
        await asyncio.wait(both, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        if forwarding.done():
            is_taken = True
            return forwarding.result()
        raise ReplacedError if replaced.done() else asyncio.TimeoutError
    finally:
        replaced.cancel()
        if not is_taken:
            forwarding.cancel()
            forwarding.add_done_callback(_close)


def _close(forwarding: asyncio.Future[SshStream]) -> None:
    """Closes a stream that was opened just when the caller stopped waiting."""
    if not forwarding.cancelled() and forwarding.exception() is None:
        forwarding.result().close()
