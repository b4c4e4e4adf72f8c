"""Which processes of a node belong to a training job, and what each of them is."""

from __future__ import annotations

import re
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from . import memory_environment, proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

RANK, ACTOR, DRIVER = "rank", "actor", "driver"
DATA_LOADER, ENGINE, LAUNCHER, OTHER = "data loader", "engine", "launcher", "process"
# Threads in a pasted text that lacks the line of their process.
HEADLESS = "unknown process"

_ENGINE = re.compile(r"vllm|sglang|EngineCore|llama", re.IGNORECASE)
# Programs that start the ranks of a node and wait for them.
_LAUNCHER = re.compile(
    r"(?:^|[/ ])(?:torchrun|torch[./]distributed[./](?:run|launch)(?:\.py)?|accelerate|deepspeed)(?: |$)"
)
# It only waits until all that share memory with its parent have ended (Python 3.8 to 3.14).
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*$")
_RESOURCE_TRACKER = re.compile(r"from multiprocess(ing)?\.resource_tracker import main;")
# They take over processes whose parent has ended: `init`, and the `init` of a user's session.
_INIT, _REAPER = 1, "systemd"
RAYLET = "raylet"
# They run another program, and do nothing else.
WRAPPERS = ("sh", "bash", "dash", "zsh", "timeout", "tini", "env", "sudo", "numactl")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
# Variables that a program may set itself before it joins a process group, as Ray Train and OpenRLHF do.
_SET_LATE = ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "WG_PREFIX")
_RAY_TITLE = re.compile(r"ray::(?:(\w+)\.)?([\w.]+)")


class Described(NamedTuple):
    """A process: `role` is one of the constants above, `group` names the processes that do the same, `number` tells
    them apart.

    Ranks are numbered by their rank, and their group is the world they are in; other processes by their pid.
    `world_size` and `rendezvous` (MASTER_ADDR:MASTER_PORT) are a rank's, else 0 and ""; `is_world_here`: all
    ranks of its world are on this machine.
    """

    pid: int
    parent: int
    role: str
    group: str
    number: int
    title: str
    world_size: int = 0
    rendezvous: str = ""
    is_world_here: bool = False


class Named(NamedTuple):
    """Ray's facts about a process: `role` is ACTOR or DRIVER, and the rest as in `Described`."""

    role: str
    group: str
    number: int
    title: str


def described(
    pids: Iterable[int],
    processes: Mapping[int, proc.ProcessStat],
    host: str = "",
    named: Mapping[int, Named] = MappingProxyType({}),
) -> list[Described]:
    """Describes the processes `pids`.  `host` tells pids of nodes apart.

    1. A process with RANK in its environment is that rank, unless it has that from a rank that has started it, one that
       has ended included, or from what started Ray.
    2. A launcher of ranks isn't a rank, nor is a shell, a profiler or the like that has started the rank in the same
       environment: these are left out, as is the resource tracker of `multiprocessing`.
    3. An actor or driver of Ray is what `named` says of its pid.
    4. The rest is told by the title, and by the rank above it.
    """
    listed = list(dict.fromkeys(pid for pid in pids if pid in processes))
    describing = _Describing(processes, host, named)
    for pid in sorted(listed, key=lambda pid: len(describing.above(pid))):
        describing.add(pid)
    return distinguished(describing.result(listed))


def gone_process(pid: int) -> Described:
    """One of which only the number is known, since it isn't there."""
    return Described(pid, 0, OTHER, OTHER, pid, "")


def distinguished(described: Iterable[Described]) -> list[Described]:
    """The processes, in which the group of a rank names its rendezvous where a group of another world has the same
    name.
    """
    listed = list(described)
    places: dict[str, set[str]] = {}
    for each in listed:
        if each.role == RANK:
            places.setdefault(each.group, set()).add(each.rendezvous)
    return [
        each._replace(group=f"{each.group}{place_of(each)}")
        if each.role == RANK and len(places[each.group]) > 1
        else each
        for each in listed
    ]


def place_of(rank: Described) -> str:
    """Returns what `distinguished` adds to the name of a world."""
    return f" ({rank.rendezvous})" if rank.rendezvous else ""


