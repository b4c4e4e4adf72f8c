"""Which clusters are one's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from eagleray.clusters import discovery
from eagleray.clusters.discovery import (
    DashboardProcess,
    DiscoveredCluster,
    Discovery,
    Machine,
    discover,
)
from eagleray.tools.processes import Listener

ME, STRANGER = 1000, 1001
SCRIPT = "/opt/venv/lib/python3.11/site-packages/ray/dashboard/dashboard.py"


def dashboard(
    pid: int, *listeners: tuple[str, int], arguments: tuple[str, ...] = ()
) -> DashboardProcess:
    told = ("python", SCRIPT, "--host=127.0.0.1", *arguments)
    return DashboardProcess(pid, told, tuple(Listener(host, port, ME) for host, port in listeners))


def search(
    *dashboards: DashboardProcess,
    listeners: tuple[Listener, ...] = (),
    own: bool = True,
    **environ: str,
) -> Discovery:
    machine = Machine(lambda: list(dashboards), lambda: list(listeners), ME)
    return discover(environ, machine, own=own)


def test_machine_without_ray_has_no_clusters_and_no_hints() -> None:
    assert search() == Discovery((), ())


def test_variables_come_first_and_each_address_is_listed_once() -> None:
    one = dashboard(7, ("127.0.0.1", 8265), arguments=("--port=8265",))
    found = search(one, RAY_API_SERVER_ADDRESS="http://localhost:8265", RAY_ADDRESS="https://b:1")
    assert found.clusters == (
        DiscoveredCluster("http://127.0.0.1:8265", "variable"),
        DiscoveredCluster("https://b:1", "variable"),
    )


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379", "ray://head:10001", "local"])
def test_ray_address_without_a_dashboard_is_ignored(address: str) -> None:
    assert search(RAY_ADDRESS=address) == Discovery((), ())


def test_broken_variable_is_a_hint() -> None:
    (hint,) = search(RAY_API_SERVER_ADDRESS="http://u:p@h:1").hints
    assert hint.code == "bad-variable"
    assert "RAY_API_SERVER_ADDRESS" in hint.next_step


def test_port_of_a_dashboard_is_its_argument_or_a_later_port() -> None:
    told = dashboard(1, ("127.0.0.1", 9001), ("0.0.0.0", 44227), arguments=("--port=9001",))
    moved = dashboard(2, ("0.0.0.0", 44228), ("0.0.0.0", 8267), arguments=("--port=8265",))
    fixed = dashboard(
        3, ("192.0.2.2", 7000), ("::", 7001), arguments=("--port=7000", "--port-retries=0")
    )
    six = dashboard(4, ("::1", 8300), arguments=("--port=8300",))
    assert [cluster.address for cluster in search(told, moved, fixed, six).clusters] == [
        "http://127.0.0.1:9001",
        "http://127.0.0.1:8267",
        "http://192.0.2.2:7000",
        "http://[::1]:8300",
    ]


def test_dashboard_that_does_not_listen_yet_is_not_there() -> None:
    assert search(dashboard(1, ("0.0.0.0", 44227), arguments=("--port=8265",))).clusters == ()


@pytest.mark.parametrize(
    ("argument", "code"), [("--minimal", "no-ray-default"), ("--disable-frontend", "no-dashboard")]
)
def test_head_without_dashboard_is_a_hint(argument: str, code: str) -> None:
    findings = search(dashboard(1, ("0.0.0.0", 44227), arguments=("--port=8265", argument)))
    assert findings.clusters == ()
    assert [hint.code for hint in findings.hints] == [code]


def test_usual_port_counts_only_if_its_listener_belongs_to_the_user() -> None:
    mine, theirs = Listener("127.0.0.1", 8265, ME), Listener("0.0.0.0", 8265, STRANGER)
    assert search(listeners=(mine,)).clusters == (
        DiscoveredCluster("http://127.0.0.1:8265", "port"),
    )
    for listeners in ((theirs,), (mine, theirs)):
        findings = search(listeners=listeners)
        assert findings.clusters == ()
        assert [hint.code for hint in findings.hints] == ["not-owner"]
        assert f"user {STRANGER}" in findings.hints[0].message


def test_discovery_that_is_off_leaves_the_variables() -> None:
    one = dashboard(7, ("127.0.0.1", 9001), arguments=("--port=9001",))
    mine = Listener("127.0.0.1", 8265, ME)
    assert search(one, listeners=(mine,), own=False).clusters == ()
    assert len(search(own=False, RAY_API_SERVER_ADDRESS="9001").clusters) == 1


def test_dashboard_process_of_this_machine_is_recognised(tmp_path: Path) -> None:
    script = tmp_path / "ray" / "dashboard" / "dashboard.py"
    script.parent.mkdir(parents=True)
    script.write_text(
        "import socket, sys\n"
        "listening = socket.create_server(('127.0.0.1', 0))\n"
        "print(listening.getsockname()[1], flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, str(script), "--port=1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        (one,) = [d for d in discovery.dashboard_processes() if d.pid == process.pid]
        assert one.listeners == (Listener("127.0.0.1", port, os.getuid()),)
        assert process.stdin
        process.stdin.close()
