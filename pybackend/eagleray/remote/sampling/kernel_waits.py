"""Waits of threads in the kernel, and which processes of this machine can end that.

/proc tells the system call in which a thread waits, with its arguments (proc_pid_syscall(5)): the child of a `wait4`,
the pipe or the socket of a `read`.  Nothing stops for it; a call that ends meanwhile tells nothing.  It takes the right
to trace the process, as reading its stack does.
"""

from __future__ import annotations

import os
import platform
import socket
import struct
import time
from pathlib import Path
from typing import NamedTuple

from . import file_locks, proc
from .processes import title_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

CHILD, READ, WRITE = "child", "read", "write"
ANSWER, CONNECT, CLIENT = "answer", "connect", "client"
FILE_LOCK, SHARED_LOCK, OWN, OPEN = "file-lock", "shared-lock", "own", "open"
CONNECTED = "connected"
KINDS = (CHILD, READ, WRITE, ANSWER, CONNECT, CLIENT, FILE_LOCK, SHARED_LOCK, OWN, OPEN, CONNECTED)

# The numbers of system calls by processor, and how each waits; `poll` and `ppoll` wait for several files.
_POLL, _EPOLL, _LOCK, _FUTEX, _SLEEP = "poll", "epoll", "lock", "futex", "sleep"
_CALLS = {
    "x86_64": {
        CHILD: (61, 247),
        READ: (0, 17, 19, 45, 47),
        WRITE: (1, 18, 20, 44, 46),
        CONNECT: (42,),
        CLIENT: (43, 288),
        OPEN: (2, 257),
        _POLL: (7, 271),
        _LOCK: (72, 73),
        _FUTEX: (202,),
        _EPOLL: (232, 281, 441),
        _SLEEP: (23, 35, 230, 270),
    },
    "aarch64": {
        CHILD: (260, 95),
        READ: (63, 65, 67, 207, 212),
        WRITE: (64, 66, 68, 206, 211),
        CONNECT: (203,),
        CLIENT: (202, 242),
        OPEN: (56,),
        _POLL: (73,),
        _LOCK: (25, 32),
        _FUTEX: (98,),
        _EPOLL: (22, 441),
        _SLEEP: (72, 101, 115),
    },
}
_KIND_OF = {
    number: kind
    for kind, numbers in _CALLS.get(platform.machine(), {}).items()
    for number in numbers
}
_WAITID = (247, 95)
_OPENAT = (257, 56)
_PPOLL = (271, 73)
# A stop by ptrace, as for reading a stack, makes this of `poll`, with the same arguments (restart_syscall(2), Linux 6.18).
_RESTARTED, _POLL_X86_64 = 219, 7
_P_PID = 1
_ANY_CHILD = (0, 0xFFFFFFFF, 2**64 - 1)
_MOST_POLLED = 16
# FUTEX_PRIVATE_FLAG: memory of one process only.
_PRIVATE = 128
_POLLIN, _POLLOUT = 1, 4
_MOST_THREADS = 32
_MOST_NATIVE_THREADS = 256
# SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM and SIGCHLD: Python itself handles none of them.
_OF_PROGRAMS = sum(1 << number - 1 for number in (1, 10, 12, 14, 15, 17))
_MOST_PIDS = 64
_OF_PROCESS = "pid:"
# A node may have tens of thousands of open files, of which each takes some microseconds.
_SEARCH_S = 1.0
_SYN_SENT = 2
_LISTENS, _ESTABLISHED = 10, 1
# A connection that waits for `accept` has no socket of a process yet, so its inode is 0 in proc_pid_net(5).
_UNACCEPTED = "unaccepted "


