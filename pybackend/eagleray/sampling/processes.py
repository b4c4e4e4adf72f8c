"""Which processes of a node belong to a training job, and what each of them is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RANK, DRIVER, DATA_LOADER, ENGINE, OTHER = "rank", "driver", "data loader", "engine", "process"

_ENGINE = re.compile(r"vllm|sglang|EngineCore|llama", re.IGNORECASE)
_RAY_TITLE = re.compile(r"ray::(?:(\w+)\.)?([\w.]+)")


class Described(NamedTuple):
    """A process: `role` is one of the constants above, `group` names those that do the same, `number` tells them apart.

    Ranks are numbered by their rank, and their group is the world they are in; other processes by their pid.
    """

    pid: int
    parent: int
    role: str
    group: str
    number: int
    title: str


def described(
    pids: Iterable[int], processes: Mapping[int, proc.ProcessStat], host: str = ""
) -> list[Described]:
    """What the processes `pids` are; parents come before their children.  `host` tells pids of nodes apart."""
    found: dict[int, Described] = {}
    for pid in pids:
        if pid in processes:
            found[pid] = _described(processes[pid], found, host)
    return list(found.values())


def _described(process: proc.ProcessStat, earlier: Mapping[int, Described], host: str) -> Described:
    title = _title(proc.command_line(process.pid)) or process.name
    parent = earlier.get(process.parent)
    environment = proc.environment(process.pid)
    rank = environment.get("RANK", "")
    # A child inherits RANK from the rank that has started it.
    is_child = parent is not None and parent.role == RANK
    if rank.isascii() and rank.isdigit() and len(rank) < 9 and not is_child:
        return Described(
            process.pid, process.parent, RANK, world(environment, title), int(rank), title
        )
    role = _role(title, is_child)
    place = f" on {host}" if host else ""
    owner = f" of rank {parent.number}" if is_child and parent is not None else ""
    return Described(process.pid, process.parent, role, f"{role}{owner}{place}", process.pid, title)


def world(environment: Mapping[str, str], title: str) -> str:
    """The name of the world of ranks; a reinforcement learning job has several (policy, reference, critic)."""
    named = environment.get("WG_PREFIX", "")
    if named:
        return named
    actor = _RAY_TITLE.match(title)
    if actor and actor[1]:
        return actor[1]
    return Path(title.split(" ")[0]).name


def _role(title: str, is_child_of_rank: bool) -> str:
    if _ENGINE.search(title):
        return ENGINE
    if is_child_of_rank:
        return DATA_LOADER
    return OTHER


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
