"""Waits of threads in the kernel, and which processes of this machine can end that."""

from __future__ import annotations

from pathlib import Path

from . import proc
from .other_ends import OtherEnds
from .processes import title_of
from .wait_calls import EPOLL, OF_PROCESS, SLEEP, WaitCall, call_of
from .wait_records import (
    ANSWER,
    CHILD,
    CLIENT,
    CONNECT,
    CONNECTED,
    FILE_LOCK,
    INPUT,
    MOST_PIDS,
    OPEN,
    OWN,
    READ,
    SHARED_LOCK,
    WRITE,
    KernelWait,
    ThreadPlace,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_MOST_THREADS = 32
_MOST_NATIVE_THREADS = 256
# SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM and SIGCHLD: Python itself handles none of them.
_OF_PROGRAMS = sum(1 << number - 1 for number in (1, 10, 12, 14, 15, 17))


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
    calls = _calls(by_pid.values())
    tables = OtherEnds({name for call in calls.values() for name in call.files})
    tables.add_locks(
        place
        for place, call in calls.items()
        if call.kind == SLEEP or (call.kind == FILE_LOCK and not tables.lock_owner(place))
    )
    waits = {}
    for pid, places in by_pid.items():
        listed = [
            (place, wait)
            for place in places
            if place in calls and (wait := _wait(place, calls[place], children, tables))
        ]
        if own := _of_process(pid, places, calls, listed):
            waits[pid] = own
    return waits


def _calls(processes: Iterable[Sequence[ThreadPlace]]) -> dict[ThreadPlace, WaitCall]:
    calls = {
        place: call
        for places in processes
        for place in places[:_MOST_THREADS]
        if (call := call_of(place))
    }
    # Else a server that has answered meanwhile would seem to wait for a client that waits for it.
    return {
        place: call
        for place, call in calls.items()
        if call.kind not in (READ, WRITE, INPUT, EPOLL) or call_of(place) == call
    }


def _of_process(
    pid: int,
    places: Sequence[ThreadPlace],
    calls: Mapping[ThreadPlace, WaitCall],
    listed: list[tuple[ThreadPlace, KernelWait]],
) -> tuple[KernelWait, ...]:
    """The waits of a process, of those that its threads have; () if its stacks tell them already."""
    first = next((each.kind for place, each in listed if place is places[0]), "")
    # A server looks now and then whether it should end, and a library whether it has waited for too long.
    is_whole = len(listed) == len(places) and not any(
        calls[place].is_timed for place, each in listed if each.kind not in (CLIENT, FILE_LOCK)
    )
    is_whole &= all(each.kind != CONNECTED for _, each in listed)
    loops = [each for place, each in listed if each.kind == READ and calls[place].kind == EPOLL]
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
    waits = tuple(
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
    )
    # The stacks tell already which threads wait for others of their process.
    return waits if is_closed or any(each.kind != OWN for each in waits) else ()


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
    calls = [call_of(ThreadPlace(pid, tid, "")) for tid in tids if tid not in python_threads]
    return all(call is not None and call.kind == OWN and not call.is_timed for call in calls)


def _program(pid: int) -> str:
    """The name of the program, or of the script, that `pid` runs; "" if it has ended."""
    return Path(title_of(proc.command_line(pid)).partition(" ")[0]).name


def _handles_signals(pid: int) -> bool:
    """Whether the program has set handlers of signals, which may end a wait of its main thread."""
    return bool(proc.signals(pid, "SigCgt") & _OF_PROGRAMS)


def _wait(
    place: ThreadPlace, call: WaitCall, children: Mapping[int, Sequence[int]], tables: OtherEnds
) -> KernelWait | None:
    thread = place.name
    if call.kind == CHILD:
        pids = (call.pid,) if call.pid else tuple(children.get(place.pid, ())[:MOST_PIDS])
        return KernelWait(thread, CHILD, pids, is_whole=bool(call.pid)) if pids else None
    if call.kind == FILE_LOCK and (owner := tables.lock_owner(place)):
        return KernelWait(thread, FILE_LOCK, (owner,), is_whole=True)
    if call.kind in (FILE_LOCK, SLEEP):
        return tables.lock_wait(place)
    if call.kind == SHARED_LOCK:
        pids = tables.sharing(place.pid, call.files[0])
        return KernelWait(thread, SHARED_LOCK, pids, is_whole=tables.is_whole)
    if call.kind in (OPEN, INPUT):
        return KernelWait(thread, call.kind, (), call.files[0])
    if call.kind in (CLIENT, OWN):
        return KernelWait(thread, call.kind, (), is_whole=True)
    listening = [tables.is_listening(place.pid, name) for name in call.files]
    if any(listening):
        return KernelWait(thread, CLIENT, (), is_whole=call.kind != EPOLL and all(listening))
    if call.kind == EPOLL:
        return _of_event_loop(place, call, tables)
    ends = [tables.other_end(place.pid, name, call.kind) for name in call.files]
    pids = tuple(dict.fromkeys(pid for end in ends for pid in end.pids))[:MOST_PIDS]
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


def _of_event_loop(place: ThreadPlace, call: WaitCall, tables: OtherEnds) -> KernelWait | None:
    """The wait of an event loop for data of pipes, or for the end of processes; None if it watches other files, too."""
    pids: dict[int, None] = {}
    for name in call.files:
        end = tables.other_end(place.pid, name, READ) if name[:4] in ("pipe", "sock") else None
        if end is not None and end.is_whole and not end.address:
            pids.update(dict.fromkeys(end.pids))
        elif name.startswith(OF_PROCESS):
            pids[int(name.removeprefix(OF_PROCESS))] = None
        elif end is not None and end.address:
            return KernelWait(place.name, CONNECTED, end.pids, end.address)
        else:
            return None
    is_whole = tables.is_whole and not call.is_timed
    return (
        KernelWait(place.name, READ, tuple(pids)[:MOST_PIDS], "", True)
        if pids and is_whole
        else None
    )
