"""The parent process of a local program: passes its streams on, keeps its exit code, and outlives the supervisor.

Imported alone by `python -I -S`, so that it needs only the standard library.  The first line of its input is the
request, a JSON object:

    command, cwd, env   of the program
    ignored             signals that the program ignores from its start
    log                 the file of the run's output
    missing             the note in it where bytes are lost, with places for their number and the reason
    ends                files for the process id and the exit code; a later one is used where those before can't be
    written streams             null, or descriptors of the terminal or script that waits for the program: `stdin`,
    `stdout`,
                        `stderr`, and `control`, a socket of packets

Each line that it prints is a JSON object with one report for the supervisor: `pid`; `error` (number, text, file) if
nothing was started; `signal` after one was passed on; `gap`, the reason why the log can't be written; `gone` once the
process id may belong to another process; `code` as `Popen` has it, when the log has all output, which a slow reader
doesn't delay.

Without streams the program reads nothing, and both of its outputs are one pipe.  With streams:

1. Input and output are a terminal: the program gets a pseudoterminal, which controls it as the terminal would.
2. Otherwise input is inherited, and an output that is a terminal becomes a pseudoterminal that controls nothing.
3. Each other output is a pipe, which ends when its reader goes away.

Output goes to its reader and to the log.  A log that can't be written, or a file server that hangs, costs parts of the
log and never the program's output.

Packets of the control socket: `s`, `w`, `i` for the program (a signal, the size of the terminal, typed input), `d`
before an end that leaves the program running, and back the reports `pid`, `stopped` (with `continued`, how many SIGCONT
came in before it), `gap` and `code`.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import stat
import termios
import threading
import time
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_PIECE = 2**16
# A pipe or terminal that is ready takes so much without blocking.
_READY_SIZE = 512
_PIPE_READY_SIZE = 4096
# The log may lag behind by so much.  Output waits so long for a log that makes no progress, then is lost for it.
_LOG_LAG = 2**23
_LOG_WAIT_S = 2.0
# Typed input that the program doesn't read.
_MOST_TYPED = 2**20
# Longer than any record, so that a later record needs no new space.
_RECORD_SIZE = 256
_PACKET = 2**13
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_JOB_CONTROL = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
# Signals with a meaning for each process alone: its errors, children, terminal and files.
_OWN = {
    *(signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGCHLD, signal.SIGWINCH),
    *(signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT),
    *(signal.SIGTRAP, signal.SIGSYS, signal.SIGPIPE, signal.SIGXFSZ),
}
# Whoever sends one of these to `eagleray run` means the program: to end, to save a checkpoint, to reload.
PASSED_ON = tuple(sorted(signal.valid_signals() - _JOB_CONTROL - _OWN))
# Signals that the program's terminal or SLURM sends to all processes, and SIGPIPE of reports to a supervisor that has ended.
_IGNORED = (*PASSED_ON, *_JOB_CONTROL, signal.SIGPIPE)
# A pipe holds at most so many pieces; after the program's end its children may write without end.
_MOST_REST = 32


class OutputGap:
    """Output that the log has lost, in its place."""

    def __init__(self, size: int, reason: str) -> None:
        self.size = size
        self.reason = reason


class Log:
    """The file of the output, written by a thread of its own; what it can't take is counted, and noted at the gap."""

    def __init__(self, path: str, missing: str, wake: int) -> None:
        self._path = path
        self._missing = missing
        # Written to when the gap begins or ends.
        self._wake = wake
        self._fd = -1
        # No two gaps are neighbours.
        self._pieces: collections.deque[bytes | OutputGap] = collections.deque()
        self._changed = threading.Condition()
        self._waiting = 0
        self._written_at = time.monotonic()
        self._is_writing = False
        # Whether the log didn't take the last piece or note.
        self._has_failed = False
        self._has_thread = False
        # For the thread of the program; "" while the log can be written.
        self.gap = ""

    def _start(self) -> bool:
        """False at the limit of processes, which later output may find lifted."""
        if not self._has_thread:
            self._has_thread = _start_thread("log", self._run) is not None
        return self._has_thread

    def write(self, piece: bytes) -> None:
        has_thread = self._start()
        with self._changed:
            if not has_thread:
                self.gap = "no thread can be started"
                self._add_gap(OutputGap(len(piece), self.gap))
                return
            limit = self._written_at + _LOG_WAIT_S
            while self._waiting > _LOG_LAG and (left := limit - time.monotonic()) > 0:
                self._changed.wait(left)
                limit = self._written_at + _LOG_WAIT_S
            if self._waiting > _LOG_LAG:
                self.gap = "the file server does not answer"
                self._add_gap(OutputGap(len(piece), self.gap))
                return
            if not self._waiting:
                self._written_at = time.monotonic()
            self._pieces.append(piece)
            self._waiting += len(piece)
            self._changed.notify_all()

    def flush(self) -> None:
        """Returns when all is written, noted or lost, or when the log makes no progress."""
        if not self._start():
            return
        with self._changed:
            self._has_failed = False
            if not self._waiting:
                self._written_at = time.monotonic()
            self._changed.notify_all()
            limit = self._written_at + _LOG_WAIT_S
            while (self._is_writing or not self._is_idle()) and (
                left := limit - time.monotonic()
            ) > 0:
                self._changed.wait(left)
                limit = self._written_at + _LOG_WAIT_S

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._is_idle():
                    self._changed.wait()
                first = self._pieces.popleft()
                gap = first if isinstance(first, OutputGap) else None
                second = self._pieces.popleft() if gap and self._pieces else first
                piece = second if isinstance(second, bytes) else b""
                self._is_writing = True
            left = self._store(gap, piece)
            with self._changed:
                self._is_writing, self._has_failed = False, left is not None
                if left is not None:
                    self._add_gap(left, at_left=True)
                self._waiting -= len(piece)
                self._written_at = time.monotonic()
                self._changed.notify_all()

    def _is_idle(self) -> bool:
        """Whether there is nothing to write; a note that the log didn't take waits for the next piece."""
        if len(self._pieces) > 1:
            return False
        return not self._pieces or (self._has_failed and isinstance(self._pieces[0], OutputGap))

    def _add_gap(self, gap: OutputGap, *, at_left: bool = False) -> None:
        neighbour = self._pieces[0 if at_left else -1] if self._pieces else None
        if isinstance(neighbour, OutputGap):
            neighbour.size += gap.size
        elif at_left:
            self._pieces.appendleft(gap)
        else:
            self._pieces.append(gap)

    def _store(self, gap: OutputGap | None, piece: bytes) -> OutputGap | None:
        """Writes the note of a gap and the piece behind it; returns what was lost of both."""
        try:
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            if gap is not None:
                _write_all(self._fd, (self._missing % (gap.size, gap.reason)).encode())
                gap = None
                self._set_gap("")
            while piece:
                piece = piece[os.write(self._fd, piece) :]
        except OSError as error:
            reason = error.strerror or str(error)
            self._set_gap(reason)
            return OutputGap(len(piece) + (gap.size if gap else 0), reason)
        return None

    def _set_gap(self, reason: str) -> None:
        if reason != self.gap:
            self.gap = reason
            with contextlib.suppress(BlockingIOError):
                os.write(self._wake, b"\0")


