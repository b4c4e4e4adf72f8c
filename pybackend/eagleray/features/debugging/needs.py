"""What debugging needs of the rest, as plain types: who the workers are and how their paths map."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from eagleray.protocol.control import PathMapping
from eagleray.protocol.route_spec import DIRECT, RouteSpec


class Place(Protocol):
    """A line of a file as the worker names it."""

    @property
    def path(self) -> str: ...
    @property
    def line(self) -> int: ...


class Target(Protocol):
    """A paused or held worker.  `port` is 0 when only the adapter still knows it.

    `held_on` is the machine whose adapter has it, "" for this one.
    """

    @property
    def cluster(self) -> str: ...
    @property
    def session(self) -> str: ...
    @property
    def worker_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def node_ip(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def held_on(self) -> str: ...
    @property
    def place(self) -> Place | None: ...


# Finds a worker of a cluster by its id, an unambiguous beginning of it, or its name.
Find = Callable[[str, str], Awaitable[Target]]
# All workers of a cluster that are paused, held or attached.
ListTargets = Callable[[str], Awaitable[Sequence[Target]]]


# The routes on which a node of a cluster, named by its address, is tried.
RoutesTo = Callable[[str, str], list[RouteSpec]]


def directly(cluster: str, node_ip: str) -> list[RouteSpec]:
    return [DIRECT]


class Decision(Protocol):
    """Which local file it is; `local` is "" when that is not known."""

    @property
    def local(self) -> str: ...


class Maps(Protocol):
    """How the files of workers are found on this machine."""

    def known(self, cluster: str) -> list[PathMapping]:
        """The mappings that are known before a worker is attached."""
        ...

    async def resolve(
        self, cluster: str, worker_id: str, path: str, workspace_folders: list[str]
    ) -> Decision:
        """Finds the local file of `path` of an attached worker, which is mapped there from now on."""
        ...
