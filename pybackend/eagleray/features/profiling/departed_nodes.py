"""Nodes that Ray does not serve any more: what profiled workers have left there is had by commands."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence

from eagleray.common.errors import EaglerayError
from eagleray.common.retry import LEFT_NODE
from eagleray.features.profiling.remote_folder import FarFolder
from eagleray.features.runs.model import ProfiledWorker
from eagleray.features.runs.remote_files import RemoteFolder
from eagleray.protocol.route_spec import RouteSpec
from eagleray.slurm.node_commands import on_node
from eagleray.tools.commands import Commands

log = logging.getLogger(__name__)

# Cluster, host and folder.
_Key = tuple[str, str, str]


class LeftNodes:
    """Belongs to who gathers; `cluster` is where the workers were, "" while that is not known.

    `routes` says for a cluster and a host where commands are run that reach it; `clock` counts seconds.
    """

    def __init__(
        self,
        run: str,
        commands: Commands,
        routes: Callable[[str, str], list[RouteSpec]],
        cluster: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = cluster
        self._run = run
        self._commands = commands
        self._routes = routes
        self._clock = clock
        self._folders: dict[_Key, list[FarFolder]] = {}
        self._first_missed: dict[_Key, float] = {}
        self._due: dict[_Key, float] = {}

    def of(
        self, workers: Sequence[ProfiledWorker], served: Collection[str], *, at_once: bool = True
    ) -> list[FarFolder]:
        """The folders of workers on other nodes than the `served`, each once by each way.

        Unless `at_once`, because somebody waits for them, a node is left out until its next look is due.
        """
        keys = dict.fromkeys(
            (self.cluster, worker.node, worker.folder)
            for worker in workers
            if worker.node_id not in served and self._is_ours(worker.folder)
        )
        asked = [key for key in keys if self._is_due(key) or at_once]
        return [folder for key in asked for folder in self._by(*key)]

    def _is_due(self, key: _Key) -> bool:
        """Whether to look now; if so, the next look comes after the interval of the schedule."""
        now = self._clock()
        if now < self._due.get(key, now):
            return False
        age = now - self._first_missed.setdefault(key, now)
        self._due[key] = now + LEFT_NODE.delay_s(age)
        return True

    def _is_ours(self, folder: str) -> bool:
        """Whether it can be that of this run below the logs of a Ray; the far end looks whose it is."""
        inside = folder.startswith("/") and ".." not in folder.split("/")
        return inside and folder.endswith(f"/logs/eagleray/{self._run}")

    def _by(self, cluster: str, host: str, folder: str) -> list[FarFolder]:
        key = (cluster, host, folder)
        if key not in self._folders:
            self._folders[key] = []
            for route in self._routes(cluster, host):
                try:
                    files = RemoteFolder(
                        self._commands, route.ssh, folder, host, on_node(route, host)
                    )
                except EaglerayError as error:
                    log.info("%s", error)
                else:
                    self._folders[key].append(FarFolder(files))
        return self._folders[key]