def _start_thread(name: str, target: Callable[[], None]) -> threading.Thread | None:
    """None at the limit of processes."""
    thread = threading.Thread(target=target, daemon=True, name=name)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread


def _write_all(fd: int, text: bytes) -> None:
    if os.write(fd, text) < len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Stream:
    """One output of the program: read from `source`, passed to the descriptor `target` (-1 for none) and to the log."""

    def __init__(self, source: int, target: int, *, is_terminal: bool) -> None:
        os.set_blocking(source, False)
        self.source = source
        self.target = target
        self.pending = b""
        self._is_terminal = is_terminal
        self._ends_with_return = False
        self._size = _ready_size(target) if target >= 0 else 0

    def read(self, log: Log) -> bool:
        """Whether there was something."""
        try:
            piece = os.read(self.source, _PIECE)
        except BlockingIOError:
            return False
        except OSError:
            # A pseudoterminal that no process has open any more.
            piece = b""
        if not piece:
            self.close()
            return False
        log.write(self._plain(piece) if self._is_terminal else piece)
        if self.target >= 0:
            self.pending += piece
        return True

    def read_rest(self, log: Log) -> None:
        """Reads what an ended program has written, also before the reader has taken what was read earlier."""
        for _ in range(_MOST_REST):
            if self.source < 0 or not self.read(log):
                return

    def pass_on(self) -> None:
        """Writes what the reader takes without blocking."""
        try:
            self.pending = self.pending[os.write(self.target, self.pending[: self._size]) :]
        except OSError:
            self.reader_left()

    def reader_left(self) -> None:
        """The program gets EPIPE, as it would from the reader itself; the terminal's end is reported by its SIGHUP."""
        self.pending = b""
        if not self._is_terminal:
            self.close()
        self._drop_target()

    def close(self) -> None:
        if self.source >= 0:
            os.close(self.source)
            self.source = -1
        if not self.pending:
            self._drop_target()

    def _drop_target(self) -> None:
        if self.target >= 0:
            os.close(self.target)
            self.target = -1

    def _plain(self, piece: bytes) -> bytes:
        """With the line ends that the program wrote, to which its terminal has added returns."""
        text = (b"\r" if self._ends_with_return else b"") + piece
        self._ends_with_return = text.endswith(b"\r")
        return (text[:-1] if self._ends_with_return else text).replace(b"\r\n", b"\n")


