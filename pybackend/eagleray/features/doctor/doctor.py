"""Diagnoses a target: finds its logs and reads them beside the event loop, and checks its nodes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import define

from eagleray.common import tasks
from eagleray.common.l10n import t
from eagleray.common.off_loop import off_loop
from eagleray.features.doctor.diagnosing import diagnose
from eagleray.features.doctor.errors import no_diagnosis_target
from eagleray.features.doctor.joined_diagnosis import joined, with_nodes
from eagleray.features.doctor.live_output import first_problem
from eagleray.features.doctor.log_copies import copy_logs
from eagleray.features.doctor.log_files import list_logs
from eagleray.features.doctor.model import Cause, Diagnosis, DiagnosisTarget, Rule, UncheckedFile
from eagleray.features.doctor.node_checks import NodeFacts, node_diagnosis
from eagleray.features.doctor.remote_facts import RemoteFacts
from eagleray.features.doctor.rule_files import all_rules
from eagleray.features.hangs.pictures import FindDashboard
from eagleray.features.runs.run_status import output_is_complete
from eagleray.features.runs.runs import Runs
from eagleray.ray.dashboard import Dashboard

# Shows what is being done, and how much of it is done, from 0 to 100; called on the event loop.
ReportStep = Callable[[str, int], None]


class Doctor:
    """Shared by the panel and the command line; used from one event loop."""

    def __init__(
        self, runs: Runs, dashboard: FindDashboard, facts: RemoteFacts, copies: Path
    ) -> None:
        """`copies` is a folder of this user for logs of clusters."""
        self._runs = runs
        self._dashboard = dashboard
        self._facts = facts
        self._copies = copies

    async def close(self) -> None:
        await self._facts.close()

    async def diagnose(
        self,
        target: DiagnosisTarget,
        report: ReportStep = lambda _sentence, _percent: None,
        rule_files: Sequence[Path] = (),
    ) -> Diagnosis:
        """The causes in the logs and nodes of the target; a cancellation ends the work.

        Raises EaglerayError for a target without logs, and for rules that aren't valid.
        """
        if target.before:
            report(t("Checking the nodes"), 0)
            return node_diagnosis(await self.facts(target), before=not target.cluster)
        rules = await off_loop(lambda: all_rules(list(rule_files)))
        if target.cluster:
            dashboard = await self._dashboard(target.cluster, lambda text: report(text, 0))
            return await self._of_cluster(dashboard, rules, report)
        if target.slurm_job:
            report(t("Checking the nodes"), 0)
            return node_diagnosis(await self._facts.of_slurm_job(target.slurm_job))
        return await _of_paths(await self._paths(target), rules, report)

    async def facts(self, target: DiagnosisTarget) -> NodeFacts:
        """The facts of all nodes of a cluster or a job of SLURM; without either, those of this machine."""
        if target.cluster:
            return await self._facts.of_cluster(
                await self._dashboard(target.cluster, lambda _text: None)
            )
        if target.slurm_job:
            return await self._facts.of_slurm_job(target.slurm_job)
        return NodeFacts((await self._facts.of_this_machine(target.python),))

    async def first_problem(self, run_id: str) -> Cause | None:
        """The first cause of trouble in the output of a run, which is followed until then, or until the run ends."""
        rules = await off_loop(lambda: all_rules([]))
        record = await off_loop(lambda: self._runs.find(run_id))
        return await first_problem(record.output, rules, lambda: output_is_complete(record))

    async def _paths(self, target: DiagnosisTarget) -> list[Path]:
        if target.run_id:
            return [(await off_loop(lambda: self._runs.find(target.run_id))).output]
        if not target.paths:
            raise no_diagnosis_target()
        return [Path(path) for path in target.paths]

    async def _of_cluster(
        self, dashboard: Dashboard, rules: Sequence[Rule], report: ReportStep
    ) -> Diagnosis:
        """Copies the logs while the nodes are checked."""

        def on_copied(done: int, count: int) -> None:
            report(t("{done} of {all} logs copied", done=done, all=count), 100 * done // count)

        checking = tasks.shared(self._facts.of_cluster(dashboard), "node checks")
        try:
            copies = await copy_logs(dashboard, self._copies, on_copied)
            logs = await _of_paths([copies.folder], rules, report, copies.unchecked)
            logs = with_nodes(logs, copies.folder)
            return joined(logs, node_diagnosis(await checking))
        finally:
            checking.cancel()


async def _of_paths(
    paths: Sequence[Path],
    rules: Sequence[Rule],
    report: ReportStep,
    missing: Sequence[UncheckedFile] = (),
) -> Diagnosis:
    is_cancelled = threading.Event()
    loop = asyncio.get_running_loop()

    def on_percent(percent: int) -> None:
        sentence = t("{percent} % read", percent=percent)
        loop.call_soon_threadsafe(report, sentence, percent)

    def read() -> Diagnosis:
        files, unchecked = list_logs(paths)
        progress = _ReadShare(sum(file.size for file in files), on_percent)
        not_read = [*missing, *unchecked]
        return diagnose(files, rules, not_read, progress.add, is_cancelled.is_set)

    try:
        return await off_loop(read)
    finally:
        # The thread of a cancelled task would read to the end.
        is_cancelled.set()


@define
class _ReadShare:
    """Reports each whole percent of the bytes once."""

    size: int
    report: Callable[[int], None]
    read: int = 0
    percent: int = 0

    def add(self, count: int) -> None:
        self.read += count
        percent = min(100, 100 * self.read // max(1, self.size))
        if percent > self.percent:
            self.percent = percent
            self.report(percent)
