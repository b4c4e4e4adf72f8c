"""Diagnoses of runs: their output with the logs of the workers of their Ray."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from eagleray.common.paths import host_name
from eagleray.doctor.doctor import Doctor
from eagleray.doctor.logs.cluster_copies import is_log
from eagleray.doctor.logs.run_session import session_logs
from eagleray.doctor.model import Diagnosis, DiagnosisTarget
from eagleray.doctor.node_checks import NodeFacts
from eagleray.ray.dashboard import Dashboard
from eagleray.runs.model import ProcessIdentity, RunPlan, RunState, RunWorkerStatus
from eagleray.runs.records import RunRecord, StoredRun

from tests.fakes.dashboard import FakeDashboard

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has\n"
GLOO = "unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete\n"
PID = 4711
SESSION = "session_2026-11-21_01-20-00_1_2"

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has"


class OneRun:
    """The runs of a home: one."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run

    def load(self, written: str) -> StoredRun:
        assert written == self._run.record.id
        return self._run


class NoFacts:
    async def of_cluster(self, dashboard: Dashboard) -> NodeFacts:
        return NodeFacts(())


def run_of(folder: Path, **state: Any) -> StoredRun:
    record = RunRecord("0123456789ab", folder)
    record.output.write_text(GLOO)
    plan = RunPlan(
        kind="program",
        argv=("python", "a.py"),
        cwd="/w",
        name="a.py",
        env={"RAY_TMPDIR": str(folder)},
    )
    started = RunState("failed", time.time() - 5, host=host_name())
    return StoredRun(record, plan, evolve(started, **state))


async def diagnosed(run: StoredRun, folder: Path, dashboard: Dashboard | None = None) -> Diagnosis:
    async def find(cluster: str, say: Any) -> Dashboard:
        assert dashboard
        return dashboard

    nothing: Any = None
    runs: Any = OneRun(run)
    facts: Any = NoFacts()
    doctor = Doctor(runs, find, facts, nothing, folder / "copies")
    return await doctor.diagnose(DiagnosisTarget(run_id=run.record.id))


def session(folder: Path, name: str, **logs: str) -> Path:
    made = folder / "ray" / name / "logs"
    made.mkdir(parents=True)
    for log, text in logs.items():
        (made / log.replace("__", ".").replace("_", "-")).write_text(text)
    return made


@pytest.mark.parametrize(
    ("argv", "preset", "names"),
    [
        (("python", "-m", "verl.trainer.main_ppo"), "", ["verl"]),
        (("bash", "train.sh"), "areal", ["AReaL"]),
        (("bash", "train.sh"), "my_own", ["verl", "AReaL", "NeMo RL"]),
    ],
)
async def test_run_tells_whose_settings_are_shown(
    tmp_path: Path, argv: tuple[str, ...], preset: str, names: list[str]
) -> None:
    run = run_of(tmp_path)
    run.record.output.write_text(f"{OOM}\n")

    found = await diagnosed(evolve(run, plan=evolve(run.plan, argv=argv, preset=preset)), tmp_path)

    assert list(found.causes[0].settings) == names


async def test_run_without_ray_is_diagnosed_by_its_output(tmp_path: Path) -> None:
    found = await diagnosed(run_of(tmp_path), tmp_path)

    assert ([cause.id for cause in found.causes], found.checked.files) == (["gloo-timeout"], 1)


async def test_logs_of_the_session_of_an_ended_ray_name_the_cause(tmp_path: Path) -> None:
    session(tmp_path, SESSION, worker_1__err=OOM, raylet__out="fine\n", other__txt=OOM)

    found = await diagnosed(run_of(tmp_path, session=SESSION), tmp_path)

    assert [(cause.id, cause.secondary) for cause in found.causes] == [
        ("cuda-oom", False),
        ("gloo-timeout", True),
    ]
    assert found.checked.files == 3


def test_session_without_a_name_is_the_session_of_the_driver(tmp_path: Path) -> None:
    driver = f"python_core_driver_01_{PID}__log"
    own = session(tmp_path, SESSION, worker_1__err=OOM)
    (own / f"python-core-driver-01_{PID}.log").write_text("x")
    session(tmp_path, "session_2026-11-22_01-20-00_1_2", worker_1__err=OOM, **{driver: "x"})
    run = run_of(tmp_path, program=ProcessIdentity(PID, 1.0))

    assert session_logs(run.plan, run.state) == [own / "worker-1.err"]
    worker = RunWorkerStatus("w", PID, "driver", "Driver", "running", ())
    run = run_of(tmp_path, workers=(worker,))
    assert session_logs(run.plan, run.state) == [own / "worker-1.err"]
    other = run_of(tmp_path, program=ProcessIdentity(1, 1.0))
    assert session_logs(other.plan, other.state) == []


def test_logs_from_before_the_run_and_of_other_machines_are_left_out(tmp_path: Path) -> None:
    old = session(tmp_path, SESSION, worker_1__err=OOM, worker_2__err=OOM) / "worker-1.err"
    os.utime(old, (1.0, 1.0))
    run = run_of(tmp_path, session=SESSION)

    assert [path.name for path in session_logs(run.plan, run.state)] == ["worker-2.err"]
    elsewhere = evolve(run.state, host="another-host")
    assert session_logs(run.plan, elsewhere) == []
    outside = evolve(run.state, session="../..")
    assert session_logs(run.plan, outside) == []


async def test_logs_of_a_live_cluster_come_from_its_dashboard(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    (node, *_) = [row["node_id"] for row in dashboard.rows["nodes"] if row["state"] == "ALIVE"]
    dashboard.files[node] = {"worker-1.err": OOM.encode()}
    client = Dashboard(dashboard.address)
    try:
        named = (await client.version()).session
        run = run_of(tmp_path, cluster=dashboard.address, session=named)
        found = await diagnosed(run, tmp_path, client)
        other = run_of(tmp_path, cluster=dashboard.address, session="session_of_another_ray")
        without = await diagnosed(other, tmp_path, client)
    finally:
        await client.close()

    assert [cause.id for cause in found.causes] == ["cuda-oom", "gloo-timeout"]
    assert [cause.id for cause in without.causes] == ["gloo-timeout"]


async def test_cluster_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    client = Dashboard("http://127.0.0.1:9")
    try:
        run = run_of(tmp_path, cluster="http://127.0.0.1:9")
        found = await diagnosed(run, tmp_path, client)
    finally:
        await client.close()

    assert [cause.id for cause in found.causes] == ["gloo-timeout"]
    assert [item.path for item in found.checked.unchecked] == ["cluster http://127.0.0.1:9"]


async def test_ray_that_has_ended_with_its_run_is_not_missed(tmp_path: Path) -> None:
    session(tmp_path, SESSION, worker_1__err=OOM)
    client = Dashboard("http://127.0.0.1:9")
    try:
        run = run_of(tmp_path, cluster="http://127.0.0.1:9", session=SESSION)
        found = await diagnosed(run, tmp_path, client)
    finally:
        await client.close()

    assert found.causes[0].id == "cuda-oom"
    assert found.checked.unchecked == ()


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        ("worker-ab12-01000000-77.err", True),
        ("worker-ab12-02000000-77.err", False),
        ("worker-ab12-ffffffff-77.out", True),
        ("raylet.out", True),
        ("state.txt", False),
    ],
)
def test_logs_of_other_jobs_are_left_out(name: str, is_own: bool) -> None:
    assert is_log(name, {"01000000"}) == is_own