class KernelWait(NamedTuple):
    """A thread waits as one of `KINDS` says; each of `pids`, processes of this machine, can end that.

    `OWN`: another thread of its process ends it.  `CONNECTED`: an event loop has a connection, over which it may await nothing.  `OPEN`: a process that opens the other end of a FIFO.  `address` is the other end of a connection, `host:port`, or the
    path of a lock file or a FIFO, else "".
    `is_whole`: nothing but `pids` can end it, as far as open files tell, and all threads of the process wait; for a `CLIENT`,
    the thread does nothing else.
    `program` is what the first of `pids` runs, if it is known.
    """

    thread: str
    kind: str
    pids: tuple[int, ...]
    address: str = ""
    is_whole: bool = False
    program: str = ""


class ThreadPlace(NamedTuple):
    """A thread of a process by its number, with its name.

    `is_idle`: its stack is one of a pool that has nothing to do.  `is_at_event`: a handler of a signal may end its wait.
    `polled`: it tries again and again to get this lock.
    """

    pid: int
    tid: int
    name: str
    is_idle: bool = False
    is_at_event: bool = False
    polled: file_locks.PolledLock | None = None


def kernel_waits(
    threads: Iterable[ThreadPlace], children: Mapping[int, Sequence[int]]
) -> dict[int, tuple[KernelWait, ...]]:
    """The waits of `threads`, all of each process, by process; `children` has each process's.

    For idle threads it lists only what the first thread may wait for: for a reader, as the thread does which fills a
    queue of `multiprocessing`, or for data or a lock, where the first one waits for another thread of its process.
    """
    by_pid: dict[int, list[ThreadPlace]] = {}
    for place in threads:
        by_pid.setdefault(place.pid, []).append(place)
    calls = {
        place: call
        for places in by_pid.values()
        for place in places[:_MOST_THREADS]
        if (call := _call(place))
    }
    # Else a server that has answered meanwhile would seem to wait for a client that waits for it.
    calls = {
        place: call
        for place, call in calls.items()
        if call.kind not in (READ, WRITE, _EPOLL) or _call(place) == call
    }
    tables = _Tables({name for call in calls.values() for name in call.files})
    waits: dict[int, tuple[KernelWait, ...]] = {}
    tables.add_locks(
        place
        for place, call in calls.items()
        if call.kind == _SLEEP or (call.kind == FILE_LOCK and not tables.lock_owner(place))
    )
    for pid, places in by_pid.items():
        listed = [
            (place, wait)
            for place in places
            if place in calls and (wait := _wait(place, calls[place], children, tables))
        ]
        first = next((each.kind for place, each in listed if place is places[0]), "")
        # A server looks now and then whether it should end, and a library whether it has waited for too long.
        is_whole = len(listed) == len(places) and not any(
            calls[place].is_timed for place, each in listed if each.kind not in (CLIENT, FILE_LOCK)
        )
        is_whole &= all(each.kind != CONNECTED for _, each in listed)
        loops = [
            each for place, each in listed if each.kind == READ and calls[place].kind == _EPOLL
        ]
        if loops and not (is_whole and _wakes_by_files_alone(pid, listed)):
            # Another thread, or one of a library, may wake an event loop that watches no further file.
            listed = [(place, each) for place, each in listed if each not in loops]
            is_whole = False
        # No other process can end the wait for a lock that is in the memory of this one alone.
        is_closed = (
            is_whole
            and all(each.kind == OWN for _, each in listed)
            and _has_only_own_waits(pid, {place.tid for place in places})
        )
        of_pid = [
            each._replace(
                is_whole=each.is_whole
                and is_whole
                and not (each.kind == OWN and place.is_at_event and _handles_signals(pid)),
                program=_program(each.pids[0]) if each.pids else "",
            )
            for place, each in listed
            if not place.is_idle
            or each.kind == WRITE
            or (first == OWN and each.kind in (READ, SHARED_LOCK))
        ]
        # The stacks tell already which threads wait for others of their process.
        if any(each.kind != OWN for each in of_pid) or is_closed:
            waits[pid] = tuple(of_pid)
    return waits


