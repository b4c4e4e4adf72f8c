"""The `srun` process that runs the bridge on a node."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import signal
from collections.abc import Callable
from pathlib import Path

from eagleray.common.errors import EaglerayError, last_line
from eagleray.common.route_errors import link_lost, port_refused, port_silent
from eagleray.common.slurm_errors import no_srun
from eagleray.common.tasks import wait_for_event
from eagleray.protocol import jsonlines
from eagleray.protocol.route_spec import RouteSpec
from eagleray.remote.scripts import bridge
from eagleray.remote.scripts.bridge import (
    CLOSE,
    GREETING,
    OPEN,
    OPENED,
    PING,
    REFUSED,
    BadFrame,
    BridgeMux,
    BridgeStream,
)
from eagleray.routes.srun import stderr
from eagleray.routes.transport import Transport

log = logging.getLogger(__name__)

# SLURM starts a step at once, or prints every few seconds that it can't.
GREETING_S = 30.0
# Added to the remote limit: the time that the answer may need to arrive.
_ANSWER_MORE_S = 10.0
# Limit of what a shell profile prints before the greeting.
_LARGEST_NOISE = 2**20
_LONGEST_STDERR = 8192
_END_S = 3.0

_BRIDGE = jsonlines.encode(Path(bridge.__file__).read_text())
_START = (
    "import json, sys; sys.version_info >= (3, 6) or sys.exit('eagleray: Python ' + sys.version.split()[0]); "
    "exec(json.loads(sys.stdin.buffer.readline().decode()))"
)


def bridge_command(spec: RouteSpec, mark: str) -> list[str]:
    """Returns the command to run where `srun` is; the first line of its input is the bridge's text."""
    step = ["--overlap", "--jobid", spec.job, "--nodes=1", "--ntasks=1", "--nodelist", spec.node]
    alone = ["--mpi=none", "--cpu-bind=none", "--job-name=eagleray", "--kill-on-bad-exit=0"]
    return ["srun", *step, *alone, "python3", "-I", "-c", _START, mark]


def environment() -> dict[str, str]:
    """Returns our environment without the variables of a job that we may run in."""
    dropped = ("SLURM_", "SBATCH_", "SRUN_")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(dropped) or name == "SLURM_CONF"
    }


