"""How ranks of a node have ended: their exit code and what they printed, as far as that is on record.

1. A rank that has ended since the first round, or whose parent hasn't noticed its end yet: the kernel has its exit code.
2. A rank of torchrun: its error file, and its log.  torchrun itself says nothing before it has ended all ranks (2.13).
3. A task of SLURM: what `srun` has printed of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from . import proc
from .printed_exceptions import (
    LONGEST_TEXT,
    ErrorLog,
    PrintedException,
    last_exception,
    log_of,
    printed_by,
    tail,
    tail_at,
)
from .processes import RANK, RAYLET
from .rank_sets import RankSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from .processes import Described

CGROUPS = Path("/sys/fs/cgroup")
_INIT = 1
_SRUN = "srun"
_MOST_RANKS = 64
_ERROR_FILE = "TORCHELASTIC_ERROR_FILE"
# slurm 22 to 24, launch_p_step.c: `srun: error: n1: tasks 0-1,3: Exited with exit code 1`.
_TASKS = re.compile(r"^srun: error: \S{1,256}: tasks? ([\d,-]{1,200}): (.{1,200})$", re.MULTILINE)
_EXITED = re.compile(r"Exited with exit code (\d{1,3})")
_BY_SIGNAL = {
    "Killed": -9,
    "Out Of Memory": -9,
    "Terminated": -15,
    "Segmentation fault": -11,
    "Aborted": -6,
    "Bus error": -7,
    "Floating point exception": -8,
}


class Ending(NamedTuple):
    """The end of a rank: `beside` is the pid of a process of its world on the node, its own if it was sampled.

    `exit_code` is as of `subprocess`, negative for a signal, None if unknown.  `oom_kills` counts the processes that the
    kernel has killed for lack of memory in the control group of `beside`.
    """

    beside: int
    rank: int
    exit_code: int | None
    oom_kills: int = 0
    printed: PrintedException | None = None


def endings(
    processes: Sequence[Described], ended: Collection[int], logs: Mapping[int, ErrorLog | None]
) -> tuple[Ending, ...]:
    """The ends of the ranks of `processes` that have `ended`, by their pids, and of others of their worlds.

    `logs` are the files to which the processes wrote when they were sampled first.
    """
    ranks = [each for each in processes if each.role == RANK or each.pid in ended]
    if not ranks:
        return ()
    running = proc.all_processes()
    result: list[Ending] = []
    for world in _worlds(ranks):
        alive = [each for each in world if each.pid not in ended]
        killed = oom_kills(alive[0].pid) if alive else 0
        own = [_own(each, running, logs) for each in world if each.pid in ended]
        missing = _missing(world, alive, running) if alive and _is_launched(alive, running) else ()
        result += (each._replace(oom_kills=killed) for each in (*own, *missing))
    return tuple(result)


def exit_code(ended: proc.ProcessStat) -> int | None:
    """As of `subprocess`: negative for a signal; None for a process of another user, of which the kernel says 0."""
    signal = ended.wait_status & 0x7F
    if not ended.wait_status and not proc.may_be_traced(ended.pid):
        return None
    return -signal if signal else ended.wait_status >> 8


def oom_kills(pid: int) -> int:
    """How many processes the kernel has killed for lack of memory in the control group of `pid`, or in its SLURM job."""
    counts = [0]
    for line in proc.cgroup(pid).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers not in ("", "memory"):
            continue
        kind = "memory" if controllers else ""
        name = "memory.oom_control" if controllers else "memory.events"
        levels = [Path(path), *Path(path).parents]
        # The whole of a user or a machine says nothing of a program.
        for level in levels[:1] + [each for each in levels[1:] if "/job_" in str(each)]:
            file = Path(CGROUPS, kind, str(level).lstrip("/"), name)
            counts.append(_count(file))
    return max(counts)


def _own(
    each: Described,
    running: Mapping[int, proc.ProcessStat],
    logs: Mapping[int, ErrorLog | None],
) -> Ending:
    """The end of a process that was sampled."""
    now = running.get(each.pid)
    code = exit_code(now) if now is not None and now.state in "ZX" else None
    printed = printed_by(each.pid, each.number, logs.get(each.pid), running)
    return Ending(each.pid, each.number, code, 0, printed)


def _worlds(ranks: Sequence[Described]) -> list[list[Described]]:
    by_name: dict[tuple[str, str], list[Described]] = {}
    for each in ranks:
        by_name.setdefault((each.group, each.rendezvous), []).append(each)
    return list(by_name.values())


def _is_launched(world: Sequence[Described], running: Mapping[int, proc.ProcessStat]) -> bool:
    """Whether something else than Ray, which gives its own reasons, has started these ranks."""
    parents = (running.get(each.parent) for each in world)
    return not any(parent is not None and parent.name == RAYLET for parent in parents)


def _missing(
    world: Sequence[Described],
    alive: Sequence[Described],
    running: Mapping[int, proc.ProcessStat],
) -> Iterator[Ending]:
    """The ends of the ranks of a world that had no process any more when it was listed."""
    beside = alive[0]
    environment = proc.environment(beside.pid)
    present = {each.number for each in world}
    expected = [rank for rank in _expected_here(beside, environment) if rank not in present]
    codes: dict[int, int | None] = dict.fromkeys(expected)
    codes.update(_unnoticed(alive, expected, running))
    base = _first_here(environment)
    for log in _logs_of_srun(environment, running):
        codes.update(_codes_of_srun(tail(log), present))
    for rank, code in list(codes.items())[:_MOST_RANKS]:
        yield Ending(beside.pid, rank, code, 0, _left(environment, rank - base, rank))


def _expected_here(beside: Described, environment: Mapping[str, str]) -> range:
    """The ranks of the world that this node has, or had; none where that is not clear."""
    count = _number(environment.get("LOCAL_WORLD_SIZE", ""))
    first = _first_here(environment)
    if "LOCAL_RANK" in environment and count is not None:
        return range(first, first + min(count, _MOST_RANKS))
    return range(min(beside.world_size, _MOST_RANKS)) if beside.is_world_here else range(0)


def _first_here(environment: Mapping[str, str]) -> int:
    """The first rank of this node: torchrun and others give their nodes consecutive ranks."""
    rank, local = (_number(environment.get(name, "")) for name in ("RANK", "LOCAL_RANK"))
    return max(0, rank - local) if rank is not None and local is not None else 0


def _unnoticed(
    alive: Sequence[Described], missing: Sequence[int], running: Mapping[int, proc.ProcessStat]
) -> dict[int, int | None]:
    """The exit codes of the missing ranks if their parent, which the others have, hasn't waited for them yet.

    Nothing else is left of such a process, not even its environment: so there must be as many as are missing, and with
    the same end if there are several.
    """
    parents = {each.parent for each in alive}
    if len(parents) != 1 or _INIT in parents:
        return {}
    names = {running[each.pid].name for each in alive if each.pid in running}
    codes = [
        exit_code(each)
        for each in running.values()
        if each.state == "Z" and each.parent in parents and each.name in names
    ]
    if not missing or len(codes) != len(missing) or len(set(codes)) != 1:
        return {}
    return dict.fromkeys(missing, codes[0])


def _logs_of_srun(
    environment: Mapping[str, str], running: Mapping[int, proc.ProcessStat]
) -> list[ErrorLog]:
    """The logs of the `srun` of this job that run on this node, as below the script of a job."""
    job = environment.get("SLURM_JOB_ID", "")
    if not job:
        return []
    logs = [
        log_of(each.pid)
        for each in running.values()
        if each.name == _SRUN and proc.environment(each.pid).get("SLURM_JOB_ID") == job
    ]
    return list(dict.fromkeys(log for log in logs if log is not None))


def _codes_of_srun(text: str, present: Collection[int]) -> dict[int, int]:
    codes: dict[int, int] = {}
    for match in _TASKS.finditer(text):
        code = _code_of(match[2])
        if code is None:
            continue
        try:
            tasks = RankSet.parse(match[1])
        except ValueError:
            continue
        if len(tasks) <= _MOST_RANKS:
            codes.update((task, code) for task in tasks if task not in present)
    return codes


def _code_of(text: str) -> int | None:
    exited = _EXITED.match(text)
    if exited:
        return int(exited[1])
    return next((code for name, code in _BY_SIGNAL.items() if text.startswith(name)), None)


def _left(environment: Mapping[str, str], local: int, rank: int) -> PrintedException | None:
    """Returns what a rank of torchrun has left beside the error file of another: its own, or its log (`--redirects`)."""
    file = Path(environment.get(_ERROR_FILE, ""))
    if file.parent.name != environment.get("LOCAL_RANK", "-"):
        return None
    folder = file.parent.parent / str(local)
    return last_exception(tail_at(str(folder / "stderr.log")), rank) or _in_error_file(
        tail_at(str(folder / file.name))
    )


def _in_error_file(content: str) -> PrintedException | None:
    """The exception in an error file of PyTorch's `@record`: type and message in one text (`error_handler.py`)."""
    try:
        message = json.loads(content)["message"]
        text = message["message"] if isinstance(message, dict) else message
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return PrintedException(text[:LONGEST_TEXT], None) if isinstance(text, str) and text else None


def _count(file: Path) -> int:
    try:
        fields = (line.split() for line in file.read_text().splitlines())  # kernel's file
        return next((int(row[1]) for row in fields if len(row) == 2 and row[0] == "oom_kill"), 0)
    except (OSError, ValueError):
        return 0


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