def has_timer(pid: int, tid: int) -> bool:
    """Whether a thread waits for events, and no longer than to some time, as an event loop with a timer does; or sleeps."""
    number, *arguments = _syscall(ThreadPlace(pid, tid, ""))[:5] or [""]
    kind = _KIND_OF.get(int(number)) if number.isdigit() and len(arguments) == 4 else ""
    is_timed = kind == _EPOLL and _is_timed_epoll([int(each, 16) for each in arguments])
    return is_timed or kind == _SLEEP


def _is_timed_epoll(arguments: Sequence[int]) -> bool:
    # Milliseconds in 32 bits, negative for none: Python 3.14 doesn't call `epoll_pwait2`, which has an address there.
    return arguments[3] & 0xFFFFFFFF < 2**31


def _wakes_by_files_alone(pid: int, listed: Sequence[tuple[ThreadPlace, KernelWait]]) -> bool:
    """Whether nothing wakes the event loop of `pid` but its pipes: its other threads wait for it, or for the same child."""
    ends = {other for _, each in listed if each.kind == READ for other in each.pids}
    is_alone = sum(each.kind == READ for _, each in listed) == 1 and all(
        each.kind in (READ, OWN) or (each.kind == CHILD and ends.issuperset(each.pids))
        for _, each in listed
    )
    return (
        is_alone
        and not _handles_signals(pid)
        and _has_only_own_waits(pid, {place.tid for place, _ in listed})
    )


def _has_only_own_waits(pid: int, python_threads: Collection[int]) -> bool:
    """Whether the threads besides `python_threads`, which run no code in Python, wait for others of the process, too."""
    try:
        tids = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return False
    if len(tids) > _MOST_NATIVE_THREADS:
        return False
    calls = [_call(ThreadPlace(pid, tid, "")) for tid in tids if tid not in python_threads]
    return all(call is not None and call.kind == OWN and not call.is_timed for call in calls)


def _program(pid: int) -> str:
    """The name of the program, or of the script, that `pid` runs; "" if it has ended."""
    return Path(title_of(proc.command_line(pid)).partition(" ")[0]).name


def _handles_signals(pid: int) -> bool:
    """Whether the program has set handlers of signals, which may end a wait of its main thread."""
    return bool(proc.signals(pid, "SigCgt") & _OF_PROGRAMS)


class _Call(NamedTuple):
    """A system call of a thread: the pid or files for which it waits, the latter as /proc names them.

    `is_timed`: it ends after some time.
    """

    kind: str
    pid: int = 0
    files: tuple[str, ...] = ()
    is_timed: bool = False


def _call(place: ThreadPlace) -> _Call | None:
    """The call of a thread; None if it runs, or waits for something else."""
    if place.polled and place.polled.path:
        # Its stack tells: it may be between two sleeps.
        return _Call(_SLEEP, is_timed=True)
    fields = _syscall(place)
    if len(fields) < 7 or not fields[0].isdigit():
        return None
    number, arguments = int(fields[0]), [int(field, 16) for field in fields[1:7]]
    if number == _RESTARTED and proc.waits_in(place.pid, place.tid).startswith("poll_"):
        number = _POLL_X86_64
    kind = _KIND_OF.get(number, "")
    if kind == CHILD:
        if number in _WAITID:
            pid = arguments[1] if arguments[0] == _P_PID else 0
        else:
            pid = 0 if arguments[0] in _ANY_CHILD else arguments[0] & 0xFFFFFFFF
        return _Call(CHILD, pid)
    if kind == _LOCK:
        return _Call(FILE_LOCK)
    if kind == OPEN:
        # Linux waits there for no other file.
        if proc.waits_in(place.pid, place.tid) != "wait_for_partner":
            return None
        path = _text(place.pid, arguments[1 if number in _OPENAT else 0])
        return _Call(OPEN, 0, (path,)) if path.isprintable() and _syscall(place) == fields else None
    if kind == _SLEEP or (number == _RESTARTED and place.polled):
        return _Call(_SLEEP, is_timed=True) if place.polled else None
    if kind == _EPOLL:
        files = _watched(place.pid, arguments[0] & 0xFFFFFFFF)
        return _Call(_EPOLL, 0, files, _is_timed_epoll(arguments)) if files else None
    if kind == _FUTEX:
        is_timed = arguments[3] != 0
        if arguments[1] & _PRIVATE:
            return _Call(OWN, is_timed=is_timed)
        memory = _shared_memory(place.pid, arguments[0])
        return _Call(SHARED_LOCK, 0, (memory,), is_timed) if memory else None
    if kind == _POLL:
        polled = _polled(place.pid, arguments[0], arguments[1])
        # The memory belongs to this call only if the call hasn't ended meanwhile.
        if not polled or _syscall(place) != fields:
            return None
        kinds = {READ if events & _POLLIN else WRITE for _, events in polled}
        files = tuple(_file(place.pid, descriptor) for descriptor, _ in polled)
        # `poll` has milliseconds there, negative for none, and `ppoll` an address.
        is_timed = arguments[2] != 0 if number in _PPOLL else arguments[2] < 2**31
        return _Call(kinds.pop(), 0, files, is_timed) if len(kinds) == 1 and all(files) else None
    if kind:
        file = _file(place.pid, arguments[0] & 0xFFFFFFFF)
        return _Call(kind, 0, (file,)) if file else None
    return None


