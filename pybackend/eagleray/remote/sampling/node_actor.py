"""Samples the workers of one node from an actor of Ray there, which needs no CPU of the cluster."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

from . import proc
from .node_sampler import Sampler, answers_of
from .processes import RAYLET, WRAPPERS, Named, described
from .pyspy_dumps import Tools
from .ray_services import without_services

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from .node_sampler import ReadProcesses, Round
    from .processes import Described
    from .pyspy_dumps import ReadRecords

PROGRAM = "py-spy"

_WORKER = re.compile(r"ray::|(^|/)default_worker\.py$")


# Ray shows this name in the list of processes, where another picture leaves it out.
class EaglerayNodeSampler:
    """Samples the processes of one node (see `processes_of`), one round a call.

    `excluded` are our own job's processes.  `read` asks processes, by their pids, for more than stacks, and
    `read_records` is as in `Tools`.
    """

    def __init__(
        self,
        host: str,
        named: Mapping[int, Named],
        drivers: Sequence[int],
        excluded: Sequence[int],
        busy: Sequence[int] = (),
        jobs: Sequence[str] = (),
        is_part: bool = False,
        read: ReadProcesses | None = None,
        read_records: ReadRecords | None = None,
    ) -> None:
        self._tools = Tools(py_spy(), read_records)
        self._read = read
        self._processes = processes_of(
            os.getppid(), host, named, drivers, (*excluded, os.getpid()), busy, jobs, is_part
        )
        self._sampler = Sampler(self._processes, self._tools)

    def processes(self) -> tuple[Described, ...]:
        return self._processes

    def round(self, is_last: bool) -> Round:
        return self._sampler.round(is_last=is_last)

    def answers(self, wanted: Sequence[Sequence[int]]) -> dict[str, list[list[Any]]]:
        return answers_of(self._processes, wanted, self._tools, self._read)


def processes_of(
    parent: int,
    host: str,
    named: Mapping[int, Named],
    drivers: Sequence[int],
    excluded: Collection[int],
    busy: Sequence[int] = (),
    jobs: Sequence[str] = (),
    is_part: bool = False,
) -> tuple[Described, ...]:
    """The processes of the node whose raylet is at or above `parent` that a picture shows.

    `named` is what Ray knows of them by their pid, and `drivers` are the processes that the raylet has not started.
    With `jobs` they are the processes of these jobs: `named`, `drivers`, `busy`, and the processes that were started
    for one of them.  `is_part`: only `named`, `drivers` and `busy`.
    """
    processes = proc.all_processes()
    wanted = {*named, *drivers, *busy}

    def is_wanted(pid: int) -> bool:
        return pid in wanted or (not is_part and (not jobs or _job(pid) in jobs))

    pids = workers(parent, drivers, excluded, processes, is_wanted)
    return tuple(described(pids, processes, host, named))


def workers(
    parent: int,
    drivers: Sequence[int],
    excluded: Collection[int],
    processes: Mapping[int, proc.ProcessStat],
    is_wanted: Callable[[int], bool] = lambda pid: True,
) -> list[int]:
    """The wanted workers of the raylet above `parent`, the `drivers`, and what these have started, parents first, without Ray.

    A machine may have several clusters: only the children of this raylet are of this one.
    """
    raylet = raylet_above(parent, processes)
    of_raylet = [process.pid for process in processes.values() if process.parent == raylet]
    roots = [
        pid for pid in sorted({*of_raylet, *drivers}) if pid not in excluded and is_wanted(pid)
    ]
    roots = [pid for pid in roots if pid in drivers or _is_worker(proc.command_line(pid))]
    return [
        pid
        for pid in without_services(proc.descendants(roots, processes), processes)
        if pid not in excluded and processes[pid].name not in WRAPPERS
    ]


def raylet_above(pid: int, processes: Mapping[int, proc.ProcessStat]) -> int:
    """The nearest raylet at or above `pid`; 0 if there is none."""
    while pid in processes:
        if processes[pid].name == RAYLET:
            return pid
        pid = processes[pid].parent
    return 0


def lineage(pid: int, processes: Mapping[int, proc.ProcessStat]) -> list[int]:
    """`pid` and what is above it, without its raylet and what is above that."""
    pids = []
    while pid in processes and processes[pid].name != RAYLET:
        pids.append(pid)
        pid = processes[pid].parent
    return pids if pid in processes else pids[:1]


def py_spy() -> str:
    """The py-spy that came with this code, else that beside this Python, which `ray[default]` requires; "" for none."""
    came_along = Path(__file__).parent / PROGRAM
    with contextlib.suppress(OSError):
        # Ray before 2.60 unpacks it without this permission (2.9.1).
        if not os.access(came_along, os.X_OK):
            came_along.chmod(0o755)
    for program in (came_along, Path(sys.executable).parent / PROGRAM):
        if os.access(program, os.X_OK) and _is_for_this_machine(program):
            return str(program)
    return ""


def _is_for_this_machine(program: Path) -> bool:
    """Whether the processor of `program` is this Python's: the head may have another one than the nodes."""
    try:
        return _processor(program) == _processor(Path(sys.executable))
    except OSError:
        return False


def _processor(program: Path) -> bytes:
    """Returns what the header of an ELF file says of its processor, or the beginning of another file."""
    with program.open("rb") as file:  # own file
        header = file.read(20)
    return header[4:6] + header[18:20] if header.startswith(b"\x7fELF") else header


def _is_worker(arguments: list[str]) -> bool:
    return any(map(_WORKER.search, arguments[:3]))


def _job(pid: int) -> str:
    """The job for which Ray started a worker; a worker that was started in advance has none."""
    return proc.environment(pid).get("RAY_JOB_ID", "")
