"""The terminal of one connection to Ray's own pdb; a process of its own with the standard library only.

pdb fails the task when its connection ends, so it ends only by `continue`, after which
pdb itself closes.  Ctrl-D, a closed terminal and SIGTERM send it for the user.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import queue
import re
import signal
import socket
import sys
import threading
import time
from types import FrameType

from eagleray.common import l10n
from eagleray.common.l10n import later, translated

# The exit codes of `main`.
ENDED, REFUSED, SILENT, WENT_ON = 0, 4, 3, 10
SILENT_S = 30.0
RETRY_DELAYS_S = 0.1

_PROMPT = re.compile(r"(?:^|\n)(\((?:Pdb|com)\) )$")
_BREAKS = frozenset({"b", "break", "tbreak"})
_CLOSING = frozenset({"c", "cont", "continue", "remote", "get"})
_FAILING = frozenset({"q", "quit", "exit", "EOF"})
_FOLLOWED = frozenset({"remote", "get"})
_URGENT = frozenset({signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1})
# A breakpoint of pdb that is met after its connection was closed would raise in the task.
_CLEAR = "!__import__('ray').util.rpdb._RemotePdb.active_instance.clear_all_breaks()"

RUNS = later("It runs until pdb pauses it again. Press Ctrl-C again to resume it from there.")
WAITING = later("Waiting for its next pause. You can close the terminal.")
FAILS = later(
    "This ends the task with bdb.BdbQuit. Enter it again to do so. Ctrl-D resumes the task instead."
)
CLEARED = later("(Its breakpoints are cleared: Ray's pdb can't pause at them later.)")


class _Gone(Exception):
    """pdb has closed the connection while a line was being typed."""


class _Leave(Exception):
    """The terminal was closed."""


def main(arguments: list[str]) -> int:
    """`ADDRESS`: HOST:PORT or the path of a Unix socket."""
    l10n.use(l10n.language_of())
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (input() edits lines with it)
    try:
        connection = connected(arguments[0])
    except OSError as error:
        print(os.strerror(error.errno) if error.errno else error, file=sys.stderr)
        return REFUSED
    with connection:
        return PdbTerminal(connection).run()


def connected(address: str) -> socket.socket:
    if address.startswith("/"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(address)
        return connection
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host.strip("[]"), int(port)), 10)
    connection.settimeout(None)
    return connection


class PdbTerminal:
    """Reads commands where pdb asks for them; used by the main thread of a process that does nothing else."""

    def __init__(self, connection: socket.socket, silent_s: float = SILENT_S) -> None:
        self._connection = connection
        self._silent_s = silent_s
        # Output of pdb, None at its end, or an interrupt: only a SimpleQueue may be filled by a signal handler.
        self._received: queue.SimpleQueue[str | KeyboardInterrupt | None] = queue.SimpleQueue()
        self._typing = False
        self._closed_by_pdb = threading.Event()
        self._has_breaks = False
        self._last = ""

    def run(self) -> int:
        signal.signal(signal.SIGINT, self._on_interrupt)
        signal.signal(signal.SIGUSR1, self._on_gone)
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, self._on_closed)
        woken, waking = socket.socketpair()
        waking.setblocking(False)
        signal.set_wakeup_fd(waking.fileno())
        # A signal that another thread takes does not wake the one that waits for a line.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._say_again, args=(woken,), daemon=True).start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            return self._talk()
        except _Leave:
            self._leave(quiet=True)
            return ENDED

    def _talk(self) -> int:
        first: str | KeyboardInterrupt | None = KeyboardInterrupt()
        while isinstance(first, KeyboardInterrupt):
            # pdb may be about to print its prompt, so the connection must stay open.
            try:
                first = self._received.get(timeout=self._silent_s)
            except queue.Empty:
                return SILENT
        while (prompt := self._shown(first)) is not None:
            first = ""
            line = self._typed(prompt)
            if line is None:
                self._leave()
                return ENDED
            if not self._closed_by_pdb.is_set():
                self._send(line)
        return WENT_ON if self._last in _FOLLOWED else ENDED

    def _listen(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with contextlib.suppress(OSError):
            while data := self._connection.recv(65536):
                self._received.put(decoder.decode(data))
        self._closed_by_pdb.set()
        self._received.put(None)
        if self._typing:
            os.kill(os.getpid(), signal.SIGUSR1)

    def _say_again(self, woken: socket.socket) -> None:
        """Repeats signals that came after the last check and before input() waits, which ignores them."""
        ours = threading.main_thread().ident or 0
        while numbers := woken.recv(64):
            for number in _URGENT.intersection(numbers):
                while self._typing:
                    time.sleep(RETRY_DELAYS_S)
                    signal.pthread_kill(ours, number)

    def _shown(self, first: str | None) -> str | None:
        """Shows what pdb says up to its next prompt, which is the answer; None at the end."""
        line, interrupts = "", 0
        message: str | KeyboardInterrupt | None = first
        while message is not None:
            if isinstance(message, KeyboardInterrupt):
                interrupts += 1
                self._show(f"\n{translated(RUNS if interrupts == 1 else WAITING)}\n")
                if interrupts == 2:
                    self._say_continue()
            else:
                line += readable(message)
            if prompt := _PROMPT.search(line):
                self._show(line[: prompt.start(1)])
                return prompt[1]
            whole, end, line = line.rpartition("\n")
            self._show(whole + end)
            message = self._received.get()
        self._show(line + "\n" if line else "")
        return None

    def _typed(self, prompt: str) -> str | None:
        """A line that the user typed; None at the end of the input."""
        while True:
            try:
                line = self._line(prompt)
            except KeyboardInterrupt:
                self._show("\n")
            except EOFError:
                self._show("\n")
                return None
            except _Gone:
                self._show("\n")
                return ""
            else:
                if self._is_allowed(line):
                    return line

    def _line(self, prompt: str) -> str:
        """A signal that comes while a line is typed is raised here; pdb may have gone just before."""
        try:
            self._typing = True
            return "" if self._closed_by_pdb.is_set() else input(prompt)
        finally:
            self._typing = False

    def _is_allowed(self, line: str) -> bool:
        """Whether the line may be sent; one that fails the task has to be typed twice."""
        word, before = _word(line), self._last
        self._last = word
        if word in _FAILING and before not in _FAILING:
            self._show(translated(FAILS) + "\n")
            return False
        return True

    def _send(self, line: str) -> None:
        word = _word(line)
        if word in _CLOSING and self._has_breaks:
            self._show(translated(CLEARED) + "\n")
            self._write(_CLEAR)
            self._has_breaks = False
        self._has_breaks = self._has_breaks or word in _BREAKS
        self._write(line)

    def _leave(self, quiet: bool = False) -> None:
        """Continues the task and waits until pdb has closed the connection, since the task would fail otherwise."""
        if not quiet:
            self._show("The worker runs on.\n")
        self._say_continue()
        # Not by the end in the queue: it may have been taken just before the terminal was closed.
        self._closed_by_pdb.wait()

    def _say_continue(self) -> None:
        if self._has_breaks:
            self._write(_CLEAR)
        self._write("c")

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError):
            self._connection.sendall(line.encode("utf-8", "surrogateescape") + b"\n")

    def _show(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stdout.write(text)
            sys.stdout.flush()

    def _on_gone(self, _signal: int, _frame: FrameType | None) -> None:
        if self._typing:
            raise _Gone

    def _on_interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Raises KeyboardInterrupt only at the prompt: elsewhere it would end us half-way, and the task with us."""
        if self._typing:
            raise KeyboardInterrupt
        self._received.put(KeyboardInterrupt())

    def _on_closed(self, _signal: int, _frame: FrameType | None) -> None:
        # Later input is ignored, and later output is not read.
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        raise _Leave


def readable(text: str) -> str:
    """`text` without what steers terminals; what a worker prints is not to be trusted."""
    return "".join(c for c in text if c in "\n\t" or c.isprintable())


def _word(line: str) -> str:
    return line.strip().partition(" ")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