def _syscall(place: ThreadPlace) -> list[str]:
    """The number of the system call and its arguments; a single field for a thread that runs."""
    try:
        with Path(f"/proc/{place.pid}/task/{place.tid}/syscall").open(encoding="ascii") as file:
            return file.read().split()
    except (OSError, ValueError):
        return []


def _text(pid: int, address: int) -> str:
    """The path at `address`, which may be cut; "" if it can't be read."""
    # Not beyond its page, after which there may be none.
    content = proc.memory(pid, address, 4096 - address % 4096)
    return os.fsdecode(content.partition(b"\0")[0])


def _polled(pid: int, address: int, count: int) -> list[tuple[int, int]]:
    """The descriptors of a `poll` and their events; [] for very many."""
    if not 0 < count <= _MOST_POLLED:
        return []
    content = proc.memory(pid, address, 8 * count)
    if len(content) < 8 * count:
        return []
    rows = struct.iter_unpack("=iHH", content)
    return [(descriptor, events) for descriptor, events, _ in rows if descriptor >= 0]


class _SharedArea(NamedTuple):
    """An area of memory that processes share, from `begin` to before `end`; `name` consists of its device and inode."""

    begin: int
    end: int
    name: str


def _shared_areas(pid: int) -> list[_SharedArea]:
    areas = []
    for line in proc.maps(pid).splitlines():
        fields = line.split(None, 5)
        if len(fields) > 4 and fields[1].endswith("s") and fields[4] != "0":
            begin, _, end = fields[0].partition("-")
            areas.append(_SharedArea(int(begin, 16), int(end, 16), f"{fields[3]} {fields[4]}"))
    return areas


def _shared_memory(pid: int, address: int) -> str:
    """The name of the shared memory of `pid` at `address`, "" if there is none."""
    areas = _shared_areas(pid)
    return next((each.name for each in areas if each.begin <= address < each.end), "")


def _watched(pid: int, descriptor: int) -> tuple[str, ...]:
    """The files for which an `epoll_wait` waits, the end of a process as `pid:812`, and others as "" (proc_pid_fdinfo(5))."""
    try:
        with Path(f"/proc/{pid}/fdinfo/{descriptor}").open(encoding="ascii") as file:  # own file
            rows = [line.split() for line in file if line.startswith("tfd:")]
    except (OSError, ValueError):
        return ()
    numbers = [int(row[1]) for row in rows[:_MOST_POLLED] if len(row) > 1 and row[1].isdigit()]
    files = tuple(_file(pid, number) or _process_file(pid, number) for number in numbers)
    return files if len(rows) == len(numbers) else (*files, "")


