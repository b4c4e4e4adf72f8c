"""One ssh process, whose own session echoes what we send: so we know how the connection is doing."""

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
from eagleray.routes.ssh import mux
from eagleray.routes.ssh.errors import StderrLines, ssh_missing

# What the session runs; the login shell of the person makes a process of it, whatever shell that is.
ECHO = ("exec", "cat")

PROBE_S = 1.5
# A start file of the shell at the far end may have eaten what was sent before.
_PROBE_AGAIN_S = 3.0
_KILL_S = 2.0
_LATE_S = 1.0
# It is killed before that.
_GONE_S = 10.0


class SshStream:
    """One TCP connection that the ssh listening on `control_path` carries.

    `ended` is set when ssh is done with it, for whatever reason.  `lost` is set when the ssh process that
    carries it has died, up to a second later; it stays clear when one of its two ends closes it.
    """

    def __init__(self, control_path: Path, close: Callable[[], None]) -> None:
        self.ended = asyncio.Event()
        self.lost = asyncio.Event()
        self._control_path = control_path
        self._close = close

    async def is_lost(self) -> bool:
        """Whether an end of it that was just seen is that of ssh itself.

        ssh is asked, since one that lives answers at once whatever becomes of its link, and the end of a
        process is told late.
        """
        try:
            await asyncio.wait_for(mux.check(self._control_path), _LATE_S)
        except (ConnectionError, mux.MuxError):
            return True
        except (OSError, asyncio.TimeoutError):
            # An ssh that ends removes its socket, but so do those who clear /tmp.
            await wait_for_event(self.lost, _LATE_S)
        return self.lost.is_set()

    def close(self) -> None:
        """Ends the connection, whatever is still on its way."""
        self._close()


class SshProcess:
    """Owns an ssh process and its pipes until `stop`; `changed` is called when it is ready or has ended.

    `control_path` is where the master listens: this process if it `owns_path`, else one of the person's.
    The process dies with us even when we are killed: its session ends at the end of its input.
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
        # Our own pipes, since a process that ssh leaves behind (ControlPersist of a jump host) may keep its
        # ends, and asyncio takes a process for running until its pipes are closed.
        pipes = [os.pipe() for _ in range(3)]
        (stdin, self._stdin), (out, stdout), (err, stderr) = pipes
        try:
            self._process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=dict(environment),
                # Without a terminal it asks through the helper, and keys pressed in one of ours do not reach it.
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
        self._pipes = [PipeLines(out, self._take_answer), PipeLines(err, self._take_words)]
        # A connection without probes counts as silent and is replaced; `_ending` reports its end in any case.
        self._tasks = [
            tasks.owned(self._probing(), "probes of ssh", tasks.only_logged),
            tasks.owned(self._ending(), "end of ssh", tasks.only_logged),
        ]

    @property
    def silent_s(self) -> float:
        """For how long there has been no answer."""
        return time.monotonic() - self.last_answer

    @property
    def returncode(self) -> int | None:
        return self._process.returncode if self._process is not None else None

    async def wait_changed(self, limit_s: float) -> None:
        """Until something has changed, or the time is over."""
        await wait_for_event(self._news, limit_s)
        self._news.clear()

    def probe(self) -> None:
        """Sends what is to come back, now."""
        self._sent += 1
        self._sent_at = time.monotonic()
        # A full pipe holds earlier probes, and a closed one is told by the end of the process.
        with contextlib.suppress(OSError):
            os.write(self._stdin, b"%s %d\n" % (self._token, self._sent))

    async def forward(self, host: str, port: int, client: int) -> SshStream:
        """Calls `mux.carry` for this connection; raises ForwardRefused with the reason, if ssh gave one."""
        if not self._opening:
            # What nobody waits for any longer must not explain what comes now.
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
                self._tell()

        def hear() -> None:
            with contextlib.suppress(BlockingIOError):
                try:
                    is_over = not sock.recv(4096)
                except ConnectionError:
                    is_over = True
                if is_over:
                    end()
                    # The end of ssh itself is seen a little later than that of its sockets.
                    self._just_ended.add(forwarded)
                    loop.call_later(_LATE_S, self._just_ended.discard, forwarded)

        forwarded = SshStream(self.control_path, end)
        self.streams.add(forwarded)
        loop.add_reader(sock, hear)
        return forwarded

    def retire(self) -> None:
        """Ends once nobody uses it any longer: a terminal of the person's may."""
        if not self.is_ready:
            self.stop()
            return
        if self._owns_path:
            self.control_path.unlink(missing_ok=True)
        self._close_stdin()

    def stop(self) -> None:
        """Ends the process and all that it carries."""
        if self._is_stopping:
            return
        self._is_stopping = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if self.is_ready:
                    # ssh ends its ProxyCommand itself; what else has its group may be others' by now, such
                    # as the master of a jump host.
                    self._process.terminate()
                else:
                    # Before that it would leave behind a jump host's ssh, which goes on connecting.
                    os.killpg(self._process.pid, signal.SIGTERM)
                asyncio.get_running_loop().call_later(_KILL_S, self._kill)
        elif self._process is None:
            self.has_ended = True
        self._close_stdin()

    async def wait(self, limit_s: float = _GONE_S) -> None:
        """Until the process is gone, or the time is over."""
        if self._tasks:
            await asyncio.wait(self._tasks[1:], timeout=limit_s)

    def _refusal(self) -> str:
        """Why a stream was just refused: ssh writes it before it answers, so that it lies in the pipe already."""
        for pipe in self._pipes[1:]:
            pipe.read()
        return self.stderr.next_refusal()

    def _kill(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def _take_answer(self, line: bytes) -> None:
        # A start file of the shell may have written before it without ending its line.
        answer = self._answered.search(line)
        if answer is None:
            return
        self._heard = max(self._heard, int(answer[1]))
        self.last_answer = time.monotonic()
        self.is_ready = True
        self._tell()

    def _take_words(self, line: bytes) -> None:
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
                # A master that was killed leaves its socket behind.
                self.control_path.unlink(missing_ok=True)
            self.has_ended = True
            for forwarded in [*self.streams, *self._just_ended]:
                forwarded.lost.set()
                forwarded.close()
            self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._changed()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1


_LONGEST_LINE = 2**16


class PipeLines:
    """Owns the reading end of a pipe and hands over its lines."""

    def __init__(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        self._descriptor = descriptor
        self._take = take
        self._rest = b""
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self.read)

    def close(self) -> None:
        """Takes what still lies in the pipe: what the process left behind may hold the other end open."""
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
    """Another connection has taken the place of the one that was asked."""


async def forward_within(
    process: SshProcess, host: str, port: int, client: int, limit_s: float
) -> SshStream:
    """`SshProcess.carry` for that time and while the process is not replaced; raises TimeoutError or Replaced."""
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
    """It was opened in the very moment in which nobody waited any longer."""
    if not forwarding.cancelled() and forwarding.exception() is None:
        forwarding.result().close()