class _Opening:
    """A connection that was requested from the node."""

    def __init__(self, host: str, port: int, limit_s: float) -> None:
        self.remote = (host, port)
        self.limit_s = limit_s
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class SrunProcess(asyncio.SubprocessProtocol):
    """Owns the process.  `heard` is called for all received data, `on_end` once, when the process has ended.

    `problem` then says why; it is also set when the bridge is given up.
    """

    def __init__(
        self, spec: RouteSpec, heard: Callable[[], None], on_end: Callable[[], None]
    ) -> None:
        self.problem: EaglerayError | None = None
        self._spec = spec
        self._heard = heard
        self._on_end = on_end
        self._mark = secrets.token_hex(8)
        self._noise = b""
        self._errors = ""
        self._transport: asyncio.SubprocessTransport | None = None
        self._mux: BridgeMux | None = None
        self._opening: dict[int, _Opening] = {}
        self._last = 0
        self._greeted = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def last_line(self) -> str:
        return last_line(self._errors)

    async def start(self, base: Transport) -> None:
        """Starts `srun` over `base` and waits for the bridge's greeting; raises the reason if it doesn't come."""
        argv = await base.argv(bridge_command(self._spec, self._mark))
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self, *argv, env=environment(), cwd="/", start_new_session=True
            )
        except OSError as error:
            raise no_srun(self._spec.ssh) from error
        self._stdin.write(_BRIDGE)
        try:
            await asyncio.wait_for(self._greeted.wait(), GREETING_S)
        except asyncio.TimeoutError:
            self.give_up(stderr.explain(self._spec, self._errors))
        except BaseException:
            await self.close()
            raise
        if self.problem is not None:
            await self.close()
            raise self.problem

    async def open(
        self, host: str, port: int, limit_s: float, on_over: Callable[[], None]
    ) -> BridgeStream:
        """Opens a stream whose remote end is connected; the caller adds the socket."""
        mux = self._mux
        if mux is None or self.problem is not None:
            raise self.problem or link_lost(self._spec.text)
        self._last += 1
        number = self._last
        stream = BridgeStream(mux, number, on_over=on_over)
        opening = self._opening[number] = _Opening(host, port, limit_s)
        mux.send(OPEN, number, json.dumps([host, port, limit_s]).encode())
        try:
            await asyncio.wait_for(opening.answer, limit_s + _ANSWER_MORE_S)
        except BaseException as error:
            if mux.streams.pop(number, None) and self.problem is None:
                mux.send(CLOSE, number)
            if isinstance(error, asyncio.TimeoutError):
                raise port_silent(host, port, limit_s, self._spec.text) from None
            raise
        finally:
            del self._opening[number]
        return stream

    def ping(self) -> None:
        if self._mux is not None:
            self._mux.send(PING, 0)

    def give_up(self, why: EaglerayError) -> None:
        """Kills the process; all callers that wait for it get `why`."""
        if self.problem is None:
            self.problem = why
            for opening in self._opening.values():
                if not opening.answer.done():
                    opening.answer.set_exception(why)
            self._greeted.set()
            self._signal(signal.SIGKILL)

    async def close(self) -> None:
        """Closes the input, which ends the bridge and `srun`; else signals, and then kills them.

        Doesn't wait for processes that it left behind with its output open, or that the kernel doesn't let die.
        """
        if self._transport is None:
            return
        self.problem = self.problem or link_lost(self._spec.text)
        self._stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await wait_for_event(self._ended, _END_S) or self._has_exited:
                break
            self._signal(number)
        if not await wait_for_event(self._ended, 0 if self._has_exited else _END_S):
            log.info("what %s has left behind is not waited for", self._spec.text)
            self._transport.close()
            if self._mux is not None:
                self._mux.close()

    # --- callbacks of the process --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._heard()
        if fd == 2:
            self._errors = (self._errors + data.decode("utf-8", "replace"))[-_LONGEST_STDERR:]
        elif self._mux is None:
            self._read_greeting(data)
        else:
            self._feed(data)

    def process_exited(self) -> None:
        # Its last output may still be in the pipes, so the reason is determined when they are closed.
        if self._mux is not None:
            self._mux.hold(True)

    def connection_lost(self, error: Exception | None) -> None:
        was_ready = self._mux is not None
        text = self._errors
        explained = stderr.explain(self._spec, text)
        is_explained = explained.code != "srun-failed"
        self.give_up(explained if is_explained or not was_ready else _lost(self._spec, text))
        # Callers learn of the loss before the connections end.
        self._on_end()
        if self._mux is not None:
            self._mux.close()
        if self._transport is not None:
            self._transport.close()
        self._ended.set()

    def pause_writing(self) -> None:
        if self._mux is not None:
            self._mux.hold(True)

    def resume_writing(self) -> None:
        if self._mux is not None:
            self._mux.hold(False)

    def _read_greeting(self, data: bytes) -> None:
        self._noise += data
        before, greeting, after = self._noise.partition(GREETING + self._mark.encode() + b"\n")
        if greeting:
            self._noise = b""
            self._mux = BridgeMux(self._stdin, self._on_frame)
            self._greeted.set()
            self._feed(after)
        elif len(before) > _LARGEST_NOISE:
            self.give_up(stderr.explain(self._spec, self._errors))

    def _feed(self, data: bytes) -> None:
        assert self._mux is not None
        try:
            self._mux.feed(data)
        except BadFrame as error:
            self.give_up(link_lost(self._spec.text, str(error)))

    def _on_frame(self, kind: int, number: int, payload: bytes) -> None:
        opening = self._opening.get(number)
        if opening is None or opening.answer.done():
            return
        if kind == OPENED:
            opening.answer.set_result(None)
        elif kind == REFUSED:
            opening.answer.set_exception(self._refused(opening, payload.decode("utf-8", "replace")))

    def _refused(self, opening: _Opening, why: str) -> EaglerayError:
        through = self._spec.text
        if why:
            return port_refused(*opening.remote, why, through)
        return port_silent(*opening.remote, opening.limit_s, through)

    @property
    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        return stdin

    @property
    def _has_exited(self) -> bool:
        return self._transport is None or self._transport.get_returncode() is not None

    def _signal(self, number: signal.Signals) -> None:
        if self._transport is not None and not self._has_exited:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), number)


def _lost(spec: RouteSpec, text: str) -> EaglerayError:
    return link_lost(spec.text, output=text)