def _ready_size(target: int) -> int:
    mode = os.fstat(target).st_mode
    if stat.S_ISREG(mode):
        return _PIECE
    return _PIPE_READY_SIZE if not os.isatty(target) else _READY_SIZE


class Pipes:
    """The streams of the program: the descriptors that it gets, and the descriptors of this process."""

    def __init__(self, streams: Mapping[str, int] | None) -> None:
        self.given: list[int] = []
        self.streams: list[Stream] = []
        self.slave = -1
        self._terminal: Stream | None = None
        # Whether the terminal controls the program.
        self.is_controlling = False
        if streams is None:
            null = os.open(os.devnull, os.O_RDONLY)  # own file
            output = self._pipe(-1)
            self.given = [null, output, output]
            return
        for fd in streams.values():
            os.set_inheritable(fd, False)
        stdin, stdout, stderr = (streams[name] for name in ("stdin", "stdout", "stderr"))
        self.is_controlling = os.isatty(stdin) and os.isatty(stdout)
        self._open_terminal([stdout, stderr])
        self.given.append(self.slave if self.is_controlling else stdin)
        is_same = os.path.sameopenfile(stdout, stderr) and not os.isatty(stderr)
        self.given.append(self._output(stdout))
        self.given.append(self.given[1] if is_same else self._output(stderr))
        if is_same:
            os.close(stderr)
        if self.is_controlling:
            os.close(stdin)

    @property
    def master(self) -> int:
        """The pseudoterminal of the program, -1 without one and after its end."""
        return -1 if self._terminal is None else self._terminal.source

    def _open_terminal(self, fds: Sequence[int]) -> None:
        """A pseudoterminal like the first terminal among the outputs, if one is."""
        terminal = next((fd for fd in fds if os.isatty(fd)), None)
        if terminal is None:
            return
        master, self.slave = os.openpty()
        mode = termios.tcgetattr(terminal)
        if self.is_controlling:
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        else:
            # The terminal itself, which isn't raw then, ends the lines.
            mode[1] &= ~termios.OPOST
        termios.tcsetattr(self.slave, termios.TCSANOW, mode)
        size = fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, size)
        self._terminal = Stream(master, os.dup(terminal), is_terminal=True)
        self.streams.append(self._terminal)

    def _output(self, target: int) -> int:
        if not os.isatty(target):
            return self._pipe(target)
        os.close(target)
        return self.slave

    def _pipe(self, target: int) -> int:
        source, given = os.pipe()
        self.streams.append(Stream(source, target, is_terminal=False))
        return given

    def close_given(self) -> None:
        for fd in set(self.given) - {self.slave}:
            os.close(fd)