def _process_file(pid: int, descriptor: int) -> str:
    """The process whose end makes this file of `pid` ready, as asyncio watches its children from Python 3.12 on."""
    try:
        with Path(f"/proc/{pid}/fdinfo/{descriptor}").open(encoding="ascii") as file:  # own file
            number = next((line.split()[1] for line in file if line.startswith("Pid:")), "")
    except (OSError, ValueError):
        return ""
    return f"{_OF_PROCESS}{number}" if number.isdigit() else ""


def _file(pid: int, descriptor: int) -> str:
    """The name of a pipe or socket, such as `pipe:[812]`; "" for other files."""
    try:
        name = str(Path(f"/proc/{pid}/fd/{descriptor}").readlink())
    except OSError:
        return ""
    return name if name.startswith(("pipe:[", "socket:[")) else ""


def _wait(
    place: ThreadPlace, call: _Call, children: Mapping[int, Sequence[int]], tables: _Tables
) -> KernelWait | None:
    thread = place.name
    if call.kind == CHILD:
        pids = (call.pid,) if call.pid else tuple(children.get(place.pid, ())[:_MOST_PIDS])
        return KernelWait(thread, CHILD, pids, is_whole=bool(call.pid)) if pids else None
    if call.kind == FILE_LOCK:
        owner = tables.lock_owner(place)
        return (
            KernelWait(thread, FILE_LOCK, (owner,), is_whole=True)
            if owner
            else tables.lock_wait(place)
        )
    if call.kind == _SLEEP:
        return tables.lock_wait(place)
    if call.kind == SHARED_LOCK:
        pids = tables.sharing(place.pid, call.files[0])
        return KernelWait(thread, SHARED_LOCK, pids, is_whole=tables.is_whole)
    if call.kind == CLIENT:
        return KernelWait(thread, CLIENT, (), is_whole=True)
    if call.kind == OPEN:
        return KernelWait(thread, OPEN, (), call.files[0])
    if call.kind == OWN:
        return KernelWait(thread, OWN, (), is_whole=True)
    listening = [tables.is_listening(place.pid, name) for name in call.files]
    if any(listening):
        return KernelWait(thread, CLIENT, (), is_whole=call.kind != _EPOLL and all(listening))
    if call.kind == _EPOLL:
        return _of_event_loop(place, call, tables)
    ends = [tables.other_end(place.pid, name, call.kind) for name in call.files]
    pids = tuple(dict.fromkeys(pid for end in ends for pid in end.pids))[:_MOST_PIDS]
    address = next((end.address for end in ends if end.address), "")
    is_whole = tables.is_whole and all(end.is_whole for end in ends)
    if address and all(end.is_own for end in ends):
        return KernelWait(thread, OWN, (), address, is_whole=True)
    if address:
        kind = CONNECT if any(end.is_open for end in ends) else ANSWER
        return KernelWait(thread, kind, pids, address, is_whole and bool(pids))
    return (
        KernelWait(thread, call.kind, pids, "", is_whole) if ends and (pids or is_whole) else None
    )


def _of_event_loop(place: ThreadPlace, call: _Call, tables: _Tables) -> KernelWait | None:
    """The wait of an event loop for data of pipes, or for the end of processes; None if it watches other files, too."""
    pids: dict[int, None] = {}
    for name in call.files:
        end = tables.other_end(place.pid, name, READ) if name[:4] in ("pipe", "sock") else None
        if end is not None and end.is_whole and not end.address:
            pids.update(dict.fromkeys(end.pids))
        elif name.startswith(_OF_PROCESS):
            pids[int(name.removeprefix(_OF_PROCESS))] = None
        elif end is not None and end.address:
            return KernelWait(place.name, CONNECTED, end.pids, end.address)
        else:
            return None
    is_whole = tables.is_whole and not call.is_timed
    return (
        KernelWait(place.name, READ, tuple(pids)[:_MOST_PIDS], "", True)
        if pids and is_whole
        else None
    )


