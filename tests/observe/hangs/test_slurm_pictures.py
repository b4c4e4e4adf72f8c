"""Pictures of SLURM jobs where srun can't start the step: the lab has the other cases, with a real SLURM."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.observe.hangs.collecting import node_streams
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.collecting.slurm import SlurmPictures, parse_job
from eagleray.remote.scripts.sample_node import TOO_OLD
from eagleray.slurm.jobs import SlurmJob
from eagleray.slurm.queue import JobQueue

from tests.remote.sampling.test_step_main import FAILING, JOB, TASK, WAITING, python

FAILED = (
    "srun: error: Task launch for StepId=1.0 failed on node n2: Communication connection failure\n"
)


class FakeSite:
    """SLURM with one job of two nodes; each step is a program that writes to stderr, or samples this machine as `n1`."""

    def __init__(self, *steps: str, state: str = "RUNNING") -> None:
        self._steps = list(steps)
        self._state = state
        self.commands: list[Sequence[str]] = []

    async def get(self, ssh: str, max_age_s: float) -> JobQueue:
        state: Any = "running" if self._state == "RUNNING" else "pending"
        job = SlurmJob(
            JOB, "train", self._state, state, "Priority", "p", "n[1-2]", 2, None, 1.0, 1.0, False
        )
        return JobQueue((job,), 0.0)

    async def nodes(self, ssh: str, nodelist: str) -> list[str]:
        return ["n1", "n2"]

    async def start(self, ssh: str, argv: Sequence[str]) -> asyncio.subprocess.Process:
        self.commands.append(argv)
        stderr = self._steps.pop(0)
        program = ["-c", f"import sys; sys.exit({stderr!r})"] if stderr else node_streams.PYTHON[1:]
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "SLURMD_NODENAME": "n1"},
            start_new_session=True,
        )


async def taken(site: Any, written: str = JOB, **more: Any) -> Any:
    return await SlurmPictures(site, site, site).take(
        written, SamplingPlan(rounds=2, pause_s=0.1, **more)
    )


async def test_second_step_runs_without_the_node_that_srun_names() -> None:
    site = FakeSite(FAILED, "")
    with python(WAITING, **TASK, SLURM_PROCID="0"):
        found = await taken(site)
    assert [(node.node, node.reason) for node in found.coverage.nodes] == [("n2", "failed")]
    assert [(row.node, row.rank) for row in found.ranks] == [("n1", 0)]
    nodelists = [word for argv in site.commands for word in argv if "--nodelist" in word]
    assert nodelists == ["--nodelist=n1,n2", "--nodelist=n1"]


async def test_step_that_sampled_also_asks_the_processes() -> None:
    site = FakeSite(FAILED, "")
    said: list[str] = []
    with python(FAILING, **TASK, SLURM_PROCID="0"):
        found = await taken(site, inside=True, say=said.append)
    assert said == ["Reading 1 process from inside"]
    assert [each.reason for each in found.inside] == [""]
    assert found.inside[0].exceptions[0].text == "ValueError('no target for sample 7')"
    assert len(site.commands) == 2


@pytest.mark.parametrize(
    ("stderr", "code"),
    [
        ("srun: error: Job/step already completing or completed\n", "job-over"),
        (f"{TOO_OLD}3.6.8\n", "python-too-old"),
        ("srun: error: something new\n", "srun-failed"),
    ],
)
async def test_step_that_does_not_start_is_an_error_of_the_catalogue(
    stderr: str, code: str
) -> None:
    with pytest.raises(EaglerayError) as raised:
        await taken(FakeSite(stderr))
    assert raised.value.code == code


async def test_pending_job_starts_no_step() -> None:
    site = FakeSite(state="PENDING")
    with pytest.raises(EaglerayError) as raised:
        await taken(site)
    assert (raised.value.code, site.commands) == ("job-waits", [])


def test_job_is_written_by_its_number_or_as_an_address() -> None:
    assert parse_job("12345") == parse_job("slurm://12345") == ("", "12345")
    assert parse_job("ssh://login/slurm://7") == ("login", "7")


@pytest.mark.parametrize("written", ["", "head:8265", "ssh://login/8265", "slurm://-x", "1;reboot"])
def test_other_texts_are_not_jobs(written: str) -> None:
    with pytest.raises(EaglerayError):
        parse_job(written)