class Record:
    """The process id and later the exit code, in the first of the files that can be written.

    The file gets its size at once: in a full home the code then takes the place of spaces.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self._values: dict[str, Any] = {}

    def write(self, **values: Any) -> None:
        self._values.update(values)
        text = json.dumps(self._values).encode().ljust(_RECORD_SIZE)
        for path in self._paths:
            try:
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
                try:
                    _write_all(fd, text)
                finally:
                    os.close(fd)
            except OSError:
                continue
            return


class ProgramParent:
    """The loop of the process: until the program has ended and every process that has its output, too."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        streams = request["streams"]
        self._control = -1 if streams is None else streams["control"]
        self._record = Record(request["ends"])
        self._pipes = Pipes(streams)
        self._typed = b""
        self._is_to_end = False
        self._gap = ""
        self._pid = 0
        self._code: int | None = None
        self._is_stopped = False
        # How many SIGCONT came from who waits.
        self._continued = 0
        self._wake, wake = os.pipe()
        for fd in (self._wake, wake):
            os.set_blocking(fd, False)
        self._log = Log(request["log"], request["missing"], wake)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def run(self) -> None:
        if not self._start():
            return
        _report(pid=self._pid)
        self._send_report(pid=self._pid)
        while self._code is None or any(stream.source >= 0 for stream in self._streams):
            self._turn()
            if self._code is None:
                self._wait()
        self._log.flush()

    @property
    def _streams(self) -> list[Stream]:
        return self._pipes.streams

    def _start(self) -> bool:
        """Whether the program runs."""
        ready, failed = os.pipe()
        os.set_inheritable(failed, False)
        # As its start time: the `exec` may wait for a file server.
        began = time.time()
        self._pid = os.fork()
        if self._pid == 0:
            self._become_program(failed)
        os.close(failed)
        self._pipes.close_given()
        self._set_group(self._pid)
        problem = os.read(ready, 4096)
        os.close(ready)
        if problem:
            os.waitpid(self._pid, 0)
            _report(error=json.loads(problem))
            return False
        self._record.write(pid=self._pid, began=began)
        return True

    def _set_group(self, pid: int) -> None:
        """Both processes do this, since neither knows which is first; job control needs a parent in the same session."""
        if self._pipes.is_controlling:
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)
                os.tcsetpgrp(self._pipes.slave, pid)

    def _become_program(self, failed: int) -> None:
        request = self._request
        named = request["cwd"]
        try:
            if self._pipes.is_controlling:
                self._set_group(os.getpid())
            else:
                os.setsid()
            os.chdir(named)
            for number in range(1, signal.NSIG):
                if number not in (signal.SIGKILL, signal.SIGSTOP):
                    is_ignored = number in request["ignored"]
                    with contextlib.suppress(OSError, ValueError):
                        signal.signal(number, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
            given = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in self._pipes.given]
            for number, fd in enumerate(given):
                os.dup2(fd, number)
            named = request["command"][0]
            os.execvpe(named, request["command"], request["env"])  # noqa: S606 (what the user asked for)
        except (OSError, ValueError) as error:
            problem = [getattr(error, "errno", None), getattr(error, "strerror", None), named]
            os.write(failed, json.dumps([problem[0], problem[1] or str(error), named]).encode())
        os._exit(127)

    def _turn(self) -> None:
        """Waits for one of the descriptors and does what it allows."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        if self._control >= 0:
            poll.register(self._control, select.POLLIN)
        master = select.POLLOUT if self._typed else 0
        for stream in self._streams:
            if stream.source >= 0:
                events = 0 if stream.pending else select.POLLIN
                is_master = stream.source == self._pipes.master
                if events or (is_master and master):
                    poll.register(stream.source, events | (master if is_master else 0))
            if stream.target >= 0:
                # Without an event this is still told that no reader is left.
                poll.register(stream.target, select.POLLOUT if stream.pending else 0)
        ready = dict(poll.poll())
        if self._wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake, _PIECE)
        for stream in self._streams:
            self._serve(stream, ready)
        if self._control in ready:
            self._take_packet()
        self._type()
        self._report_gap()

    def _serve(self, stream: Stream, ready: Mapping[int, int]) -> None:
        target = ready.get(stream.target, 0)
        if stream.target >= 0 and target & select.POLLOUT:
            stream.pass_on()
        elif stream.target >= 0 and target & (select.POLLERR | select.POLLHUP):
            stream.reader_left()
        readable = select.POLLIN | select.POLLHUP | select.POLLERR
        if stream.source >= 0 and not stream.pending and ready.get(stream.source, 0) & readable:
            stream.read(self._log)
        if stream.source < 0 and not stream.pending:
            stream.close()

    def _take_packet(self) -> None:
        packet = self._packet()
        if packet is None:
            return
        if not packet:
            self._control_ended()
        elif packet[:1] == b"s":
            self._signal(int(packet[1:]))
        elif packet[:1] == b"w" and self._pipes.master >= 0:
            fcntl.ioctl(self._pipes.master, termios.TIOCSWINSZ, packet[1:9])
            if not self._pipes.is_controlling:
                self._send(signal.SIGWINCH)
        elif packet[:1] == b"d":
            self._is_to_end = False
        elif packet[:1] == b"i" and len(self._typed) < _MOST_TYPED:
            self._typed += packet[1:]

    def _packet(self) -> bytes | None:
        """The next packet of who waits, b"" at the end, None if there may be one."""
        try:
            return os.read(self._control, _PACKET)
        except ConnectionResetError:
            # It was closed with unread reports; packets of before may still be there.
            return None
        except OSError:
            return b""

    def _control_ended(self) -> None:
        """Handles the end of the process that waited: killed without an earlier signal, it leaves the program running.

        The descriptor stays open: the thread that records the end may be about to write to it.
        """
        self._control = -1
        if self._is_to_end and self._code is None:
            self._send(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        self._continued += number == signal.SIGCONT
        if number == signal.SIGTSTP:
            self._wait()
            if self._is_stopped or self._code is not None:
                # It can't stop once more, and who waits has to stop all the same.
                self._report_stop(number)
                return
        if self._code is not None:
            return
        if number == signal.SIGTSTP and not self._pipes.is_controlling:
            # The kernel ignores that one for a group whose parent is in another session (`is_current_pgrp_orphaned` in
            # kernel/signal.c).
            number = signal.SIGSTOP
        self._send(number)
        if number in ENDING:
            self._is_to_end = True
            _report(signal=number)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def _type(self) -> None:
        if self._typed and self._pipes.master >= 0:
            try:
                self._typed = self._typed[
                    os.write(self._pipes.master, self._typed[:_PIPE_READY_SIZE]) :
                ]
            except BlockingIOError:
                pass
            except OSError:
                self._typed = b""

    def _wait(self) -> None:
        while self._code is None:
            try:
                pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._is_stopped = os.WIFSTOPPED(status)
            if self._is_stopped:
                self._report_stop(os.WSTOPSIG(status))
            elif not os.WIFCONTINUED(status):
                self._end(os.waitstatus_to_exitcode(status))

    def _end(self, code: int) -> None:
        """Records and reports the code, and passes on all that the program has written, for which a reader may take long."""
        self._code = code
        _report(gone=True)
        self._leave_terminal()
        for stream in self._streams:
            stream.read_rest(self._log)
        record = partial(self._record_end, code, time.time())
        recording = _start_thread("end", record)
        for stream in self._streams:
            self._drain(stream)
        if recording is None:
            record()
        else:
            recording.join()
        self._send_report(code=code)

    def _record_end(self, code: int, ended: float) -> None:
        self._record.write(code=code, ended=ended)
        self._log.flush()
        self._report_gap()
        _report(code=code)

    def _leave_terminal(self) -> None:
        """So that the end of this process, the leader of the session, sends the program's children no SIGHUP."""
        if self._pipes.slave >= 0:
            if self._pipes.is_controlling:
                with contextlib.suppress(OSError):
                    os.tcsetpgrp(self._pipes.slave, os.getpgrp())
            os.close(self._pipes.slave)
            self._pipes.slave = -1

    def _drain(self, stream: Stream) -> None:
        """Passes the rest on; a signal from who waits means that the reader isn't waited for."""
        while stream.pending:
            poll = select.poll()
            poll.register(stream.target, select.POLLOUT)
            if self._control >= 0:
                poll.register(self._control, select.POLLIN)
            ready = dict(poll.poll())
            if stream.target in ready:
                stream.pass_on()
            elif self._is_given_up():
                stream.reader_left()
        if stream.source < 0:
            stream.close()

    def _is_given_up(self) -> bool:
        packet = self._packet()
        if packet == b"":
            # Its reader may still be there.
            self._control_ended()
        if not packet or packet[:1] != b"s":
            return False
        number = int(packet[1:])
        self._signal(number)
        return number in ENDING

    def _report_stop(self, number: int) -> None:
        self._send_report(stopped=number, continued=self._continued)

    def _report_gap(self) -> None:
        if (gap := self._log.gap) != self._gap:
            self._gap = gap
            if gap:
                _report(gap=gap)
                self._send_report(gap=gap)

    def _send_report(self, **report: Any) -> None:
        """Reports to the terminal or script."""
        if self._control >= 0:
            with contextlib.suppress(OSError):
                os.write(self._control, json.dumps(report).encode())


def _report(**report: Any) -> None:
    """Reports to the supervisor, which may be gone."""
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(report).encode() + b"\n")


def main() -> None:
    with open(0, "rb", 0, closefd=False) as stdin:  # own file
        request = json.loads(stdin.readline())
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ProgramParent(request).run()
    # A thread that hangs at the file server must not keep the process.
    os._exit(0)