class _OtherEnd(NamedTuple):
    """The processes at the other end of a pipe or socket, and its address if it is a connection, which `is_open` if it isn't made yet.

    `is_whole`: it is known what the other end is.  `is_own`: only the process itself has it.
    """

    pids: tuple[int, ...]
    address: str = ""
    is_open: bool = False
    is_whole: bool = True
    is_own: bool = False


class _Tables:
    """The holders of pipes and sockets, and the connections between sockets.

    `is_whole`: the files of all processes were read.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.is_whole = True
        self._lock_owners = _lock_owners()
        self._lock_files: dict[ThreadPlace, dict[str, file_locks.LockFile]] = {}
        self._locks: dict[file_locks.LockFile, file_locks.Holders] = {}
        self._holders: dict[str, dict[int, int]] = {}
        self._sharing: dict[str, list[int]] = {}
        self._connections: dict[str, dict[str, _TcpRow]] = {}
        wanted = {name for name in names if name.startswith(("pipe:", "socket:"))}
        self._unix_peers = _unix_peers() if any(map(_is_socket, wanted)) else {}
        peers = {self._unix_peers[name] for name in wanted if name in self._unix_peers}
        self._search(wanted | peers)

    def lock_owner(self, place: ThreadPlace) -> int:
        """The living owner of the file lock for which a call of `place` waits, 0 if none is known."""
        owner = self._lock_owners.get(place.tid) or self._lock_owners.get(place.pid, 0)
        return owner if owner and proc.is_alive(owner) else 0

    def add_locks(self, places: Iterable[ThreadPlace]) -> None:
        """Adds the holders of the lock files for which `places` wait."""
        self._lock_files = {
            place: file_locks.files_of(place.pid, place.polled or file_locks.PolledLock())
            for place in places
        }
        files = {file for listed in self._lock_files.values() for file in listed.values()}
        self._locks = file_locks.holders(files) if files else {}

    def lock_wait(self, place: ThreadPlace) -> KernelWait | None:
        """The wait of `place` for a lock file that another process holds, or that no process deletes; None if that
        isn't known.
        """
        polled = place.polled or file_locks.PolledLock()
        for path, file in self._lock_files.get(place, {}).items():
            holders = self._locks[file]
            pids = holders.locked_by or (holders.open_in if polled.is_until_deleted else ())
            if (
                not pids
                and polled.is_until_deleted
                and (maker := file_locks.maker_of(place.pid, path))
            ):
                pids = (maker,)
            if place.pid in pids and not polled.path:
                # Its own lock: it waits for the lock of another file, or has it twice.
                continue
            if pids or (polled.is_until_deleted and holders.is_whole):
                # Nothing tells which of several open files it polls, and any process may delete a file.
                is_sure = bool(polled.path) and not polled.is_until_deleted
                return KernelWait(place.name, FILE_LOCK, pids, path, is_sure and holders.is_whole)
        return None

    def sharing(self, pid: int, memory: str) -> tuple[int, ...]:
        """The processes besides `pid` that have this shared memory.

        Locks of `multiprocessing` are in files without a name and of mode 0600, which processes of other users can't share.
        """
        if memory not in self._sharing:
            end = time.monotonic() + _SEARCH_S
            listed = self._sharing[memory] = []
            for path in Path("/proc").iterdir():
                if time.monotonic() > end:
                    self.is_whole = False
                    break
                if path.name.isdigit() and any(
                    each.name == memory for each in _shared_areas(int(path.name))
                ):
                    listed.append(int(path.name))
        return _without(pid, self._sharing[memory])[:_MOST_PIDS]

    def is_listening(self, pid: int, name: str) -> bool:
        """Whether this is the socket of a server that waits for clients."""
        connection = self._tcp(pid).get(name) if _is_socket(name) else None
        return connection is not None and connection.state == _LISTENS

    def other_end(self, pid: int, name: str, kind: str) -> _OtherEnd:
        """The other end of a pipe or socket of `pid`."""
        if not _is_socket(name):
            needed = os.O_WRONLY if kind == READ else os.O_RDONLY
            modes = self._holders.get(name, {})
            return _end_of(pid, [each for each in modes if needed in _modes(modes[each])])
        if name in self._unix_peers:
            return _end_of(pid, self._holders.get(self._unix_peers[name], ()))
        connections = self._tcp(pid)
        connection = connections.get(name)
        if connection is None:
            return _OtherEnd((), is_whole=False)
        ends = (connection.remote, connection.local)
        other = next((each for each, row in connections.items() if row[:2] == ends), "")
        if other.startswith(_UNACCEPTED):
            other = _listener(connections, connection.remote)
        self._search({other} if other else set())
        holders = self._holders.get(other, {})
        is_open = connection.state == _SYN_SENT
        return _OtherEnd(
            _without(pid, holders),
            connection.remote,
            is_open,
            is_whole=not is_open,
            is_own=self.is_whole and [*holders] == [pid],
        )

    def _tcp(self, pid: int) -> dict[str, _TcpRow]:
        try:
            namespace = str(Path(f"/proc/{pid}/ns/net").readlink())
        except OSError:
            namespace = str(pid)
        if namespace not in self._connections:
            self._connections[namespace] = {**_tcp(pid, "tcp"), **_tcp(pid, "tcp6")}
        return self._connections[namespace]

    def _search(self, wanted: set[str]) -> None:
        """Adds the processes that have one of `wanted` open, with how they may use it."""
        missing = wanted - self._holders.keys()
        if not missing:
            return
        self._holders.update({name: {} for name in missing})
        end = time.monotonic() + _SEARCH_S
        for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
            if time.monotonic() > end:
                self.is_whole = False
                return
            try:
                with os.scandir(f"/proc/{pid}/fd") as entries:
                    for entry in entries:
                        self._add(pid, entry.name, missing)
            except FileNotFoundError:
                continue
            except OSError:
                # A process of another user may have the other end.
                self.is_whole = False

    def _add(self, pid: int, descriptor: str, wanted: set[str]) -> None:
        try:
            name = str(Path(f"/proc/{pid}/fd/{descriptor}").readlink())
        except OSError:
            return
        if name in wanted:
            by_pid = self._holders[name]
            by_pid[pid] = by_pid.get(pid, 0) | 1 << _mode(pid, descriptor)


def _end_of(pid: int, holders: Collection[int]) -> _OtherEnd:
    """Without any holder, the process itself included, a wait would have ended: then there is one that can't be seen."""
    return _OtherEnd(_without(pid, holders), is_whole=bool(holders))


