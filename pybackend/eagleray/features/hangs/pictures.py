"""Takes the picture of a target: of a cluster, of a run, or of processes of this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from eagleray.common.off_loop import off_loop
from eagleray.common.paths import host_name
from eagleray.features.clusters.job_head import ShowProgress
from eagleray.features.hangs import errors
from eagleray.features.hangs.collecting import here
from eagleray.features.hangs.collecting.cluster import ClusterPictures
from eagleray.features.hangs.collecting.rounds import PAUSE_S, OnProgress, unheard
from eagleray.features.hangs.model import Picture, PictureTarget
from eagleray.features.runs.model import RunState
from eagleray.features.runs.runs import Runs
from eagleray.ray.dashboard import Dashboard

# The dashboard of a cluster by its id or address; raises the error of one that doesn't answer.
FindDashboard = Callable[[str, ShowProgress], Awaitable[Dashboard]]


class Pictures:
    """Shared by the panel and the command line; used from one event loop."""

    def __init__(self, dashboard: FindDashboard, runs: Runs) -> None:
        self._dashboard = dashboard
        self._runs = runs
        self._of_clusters = ClusterPictures()

    async def close(self) -> None:
        """Returns when none of our jobs is left in the list of a cluster."""
        await self._of_clusters.close()

    async def take(
        self,
        target: PictureTarget,
        on_progress: OnProgress = unheard,
        say: ShowProgress = lambda _: None,
        pause_s: float = PAUSE_S,
    ) -> Picture:
        """The picture of the target; a cancellation ends the sampling.

        1. Processes of this machine: they, and all that belong to them.
        2. A run that has a cluster: that cluster; another: its program, and all that belongs to it.
        3. A cluster.
        """
        if target.pids:
            return await here.take(target.pids, on_progress, pause_s=pause_s)
        if target.run_id:
            state = await off_loop(lambda: self._runs.load(target.run_id).state)
            if not state.cluster:
                return await here.take(_program(state), on_progress, pause_s=pause_s)
            dashboard = await self._dashboard(state.cluster, say)
        elif target.cluster:
            dashboard = await self._dashboard(target.cluster, say)
        else:
            raise errors.no_target()
        return await self._of_clusters.take(dashboard, on_progress, pause_s=pause_s)


def _program(state: RunState) -> tuple[int]:
    """The PID of the program of a run that has no cluster; raises `run-not-sampled` without one on this machine."""
    if state.is_over or state.program is None or state.host not in ("", host_name()):
        raise errors.run_not_sampled(is_over=state.is_over)
    return (state.program.pid,)