def partners(pids: Iterable[int], processes: Mapping[int, proc.ProcessStat]) -> list[int]:
    """The processes of this machine with the same rendezvous as one of `pids` or of what these have started.

    Ranks that have set theirs themselves run the same program, such as Python: only of that the memory is read.
    """
    wanted: set[str] = set()
    programs: set[str] = set()
    for pid in proc.descendants(list(pids), processes):
        if address := rendezvous(environment_of(pid)):
            wanted.add(address)
            if not rendezvous(proc.environment(pid)):
                programs.add(proc.program(pid))
    if not wanted:
        return []

    def address_of(pid: int) -> str:
        is_alike = bool(programs) and proc.program(pid) in programs
        return rendezvous(environment_of(pid) if is_alike else proc.environment(pid))

    return [pid for pid in sorted(processes) if address_of(pid) in wanted]


def rendezvous(environment: Mapping[str, str]) -> str:
    """The address at which the ranks of a world meet; "" for a process that isn't a rank."""
    port = environment.get("MASTER_PORT", "")
    return f"{environment.get('MASTER_ADDR', '')}:{port}" if port and "RANK" in environment else ""


def environment_of(pid: int) -> dict[str, str]:
    """The environment with which `pid` was started, and what makes it a rank as it is now."""
    started_with = proc.environment(pid)
    if "RANK" in started_with:
        return started_with
    return {**started_with, **memory_environment.variables(pid, _SET_LATE)}


class _Describing:
    """Describes processes one after the other, those above others first."""

    def __init__(
        self,
        processes: Mapping[int, proc.ProcessStat],
        host: str,
        named: Mapping[int, Named],
    ) -> None:
        self._processes = processes
        self._host = host
        self._named = named
        self._described: dict[int, Described] = {}
        # Processes that have started a rank in their own environment.
        self._wrappers: set[int] = set()
        self._children: dict[int, list[int]] = {}
        for process in processes.values():
            self._children.setdefault(process.parent, []).append(process.pid)

    def above(self, pid: int) -> list[int]:
        """The processes above `pid`, nearest first."""
        pids = [pid]
        while (parent := self._processes[pids[-1]].parent) in self._processes:
            if parent in pids:
                break
            pids.append(parent)
        return pids[1:]

    def add(self, pid: int) -> None:
        title = title_of(proc.command_line(pid)) or self._processes[pid].name
        if _RESOURCE_TRACKER.match(title):
            return
        environment = environment_of(pid)
        rank = _number(environment.get("RANK", ""))
        if rank is not None and not _is_launcher(title) and not self._inherits(pid, environment):
            if self._is_wrapper(pid, environment):
                self._wrappers.add(pid)
            else:
                self._described[pid] = self._rank(pid, rank, title, environment)
            return
        named = self._named.get(pid)
        if named is not None:
            place = pid, self._processes[pid].parent
            self._described[pid] = Described(
                *place, named.role, named.group, named.number, named.title
            )
            return
        owner = next(self._ranks_above(pid, RAYLET), None)
        self._described[pid] = self._child(pid, title, owner.number if owner else None)

    def result(self, pids: Iterable[int]) -> list[Described]:
        """The processes `pids` in this order, once all are added."""
        for orphan in self._orphans():
            self._described[orphan.pid] = self._child(orphan.pid, orphan.title, orphan.number)
        return [self._described[pid] for pid in pids if pid in self._described]

    def _rank(self, pid: int, number: int, title: str, environment: Mapping[str, str]) -> Described:
        named = self._named.get(pid)
        return Described(
            pid,
            self._processes[pid].parent,
            RANK,
            world(environment, title, named),
            number,
            named.title if named else title,
            _number(environment.get("WORLD_SIZE", "")) or 0,
            rendezvous(environment),
            environment.get("LOCAL_WORLD_SIZE", "") == environment.get("WORLD_SIZE", "-")
            or environment.get("MASTER_ADDR", "") in _THIS_MACHINE,
        )

    def _child(self, pid: int, title: str, owner: int | None) -> Described:
        """A process that isn't a rank itself; `owner` is the rank that has started it, None for others."""
        role = role_of(title, is_child_of_rank=owner is not None)
        of_rank = "" if owner is None else f" of rank {owner}"
        place = f" on {self._host}" if self._host else ""
        group = f"{role}{of_rank}{place}"
        return Described(pid, self._processes[pid].parent, role, group, pid, title)

    def _ranks_above(self, pid: int, end: str = "") -> Iterator[Described]:
        """The ranks above `pid`, nearest first, up to a process of the name `end`."""
        for above in self.above(pid):
            if end and self._processes[above].name == end:
                return
            each = self._described.get(above)
            if each is not None and each.role == RANK:
                yield each

    def _inherits(self, pid: int, environment: Mapping[str, str]) -> bool:
        """Whether a rank above has the same RANK in the same world, or what started Ray has."""
        own = _identity(environment)
        if any((each.number, each.rendezvous) == own for each in self._ranks_above(pid)):
            return True
        raylets = (each for each in self.above(pid) if self._processes[each].name == RAYLET)
        return any(_identity(proc.environment(each)) == own for each in raylets)

    def _is_wrapper(self, pid: int, environment: Mapping[str, str]) -> bool:
        """Whether this isn't a Python, and has started the Python that is the rank."""
        if proc.is_python(pid):
            return False
        heirs = self._heirs(pid, _identity(environment))
        # Any other program may be the rank itself, and have helpers.
        return len(heirs) == 1 or (bool(heirs) and self._processes[pid].name in WRAPPERS)

    def _heirs(self, pid: int, identity: tuple[int | None, str]) -> list[int]:
        """The first Python processes below `pid`, where they have its rank."""
        heirs = []
        below = list(self._children.get(pid, ()))
        for child in below:
            if not proc.is_python(child):
                below += self._children.get(child, ())
            elif _identity(environment_of(child)) == identity:
                heirs.append(child)
        return heirs

    def _orphans(self) -> list[Described]:
        """Returns the processes that only inherited RANK: the rank that started them has ended, so that `init` has them
        now.

        The ranks of a world on one node have the same kind of parent, a launcher or a shell, unless that has ended as
        well.
        """
        ranks = [each for each in self._described.values() if each.role == RANK and each.rendezvous]
        left = [each for each in ranks if self._is_left(each.pid)]
        started = {each.rendezvous for each in ranks if each not in left}
        return [each for each in left if each.rendezvous in started]

    def _is_left(self, pid: int) -> bool:
        parent = self._processes[pid].parent
        while parent in self._wrappers:
            parent = self._processes[parent].parent
        return parent == _INIT or (
            parent in self._processes and self._processes[parent].name == _REAPER
        )


