"""Which processes of a node belong to a training job, and what each of them is."""

from __future__ import annotations

import re
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from . import memory_environment, proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RANK, ACTOR, DRIVER = "rank", "actor", "driver"
DATA_LOADER, ENGINE, LAUNCHER, OTHER = "data loader", "engine", "launcher", "process"

_ENGINE = re.compile(r"vllm|sglang|EngineCore|llama", re.IGNORECASE)
# What starts the ranks of a node and waits for them.
_LAUNCHER = re.compile(
    r"(?:^|[/ ])(?:torchrun|torch[./]distributed[./](?:run|launch)(?:\.py)?|accelerate|deepspeed)(?: |$)"
)
# They take over processes whose parent has ended: `init`, and that of a user's session.
_INIT, _REAPER = 1, "systemd"
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
# What a program may set itself before it joins a process group, as Ray Train and OpenRLHF do.
_SET_LATE = ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "WG_PREFIX")
_RAY_TITLE = re.compile(r"ray::(?:(\w+)\.)?([\w.]+)")


class Described(NamedTuple):
    """A process: `role` is one of the constants above, `group` names those that do the same, `number` tells them apart.

    Ranks are numbered by their rank, and their group is the world they are in; other processes by their pid.
    `world_size` and `rendezvous` (MASTER_ADDR:MASTER_PORT) are those of a rank, else 0 and ""; `is_world_here`: all
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
    """What Ray knows of a process: `role` is ACTOR or DRIVER, and the rest as in `Described`."""

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
    """What the processes `pids` are; parents come before their children.  `host` tells pids of nodes apart.

    1. A process with RANK in its environment is that rank, unless a rank has started it, one that has ended included.
    2. An actor or driver of Ray is what `named` says of its pid.
    3. The rest is told by the title and the parent.
    """
    result: dict[int, Described] = {}
    for pid in pids:
        if pid in processes:
            result[pid] = _described(processes[pid], result, host, named.get(pid))
    for orphan in _orphans(list(result.values()), processes):
        result[orphan.pid] = _child(orphan.pid, orphan.parent, orphan.title, orphan.number, host)
    return list(result.values())


def partners(pids: Iterable[int], processes: Mapping[int, proc.ProcessStat]) -> list[int]:
    """The processes of this machine with the same rendezvous as one of `pids` or of what these have started."""
    wanted = {
        address
        for pid in proc.descendants(list(pids), processes)
        if (address := rendezvous(environment_of(pid)))
    }
    if not wanted:
        return []
    return [pid for pid in sorted(processes) if rendezvous(proc.environment(pid)) in wanted]


def rendezvous(environment: Mapping[str, str]) -> str:
    """The address at which the ranks of a world meet; "" for a process that is no rank."""
    port = environment.get("MASTER_PORT", "")
    return f"{environment.get('MASTER_ADDR', '')}:{port}" if port and "RANK" in environment else ""


def environment_of(pid: int) -> dict[str, str]:
    """The environment with which `pid` was started, and what makes it a rank as it is now."""
    started_with = proc.environment(pid)
    if "RANK" in started_with:
        return started_with
    return {**started_with, **memory_environment.variables(pid, _SET_LATE)}


def _described(
    process: proc.ProcessStat,
    earlier: Mapping[int, Described],
    host: str,
    named: Named | None,
) -> Described:
    title = _title(proc.command_line(process.pid)) or process.name
    parent = earlier.get(process.parent)
    environment = environment_of(process.pid)
    rank = _number(environment.get("RANK", ""))
    # A child inherits RANK from the rank that has started it.
    is_child = parent is not None and parent.role in (RANK, DATA_LOADER)
    if rank is not None and not is_child:
        return Described(
            process.pid,
            process.parent,
            RANK,
            world(environment, title, named),
            rank,
            named.title if named else title,
            _number(environment.get("WORLD_SIZE", "")) or 0,
            rendezvous(environment),
            environment.get("LOCAL_WORLD_SIZE", "") == environment.get("WORLD_SIZE", "-")
            or environment.get("MASTER_ADDR", "") in _THIS_MACHINE,
        )
    if named is not None:
        return Described(
            process.pid, process.parent, named.role, named.group, named.number, named.title
        )
    owner = parent.number if is_child and parent is not None else None
    return _child(process.pid, process.parent, title, owner, host)


def _child(pid: int, parent: int, title: str, owner: int | None, host: str) -> Described:
    """A process that is no rank itself; `owner` is the rank that has started it, None for others."""
    role = _role(title, owner is not None)
    of_rank = "" if owner is None else f" of rank {owner}"
    place = f" on {host}" if host else ""
    return Described(pid, parent, role, f"{role}{of_rank}{place}", pid, title)


def _orphans(
    of_node: list[Described], processes: Mapping[int, proc.ProcessStat]
) -> list[Described]:
    """Those that only inherited RANK: the rank that started them has ended, so that `init` has them now.

    The ranks of a world on one node have the same kind of parent, a launcher or a shell, unless that has ended as well.
    """
    ranks = [each for each in of_node if each.role == RANK and each.rendezvous]
    left = [
        each
        for each in ranks
        if each.parent == _INIT
        or (each.parent in processes and processes[each.parent].name == _REAPER)
    ]
    started = {each.rendezvous for each in ranks if each not in left}
    return [each for each in left if each.rendezvous in started]


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


def _role(title: str, is_child_of_rank: bool) -> str:
    if _ENGINE.search(title):
        return ENGINE
    if is_child_of_rank:
        return DATA_LOADER
    return LAUNCHER if _LAUNCHER.search(title[:1000]) else OTHER


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None


def _title(arguments: list[str]) -> str:
    """The command without its interpreter and its options."""
    if not arguments:
        return ""
    if not re.match(r"(.*/)?(python|pypy)[\d.]*$", arguments[0]):
        return " ".join(arguments)
    rest = arguments[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-c", "-m"):
        rest = rest[1:]
    if rest and rest[0] in ("-c", "-m"):
        rest = rest[1:]
    return " ".join(rest) or arguments[0]
