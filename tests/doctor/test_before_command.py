"""Checks before a run that depend on its command: its ports, and the versions of its Python and of the cluster."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.cli.main import main
from eagleray.common.errors import EaglerayError
from eagleray.doctor.doctor import Doctor
from eagleray.doctor.model import Cause, DiagnosisTarget
from eagleray.doctor.node_checks import NodeFacts, node_diagnosis
from eagleray.ray.dashboard import Dashboard
from eagleray.remote.scripts import node_facts
from eagleray.runs.command_ports import CommandPort, ports_of

from tests.doctor.test_node_checks import facts
from tests.fakes.dashboard import FakeDashboard

DRIVER = facts(host="laptop", packages={"ray": "2.60.0", "debugpy": "1.8.22"}, python="3.11.7")


@pytest.mark.parametrize(
    ("command", "ports"),
    [
        ("vllm serve m --port 8000", [("--port 8000", 8000, "")]),
        ("ray start --head --dashboard-port=8266", [("--dashboard-port=8266", 8266, "")]),
        ("env MASTER_PORT=29500 python a.py", [("MASTER_PORT=29500", 29500, "")]),
        ("python a.py server.http_port=8123", [("server.http_port=8123", 8123, "")]),
        (
            "sglang --dist-init-addr 10.0.0.3:5000",
            [("--dist-init-addr 10.0.0.3:5000", 5000, "10.0.0.3")],
        ),
        ("a dist_init_addr=[::1]:5000", [("dist_init_addr=[::1]:5000", 5000, "::1")]),
        ("torchrun --rdzv-endpoint=:29400 a.py", [("--rdzv-endpoint=:29400", 29400, "")]),
        ("python a.py --port 0 --port 70000 --export 8000 --report=8000", []),
        ("python a.py --address 10.0.0.3:6379 --port", []),
        ("python a.py --port 8000 --port=8000", [("--port 8000", 8000, "")]),
        ("", []),
    ],
)
def test_ports_are_found_in_a_command(command: str, ports: list[Any]) -> None:
    assert ports_of(command.split()) == tuple(CommandPort(*port) for port in ports)


def causes_of(command: str, **changes: Any) -> dict[str, Cause]:
    node = facts(**changes)
    found = node_diagnosis(NodeFacts((node,), driver=node), ports=ports_of(command.split()))
    return {cause.id: cause for cause in found.causes}


def test_taken_port_of_the_command_is_named_with_its_listener() -> None:
    taken = [
        {"port": 8123, "address": "::", "user": "me", "pid": 7, "program": "vllm"},
        {"port": 8123, "address": "0.0.0.0", "user": "me", "pid": 7, "program": "vllm"},
        {"port": 5000, "address": "0.0.0.0", "user": "kim"},
    ]
    command = "serve --port 8123 --grpc-port 8124 --dist-init-addr 10.0.0.3:5000"

    causes = causes_of(command, listeners=taken)

    assert [item.text for item in causes["command-port"].evidence] == [
        "--port 8123: vllm (PID 7)",
        "--dist-init-addr 10.0.0.3:5000: kim",
    ]


def test_listener_here_does_not_take_a_port_on_another_machine() -> None:
    taken = [{"port": 5000, "address": "0.0.0.0", "user": "kim"}]
    assert causes_of("serve --dist-init-addr 10.0.0.9:5000", listeners=taken) == {}


def test_port_of_outgoing_connections_is_named_with_their_range() -> None:
    (cause,) = causes_of("serve --port 40000 --http-port 8000").values()

    assert cause.id == "command-port-ephemeral"
    assert [item.text for item in cause.evidence] == ["--port 40000: 32768-60999"]


def test_listener_of_this_machine_is_named_by_the_command(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        command = [sys.executable, "serve.py", "--port", port]
        assert main(["doctor", "--before", "--json", "--", *command]) == 0

    causes = json.loads(capsys.readouterr().out)["causes"]
    (taken,) = [cause for cause in causes if cause["id"] == "command-port"]
    (evidence,) = taken["evidence"]
    assert evidence["text"].startswith(f"--port {port}: ")
    assert evidence["text"].endswith(f"(PID {os.getpid()})")


def test_exported_port_is_checked_unless_the_command_sets_another(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def names(*command: str) -> list[str]:
        assert main(["doctor", "--before", "--json", "--", *command, sys.executable, "a.py"]) == 0
        causes = json.loads(capsys.readouterr().out)["causes"]
        taken = [cause for cause in causes if cause["id"] == "command-port"]
        return [item["text"].partition(": ")[0] for cause in taken for item in cause["evidence"]]

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setenv("MASTER_PORT", str(port))

        assert names() == [f"MASTER_PORT={port}"]
        assert names("env", "MASTER_PORT=0") == []
        # The store is on the first node of the job.
        monkeypatch.setenv("MASTER_ADDR", "gpu-17")
        assert names() == []


@pytest.mark.parametrize(
    ("changes", "id", "sentence"),
    [
        (
            {"packages": {"ray": "2.9.1", "debugpy": "1.8.22"}},
            "driver-ray",
            "The driver has Ray 2.60.0, node node-7 has 2.9.1.",
        ),
        (
            {"python": "3.10.2"},
            "driver-python",
            "The driver has Python 3.11, node node-7 has 3.10.",
        ),
        (
            {"packages": {"ray": "2.60.0", "debugpy": "1.8.0"}},
            "driver-debugpy",
            "The driver has debugpy 1.8.22, node node-7 has 1.8.0.",
        ),
    ],
)
def test_version_that_differs_from_the_version_of_the_driver_is_named(
    changes: dict[str, Any], id: str, sentence: str
) -> None:
    nodes = (facts(host="node-7", **changes), facts(host="node-8", **changes))

    (cause,) = node_diagnosis(NodeFacts(nodes, driver=DRIVER)).causes

    assert (cause.id, cause.sentence) == (id, sentence)
    assert [item.node for item in cause.evidence] == ["node-7", "node-8"]


def test_driver_without_ray_is_named_with_the_version_of_a_node() -> None:
    driver = facts(host="laptop", packages={})
    (cause,) = node_diagnosis(NodeFacts((facts(),), driver=driver)).causes
    assert cause.sentence == "The driver has no Ray, node node-3 has 2.60.0."


def test_same_versions_and_odd_facts_give_no_finding() -> None:
    nodes: tuple[dict[str, Any], ...] = (
        facts(python="3.11.9"),
        {"packages": 3, "python": None},
        {},
    )
    assert (
        node_diagnosis(NodeFacts(nodes, driver=DRIVER), ports=ports_of(["--port=8000"])).causes
        == ()
    )
    odd = {"listeners": [1], "addresses": 3, "ephemeral_ports": [1]}
    assert node_diagnosis(NodeFacts((), driver=odd), ports=ports_of(["--port=8000"])).causes == ()


class FakeFacts:
    """The driver's facts, or its failure, beside a cluster's."""

    def __init__(self, driver: dict[str, Any] | EaglerayError) -> None:
        self._driver = driver
        self.pythons: list[str] = []
        self.worker_pythons: list[str] = []

    async def of_this_machine(self, python: str = "") -> dict[str, Any]:
        self.pythons.append(python)
        if isinstance(self._driver, EaglerayError):
            raise self._driver
        return self._driver

    async def of_cluster(self, dashboard: Dashboard, worker_python: str = "") -> NodeFacts:
        self.worker_pythons.append(worker_python)
        return NodeFacts((facts(host="node-7", packages={"ray": "2.9.1"}),))


async def before_on_cluster(fake: FakeDashboard, checks: FakeFacts, folder: Path) -> Any:
    dashboard = Dashboard(fake.address)
    nothing: Any = None
    shown: Any = checks

    async def find(cluster: str, say: Any) -> Dashboard:
        return dashboard

    runtime_env = '--runtime-env-json={"py_executable": "/opt/p"}'
    command = ("/venv/bin/python", "a.py", "--port", "40000", runtime_env)
    target = DiagnosisTarget(
        cluster=fake.address, before=True, python="/venv/bin/python", command=command
    )
    try:
        return await Doctor(nothing, find, shown, nothing, folder).diagnose(target)
    finally:
        await dashboard.close()


async def test_driver_is_compared_with_the_nodes_of_the_cluster(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    checks = FakeFacts(DRIVER)

    found = await before_on_cluster(dashboard, checks, tmp_path)

    assert found.sentence == "The driver has Ray 2.60.0, node node-7 has 2.9.1."
    causes = {cause.id: cause for cause in found.causes}
    assert causes["command-port-ephemeral"].evidence[0].node == "laptop"
    assert (checks.pythons, checks.worker_pythons) == (["/venv/bin/python"], ["/opt/p"])
    assert found.checked.unchecked == ()


async def test_driver_whose_python_does_not_answer_is_listed_as_not_checked(
    dashboard: FakeDashboard, tmp_path: Path
) -> None:
    checks = FakeFacts(EaglerayError("node-silent", "It doesn't answer."))

    found = await before_on_cluster(dashboard, checks, tmp_path)

    assert [item.path for item in found.checked.unchecked] == ["node of the driver"]
    assert "node-no-debugpy" in [cause.id for cause in found.causes]


def test_command_line_takes_a_cluster_before_a_run_and_no_job(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for other in (["--slurm", "12"], ["--run", "r"], ["x.log"]):
        with pytest.raises(SystemExit) as refused:
            main(["doctor", "--before", *other, "--", "python"])
        assert refused.value.code == 2
    capsys.readouterr()
    # Nothing listens there; the arguments are right.
    command = ["--before", "--cluster", "http://127.0.0.1:1", "--", "python"]
    assert main(["doctor", *command]) == 1
    assert "Which program" not in capsys.readouterr().err


@pytest.fixture
def left_worker() -> Iterator[int]:
    """A process with the name of a worker, below no raylet."""
    code = "print('runs', flush=True); input()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["ray::W.f", "-c", code], executable=sys.executable, **pipes) as worker:
        try:
            assert worker.stdout is not None
            assert worker.stdout.readline() == b"runs\n"
            yield worker.pid
        finally:
            worker.kill()


@pytest.mark.parametrize(
    ("prints", "text"),
    [
        (
            "echo '{pid}, 12288'; echo '{pid}, 1024'; echo '1, 5'",
            "ray::W.f (PID {pid}): 13.0 GiB of a GPU",
        ),
        ("echo '{pid}, [N/A]'", "{pid}"),
        ("exit 9", "{pid}"),
    ],
)
def test_worker_left_on_a_gpu_is_named_with_its_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_worker: int, prints: str, text: str
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{prints.format(pid=left_worker)}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    read = node_facts._ray_processes()

    own = [process for process in read["processes"] if process["pid"] == left_worker]
    (cause,) = node_diagnosis(NodeFacts((facts(processes=own),))).causes
    assert (cause.id, cause.evidence[0].text) == ("node-leftover", text.format(pid=left_worker))


def test_nvidia_smi_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(node_facts, "_GPU_LIMIT_S", 0.2)
    assert node_facts._gpu_memory() == {}


def test_workers_left_by_other_users_are_counted_apart() -> None:
    own = [{"pid": 5, "name": "ray::A", "parent": 1, "is_left": True, "gpu_mib": 0}]
    found = node_diagnosis(NodeFacts((facts(processes=own, others_left={"kim": 3, "li": 1}),)))
    assert found.causes[0].evidence[0].text == "5; other users: kim 3, li 1"


def test_worker_of_another_user_is_left_only_without_a_raylet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process that a worker has forked has its name, and the worker as its parent."""
    rows = {
        2: {"pid": 2, "name": "raylet", "parent": 1, "user": 4_000_001},
        3: {"pid": 3, "name": "ray::A", "parent": 2, "user": 4_000_001},
        4: {"pid": 4, "name": "ray::A", "parent": 3, "user": 4_000_001},
        5: {"pid": 5, "name": "ray::B", "parent": 1, "user": 4_000_001},
    }
    monkeypatch.setattr(node_facts, "_processes", lambda: [Path(f"/proc/{pid}") for pid in rows])
    monkeypatch.setattr(node_facts, "_ray_process", lambda path: dict(rows[int(path.name)]))
    assert node_facts._ray_processes() == {"processes": [], "others_left": {"4000001": 1}}
