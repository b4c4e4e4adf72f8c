"""The Python stacks of a process, taken from outside by py-spy; the process runs on as before.

py-spy stops a process for some milliseconds and can't read one that is stopped already; without stopping it reads
that too, but fails on about a third of the dumps of busy processes (py-spy 0.4.3).  So it stops first, except where a filter of
system calls may kill the process for that (`seccomp.py`).  A py-spy that
is killed may leave its process stopped (py-spy issues 390, 416), so the state is compared after each attempt that failed.
It reads files of the process's Python, and fails with the same error as for one that has ended where these were deleted.

pystack 1.7.2 isn't tried after it.  It read that process, and else only what py-spy reads as well (21 cases: Python 3.7 to 3.13, static
and stripped builds, stopped, with the GIL held in C); not one of another mount namespace, which py-spy reads.  It needs the same
ptrace, pauses a process for 58 ms instead of 2.4 ms, and its text has neither classes nor names of threads.
Where py-spy may not read a process of a run, that writes the stack of its main thread itself.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from typing import NamedTuple

from . import proc, seccomp
from .file_locks import PolledLock, polled_lock
from .frames import PythonFrame, answers_from_inside, is_users
from .ray_objects import awaited_objects
from .stack_by_signal import main_stack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any, Protocol

    class ReadRecords(Protocol):
        """Puts the records of these processes into a table as they come, and returns when no further one comes.

        {}: there is none; None: it comes unless native code holds the GIL.
        """

        def __call__(
            self, pids: Collection[int], records: dict[int, Any], *, is_whole: bool
        ) -> None: ...


TIME_LIMIT_S = 5.0
LONGEST_OUTPUT = 16 * 2**20
# `ProcessDump.how` of one that has only its main thread, and doesn't say whether that holds the GIL.
BY_SIGNAL = "signal"
# `ProcessDump.reason` of a process whose Python was replaced or removed while it runs.
FILES_DELETED = "files-deleted"
# The reason for a process whose filter of system calls may kill it for what a sample would cause in it.
SANDBOXED = "seccomp"
# The reason for one whose write to a pipe would be cut by a stop.
WRITES = "pipe-write"

_STOPPED = "Tt"
_BLOCKING, _NONBLOCKING = ("blocking",), ("nonblocking",)
# Each fails on about a third of busy processes, and doesn't stop them.
_NEVER_STOPPING = _NONBLOCKING * 4
# ptrace waits for a process that waits for a disk.
_NOT_TRACED = "TtD"
_UNREADABLE = ("permission", "no-tool", "not-python", FILES_DELETED)
_PEERS = ("src", "dst", "group_src", "group_dst", "tag")
_JOINING = ("port", "rank", "world_size")
# The first characters in which py-spy writes lists, tuples and dictionaries.
_CONTAINERS = ("[", "(", "{")
_EXCEPTION = re.compile(r"<(?:[\w.]+\.)?(\w*(?:Error|Exception|Exit|Interrupt)) at 0x[0-9a-f]+>")
_DENIED = re.compile(r"os error (1|13)\b|Permission denied|Operation not permitted", re.IGNORECASE)
_ENDED = re.compile(r"os error (2|3)\b|No such process", re.IGNORECASE)


class Thread(NamedTuple):
    """A thread, its frames outermost first; `active`: it was running and not waiting in the kernel.

    `peers` are the integers `src`, `port` and so on in PyTorch's functions, and `exceptions` the names of the types of
    the exceptions in local variables.  `variables` is a hash of the variables of the user's functions that only the
    thread itself can change, 0 without any.  `polled` is the lock file of a library for which it waits.  Nothing else
    of the variables is kept: they may hold secrets.  `tid` is its number in the kernel, and `objects` are objects of Ray for
    which it waits (`ray_objects.py`).
    """

    name: str
    is_main: bool
    active: bool
    holds_gil: bool
    frames: tuple[PythonFrame, ...]
    peers: tuple[tuple[str, int], ...] = ()
    exceptions: tuple[str, ...] = ()
    variables: int = 0
    tid: int = 0
    polled: PolledLock | None = None
    objects: tuple[str, ...] = ()


class ProcessDump(NamedTuple):
    """The threads of a process in one sample.

    `state` is its state before (see `proc`), `how` the way that worked, and `reason` why it has no threads: `ended`,
    `not-python`, `permission`, `timeout`, `no-tool`, `files-deleted` or `seccomp`, "" if it has threads.  `resumed`:
    the tool had left it stopped.
    """

    pid: int
    state: str
    how: str
    reason: str
    threads: tuple[Thread, ...]
    resumed: bool = False


class Tools(NamedTuple):
    """The tools that read processes: paths of programs, "" for one that isn't there, and functions.

    `read_records` returns the flight recorders of the processes, among these pids, that serve them.
    """

    py_spy: str = ""
    read_records: ReadRecords | None = None


class ListedThreads(NamedTuple):
    """The threads of a process that py-spy prints: none if it can't read them, for the `reason`.

    `resumed`: the tool had left it stopped.
    """

    threads: list[dict[str, Any]]
    resumed: bool = False
    reason: str = ""


def dump(pid: int, tools: Tools) -> ProcessDump:
    """The stacks of `pid` now, without anything of the variables.  Takes at most twice `TIME_LIMIT_S`."""
    before = proc.stat(pid)
    if before is None or before.state in "ZX":
        return ProcessDump(pid, "", "", "ended", ())
    attempts = _Attempts(before, tools)
    listed, how, reason = attempts.first_readable([])
    if listed is not None:
        return ProcessDump(pid, before.state, how, "", parse(pid, listed), attempts.resumed)
    if reason in _UNREADABLE and (frames := main_stack(pid)):
        main = Thread("MainThread", True, before.state == "R", False, frames)
        return ProcessDump(pid, before.state, BY_SIGNAL, "", (main,), attempts.resumed)
    return ProcessDump(pid, before.state, "", reason, (), attempts.resumed)


# py-spy shows three references of a list with a single `l`, and 24 with six (0.4.3).
_ALL_LOCALS = "-llllll"


def dump_with_variables(pid: int, tools: Tools) -> ProcessDump:
    """The stacks and variables of `pid`, read while it keeps running: variables of a thread that moves may be wrong.

    Variables take py-spy longer than the stacks, and none is worth a longer pause of the process.  Takes at most
    `TIME_LIMIT_S`.
    """
    before = proc.stat(pid)
    if before is None or before.state in "ZX":
        return ProcessDump(pid, "", "", "ended", ())
    attempts = _Attempts(before, tools)
    listed, how, reason = attempts.first_readable([_ALL_LOCALS], _NONBLOCKING)
    return ProcessDump(pid, before.state, how, reason, parse(pid, listed or ()))


def listed_threads(pid: int, tools: Tools) -> ListedThreads:
    before = proc.stat(pid)
    if before is None or before.state in "ZX":
        return ListedThreads([])
    attempts = _Attempts(before, tools)
    listed, _how, _reason = attempts.first_readable(["--locals"])
    return ListedThreads(_of_process(pid, listed), attempts.resumed)


def native_threads(pid: int, tools: Tools) -> ListedThreads:
    """The threads with the frames of native code between and below Python's frames; `reason` is as in `dump`.

    The process is stopped meanwhile: py-spy 0.4.3 can't read native frames of one that runs (it refuses `--native` with
    `--nonblocking`), nor of one that is stopped already.
    """
    before = proc.stat(pid)
    if before is None or before.state in "ZX":
        return ListedThreads([], reason="ended")
    if before.state in _NOT_TRACED:
        return ListedThreads([], reason="stopped")
    if seccomp.may_kill(pid):
        return ListedThreads([], reason=SANDBOXED)
    if proc.writes_to_pipe(pid):
        return ListedThreads([], reason=WRITES)
    attempts = _Attempts(before, tools)
    listed, _how, reason = attempts.first_readable(["--native"], _BLOCKING)
    return ListedThreads(_of_process(pid, listed), attempts.resumed, reason)


def _of_process(pid: int, listed: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return [thread for thread in listed or () if thread["pid"] == pid]


class _Attempts:
    """Runs of py-spy on one process, none of which leaves it stopped; `resumed`: one had."""

    def __init__(self, process: proc.ProcessStat, tools: Tools) -> None:
        self._process = process
        self._tools = tools
        self.resumed = False
        self._may_have_stopped = False

    def first_readable(
        self, options: Sequence[str], methods: Sequence[str] = (*_BLOCKING, *_NONBLOCKING)
    ) -> tuple[list[dict[str, Any]] | None, str, str]:
        """The threads in the JSON of py-spy, the method that worked, and the reason if none did."""
        if not self._tools.py_spy:
            return None, "", "no-tool"
        reason = ""
        is_sandboxed = seccomp.may_kill(self._process.pid)
        if self._process.state in _STOPPED:
            methods = _NONBLOCKING
        elif is_sandboxed or proc.writes_to_pipe(self._process.pid):
            methods = _NEVER_STOPPING
        for method in methods:
            all_options = [*(["--nonblocking"] if method == "nonblocking" else []), *options]
            try:
                listed, reason = _py_spy(self._tools.py_spy, self._process.pid, all_options)
                self._may_have_stopped |= listed is None and method == "blocking"
            except BaseException:
                self._may_have_stopped |= method == "blocking"
                raise
            finally:
                # Also after the next one: the stop that a killed py-spy has begun may come late.
                self._compare()
            if listed is not None:
                return listed, f"py-spy {method}", ""
            if reason == "ended" and self._is_alive():
                reason = FILES_DELETED
            if reason in ("permission", "ended") or (is_sandboxed and reason == "timeout"):
                break
        # Whether it is Python, only a stop would tell.
        return None, "", SANDBOXED if is_sandboxed and reason == "not-python" else reason

    def _is_alive(self) -> bool:
        now = proc.stat(self._process.pid)
        return now is not None and now.started == self._process.started and now.state not in "ZX"

    def _compare(self) -> None:
        # A py-spy that succeeds has resumed the process, which another program may stop meanwhile.
        if self._may_have_stopped and _resume_if_left_stopped(self._process):
            self.resumed = True


def _py_spy(program: str, pid: int, options: list[str]) -> tuple[list[dict[str, Any]] | None, str]:
    command = [program, "dump", "--json", *options, "--pid", str(pid)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, "timeout"
    except OSError:
        return None, "no-tool"
    if done.returncode == 0 and len(done.stdout) <= LONGEST_OUTPUT:
        try:
            listed = json.loads(done.stdout)
            parse(pid, listed)
            return listed, ""
        except (ValueError, KeyError, TypeError, AttributeError):
            return None, "not-python"
    return None, failure_reason(done.stderr.decode("utf-8", "replace"))


def failure_reason(message: str) -> str:
    """Why py-spy failed.  Its first line is the same for a process that has ended and for missing rights."""
    if _DENIED.search(message):
        return "permission"
    return "ended" if _ENDED.search(message) else "not-python"


def parse(pid: int, threads: Iterable[dict[str, Any]]) -> tuple[Thread, ...]:
    """The threads in the JSON of `py-spy dump`, without ours.  Raises KeyError, TypeError or AttributeError for something else."""
    parsed = [_thread(pid, thread) for thread in threads if thread["pid"] == pid]
    return tuple(
        thread for thread in parsed if thread.is_main or not answers_from_inside(thread.frames)
    )


def _thread(pid: int, thread: dict[str, Any]) -> Thread:
    # Without the module `threading` no thread has a name; the main thread has the number of the process.
    is_main = thread["os_thread_id"] == pid or thread["thread_name"] == "MainThread"
    return Thread(
        thread["thread_name"] or ("MainThread" if is_main else ""),
        is_main,
        bool(thread["active"]),
        bool(thread["owns_gil"]),
        tuple(_frame(frame) for frame in reversed(thread["frames"])),
        *_peers_and_exceptions(thread["frames"]),
        _hash_of_variables(thread["frames"]),
        thread["os_thread_id"] or (pid if is_main else 0),
        polled_lock(pid, thread["frames"]),
        awaited_objects(pid, thread["frames"]),
    )


def _peers_and_exceptions(
    frames: Iterable[dict[str, Any]],
) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    peers: dict[str, int] = {}
    exceptions: dict[str, None] = {}
    for frame in frames:
        numbers = _numbers_of(str(frame["filename"]), str(frame["name"]))
        for variable in frame.get("locals") or []:
            name, value = variable["name"], str(variable["repr"])
            if name in numbers and re.fullmatch(r"\d{1,9}", value):
                peers.setdefault(name, int(value))
            elif match := _EXCEPTION.fullmatch(value):
                exceptions.setdefault(match[1])
    return tuple(peers.items()), tuple(exceptions)


def _hash_of_variables(frames: Iterable[dict[str, Any]]) -> int:
    """Hashes numbers, texts and the identities of objects: other threads may fill a list that one of them is."""
    own = tuple(
        (depth, str(variable["name"]), str(variable["repr"]))
        for depth, frame in enumerate(frames)
        if frame.get("locals") and is_users(_frame(frame))
        for variable in frame["locals"]
        if not str(variable["repr"]).startswith(_CONTAINERS)
    )
    return hash(own) if own else 0


def _numbers_of(file: str, function: str) -> tuple[str, ...]:
    """The names of variables whose integers are `peers`, in a function of PyTorch."""
    if file.endswith("torch/distributed/rendezvous.py"):
        return _JOINING
    if not file.endswith("torch/distributed/distributed_c10d.py"):
        return ()
    return _JOINING if function.endswith("init_process_group") else _PEERS


def _frame(frame: dict[str, Any]) -> PythonFrame:
    line = frame["line"]
    return PythonFrame(
        str(frame["name"]), str(frame["filename"]), line if isinstance(line, int) else 0
    )


def _resume_if_left_stopped(before: proc.ProcessStat) -> bool:
    """Whether `before` ran and is stopped now; then it is resumed."""
    after = proc.stat(before.pid)
    left_stopped = (
        after is not None
        and after.started == before.started
        and after.state == "T"
        and before.state not in _STOPPED
    )
    if not left_stopped:
        return False
    try:
        os.kill(before.pid, signal.SIGCONT)
    except OSError:
        return False
    return True
