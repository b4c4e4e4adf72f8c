"""Ray's names for the processes of each node: the actors with their names and numbers, and the drivers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from attrs import field, frozen

from eagleray.common.errors import printable
from eagleray.ray.rows import ActorRow, NodeRow, WorkerRow
from eagleray.remote.sampling.processes import ACTOR, DRIVER, Named

ALIVE = "ALIVE"
# Actors of Ray itself and of ours.
_NOT_OF_PROGRAMS = re.compile(r"_?JobSupervisor$|EaglerayNodeSampler$|EaglerayInspector$")
_LAST_NUMBER = re.compile(r"(\d{1,9})$")
_JOB_DIGITS = 8


@frozen
class NodeNames:
    """A node: `host` tells it apart from the others, and `named` has its actors and drivers by their pid.

    With `jobs` only processes of these jobs of Ray are sampled: those in `named`, `drivers` and `workers`.  `is_part`:
    only these three, and none of a node that has none of them.
    """

    host: str
    named: dict[int, Named] = field(factory=dict)
    drivers: tuple[int, ...] = ()
    workers: tuple[int, ...] = ()
    jobs: tuple[str, ...] = ()
    is_part: bool = False

    @property
    def pids(self) -> frozenset[int]:
        """The processes that Ray names."""
        return frozenset((*self.named, *self.drivers, *self.workers))


def names_of_nodes(
    nodes: Iterable[NodeRow], actors: Iterable[ActorRow], workers: Iterable[WorkerRow]
) -> dict[str, NodeNames]:
    """The living nodes by their id."""
    hosts = hosts_of(nodes)
    drivers = [
        row for row in workers if row.kind == "driver" and row.pid > 0 and row.node_id in hosts
    ]
    drivers.sort(key=lambda row: (row.worker_id, row.pid))
    of_programs = [
        row
        for row in actors
        if row.state == ALIVE
        and row.pid > 0
        and row.node_id in hosts
        and not _NOT_OF_PROGRAMS.search(row.class_name)
    ]
    named: dict[str, dict[int, Named]] = defaultdict(dict)
    for number, row in enumerate(drivers):
        named[row.node_id][row.pid] = Named(DRIVER, DRIVER, number, DRIVER)
    for group, members in _groups(of_programs).items():
        for number, actor in _numbered(members, hosts):
            title = printable(actor.name or actor.class_name, 100)
            named[actor.node_id][actor.pid] = Named(ACTOR, group, number, title)
    return {
        node_id: NodeNames(
            host, named[node_id], tuple(row.pid for row in drivers if row.node_id == node_id)
        )
        for node_id, host in hosts.items()
    }


def hosts_of(nodes: Iterable[NodeRow]) -> dict[str, str]:
    """The addresses of living nodes by id, with the beginning of the id where several have the same address."""
    alive = [node for node in nodes if node.alive]
    addresses = [node.ip for node in alive]
    return {
        node.node_id: printable(node.ip, 100)
        if addresses.count(node.ip) == 1
        else f"{printable(node.ip, 100)} {printable(node.node_id[:6])}"
        for node in alive
    }


def job_of_driver(worker_id: str) -> str:
    """The id of a driver's job, with which the id of its worker begins."""
    return worker_id[:_JOB_DIGITS]


def _groups(actors: Iterable[ActorRow]) -> dict[str, list[ActorRow]]:
    """Actors that do the same: the actors of a class within one job."""
    by_class: dict[str, dict[str, list[ActorRow]]] = defaultdict(lambda: defaultdict(list))
    for row in actors:
        by_class[row.class_name][row.job_id].append(row)
    return {
        _group(printable(class_name, 100), job if len(by_job) > 1 else ""): members
        for class_name, by_job in by_class.items()
        for job, members in by_job.items()
    }


def _group(class_name: str, job: str) -> str:
    return f"{class_name} of job {printable(job, 20)}" if job else class_name


def _numbered(actors: Sequence[ActorRow], hosts: dict[str, str]) -> list[tuple[int, ActorRow]]:
    """The actors with the numbers at the ends of their names if these tell them apart, else numbered from 0."""
    matches = [_LAST_NUMBER.search(row.name) for row in actors]
    numbers = [int(match[1]) for match in matches if match]
    if len(set(numbers)) == len(actors):
        return list(zip(numbers, actors, strict=True))
    return list(enumerate(sorted(actors, key=lambda row: (hosts[row.node_id], row.pid))))
