"""The editor's request to compose the configuration of a debug run before it starts."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.runs.presets.checkouts import checkout
from tests.sidecar.stdio_client import StdioClient, sidecar

COMPOSE = "eagleray/presets/compose"
PROGRAM = """\
import argparse

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_samples", type=int)
    parser.add_argument("--save_steps", type=int, default=5)
    args = parser.parse_args()
    open("started", "w").close()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    checkout(tmp_path, "openrlhf", "9.0.0")
    write_program(tmp_path, PROGRAM)
    return tmp_path


def write_program(folder: Path, text: str) -> None:
    file = folder / "openrlhf" / "cli" / "train_ppo_ray.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@asynccontextmanager
async def editor(*, trusted: bool) -> AsyncIterator[StdioClient]:
    async with sidecar() as client:
        await client.initialize(discovery="off", trusted=trusted)
        yield client


def debug_run(folder: Path, *args: str) -> dict[str, Any]:
    return {
        "path": "",
        "args": [sys.executable, "-m", "openrlhf.cli.train_ppo_ray", *args],
        "cwd": str(folder),
        "preset": "openrlhf",
        "python": sys.executable,
    }


async def test_untrusted_workspace_runs_nothing(own_home: Path, folder: Path) -> None:
    write_program(folder, f"open({str(folder / 'imported')!r}, 'w').close()\n{PROGRAM}")
    async with editor(trusted=False) as client:
        refused = (await client.ask(COMPOSE, debug_run(folder)))["error"]["data"]
    assert refused["code"] == "untrusted-workspace"
    assert refused["next_step"].startswith("Trust the workspace")
    assert not (folder / "imported").exists()


async def test_values_or_the_error_are_returned(own_home: Path, folder: Path) -> None:
    async with editor(trusted=True) as client:
        composed = await client.result(COMPOSE, debug_run(folder))
        assert composed["values"]["--save_steps"] == "-1"
        refused = (await client.ask(COMPOSE, debug_run(folder, "--unknown", "1")))["error"]["data"]
    assert refused["code"] == "not-composed"
    assert "unrecognized arguments: --unknown" in refused["message"]
    assert refused["next_step"].startswith("Check the program's arguments")
    assert not (folder / "started").exists()


async def test_script_is_composed_with_the_selected_python(own_home: Path, folder: Path) -> None:
    write_program(folder, f"import sys\nopen('prefix', 'w').write(sys.prefix)\n{PROGRAM}")
    (folder / "run.sh").write_text('python3 -m openrlhf.cli.train_ppo_ray "$@"\n')
    async with editor(trusted=True) as client:
        script = {**debug_run(folder), "path": "run.sh", "args": []}
        composed = await client.result(COMPOSE, script)
    assert composed["values"]["--save_steps"] == "-1"
    assert (folder / "prefix").read_text() == sys.prefix


async def test_cancelled_request_ends_the_program(own_home: Path, folder: Path) -> None:
    fifo = folder / "pid"
    os.mkfifo(fifo)
    waits = f"import os, time\nopen({str(fifo)!r}, 'w').write(str(os.getpid()))\ntime.sleep(100)\n"
    write_program(folder, waits + PROGRAM)
    async with editor(trusted=True) as client:
        request_id, answer = client.begin(COMPOSE, debug_run(folder))
        pid = int(await asyncio.to_thread(fifo.read_text))
        client.notify("$/cancelRequest", {"id": request_id})
        assert (await answer)["error"]["code"] == -32800
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
