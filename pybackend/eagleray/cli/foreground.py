"""The terminal or script that waits for a run of this machine: gives the program its streams, signals and typed input.

1. Input and output are a terminal: the program gets a pseudoterminal, the terminal is raw, and all that is typed is sent
   on, so that Ctrl-C, Ctrl-\\ and Ctrl-Z act on the program. With `keeps_interrupts`, they are signals to this process.
2. Otherwise the program inherits the input. Signals to this process are passed on, also such as SIGUSR1.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import termios
import tty
from collections.abc import Callable
from functools import partial
from typing import Any

from eagleray.cli.output import say
from eagleray.runs.errors import log_not_written
from eagleray.runs.model import RunPlan
from eagleray.runs.streams import Streams
from eagleray.supervisor.launchers.program_parent import ENDING, PASSED_ON

# A packet of typed input.
_TYPED = 4096
_LARGEST_PACKET = 2**16
_IGNORED_BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}
ELSEWHERE = ("job", "sbatch", "remote")


class Foreground:
    """Belongs to one run, from before its start; `close` gives the terminal and the signals back."""

    def __init__(self, *, keeps_interrupts: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket, given = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ignored = {
            number
            for number in signal.valid_signals() - _IGNORED_BY_PYTHON
            if signal.getsignal(number) == signal.SIG_IGN
        }
        self.streams = Streams(
            os.dup(0), os.dup(1), os.dup(2), given.detach(), tuple(sorted(ignored))
        )
        self._keeps_interrupts = keeps_interrupts
        self._is_terminal = os.isatty(0) and os.isatty(1)
        self._cooked: list[Any] | None = None
        self._has_started = False
        self._is_given = True
        self._signals = 0
        # By a signal that was passed on to the program.
        self._was_stopped = False
        # How many SIGCONT were passed on.
        self._continued = 0
        # As `Popen` has it, None while it isn't known; `is_gone`: no more reports come.
        self.code: int | None = None
        self.is_gone = False
        self.on_interrupt: Callable[[], None] | None = None
        self.changed = asyncio.Event()
        handlers: dict[int, Callable[[], None]] = {
            number: partial(self._end if number in ENDING else self._pass_on, number)
            for number in PASSED_ON
        }
        handlers |= {
            signal.SIGTSTP: self._stop,
            signal.SIGCONT: self._resume,
            signal.SIGWINCH: self._send_size,
        }
        self._handled = handlers.keys() - ignored
        for number in self._handled:
            self._loop.add_signal_handler(number, handlers[number])
        self._loop.add_reader(self._socket, self._take)

    @property
    def is_done(self) -> bool:
        """Whether all output of the program was passed on."""
        return self.code is not None or self.is_gone

    def started(self) -> None:
        """The program has its streams: this process keeps none of them open for it."""
        self._close_given()
        if not os.isatty(0):
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.close(null)

    def match_terminal(self) -> None:
        """Takes the terminal over while this process is in its foreground."""
        if not self._is_terminal or not self._has_started or self.is_done:
            return
        is_ours = _is_in_foreground()
        if is_ours and self._cooked is None:
            self._cooked = termios.tcgetattr(0)
            tty.setraw(0, termios.TCSADRAIN)
            if self._keeps_interrupts:
                mode = termios.tcgetattr(0)
                mode[tty.LFLAG] |= termios.ISIG
                termios.tcsetattr(0, termios.TCSADRAIN, mode)
            _end_lines("\r\n")
            self._loop.add_reader(0, self._read_typed)
        elif not is_ours and self._cooked is not None:
            self._give_back()

    def close(self) -> None:
        """The program, if it lives, keeps running."""
        self._send(b"d")
        if self._cooked is not None:
            self._give_back()
        for number in self._handled:
            self._loop.remove_signal_handler(number)
        self._loop.remove_reader(self._socket)
        self._socket.close()
        self._close_given()

    def _close_given(self) -> None:
        if self._is_given:
            self._is_given = False
            self.streams.close()

    def _give_back(self) -> None:
        self._loop.remove_reader(0)
        cooked, self._cooked = self._cooked, None
        assert cooked is not None
        _end_lines(None)
        if _is_in_foreground():
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, cooked)

    def _end(self, number: int) -> None:
        """Passes a signal on that ends programs."""
        self._signals += 1
        if not self._has_started and self._signals > 1:
            raise KeyboardInterrupt
        if self.on_interrupt is not None and (self.is_gone or self._keeps_interrupts):
            self.on_interrupt()
        else:
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        self._send(b"s%d" % number)

    def _stop(self) -> None:
        """Ctrl-Z in the terminal of this process; the program, if it lives, stops first."""
        self._was_stopped = True
        if self.is_done:
            self._suspend()
        else:
            self._pass_on(signal.SIGTSTP)

    def _send(self, packet: bytes) -> None:
        with contextlib.suppress(OSError):
            self._socket.send(packet)

    def _send_size(self) -> None:
        terminal = _terminal()
        if terminal >= 0:
            with contextlib.suppress(OSError):
                self._send(b"w" + fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))

    def _read_typed(self) -> None:
        try:
            typed = os.read(0, _TYPED)
        except OSError:
            typed = b""
        if typed:
            self._send(b"i" + typed)
        else:
            self._loop.remove_reader(0)

    def _take(self) -> None:
        try:
            packet = self._socket.recv(_LARGEST_PACKET)
        except OSError:
            packet = b""
        report: dict[str, Any] = json.loads(packet) if packet else {}
        if "pid" in report:
            self._has_started = True
            self.match_terminal()
        elif "stopped" in report:
            # Otherwise the program continues by a SIGCONT that its parent hadn't yet.
            if report["continued"] == self._continued:
                self._suspend()
        elif "gap" in report:
            say(f"[eagleray] {log_not_written(report['gap'])}")
        elif "code" in report:
            self.code = int(report["code"])
            if self._cooked is not None:
                # Text typed now is for the shell.
                self._give_back()
        else:
            self.is_gone = True
            self._loop.remove_reader(self._socket)
        self.changed.set()

    def _suspend(self) -> None:
        """Stops like the program, so that the shell gets the terminal; returns when this process continues.

        1. The program stopped by a signal that this process got: so would this process have.
        2. It stopped otherwise, and would have had the terminal: with all that the shell started beside it.
        """
        is_for_shell = self._was_stopped or self._is_terminal or _is_in_foreground()
        if not is_for_shell or signal.SIGTSTP not in self._handled:
            return
        if self._cooked is not None:
            self._give_back()
        self._loop.remove_signal_handler(signal.SIGTSTP)
        if self._was_stopped:
            os.kill(os.getpid(), signal.SIGTSTP)
        else:
            os.killpg(0, signal.SIGTSTP)
        self._loop.add_signal_handler(signal.SIGTSTP, self._stop)
        self._resume()

    def _resume(self) -> None:
        self._was_stopped = False
        self._continued += 1
        self.match_terminal()
        self._send_size()
        self._pass_on(signal.SIGCONT)


def foreground_of(plan: RunPlan) -> Foreground | None:
    """Whether this process gives the program its streams: one of this machine, unless our own output is captured."""
    is_own = sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__
    if plan.kind in ELSEWHERE or plan.server is not None or not is_own:
        return None
    return Foreground(keeps_interrupts=plan.profile is not None)


def end_as(code: int) -> int:
    """Ends this process by the signal that has ended the program, whose negative number `code` is; else returns it.

    A shell then treats the command like the program itself.
    """
    if code >= 0:
        return code
    import resource

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    with contextlib.suppress(OSError, ValueError):
        # The action of SIGKILL can't be set.
        signal.signal(-code, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        os.kill(os.getpid(), -code)
    return 128 - code


def _is_in_foreground() -> bool:
    """Whether this process has the terminal that controls it, which may be none of its streams."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        # A container may lack that file.
        return _has_foreground(_terminal())
    try:
        return _has_foreground(terminal)
    finally:
        os.close(terminal)


def _has_foreground(terminal: int) -> bool:
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False


def _terminal() -> int:
    """The first stream that is a terminal, -1 if none is."""
    return next((fd for fd in (0, 1, 2) if os.isatty(fd)), -1)


def _end_lines(with_text: str | None) -> None:
    """Sets how lines of our messages end: a raw terminal doesn't return to the first column."""
    if sys.stderr.isatty():
        sys.stderr.reconfigure(newline=with_text)  # type: ignore[union-attr]