def _without(pid: int, pids: Iterable[int]) -> tuple[int, ...]:
    return tuple(each for each in pids if each != pid)


def _is_socket(name: str) -> bool:
    return name.startswith("socket:")


def _modes(bits: int) -> tuple[int, ...]:
    """Returns the modes of a process's descriptors of a pipe: O_RDONLY, O_WRONLY; one that is open for both does both."""
    both = bits >> os.O_RDWR & 1
    return tuple(mode for mode in (os.O_RDONLY, os.O_WRONLY) if bits >> mode & 1 or both)


def _mode(pid: int, descriptor: str) -> int:
    try:
        with Path(f"/proc/{pid}/fdinfo/{descriptor}").open(encoding="ascii") as file:  # own file
            flags = next(line for line in file if line.startswith("flags:"))
        return int(flags.split()[1], 8) & os.O_ACCMODE
    except (OSError, ValueError, StopIteration):
        return os.O_RDWR


def _lock_owners() -> dict[int, int]:
    """The owner of the file lock for which a process waits, by that process (proc_locks(5))."""
    owners: dict[int, int] = {}
    owner = 0
    try:
        with Path("/proc/locks").open(encoding="ascii") as file:
            for line in file:
                fields = line.split()
                is_waiting = len(fields) > 5 and fields[1] == "->"
                pid = fields[5] if is_waiting else fields[4] if len(fields) > 4 else ""
                if not is_waiting:
                    owner = int(pid) if pid.isdigit() else 0
                elif pid.isdigit() and owner:
                    owners[int(pid)] = owner
    except (OSError, ValueError):
        pass
    return owners


