"""Ray jobs with a fake dashboard: rejections and lost connections."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from eagleray.common.errors import EaglerayError
from eagleray.ray.errors import answer_too_large, job_refused, no_job
from eagleray.ray.jobs import JobState
from eagleray.runs.output import Output
from eagleray.supervisor.launchers import ray_job
from eagleray.supervisor.launchers.ray_job import RayJob
from eagleray.tools.code_copies import read_package

LOST = EaglerayError("cluster-unreachable", "gone")


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(tmp_path / "output.log")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_job, "AGAIN_S", 0.0)


@define
class FakeCluster:
    """A dashboard with one job; `streams` is what each further connection to its log brings until it breaks."""

    streams: list[str] = field(factory=list)
    whole: str = ""
    state_after: JobState = field(factory=lambda: JobState("SUCCEEDED", "", "n1", "01", 0))
    refusal: EaglerayError | None = None
    # The answer of the job API in place of the whole log, and the log as a file of its node.
    log_refusal: EaglerayError | None = None
    file: bytes = b""
    packages: dict[str, bytes] = field(factory=dict)
    submitted: dict[str, Any] = field(factory=dict)

    @property
    def job_api(self) -> FakeCluster:
        return self

    async def has_package(self, name: str) -> bool:
        return name in self.packages

    async def put_package(self, name: str, archive: bytes) -> None:
        self.packages[name] = archive

    async def submit(self, entrypoint: str, **submitted: Any) -> str:
        if self.refusal:
            raise self.refusal
        self.submitted = {"entrypoint": entrypoint, **submitted}
        return "raysubmit_1"

    async def state(self, job: str) -> JobState:
        if self.refusal:
            raise self.refusal
        return JobState("RUNNING", "", "n1", "01", None) if self.streams else self.state_after

    async def logs(self, job: str) -> str:
        if self.streams:
            raise LOST
        if self.log_refusal:
            raise self.log_refusal
        return self.whole

    async def log_bytes(self, node_id: str, filename: str) -> AsyncIterator[bytes]:
        assert (node_id, filename) == ("n1", "job-driver-raysubmit_1.log")
        for at in range(len(self.file)):
            yield self.file[at : at + 1]

    async def log_stream(self, *_: Any) -> AsyncIterator[str]:
        yield self.streams.pop(0)
        raise LOST


def job(cluster: FakeCluster, output: Output, *command: str, adopted: str = "") -> RayJob:
    command = ("python", "x.py", *command)
    env = {"EAGLERAY_RUN": "{}"}
    return RayJob(cluster, command, "/w", "x.py", read_package(), env, output, adopted)


async def test_shell_command_has_constant_arguments_only(output: Output) -> None:
    cluster = FakeCluster()
    await job(cluster, output, "a b; rm -rf $HOME").start()
    assert cluster.submitted["entrypoint"] == f"python -m {read_package().name}.job_entry"
    env = cluster.submitted["runtime_env"]
    assert env["py_modules"] == [f"gcs://{name}" for name in cluster.packages]
    assert "$" not in env["env_vars"]["EAGLERAY_ENTRY"]
    entry = json.loads(env["env_vars"]["EAGLERAY_ENTRY"])
    assert entry == {"argv": ["python", "x.py", "a b; rm -rf $HOME"], "cwd": "/w"}


async def test_rejected_job_raises(output: Output) -> None:
    cluster = FakeCluster(refusal=job_refused("c", "Traceback\nValueError: no such runtime"))
    with pytest.raises(EaglerayError) as raised:
        await job(cluster, output).start()
    assert raised.value.output.endswith("no such runtime")


async def test_log_after_a_lost_connection_is_printed_once(output: Output, tmp_path: Path) -> None:
    cluster = FakeCluster(streams=["one ", "one two ", "o"], whole="one two three\n")
    starter = job(cluster, output)
    await starter.start()
    assert (await starter.ended()).code == 0
    assert (tmp_path / "output.log").read_text() == "one two three\n"


async def test_log_larger_than_an_answer_is_read_whole(output: Output, tmp_path: Path) -> None:
    whole = "größe und mehr\n"
    refusal = answer_too_large("c", 2**20)
    cluster = FakeCluster(streams=["größe "], log_refusal=refusal, file=whole.encode())
    starter = job(cluster, output)
    await starter.start()
    assert (await starter.ended()).code == 0
    assert (tmp_path / "output.log").read_text() == whole


async def test_unreadable_log_does_not_delay_the_end(output: Output) -> None:
    failed = JobState("FAILED", "exit code 3", "", "01", 3)
    starter = job(FakeCluster(log_refusal=answer_too_large("c", 2**20), state_after=failed), output)
    await starter.start()
    ending = await starter.ended()
    assert (ending.code, "could not be read" in ending.note) == (3, True)


async def test_job_of_a_restarted_cluster_ends_with_unknown_outcome(output: Output) -> None:
    starter = job(FakeCluster(refusal=no_job("c", "j")), output, adopted="raysubmit_0")
    assert (await starter.start()).external_id == "raysubmit_0"
    ending = await starter.ended()
    assert (ending.code, "has no job" in ending.note) == (None, True)
