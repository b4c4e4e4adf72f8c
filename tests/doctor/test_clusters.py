"""Diagnoses of clusters and SLURM jobs: copied logs, checks of all nodes, and nodes that don't answer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError, command_missing
from eagleray.common.paths import host_name
from eagleray.doctor.doctor import Doctor
from eagleray.doctor.driver_checks import DRIVER_CHECKS
from eagleray.doctor.logs import cluster_copies
from eagleray.doctor.model import Diagnosis, DiagnosisTarget
from eagleray.doctor.node_checks import NodeFacts, node_diagnosis
from eagleray.doctor.node_rules import DIFFERENCES, RULES
from eagleray.doctor.remote_facts import RemoteFacts
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.ray.dashboard import Dashboard
from eagleray.slurm.jobs import SlurmJob
from eagleray.slurm.queue import JobQueue

from tests.fakes.dashboard import FakeDashboard

FILES = b"2026-11-21 01:25:07 E\nOSError: [Errno 24] Too many open files: 'x'\n"
NO_SHM = {"host": "n1", "shm": {"size": 1}, "memory": 10**12}


class FakeFacts:
    """Checks of nodes that answer `facts`."""

    def __init__(self, facts: NodeFacts) -> None:
        self._facts = facts
        self.pythons: list[str] = []

    async def of_this_machine(self, python: str = "") -> Any:
        self.pythons.append(python)
        return self._facts.facts[0]

    async def of_cluster(self, dashboard: Dashboard, worker_python: str = "") -> NodeFacts:
        return self._facts


async def diagnosed(
    fake: FakeDashboard,
    folder: Path,
    facts: NodeFacts | None = None,
    steps: Any = None,
    before: bool = False,
) -> Diagnosis:
    dashboard = Dashboard(fake.address)

    async def find(cluster: str, say: Any) -> Dashboard:
        return dashboard

    nothing: Any = None
    checks: Any = FakeFacts(facts or NodeFacts(()))
    try:
        return await Doctor(nothing, find, checks, nothing, folder).diagnose(
            DiagnosisTarget(cluster=fake.address, before=before),
            steps or (lambda _sentence, _percent: None),
        )
    finally:
        await dashboard.close()


async def test_checks_before_a_run_read_no_logs_of_the_cluster(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    node, _ = node_of(dashboard)
    dashboard.files[node] = {"worker-1.err": FILES}

    found = await diagnosed(dashboard, tmp_path, NodeFacts((NO_SHM,)), before=True)

    assert "ulimit-nofile" not in [cause.id for cause in found.causes]
    assert found.causes[0].id == "node-shm"
    assert list(tmp_path.iterdir()) == []


async def test_program_python_reads_the_facts_of_this_machine_before_a_run(tmp_path: Path) -> None:
    nothing: Any = None
    checks: Any = FakeFacts(NodeFacts((NO_SHM,)))
    target = DiagnosisTarget(before=True, python="/venv/bin/python")

    found = await Doctor(nothing, nothing, checks, nothing, tmp_path).diagnose(target)

    assert checks.pythons == ["/venv/bin/python"]
    assert found.checked.rules == len(RULES) + len(DIFFERENCES) + DRIVER_CHECKS
    assert found.causes[0].id == "node-shm"


def node_of(fake: FakeDashboard) -> tuple[str, str]:
    (row,) = [row for row in fake.rows["nodes"] if row["state"] == "ALIVE"][:1]
    return row["node_id"], row["node_ip"]


async def test_cluster_whose_nodes_give_no_log_has_their_reasons_and_the_checks(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    """As where the agents of its nodes have ended."""
    node, ip = node_of(dashboard)
    dashboard.files = {node: {}}
    dashboard.gone_nodes.add(node)

    found = await diagnosed(dashboard, tmp_path, NodeFacts((NO_SHM,)))

    assert [cause.id for cause in found.causes] == ["node-shm"]
    (unchecked,) = found.checked.unchecked
    assert (unchecked.path, unchecked.reason) == (
        f"node {ip}",
        f"{dashboard.address} responded with error 500.",
    )


async def test_cause_names_the_node_of_its_log(dashboard: FakeDashboard, tmp_path: Path) -> None:
    node, ip = node_of(dashboard)
    dashboard.files[node] = {"worker-1.err": FILES, "raylet.out": b"fine\n", "state.txt": FILES}
    steps: list[tuple[str, int]] = []

    found = await diagnosed(
        dashboard, tmp_path, steps=lambda text, percent: steps.append((text, percent))
    )

    (evidence,) = found.causes[0].evidence
    assert (found.causes[0].id, evidence.node, evidence.line) == ("ulimit-nofile", ip, 2)
    assert Path(evidence.path).read_bytes() == FILES
    assert found.checked.files == 2
    assert ("2 of 2 logs copied", 100) in steps


async def test_node_that_does_not_answer_is_reported(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    node, ip = node_of(dashboard)
    dashboard.rows["nodes"].append({**dashboard.rows["nodes"][0], "node_id": "gone"})
    dashboard.files = {node: {"worker-1.err": FILES}, "gone": {}}
    dashboard.gone_nodes.add("gone")

    found = await diagnosed(dashboard, tmp_path, NodeFacts((), (("10.0.0.9", ""),)))

    assert found.causes[0].id == "ulimit-nofile"
    unchecked = {item.path: item.reason for item in found.checked.unchecked}
    assert set(unchecked) == {f"node {ip}", "node 10.0.0.9"}
    assert unchecked["node 10.0.0.9"] == "no answer"


async def test_checks_of_nodes_follow_the_causes_in_logs(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    node, _ = node_of(dashboard)
    dashboard.files[node] = {"worker-1.err": FILES}

    found = await diagnosed(dashboard, tmp_path, NodeFacts((NO_SHM, {"host": "other"})))

    assert [cause.id for cause in found.causes] == ["ulimit-nofile", "node-shm"]
    assert [item.node for item in found.causes[1].evidence] == ["n1"]


# A beginning of short lines, a middle, and an end of long lines that name the cause.
SHORT = b"".join(b"step %d\n" % step for step in range(2000))
LONG = b"".join(b"epoch %d %s\n" % (epoch, b"x" * 2000) for epoch in range(50))


@pytest.mark.parametrize("middle", [SHORT, LONG])
@pytest.mark.parametrize("end", [b"", LONG, SHORT])
async def test_cause_at_the_end_of_a_large_log_is_found(
    dashboard: FakeDashboard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    middle: bytes,
    end: bytes,
) -> None:
    monkeypatch.setattr(cluster_copies, "LARGEST_COPY", 8192)
    node, ip = node_of(dashboard)
    content = SHORT + middle * 3 + (end[-3000:] + FILES)
    dashboard.files[node] = {"worker-1.err": content}

    found = await diagnosed(dashboard, tmp_path)

    (evidence,) = found.causes[0].evidence
    copy = Path(evidence.path).read_bytes()
    (beginning,) = tmp_path.rglob("worker-1.err")
    assert (copy.splitlines()[evidence.line - 1], copy[-len(FILES) :]) == (
        FILES.splitlines()[1],
        FILES,
    )
    assert content.endswith(b"\n" + copy)
    assert len(copy) <= 6144
    assert beginning.read_bytes() == content[:2048]
    (item,) = found.checked.unchecked
    assert item.path == f"{ip}: worker-1.err"
    assert item.reason.startswith("what is between its first 0.0 MB and its last")


async def test_log_whose_end_is_one_line_is_copied_as_far_as_its_beginning(
    dashboard: FakeDashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_copies, "LARGEST_COPY", len(FILES))
    node, ip = node_of(dashboard)
    dashboard.files[node] = {"worker-1.err": FILES + b"x" * 10_000}

    found = await diagnosed(dashboard, tmp_path)

    assert Path(found.causes[0].evidence[0].path).read_bytes() == FILES
    assert [(item.path, item.reason) for item in found.checked.unchecked] == [
        (f"{ip}: worker-1.err", "only its beginning")
    ]


async def test_logs_beyond_the_limit_of_all_are_listed(
    dashboard: FakeDashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_copies, "LARGEST_COPIES", len(FILES))
    monkeypatch.setattr(cluster_copies, "_AT_ONCE", 1)
    node, ip = node_of(dashboard)
    dashboard.files[node] = {"worker-1.err": FILES, "worker-2.err": FILES}

    found = await diagnosed(dashboard, tmp_path)

    assert [(item.path, item.reason) for item in found.checked.unchecked] == [
        (f"{ip}: worker-2.err", "all logs together have more than 0 MB")
    ]


async def test_names_of_a_cluster_lead_out_of_no_folder(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    node, _ = node_of(dashboard)
    dashboard.files[node] = {"worker-/../../../evil.err": FILES, "worker-1.err": FILES}
    copies = tmp_path / "copies"

    await diagnosed(dashboard, copies)

    assert [path.name for path in tmp_path.rglob("*.err")] == ["worker-1.err"]


async def test_cluster_without_a_living_node_says_where_its_logs_are(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    for row in dashboard.rows["nodes"]:
        row["state"] = "DEAD"
    with pytest.raises(EaglerayError) as raised:
        await diagnosed(dashboard, tmp_path)
    assert (
        raised.value.message
        == f"No node of {dashboard.address} is alive, so no logs can be copied."
    )
    assert not list(tmp_path.iterdir())


async def test_copies_of_the_last_three_diagnoses_remain(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    node, _ = node_of(dashboard)
    dashboard.files[node] = {"worker-1.err": FILES}
    for _ in range(5):
        await diagnosed(dashboard, tmp_path)

    assert len(list(tmp_path.iterdir())) == 3
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o700}


class FakeSite:
    """SLURM with a job of this machine and of `n2`, whose step runs on this machine only."""

    def __init__(self, state: str = "running", left_s: float | None = None) -> None:
        self._state: Any = state
        self._left_s = left_s
        self.commands: list[list[str]] = []
        self.ages: list[float] = []

    async def get(self, ssh: str, max_age_s: float) -> JobQueue:
        self.ages.append(max_age_s)
        left_s, state = self._left_s, self._state
        job = SlurmJob("12", "t", "R", state, "", "p", "n[1-2]", 2, left_s, 1.0, 1.0, False)
        return JobQueue((job,), 0.0)

    async def nodes(self, ssh: str, nodelist: str) -> list[str]:
        return [host_name(), "n2"]

    async def run(
        self, ssh: str, argv: Sequence[str], stdin: str = "", limit_s: float = 0.0
    ) -> CommandOutput:
        self.commands.append(list(argv))
        python = next(at for at, word in enumerate(argv) if "python3" in word)
        ran = subprocess.run(
            [sys.executable, *argv[python + 1 :]],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        return CommandOutput(ran.returncode, ran.stdout, "srun: error: n2: not started\n")


async def test_slurm_job_is_checked_by_one_step() -> None:
    site: Any = FakeSite()

    facts = await RemoteFacts(site, site, site).of_slurm_job("slurm://12")

    assert [value["host"] for value in facts.facts] == [host_name()]
    assert facts.silent == (("n2", "srun: error: n2: not started"),)
    (command,) = site.commands
    assert "--jobid=12" in command


async def test_time_left_of_a_slurm_job_comes_from_the_query_that_finds_its_nodes() -> None:
    site: Any = FakeSite(left_s=425.0)

    facts = await RemoteFacts(site, site, site).of_slurm_job("12")

    causes = {cause.id: cause for cause in node_diagnosis(facts).causes}
    assert causes["node-time-left"].evidence[0].text == "0:07:05"
    assert site.ages == [0.0]


@pytest.mark.parametrize(
    ("variables", "left_s", "asked"),
    [
        ({"SLURM_JOB_ID": "12"}, 425.0, 1),
        ({"SLURM_JOB_ID": "13"}, None, 1),
        ({"SLURM_JOB_ID": "12", "SLURM_JOB_END_TIME": "1000"}, None, 0),
        ({}, None, 0),
    ],
)
async def test_time_left_of_the_job_of_this_machine_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], left_s: float | None, asked: int
) -> None:
    for name in ("SLURM_JOB_ID", "SLURM_JOB_END_TIME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    site: Any = FakeSite(left_s=425.0)

    facts = await RemoteFacts(site, site, site).of_this_machine()

    assert (facts["job_left_s"], len(site.ages)) == (left_s, asked)


async def test_site_without_squeue_on_its_nodes_has_no_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.delenv("SLURM_JOB_END_TIME", raising=False)
    site: Any = FakeSite()

    async def fails(ssh: str, max_age_s: float) -> JobQueue:
        raise command_missing("squeue", "no such file")

    monkeypatch.setattr(site, "get", fails)

    assert (await RemoteFacts(site, site, site).of_this_machine())["job_left_s"] is None


@pytest.mark.parametrize(("state", "code"), [("pending", "job-waits"), ("over", "job-over")])
async def test_slurm_job_that_does_not_run_starts_no_step(state: str, code: str) -> None:
    site: Any = FakeSite(state)

    with pytest.raises(EaglerayError) as refused:
        await RemoteFacts(site, site, site).of_slurm_job("12")

    assert (refused.value.code, site.commands) == (code, [])


async def test_cluster_that_runs_no_job_is_silent(dashboard: FakeDashboard) -> None:
    nothing: Any = None
    client = Dashboard(dashboard.address)
    checks = RemoteFacts(nothing, nothing, nothing)
    try:
        facts = await checks.of_cluster(client)
        await checks.close()
    finally:
        await client.close()

    assert facts.facts == ()
    assert [node for node, _ in facts.silent] == [dashboard.address]