def _identity(environment: Mapping[str, str]) -> tuple[int | None, str]:
    """The rank that this environment makes of a process, and where its world meets."""
    return _number(environment.get("RANK", "")), rendezvous(environment)


def world(environment: Mapping[str, str], title: str, named: Named | None = None) -> str:
    """The name of the world of ranks; a reinforcement learning job has several (policy, reference, critic)."""
    prefix = environment.get("WG_PREFIX", "")
    if prefix:
        return prefix
    if named is not None:
        return named.group
    actor = _RAY_TITLE.match(title)
    if actor and actor[1]:
        return actor[1]
    return Path(title.split(" ")[0]).name


def role_of(title: str, *, is_child_of_rank: bool = False) -> str:
    """Returns the role of a process that is neither a rank nor known to Ray."""
    if _ENGINE.search(title):
        return ENGINE
    if is_child_of_rank:
        return DATA_LOADER
    return LAUNCHER if _LAUNCHER.search(title[:1000]) else OTHER


def _is_launcher(title: str) -> bool:
    return bool(_LAUNCHER.search(title.partition(" ")[0]))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None


def program_of(title: str) -> str:
    """The program of a command line, without its interpreter and its folder."""
    arguments = title.split()
    if arguments and _PYTHON.match(arguments[0]):
        arguments = [each for each in arguments[1:] if not each.startswith("-")] or arguments[:1]
    return arguments[0].rpartition("/")[2] if arguments else ""


def title_of(arguments: list[str]) -> str:
    """The command without its interpreter and its options."""
    if not arguments:
        return ""
    if not _PYTHON.match(arguments[0]):
        return " ".join(arguments)
    rest = arguments[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-c", "-m"):
        rest = rest[1:]
    if rest and rest[0] in ("-c", "-m"):
        rest = rest[1:]
    return " ".join(rest) or arguments[0]