def _listener(connections: Mapping[str, _TcpRow], address: str) -> str:
    """The socket of the server at an address of this machine; "" if none listens there."""
    port = address.rpartition(":")[2]
    local = (address, f"0.0.0.0:{port}", f"[::]:{port}")
    listening = [
        (local.index(row.local), name)
        for name, row in connections.items()
        if row.state == _LISTENS and row.local in local
    ]
    return min(listening)[1] if listening else ""


class _TcpRow(NamedTuple):
    local: str
    remote: str
    state: int


def _tcp(pid: int, table: str) -> dict[str, _TcpRow]:
    """The connections in the network of `pid` by the name of their socket (proc_pid_net(5))."""
    connections = {}
    try:
        with Path(f"/proc/{pid}/net/{table}").open(encoding="ascii") as file:  # own file
            next(file, None)
            for line in file:
                fields = line.split()
                if len(fields) <= 9:
                    continue
                name = f"socket:[{fields[9]}]"
                if fields[9] == "0":
                    name = f"{_UNACCEPTED}{fields[1]} {fields[2]}"
                row = _TcpRow(_address(fields[1]), _address(fields[2]), int(fields[3], 16))
                if fields[9] != "0" or row.state == _ESTABLISHED:
                    connections[name] = row
    except (OSError, ValueError):
        pass
    return connections


def _address(text: str) -> str:
    """`10.0.0.7:8000` of the kernel's hexadecimal numbers, which have the byte order of the machine."""
    host, _, port = text.partition(":")
    content = b"".join(
        struct.pack("=I", int(host[at : at + 8], 16)) for at in range(0, len(host), 8)
    )
    if len(content) == 16 and content.startswith(b"\0" * 10 + b"\xff\xff"):
        content = content[12:]
    name = socket.inet_ntop(socket.AF_INET if len(content) == 4 else socket.AF_INET6, content)
    return f"{name}:{int(port, 16)}" if len(content) == 4 else f"[{name}]:{int(port, 16)}"


# linux/sock_diag.h, linux/unix_diag.h.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_REQUEST_OF_ALL = 0x301
_SHOW_PEER, _PEER = 4, 2
_DONE, _FAILED = 3, 2


def _unix_peers() -> dict[str, str]:
    """The connected sockets of this machine's processes by their other ends; {} where the kernel doesn't tell."""
    if not hasattr(socket, "AF_NETLINK"):
        return {}
    peers: dict[str, str] = {}
    request = struct.pack(
        "=IHHIIBBHIIIII", 40, _SOCK_DIAG_BY_FAMILY, _REQUEST_OF_ALL, 1, 0,
        socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _SHOW_PEER, 0, 0,
    )  # fmt: skip
    end = time.monotonic() + _SEARCH_S
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as link:
            link.settimeout(_SEARCH_S)
            link.send(request)
            while time.monotonic() < end:
                if not _add_peers(link.recv(2**16), peers):
                    break
    except (OSError, struct.error):
        pass
    return peers


def _add_peers(content: bytes, peers: dict[str, str]) -> bool:
    """Adds the sockets of one answer; false if it is the last."""
    at = 0
    while at + 16 <= len(content):
        length, kind = struct.unpack_from("=IH", content, at)
        if kind in (_DONE, _FAILED) or length < 16:
            return False
        inode = struct.unpack_from("=I", content, at + 20)[0]
        option = at + 32
        while option + 4 <= at + length:
            size, name = struct.unpack_from("=HH", content, option)
            if size < 4:
                break
            if name == _PEER:
                peer = struct.unpack_from("=I", content, option + 4)[0]
                peers[f"socket:[{inode}]"] = f"socket:[{peer}]"
            option += (size + 3) & ~3
        at += (length + 3) & ~3
    return True
