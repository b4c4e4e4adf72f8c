"""The profiled ones among all runs, as the feature `profiling` sees them."""

from __future__ import annotations

from functools import partial

from attrs import evolve

from eagleray.common.off_loop import off_loop
from eagleray.features.profiling.gathers import output_folder
from eagleray.features.profiling.profiling import ProfiledRun
from eagleray.features.runs import supervisor_process
from eagleray.features.runs.model import Profiled
from eagleray.features.runs.records import StoredRun
from eagleray.features.runs.remote_delivery import remote_reports_folder
from eagleray.features.runs.run_status import with_current_state
from eagleray.features.runs.runs import Runs


class OfRuns:
    """Reads the folders of runs, through what lists them."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def listed(self) -> list[ProfiledRun]:
        return [run for one in self._runs.listed() if (run := _profiled(one))]

    def find(self, written: str) -> ProfiledRun | None:
        return _profiled(with_current_state(self._runs.load(written)))

    async def end(self, run: str) -> None:
        """Whoever finishes a profile has said yes to the end of its program, also of a SLURM job."""
        await self._runs.stop(run, confirmed=True)

    async def gathered(self, run: str, seen: Profiled) -> None:
        await off_loop(partial(self._write, run, seen))
        self._runs.changed()

    def _write(self, run: str, seen: Profiled) -> None:
        found = self._runs.load(run)
        found.record.write_state(evolve(found.state, profile=seen))


def _profiled(one: StoredRun) -> ProfiledRun | None:
    plan, state = one.plan, one.state
    if plan.profile is None:
        return None
    return ProfiledRun(
        run=one.record.id,
        there=one.record.reports,
        here=output_folder(one.record.id, plan.profile.output, plan.cwd),
        # Until the Ray in its job is found a script has only the host on which it is submitted.
        cluster="" if plan.kind == "sbatch" and state.cluster == plan.cluster else state.cluster,
        is_over=state.is_over,
        is_kept=not state.is_over and supervisor_process.is_supervised(one.record, state),
        seen=state.profile,
        far=remote_reports_folder(one.record.id, plan),
    )
