"""Takes a picture of a SLURM job: one job step samples all of its nodes at the same time."""

from __future__ import annotations

import asyncio
import re

from eagleray.clusters.addresses import parse_address
from eagleray.clusters.job_head import start_time
from eagleray.common.errors import last_line
from eagleray.common.slurm_errors import job_over, job_waits, no_srun
from eagleray.observe.hangs import errors
from eagleray.observe.hangs.collecting.completed_picture import completed, to_ask, with_answers
from eagleray.observe.hangs.collecting.node_streams import (
    PYTHON,
    STAY_S,
    Further,
    NodeAnswers,
    SamplingOrder,
    follow,
)
from eagleray.observe.hangs.collecting.sampling_plan import DEFAULT_PLAN, SamplingPlan
from eagleray.observe.hangs.evidence import HangEvidence, evidence
from eagleray.observe.hangs.model import Picture
from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.remote.sampling.job_processes import STEP_NAME
from eagleray.remote.scripts.sample_node import TOO_OLD
from eagleray.routes.srun.stderr import explain
from eagleray.slurm.client import SlurmClient, step_of
from eagleray.slurm.queue import SlurmQueue
from eagleray.tools.commands import EXIT_NO_COMMAND, Commands

# The first one, and others without the nodes on which it couldn't be started.
MOST_STEPS = 3
_TOO_OLD = re.compile(re.escape(TOO_OLD) + r"([0-9.]+)")
_NOT_STARTED = re.compile(r"Task launch for \S+ failed on node ([\w.-]+): (.{0,200})")


class SlurmPictures:
    """Takes pictures of jobs on one event loop; each is a query of the queue and, if all nodes answer, one job step."""

    def __init__(self, commands: Commands, slurm: SlurmClient, queue: SlurmQueue) -> None:
        self._commands = commands
        self._slurm = slurm
        self._queue = queue

    async def take(
        self,
        written: str,
        plan: SamplingPlan = DEFAULT_PLAN,
    ) -> Picture:
        """The picture of all processes of this user in the job that the user wrote; a cancellation ends the step."""
        ssh, job = parse_job(written)
        nodes = await self._nodes(ssh, job)
        order = SamplingOrder(plan.rounds, plan.pause_s, job, inside=plan.inside)
        content = await asyncio.to_thread(order.input)
        answers = NodeAnswers(order, nodes, plan.on_progress)

        def sampled() -> HangEvidence:
            return evidence(answers.samples(), plan.pause_s, is_whole=not answers.silent())

        async def further() -> bytes:
            return answers.ask(to_ask(sampled(), plan))

        stderr = await self._sample(ssh, job, nodes, content, answers, further)
        samples = answers.samples()
        if not samples and (version := _TOO_OLD.search(stderr)):
            raise errors.python_too_old(version[1])
        if not samples:
            raise explain(RouteSpec(ssh=ssh, job=job, node=", ".join(nodes[:3])), stderr)
        if not any(node.processes for node in samples):
            raise errors.nothing_in_job(job)
        return completed(with_answers(sampled(), answers.further()), answers.silent())

    async def _nodes(self, ssh: str, job: str) -> list[str]:
        """The nodes of a running job; raises the reason if it doesn't run."""
        status = (await self._queue.get(ssh, 0.0)).job(job)
        if status is None or status.state in ("over", "ending"):
            raise job_over(job, status.word if status else "")
        nodes = await self._slurm.nodes(ssh, status.nodelist)
        if status.state == "pending" or not nodes:
            raise job_waits(job, status.reason, start_time(status.started))
        for node in nodes:
            checked(RouteSpec(job=job, node=node))
        return nodes

    async def _sample(
        self,
        ssh: str,
        job: str,
        nodes: list[str],
        content: bytes,
        answers: NodeAnswers,
        further: Further,
    ) -> str:
        """Runs a step on all nodes; returns what the last srun wrote to stderr.

        srun ends a step that it can't start on one of its nodes (measured with SLURM 22.05).  It names that node, and
        another step runs on the others.
        """
        stderr = ""
        for _ in range(MOST_STEPS):
            command = [
                *step_of(job, nodes, int(STAY_S)),
                *("--cpu-bind=none", f"--job-name={STEP_NAME}", *PYTHON),
            ]
            process = await self._commands.start(ssh, command)
            answers.begin(nodes)
            stderr = await follow(process, content, answers, lambda: answers.is_over, further)
            if process.returncode == EXIT_NO_COMMAND and not answers.samples():
                raise no_srun(ssh)
            failed = {name: why for name, why in _NOT_STARTED.findall(stderr) if name in nodes}
            if not failed or answers.samples():
                break
            for name, why in failed.items():
                answers.lose([name], why)
            nodes = [node for node in nodes if node not in failed]
            if not nodes:
                break
        answers.lose(nodes, last_line(stderr))
        return stderr


def parse_job(written: str) -> tuple[str, str]:
    """The ssh destination, "" for this machine, and the job of `JOB`, `slurm://JOB` or `ssh://HOST/slurm://JOB`.

    Raises `bad-address` or `bad-route`.
    """
    text = written.strip()
    address = parse_address(f"slurm://{text}" if "://" not in text else text)
    if not address.job:
        raise errors.no_slurm_job(written)
    return address.ssh, address.job
