"""A diagnosis that reads much is cancelled: by the editor, and by Ctrl-C in a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from eagleray.doctor.messages import DIAGNOSE

from tests.ray_cluster import wait_for
from tests.sidecar.stdio_client import START, sidecar

# Takes grep a quarter of a minute or more, and a cancellation no time.
SIZE = 16 * 2**30


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A folder with logs of 16 GB each, which take no place on the disk."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(4):
        with (folder / f"worker-{number}.err").open("wb") as file:
            file.truncate(SIZE)
    return folder


def greps(pid: int) -> list[psutil.Process]:
    """The processes of a diagnosis that read: children of this one, which may have ended."""
    try:
        children = psutil.Process(pid).children(recursive=True)
        return [child for child in children if "-aobE" in child.cmdline()]
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def reading(pid: int) -> list[psutil.Process]:
    """The processes that read, once there are any."""
    wait_for("a process that reads", lambda: greps(pid))
    return greps(pid)


def has_ended(process: psutil.Process) -> bool:
    # One whose parent has ended is a zombie until something collects it.
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def percents(notifications: list[tuple[str, Any]]) -> list[int]:
    values = [params["value"] for name, params in notifications if name == "$/progress"]
    return [value["percentage"] for value in values if value.get("percentage") is not None]


async def test_cancelled_request_ends_its_reading(own_home: Path, large: Path) -> None:
    async with sidecar() as client:
        await client.initialize()
        params = {"paths": [str(large)], "workDoneToken": "t"}
        request_id, answer = client.begin(DIAGNOSE, params)
        await client.heard("$/progress", lambda params: params["value"].get("percentage"))
        processes = reading(client.process.pid)

        client.notify("$/cancelRequest", {"id": request_id})

        assert (await answer)["error"]["code"] == -32800
        wait_for("the end of what read", lambda: all(map(has_ended, processes)))
        assert greps(client.process.pid) == []
        assert max(percents(client.notifications)) < 100
        # It answers as before.
        (large / "fine.txt").write_text("ERROR main: it failed\n")
        found = await client.result(DIAGNOSE, {"paths": [str(large / "fine.txt")]})
        assert len(found["unknown"]) == 1
        assert await client.end() == 0


@pytest.mark.parametrize("is_terminal", [False, True])
def test_interrupted_command_ends_its_reading(
    own_home: Path, large: Path, is_terminal: bool
) -> None:
    """A terminal sends the signal to all processes of the command, `kill -INT` to one of them."""
    command = subprocess.Popen(
        [sys.executable, str(START), "cli", "doctor", str(large)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        processes = reading(command.pid)
        if is_terminal:
            os.killpg(command.pid, signal.SIGINT)
        else:
            command.send_signal(signal.SIGINT)
        output, errors = command.communicate(timeout=60)
    finally:
        command.kill()

    assert (command.returncode, output) == (130, "")
    assert "Traceback" not in errors
    wait_for("the end of what read", lambda: all(map(has_ended, processes)))
