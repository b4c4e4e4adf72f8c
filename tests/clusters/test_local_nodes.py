"""Nodes of clusters are taken for this machine only if their raylets run here as this user; their logs are read directly."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.ray import local_logs
from eagleray.ray.local_nodes import LocalNode, local_nodes, own_raylets
from eagleray.ray.rows import NodeRow

from tests.fakes.dashboard import dashboard, patient

NODE = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4"
OTHER = NODE[::-1]
SOCKET = "/tmp/ray/session_2026-11-28_23-14-34_580584_13029/sockets/raylet"
IP = "192.0.2.200"
# As Ray 2.60 starts it; 2.9.1 has no `--node_id`.
AGENT = (
    "/opt/python -u /opt/ray/dashboard/agent.py --node-ip-address=192.0.2.200 --listen-port=52365"
)

StartRaylet = Callable[..., int]


@pytest.fixture
def raylet(tmp_path: Path) -> Iterator[StartRaylet]:
    """Starts a process with the command of a raylet, which lives as long as the test."""
    started = []

    def start(*more: str) -> int:
        options = [
            f"--node_ip_address={IP}",
            f"--python_worker_command={sys.executable} /opt/ray/_private/workers/setup_worker.py",
            f"--session_dir={tmp_path}",
            f"--log_dir={tmp_path}/logs",
            f"--dashboard_agent_command={AGENT}",
            *more,
        ]
        process = subprocess.Popen(
            ["raylet", "-c", "print(flush=True); input()", *options],
            executable=sys.executable,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        # It has its arguments a moment after `Popen` returns.
        assert process.stdout and process.stdout.readline()
        return process.pid

    yield start
    for process in started:
        process.communicate()


def row(node_id: str = NODE, ip: str = IP, alive: bool = True) -> NodeRow:
    return NodeRow(node_id, ip, "", alive=alive, head=False)


def found(nodes: list[NodeRow], sockets: dict[str, str]) -> dict[str, LocalNode]:
    """Without raylets of other programs of this user."""
    own = [raylet for raylet in own_raylets() if raylet.options.get("node_ip_address") == IP]
    return local_nodes(nodes, own, sockets)


def test_raylet_with_the_id_of_the_node_makes_it_this_machine(
    raylet: StartRaylet, tmp_path: Path
) -> None:
    pid = raylet(f"--node_id={NODE}", f"--raylet_socket_name={SOCKET}")
    # Where several nodes have one address, too.
    local = found([row(), row(OTHER), row("dead", alive=False)], {OTHER: SOCKET})
    assert local.keys() == {NODE}
    node = local[NODE]
    assert (node.raylet, node.logs, node.python) == (pid, tmp_path / "logs", sys.executable)
    assert node.agent_port == 52365


def test_older_raylet_is_identified_by_its_socket(raylet: StartRaylet) -> None:
    pid = raylet(f"--raylet_socket_name={SOCKET}")
    sockets = {NODE: SOCKET, OTHER: f"{SOCKET}.1"}
    local = found([row(), row(OTHER)], sockets)
    assert {node_id: node.raylet for node_id, node in local.items()} == {NODE: pid}
    assert found([row()], {}) == {}


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("'/data/my envs/bin/python' /opt/ray/setup_worker.py", "/data/my envs/bin/python"),
        ("/data/my\\ envs/bin/python /opt/ray/setup_worker.py", "/data/my envs/bin/python"),
        ("'/data/unfinished", ""),
        ("", ""),
    ],
)
def test_python_of_the_workers_is_the_first_argument_of_their_command(
    raylet: StartRaylet, command: str, python: str
) -> None:
    raylet(f"--node_id={NODE}", f"--python_worker_command={command}")
    assert found([row()], {})[NODE].python == python


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("content", "lines", "read"),
    [
        (b"a\nb\nc\n", -1, b"a\nb\nc\n"),
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\n", 0, b""),
        (b"a\nb", 5, b"a\nb"),
        (b"", 3, b""),
        (b"x" * 200_000 + b"\nb\n", 1, b"b\n"),
    ],
)
async def test_last_lines_are_those_that_the_dashboard_would_send(
    logs: Path, content: bytes, lines: int, read: bytes
) -> None:
    (logs / "worker-1.out").write_bytes(content)
    pieces = [piece async for piece in local_logs.pieces(logs, "worker-1.out", lines)]
    assert b"".join(pieces) == read


@pytest.mark.parametrize("name", ["../secret", "link", "folder", "missing", "fifo", "/etc/passwd"])
async def test_only_regular_files_below_the_logs_are_read(logs: Path, name: str) -> None:
    (logs.parent / "secret").write_text("secret")
    (logs / "link").symlink_to(logs.parent / "secret")
    (logs / "folder").mkdir()
    os.mkfifo(logs / "fifo")
    with pytest.raises(EaglerayError, match="no log file"):
        _ = [piece async for piece in local_logs.pieces(logs, name, -1)]
    assert await local_logs.names(logs, "../*") == []


async def test_logs_of_a_node_here_are_read_while_its_agent_fails(
    raylet: StartRaylet, logs: Path
) -> None:
    """Ray 2.60 answers 500 for each log of a node whose agent has no port."""
    raylet(f"--node_id={NODE}")
    (logs / "worker-1.out").write_text("loss 0.5\nloss 0.4\n")
    async with dashboard() as fake:
        fake.files[NODE] = {}
        fake.gone_nodes.add(NODE)
        fake.rows["nodes"] = [{"node_id": NODE, "node_ip": IP, "state": "ALIVE"}]
        client = patient(fake.address)
        try:
            assert await client.log_files(NODE, "worker-*") == ["worker-1.out"]
            assert await client.log_file(NODE, "worker-1.out", 1) == "loss 0.4\n"
            followed = client.log_stream(NODE, "worker-1.out", 1)
            assert await anext(followed) == "loss 0.4\n"
            with (logs / "worker-1.out").open("a") as file:
                file.write("loss 0.3\n")
            assert await anext(followed) == "loss 0.3\n"
            await followed.aclose()
            fake.rows["nodes"] = [{"node_id": OTHER, "node_ip": IP, "state": "ALIVE"}]
            with pytest.raises(EaglerayError) as raised:
                await client.log_file(NODE, "worker-1.out", 1)
            assert raised.value.code == "dashboard-failed"
        finally:
            await client.close()
