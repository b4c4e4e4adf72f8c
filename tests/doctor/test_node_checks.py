"""Checks of a node: each rule on facts, and the facts of this machine."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from eagleray.cli.main import main
from eagleray.doctor.node_checks import SCRIPT, NodeFacts, node_diagnosis
from eagleray.doctor.node_rules import GIB, RULES
from eagleray.doctor.remote_facts import _clock_offset
from eagleray.remote.scripts import node_facts


def facts(**changes: Any) -> dict[str, Any]:
    """A node on which no rule finds anything; `variables` are added to its own."""
    variables = {
        "proxies": [],
        "no_proxy": "",
        "ray_debug": "",
        "interfaces": {},
        "nccl_timeout": False,
        "slurm_end": "",
        "slurm_cpus": "",
        **changes.pop("variables", {}),
    }
    return {
        "host": "node-3",
        "time": time.time(),
        "executable": "/venv/bin/python",
        "python": "3.11.7",
        "driver": "",
        "packages": {"ray": "2.60.0", "debugpy": "1.8.22"},
        "memory": 64 * GIB,
        "shm": {"path": "/dev/shm", "size": 32 * GIB, "free": 32 * GIB},
        "ray_tmp": {"path": "/tmp", "size": 100 * GIB, "free": 50 * GIB},
        "nofile": [65_535, 65_535],
        "cgroup": {"limit": 64 * GIB, "used": GIB, "kills": 0},
        "ephemeral_ports": [32_768, 60_999],
        "ptrace_scope": 1,
        "listeners": [{"port": 22, "address": "0.0.0.0", "user": "root"}],
        "addresses": [{"interface": "eth0", "address": "10.0.0.3"}],
        "resolved": ["10.0.0.3"],
        "variables": variables,
        "processes": [
            {"pid": 12, "name": "raylet", "parent": 1, "nofile": 65_535, "lacks": []},
            {"pid": 13, "name": "ray::IDLE", "parent": 12, "nofile": 65_535},
        ],
        "gpus": [],
        "graphics": [],
        "cpus": 16,
        "all_cpus": 16,
        **changes,
    }


def test_healthy_node_has_no_findings() -> None:
    diagnosis = node_diagnosis(NodeFacts((facts(),)), before=True)

    assert diagnosis.causes == ()
    assert diagnosis.sentence == "No check has found a problem."


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("node-shm", {"shm": {"path": "/dev/shm", "size": GIB // 16, "free": 0}}, "0.1 GiB of 64.0"),
    (
        "node-nofile",
        {"processes": [{"pid": 1, "name": "raylet", "parent": 1, "nofile": 1024}]},
        "1024",
    ),
    ("node-nofile", {"nofile": [4096, 65_535], "processes": []}, "4096"),
    ("node-cgroup-full", {"cgroup": {"limit": GIB, "used": GIB, "kills": 0}}, "1.0 GiB of 1.0"),
    ("node-kills", {"cgroup": {"limit": None, "used": None, "kills": 3}}, "3"),
    ("node-disk", {"ray_tmp": {"path": "/tmp", "size": 900 * GIB, "free": 9 * GIB}}, "/tmp: 9.0"),
    ("node-host-name", {"resolved": ["127.0.1.1"]}, "node-3 → 127.0.1.1"),
    ("node-interface", {"variables": {"interfaces": {"NCCL_SOCKET_IFNAME": "ib"}}}, "=ib"),
    ("node-interface", {"variables": {"interfaces": {"NCCL_SOCKET_IFNAME": "=eth"}}}, "=eth"),
    (
        "node-proxy",
        {"variables": {"proxies": ["http_proxy"], "no_proxy": "localhost,10.1.0.0/16"}},
        "http_proxy; no_proxy: 10.0.0.3",
    ),
    ("node-port", {"listeners": [{"port": 6379, "address": "::", "user": "kim"}]}, "kim"),
    ("node-ephemeral", {"ephemeral_ports": [10_000, 60_999]}, "10000-60999: 10001, 29500"),
    (
        "node-leftover",
        {"processes": [{"pid": 77, "name": "ray::W.f", "parent": 1, "is_left": True}]},
        "77",
    ),
    ("node-legacy-debugger", {"variables": {"ray_debug": "legacy"}}, "RAY_DEBUG=legacy"),
    ("node-nccl-timeout", {"variables": {"nccl_timeout": True}}, "NCCL_TIMEOUT"),
    ("node-time-left", {"variables": {"slurm_end": "1000"}}, "0:00:00"),
    ("node-time-left", {"job_left_s": 425.5}, "0:07:05"),
    ("node-time-left", {"job_left_s": 60.0, "variables": {"slurm_end": "9999999999"}}, "0:01:00"),
    ("node-cpus", {"cpus": 4, "variables": {"slurm_cpus": "4"}}, "4 of 16"),
    ("node-no-ray", {"packages": {"debugpy": "1.8.22"}}, "/venv/bin/python"),
    ("node-no-debugpy", {"packages": {"ray": "2.60.0"}}, "/venv/bin/python"),
    ("node-ptrace", {"ptrace_scope": 2}, "2"),
    ("node-ptrace", {"ptrace_scope": 3, "may_trace": True}, "3"),
    ("node-ptrace-children", {"ptrace_scope": 1, "may_trace": False}, "1"),
    ("node-graphics", {"gpus": ["/dev/nvidia0"]}, "EGL, Vulkan"),
    (
        "node-graphics",
        {"gpus": ["/dev/nvidia0"], "graphics": ["/usr/share/glvnd/egl_vendor.d/10_nvidia.json"]},
        "Vulkan",
    ),
    (
        "node-shm",
        {"memory": 900 * GIB, "cgroup": {"limit": 200 * GIB, "used": 1, "kills": 0}},
        "32.0 GiB of 200.0",
    ),
    (
        "node-port",
        {"listeners": [{"port": 30000, "address": "::", "user": "kim"}]},
        "30000 (SGLang): kim",
    ),
    ("node-address", {"node": "192.168.7.4"}, "192.168.7.4; 10.0.0.3"),
    (
        "node-raylet-variables",
        {
            "processes": [
                {"pid": 1, "name": "raylet", "parent": 1, "nofile": None, "lacks": ["NCCL_DEBUG"]}
            ]
        },
        "NCCL_DEBUG",
    ),
    (
        "node-proxy",
        {"variables": {"proxies": ["http_proxy"], "no_proxy": "10.0.0.30,10.0.1.0/24"}},
        "no_proxy: 10.0.0.3",
    ),
    ("node-clock", {"clock_offset": -3600.0}, "-3600"),
]


@pytest.mark.parametrize(("rule", "changes", "text"), CASES)
def test_rule_finds_what_is_wrong(rule: str, changes: dict[str, Any], text: str) -> None:
    causes = {
        cause.id: cause
        for cause in node_diagnosis(
            NodeFacts(
                (
                    facts(),
                    facts(**changes),
                )
            ),
            before=True,
        ).causes
    }

    assert list(causes) == [rule]
    (evidence,) = causes[rule].evidence
    assert (evidence.node, text in evidence.text) == (changes.get("node", "node-3"), True)


@pytest.mark.parametrize(
    "changes",
    [
        {"variables": {"interfaces": {"NCCL_SOCKET_IFNAME": "^docker"}}},
        {"variables": {"interfaces": {"GLOO_SOCKET_IFNAME": "eth0"}}, "resolved": ["127.0.1.1"]},
        {"variables": {"proxies": ["http_proxy"], "no_proxy": "localhost, 10.0.0.0/8"}},
        {"variables": {"proxies": ["http_proxy"], "no_proxy": "*"}},
        {"shm": None, "cgroup": None, "ray_tmp": None, "ephemeral_ports": []},
    ],
)
def test_configured_node_has_no_findings(changes: dict[str, Any]) -> None:
    assert node_diagnosis(NodeFacts((facts(**changes),)), before=True).causes == ()


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} == {rule.id for rule in RULES}


def test_facts_of_this_machine_have_all_that_rules_need() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        printed = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, check=True)
        port = listener.getsockname()[1]
    read = json.loads(printed.stdout)

    assert set(read) >= set(facts())
    assert port in {entry["port"] for entry in read["listeners"]}
    assert read["packages"]["debugpy"]
    assert read["memory"] > GIB
    for rule in RULES:
        rule.read(read)


def test_node_is_checked_with_the_python_of_the_program(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--before", "--json", "--", sys.executable, "train.py"]) == 0

    ids = [cause["id"] for cause in json.loads(capsys.readouterr().out)["causes"]]
    assert "node-no-debugpy" not in ids


def test_program_without_before_is_refused() -> None:
    with pytest.raises(SystemExit) as refused:
        main(["doctor", "x.log", "--", "python", "train.py"])

    assert refused.value.code == 2


def test_taken_ports_are_nothing_new_where_ray_runs() -> None:
    taken = {"port": 8265, "address": "0.0.0.0", "user": "me"}

    def ids(before: bool) -> list[str]:
        found = node_diagnosis(NodeFacts((facts(listeners=[taken]),)), before=before)
        return [cause.id for cause in found.causes]

    assert (ids(before=True), ids(before=False)) == (["node-port"], [])


@pytest.mark.parametrize(
    "changes",
    [
        {"ptrace_scope": 0, "may_trace": False},
        {"ptrace_scope": 1, "may_trace": True},
        {"ptrace_scope": 2, "may_trace": True},
        {"ptrace_scope": 1, "may_trace": None},
        {"job_left_s": 7200.0, "variables": {"slurm_end": "1000"}},
    ],
)
def test_limits_give_no_finding_where_they_do_not_matter(changes: dict[str, Any]) -> None:
    assert node_diagnosis(NodeFacts((facts(**changes),))).causes == ()


@pytest.mark.parametrize(
    ("capabilities", "may_trace"),
    [("000001ffffffffff", True), ("0000000000080000", True), ("000000000007ffff", False)],
)
def test_right_to_read_any_process_comes_from_the_capabilities(
    tmp_path: Path, capabilities: str, may_trace: bool
) -> None:
    status = tmp_path / "status"
    status.write_text(f"CapPrm:\t{'0' * 16}\nCapEff:\t{capabilities}\n")

    assert node_facts._may_trace(str(status)) is may_trace
    assert node_facts._may_trace(str(tmp_path / "none")) is None


def test_facts_of_another_kind_give_no_finding() -> None:
    odd = {"host": 3, "nofile": "x", "shm": [1], "job_left_s": -(10**400)}
    found = node_diagnosis(NodeFacts((odd, {"nofile": [], "ephemeral_ports": []})), before=True)

    assert found.causes == ()


@pytest.mark.parametrize("no_proxy", ["10.0.0.3", "10.0.0.0/24", "localhost, 10.0.*", "10.", "*"])
def test_address_that_no_proxy_leaves_out_gives_no_finding(no_proxy: str) -> None:
    changed = facts(variables={"proxies": ["http_proxy"], "no_proxy": no_proxy})
    assert node_diagnosis(NodeFacts((changed,))).causes == ()


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("nodes-ray", {"packages": {"ray": "2.44.0", "debugpy": "1.8.22"}}),
        ("nodes-ray", {"python": "3.10.2"}),
        ("nodes-packages", {"packages": {"ray": "2.60.0", "debugpy": "1.8.0"}}),
        ("nodes-driver", {"driver": "550.54"}),
    ],
)
def test_nodes_that_differ_are_named_with_what_each_has(rule: str, changes: dict[str, Any]) -> None:
    first = facts(host="node-1", driver="570.86" if rule == "nodes-driver" else "")
    (cause,) = node_diagnosis(NodeFacts((first, facts(host="node-2", **changes)))).causes
    assert cause.id == rule
    assert [item.node for item in cause.evidence] == ["node-1", "node-2"]
    assert len({item.text for item in cause.evidence}) == 2


def test_nodes_with_other_patch_versions_of_python_do_not_differ() -> None:
    assert node_diagnosis(NodeFacts((facts(), facts(python="3.11.9")))).causes == ()


def test_memory_limit_of_a_folder_above_the_process_counts(tmp_path: Path) -> None:
    """SLURM limits the job, and systemd the slice."""
    job = tmp_path / "system.slice" / "job_7"
    (job / "step_0").mkdir(parents=True)
    for folder, limit, used, kills in (
        (job, str(4 * GIB), 3 * GIB, 2),
        (job / "step_0", "max", GIB, 0),
    ):
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text(f"{used}\n")
        (folder / "memory.events").write_text(f"low 0\noom_kill {kills}\n")
    own = tmp_path / "own"
    own.write_text("0::/system.slice/job_7/step_0\n")
    assert node_facts._cgroup(str(own), str(tmp_path)) == {
        "limit": 4 * GIB,
        "used": 3 * GIB,
        "kills": 2,
    }


def test_memory_limit_of_version_1_counts(tmp_path: Path) -> None:
    folder = tmp_path / "memory" / "slurm" / "job_7"
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text(f"{2 * GIB}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{GIB}\n")
    (folder / "memory.oom_control").write_text("under_oom 0\noom_kill 1\n")
    (folder.parent / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    (folder.parent / "memory.usage_in_bytes").write_text(f"{GIB}\n")
    own = tmp_path / "own"
    own.write_text("5:cpuset:/slurm\n4:memory:/slurm/job_7\n0::/\n")
    assert node_facts._cgroup(str(own), str(tmp_path)) == {
        "limit": 2 * GIB,
        "used": GIB,
        "kills": 1,
    }


def test_variables_that_a_running_raylet_lacks_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", "print('runs', flush=True); input()"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env={"NCCL_IB_HCA": "mlx5"}, **pipes) as raylet:
        try:
            assert raylet.stdout is not None
            # Its environment is readable only once it runs.
            assert raylet.stdout.readline() == b"runs\n"
            monkeypatch.setenv("NCCL_DEBUG", "INFO")
            monkeypatch.setenv("NCCL_IB_HCA", "mlx5")
            lacking = node_facts._lacking_variables(f"/proc/{raylet.pid}")
            assert "NCCL_DEBUG" in lacking
            assert "NCCL_IB_HCA" not in lacking
        finally:
            raylet.kill()


@pytest.mark.parametrize(
    ("read", "offset"), [(99.0, -1.0), (100.0, 0.0), (105.0, 0.0), (140.0, 30.0), (None, 0.0)]
)
def test_clock_of_a_slow_step_is_not_taken_for_wrong(read: float | None, offset: float) -> None:
    assert _clock_offset(read, started=100.0, ended=110.0) == offset


def test_models_of_gpus_come_from_their_driver(tmp_path: Path) -> None:
    for number, model in enumerate(("NVIDIA H100 80GB HBM3", "NVIDIA L4")):
        folder = tmp_path / f"0000:0{number}:00.0"
        folder.mkdir()
        (folder / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 26\n")
    assert node_facts._gpu_models(str(tmp_path)) == ["NVIDIA H100 80GB HBM3", "NVIDIA L4"]


def test_name_of_the_system_comes_from_its_release_file(tmp_path: Path) -> None:
    file = tmp_path / "os-release"
    file.write_text('NAME="Rocky Linux"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\n')
    assert node_facts._system(str(file)) == "Rocky Linux 9.4 (Blue Onyx)"
