"""Collects the facts of nodes: of this machine, of a cluster elsewhere by a job of Ray, and of a SLURM job by one step."""

from __future__ import annotations

import logging
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from eagleray.clusters.job_head import start_time
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.common.slurm_errors import job_over, job_waits
from eagleray.doctor.node_checks import SCRIPT, NodeFacts, local_facts
from eagleray.observe.hangs.collecting.slurm import parse_job
from eagleray.ray.cluster_query import ClusterQuery
from eagleray.ray.dashboard import Dashboard, FindLocalNodes
from eagleray.ray.local_nodes import LocalNode
from eagleray.remote.sampling.proc import environment
from eagleray.slurm.client import SlurmClient, step_of
from eagleray.slurm.queue import SlurmQueue
from eagleray.tools.commands import Commands, run_remote_script

_DRIVER = SCRIPT.with_name("cluster_facts.py")
# A node first starts a worker.
NODE_LIMIT_S = 20.0
_JOB_LIMIT_S = 60.0
_STEP_LIMIT_S = 40
_QUEUE_AGE_S = 60.0

log = logging.getLogger(__name__)


class RemoteFacts:
    """Used from one event loop; `close` returns when none of our jobs is left in the list of a cluster."""

    def __init__(
        self,
        commands: Commands,
        slurm: SlurmClient,
        queue: SlurmQueue,
        local_nodes: FindLocalNodes = Dashboard.local_nodes,
    ) -> None:
        self._commands = commands
        self._slurm = slurm
        self._queue = queue
        self._local_nodes = local_nodes
        self._jobs = ClusterQuery(local_nodes)

    async def close(self) -> None:
        await self._jobs.close()

    async def of_this_machine(self, python: str = "") -> dict[str, Any]:
        """Read by that Python, or else by the one on the path, as a program would."""
        python = python or await off_loop(lambda: shutil.which("python3") or sys.executable)
        facts = await local_facts(self._commands, python)
        return {**facts, "job_left_s": await self._left_s(facts.get("variables"))}

    async def _left_s(self, variables: Any) -> float | None:
        """The time left of the job in which this process runs; SLURM is asked only if it hasn't set the end, and at most once a
        minute.
        """
        job = variables.get("slurm_job") if isinstance(variables, dict) else ""
        if not job or variables.get("slurm_end"):
            return None
        try:
            status = (await self._queue.get("", _QUEUE_AGE_S)).job(job)
        except EaglerayError as error:
            # Some sites have no squeue on their nodes.
            log.info("the time left of job %s is unknown: %s", job, error)
            return None
        return status.time_left_s if status else None

    async def of_cluster(self, dashboard: Dashboard, worker_python: str = "") -> NodeFacts:
        """The facts of all nodes; a cluster that doesn't answer, or runs no job of ours, is silent as a whole.

        They are read by the Python of each node, or by the `worker_python` there, in the environment of workers.

        1. Nodes that are all this machine: directly.
        2. Else by a job.
        """
        try:
            nodes = [node for node in await dashboard.nodes() if node.alive]
            local = await self._local_nodes(dashboard, nodes)
            if nodes and len(local) == len(nodes):
                return await self._of_local_nodes(list(local.values()), worker_python)
            return await self._by_job(dashboard, worker_python)
        except EaglerayError as error:
            return NodeFacts((), ((dashboard.address, str(error)),))

    async def _of_local_nodes(self, nodes: Sequence[LocalNode], worker_python: str) -> NodeFacts:
        facts, silent = [], []
        for node in nodes:
            # Workers get theirs from their raylet.
            environ = await off_loop(partial(environment, node.raylet))
            environ["EAGLERAY_FACTS_OF"] = str(node.raylet)
            try:
                read = await local_facts(self._commands, worker_python or node.python, environ)
                facts.append({**read, "node": node.ip, "clock_offset": 0.0})
            except EaglerayError as error:
                silent.append((node.ip, str(error)))
        return NodeFacts(tuple(facts), tuple(silent))

    async def _by_job(self, dashboard: Dashboard, worker_python: str) -> NodeFacts:
        driver, text = await off_loop(lambda: (_text(_DRIVER), _text(SCRIPT)))
        options = {"runtime_env": {"py_executable": worker_python}} if worker_python else {}
        params = {"text": text, "seconds": NODE_LIMIT_S, "options": options}
        answer = await self._jobs.ask(dashboard, t("node checks"), driver, params, _JOB_LIMIT_S)
        return _facts(answer)

    async def of_slurm_job(self, written: str) -> NodeFacts:
        """The facts of all nodes of a running job; raises EaglerayError for one that doesn't run."""
        ssh, job = parse_job(written)
        status = (await self._queue.get(ssh, 0.0)).job(job)
        if status is None or status.state in ("over", "ending"):
            raise job_over(job, status.word if status else "")
        nodes = await self._slurm.nodes(ssh, status.nodelist)
        if status.state == "pending" or not nodes:
            raise job_waits(job, status.reason, start_time(status.started))
        step = [*step_of(job, nodes, _STEP_LIMIT_S), "--cpu-bind=none", "python3"]
        started = time.time()
        values, output = await run_remote_script(
            self._commands, ssh, SCRIPT.stem, step, [], _STEP_LIMIT_S + 10.0
        )
        ended = time.time()
        facts = tuple(
            {
                **value,
                "clock_offset": _clock_offset(value.get("time"), started, ended),
                "job_left_s": status.time_left_s,
            }
            for value in values
            if isinstance(value, dict)
        )
        heard = {_short(str(value.get("host", ""))) for value in facts}
        why = printable(output.strip().splitlines()[-1] if output.strip() else "", 300)
        return NodeFacts(facts, tuple((node, why) for node in nodes if _short(node) not in heard))


def _clock_offset(read: Any, started: float, ended: float) -> float:
    """By how much a node's clock is surely ahead of ours, if it was read between these times; negative if it is behind."""
    if not isinstance(read, (int, float)):
        return 0.0
    return max(0.0, read - ended) + min(0.0, read - started)


def _facts(answer: Any) -> NodeFacts:
    """The answer of the job, of which nothing is certain."""
    value: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
    facts, silent = value.get("facts"), value.get("silent")
    rows = silent if isinstance(silent, list) else []
    return NodeFacts(
        tuple(row for row in (facts if isinstance(facts, list) else []) if isinstance(row, dict)),
        tuple(
            (printable(str(row.get("node")), 200), printable(str(row.get("reason") or ""), 300))
            for row in rows
            if isinstance(row, dict)
        ),
    )


def _short(host: str) -> str:
    return host.partition(".")[0]


def _text(path: Path) -> str:
    return path.read_text("utf-8")  # own file
