"""Diagnoses a target: finds its logs and reads them beside the event loop, and checks its nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from attrs import evolve

from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.doctor.clocks import clocks_of
from eagleray.doctor.errors import no_copy, no_diagnosis_target
from eagleray.doctor.findings import TimeScope
from eagleray.doctor.frameworks import frameworks_of_run
from eagleray.doctor.live_output import first_problem
from eagleray.doctor.log_reading import LogReading, ReportStep
from eagleray.doctor.log_watch import first_cluster_problem
from eagleray.doctor.logs.archives import copy_of
from eagleray.doctor.logs.cluster_copies import copy_logs
from eagleray.doctor.logs.run_session import session_logs
from eagleray.doctor.logs.slurm_output import SlurmLogs, SlurmOutput
from eagleray.doctor.merge import joined, not_checked, with_unchecked
from eagleray.doctor.messages import ClusterLogs, FollowedRun
from eagleray.doctor.model import Cause, Diagnosis, DiagnosisTarget, UncheckedFile
from eagleray.doctor.node_checks import NodeFacts, node_diagnosis
from eagleray.doctor.remote_facts import RemoteFacts
from eagleray.doctor.rule_files import all_rules
from eagleray.doctor.worker_python import (
    path_of_workers,
    with_path_unknown,
    worker_pythons,
)
from eagleray.observe.hangs.collecting.ray_jobs import jobs_of_run
from eagleray.observe.hangs.pictures import FindDashboard
from eagleray.ray.dashboard import Dashboard
from eagleray.runs.command_ports import ports_of
from eagleray.runs.model import RunState
from eagleray.runs.run_status import output_is_complete
from eagleray.runs.runs import Runs


class Doctor:
    """Shared by the panel and the command line; used from one event loop."""

    def __init__(
        self,
        runs: Runs,
        dashboard: FindDashboard,
        facts: RemoteFacts,
        slurm_logs: SlurmLogs,
        copies: Path,
    ) -> None:
        """`copies` is a folder of this user for logs of clusters."""
        self._runs = runs
        self._dashboard = dashboard
        self._facts = facts
        self._slurm_logs = slurm_logs
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
        rules = await off_loop(lambda: all_rules(rule_files, target.rule_folders))
        if target.before:
            report(t("Checking the nodes"), 0)
            facts = await self._facts_before(target)
            return node_diagnosis(facts, not target.cluster, rules, ports_of(target.command))
        reading = LogReading(rules, report, python=target.python)
        if target.cluster:
            dashboard = await self._dashboard(target.cluster, lambda text: report(text, 0))
            return await self._of_cluster(dashboard, reading)
        if target.slurm_job:
            return await self._of_slurm_job(target.slurm_job, reading)
        if target.run_id:
            return await self._of_run(target.run_id, reading)
        if not target.paths:
            raise no_diagnosis_target()
        reading = evolve(reading, unpacks_into=self._copies)
        return await reading.diagnose([Path(path) for path in target.paths])

    def copy_of(self, stdin: BinaryIO) -> Path:
        """A copy of what comes from a pipe; raises `no-copy`."""
        try:
            return copy_of(stdin, self._copies)
        except OSError as error:
            raise no_copy(self._copies, error.strerror or "") from error

    async def facts(self, target: DiagnosisTarget) -> NodeFacts:
        """The facts of all nodes of a cluster or a job of SLURM; without either, the facts of this machine."""
        if target.cluster:
            dashboard = await self._dashboard(target.cluster, lambda _text: None)
            workers = await off_loop(partial(worker_pythons, target.command, Path()))
            facts = await self._facts.of_cluster(dashboard, path_of_workers(workers))
            return evolve(facts, workers=workers)
        if target.slurm_job:
            return await self._facts.of_slurm_job(target.slurm_job)
        return NodeFacts((await self._facts.of_this_machine(target.python),))

    async def _facts_before(self, target: DiagnosisTarget) -> NodeFacts:
        """Adds the facts of this machine, where the driver will run; a Python that doesn't answer is listed as not
        checked.
        """
        if not target.cluster:
            facts = await self.facts(target)
            workers = await off_loop(partial(worker_pythons, target.command, Path()))
            return evolve(facts, driver=facts.facts[0], workers=with_path_unknown(workers))
        reading = tasks.shared(self._facts.of_this_machine(target.python), "driver checks")
        try:
            facts = await self.facts(target)
            try:
                return evolve(facts, driver=await reading)
            except EaglerayError as error:
                return evolve(facts, silent=(*facts.silent, (t("of the driver"), str(error))))
        finally:
            reading.cancel()

    async def first_problem(self, run: FollowedRun) -> Cause | None:
        """The first cause of trouble, not yet reported, in the output of a run, which is followed until then, or until it ends."""
        rules = await off_loop(lambda: all_rules([], run.rule_folders))
        record = await off_loop(lambda: self._runs.find(run.id))
        return await first_problem(
            record.output, rules, lambda: output_is_complete(record), run.reported
        )

    async def first_cluster_problem(self, logs: ClusterLogs) -> Cause:
        """The first cause of trouble that is written into a log of the cluster from now on, of rules not yet reported."""
        rules = await off_loop(lambda: all_rules([], logs.rule_folders))
        dashboard = await self._dashboard(logs.cluster, lambda _text: None)
        return await first_cluster_problem(dashboard, rules, self._copies, logs.reported)

    async def _of_run(self, written: str, reading: LogReading) -> Diagnosis:
        """Its output, with the logs of the workers of its Ray:

        1. Through its cluster, if that runs, with the logs of its jobs and checks of the nodes.
        2. Else those in the folder of its session on this machine.
        """
        run = await off_loop(lambda: self._runs.load(written))
        scope = TimeScope(started=run.state.started)
        reading = evolve(reading, scope=scope, frameworks=frameworks_of_run(run.plan))
        missing = None
        try:
            dashboard = await self._dashboard_of_run(run.state)
            if dashboard is not None:
                jobs = jobs_of_run(await dashboard.jobs(), await dashboard.all_workers(), run.state)
                return await self._of_cluster(dashboard, reading, jobs, [run.record.output])
        except EaglerayError as error:
            missing = UncheckedFile(t("cluster {cluster}", cluster=run.state.cluster), str(error))
        logs = await off_loop(lambda: session_logs(run.plan, run.state))
        # A Ray that the run itself has started ends with it, and its logs remain.
        if missing and not logs:
            reading = evolve(reading, missing=[missing])
        return await reading.diagnose([run.record.output, *logs])

    async def _dashboard_of_run(self, state: RunState) -> Dashboard | None:
        """The dashboard of its cluster, None if another session of Ray is at its address now."""
        if not state.cluster:
            return None
        finding = self._dashboard(state.cluster, lambda _text: None)
        try:
            dashboard = await asyncio.wait_for(finding, _CLUSTER_LIMIT_S)
        except asyncio.TimeoutError:
            return None
        is_same = state.session in ("", (await dashboard.version()).session)
        return dashboard if is_same else None

    async def _of_cluster(
        self,
        dashboard: Dashboard,
        reading: LogReading,
        jobs: Collection[str] = (),
        files: Sequence[Path] = (),
    ) -> Diagnosis:
        """Copies the logs while the nodes are checked, whose clocks put the lines in their order; reads `files`, too."""

        def on_copied(done: int, count: int) -> None:
            sentence = t("{done} of {all} logs copied", done=done, all=count)
            reading.report(sentence, 100 * done // count)

        checking = tasks.shared(self._facts.of_cluster(dashboard), "node checks")
        try:
            copies = await copy_logs(dashboard, self._copies, on_copied, jobs)
            nodes = await checking
        finally:
            checking.cancel()
        scope = evolve(reading.scope, clocks=clocks_of(nodes.facts))
        unchecked = [*reading.missing, *copies.unchecked]
        reading = evolve(reading, scope=scope, copies=copies.folder, missing=unchecked)
        of_nodes = node_diagnosis(nodes, own=reading.rules)
        if copies.is_empty and unchecked and not files:
            return with_unchecked(of_nodes, unchecked)
        return joined(await reading.diagnose([*files, copies.folder]), of_nodes)

    async def _of_slurm_job(self, written: str, reading: LogReading) -> Diagnosis:
        """The output of the job and of its steps, the logs of its Ray, and its nodes; of a job that has ended, its output alone.

        Raises EaglerayError for a job without both.
        """
        reading.report(t("Checking the nodes"), 0)
        checking = tasks.shared(self._facts.of_slurm_job(written), "node checks")
        try:
            try:
                output = await self._slurm_logs.of_job(
                    written, reading.rules, lambda text: reading.report(text, 0)
                )
            except EaglerayError as error:
                # SLURM may have forgotten a job, whose nodes then say so, too.
                output = SlurmOutput((), (UncheckedFile(t("output of the job"), str(error)),))
            try:
                nodes = node_diagnosis(await checking, own=reading.rules)
            except EaglerayError as error:
                if not output.paths:
                    raise
                nodes = not_checked(t("nodes of the job"), str(error))
        finally:
            checking.cancel()
        if not output.paths:
            return with_unchecked(nodes, output.unchecked)
        missing = [*reading.missing, *output.unchecked]
        reading = evolve(reading, missing=missing, copies=output.copies)
        return joined(await reading.diagnose(output.paths), nodes)


# A cluster of a run that has ended is often gone.
_CLUSTER_LIMIT_S = 20.0
