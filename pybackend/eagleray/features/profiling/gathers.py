"""What gathers the reports of one run, put together from what knows its cluster and its routes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from eagleray.features.profiling.collector import Home
from eagleray.features.profiling.departed_nodes import LeftNodes
from eagleray.features.profiling.recorders import Recorders
from eagleray.features.profiling.remote_folder import FarFolder
from eagleray.features.profiling.report_store import Gathering
from eagleray.features.profiling.run_reports import RunReports
from eagleray.features.profiling.sources_of_run import OpensSockets, SourcesOfRun
from eagleray.features.runs.model import Profiled
from eagleray.features.runs.remote_files import RemoteFolder, RemotePlace
from eagleray.protocol.route_spec import RouteSpec
from eagleray.tools.commands import Commands

FOLDER = "eagleray-profiles"


def output_folder(run: str, output: str, cwd: str) -> Path:
    """Where the reports of a run come to: a folder of its own, so that two runs share none."""
    return (Path(output) if output else Path(cwd) / FOLDER) / run


class Gathers:
    """Belongs to a process that keeps or looks at runs."""

    def __init__(
        self,
        commands: Commands,
        opens: OpensSockets,
        routes: Callable[[str, str], list[RouteSpec]],
        recorders: Recorders,
        of_node: Callable[[str, str], list[RouteSpec]] = lambda cluster, host: [],
    ) -> None:
        self._commands = commands
        self._opens = opens
        self._routes = routes
        self._recorders = recorders
        self._of_node = of_node

    def reports(
        self,
        run: str,
        there: Path,
        here: Path,
        home: Home,
        far: RemotePlace | None = None,
        cluster: str = "",
        before: Profiled | None = None,
    ) -> RunReports:
        """`there` and `far` are the folders that workers may see, `here` where all of it comes to.

        `before` is what was seen of it by others, in a `cluster` that need not live any more.
        """
        far_folder = FarFolder(RemoteFolder(self._commands, far.ssh, far.folder)) if far else None
        left = LeftNodes(run, self._commands, self._of_node, cluster)
        sources = SourcesOfRun(run, there, self._opens, self._routes, far_folder, left)
        workers = before.workers if before else ()
        return RunReports(
            run, Gathering(run, here), sources, home, self._recorders, workers=workers
        )
