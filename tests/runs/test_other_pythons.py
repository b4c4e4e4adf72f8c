"""Programs whose Python is another one than ours stop as well; a window that is gone ends no run; refused jobs are said."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.adapter.harness import EVERY_PYTHON
from tests.fakes.dashboard import dashboard
from tests.ray_cluster import wait_for
from tests.real_ray.command import Command, stand
from tests.runs.terminal import PLAIN, Terminal, listed, row
from tests.sidecar.stdio_client import sidecar

PROGRAM = """\
import sys

value = sys.version_info[:2]
print("Python", *value, flush=True)
"""


@pytest.mark.parametrize("python", EVERY_PYTHON)
def test_breakpoint_stops_in_every_python(own_home: Path, tmp_path: Path, python: str) -> None:
    program = tmp_path / "main.py"
    program.write_text(PROGRAM)
    # Most of them have no Ray.
    options = ("--anyway", "--break", f"{program}:4")
    terminal = Terminal(tmp_path, "run", *options, "--", python, str(program))
    command = Command(dict(os.environ))
    try:
        run = terminal.run_id()
        wait_for("the stop", lambda: row(run)["state"] == "paused")
        shown = row(run)
        (worker,) = [worker for worker in shown["workers"] if worker["state"] == "paused"]
        with command.editor(worker["worker_id"]) as (client, _):
            frame = stand(client)
            assert (frame["file"], frame["line"]) == (str(program), 4)
            version = client.evaluate("'%d.%d' % value", frame["id"])
            client.request("continue", threadId=frame["thread"])
        assert terminal.code() == 0, terminal.errors()
        assert terminal.output().startswith(f"Python {version.strip(chr(39)).replace('.', ' ')}")
    finally:
        terminal.interrupt_hard()


async def test_closed_window_ends_no_run(own_home: Path, tmp_path: Path) -> None:
    """The process that served the window is killed, as when its machine takes the editor away."""
    async with sidecar() as panel:
        await panel.initialize(discovery="off")
        request = {"path": str(PLAIN), "args": ["wait"], "cwd": str(tmp_path)}
        proposal = await panel.result(
            "eagleray/presets/prepare", {**request, "python": sys.executable}
        )
        started = await panel.result("eagleray/runs/start", {"plan": proposal["plan"]})
        panel.process.kill()
        await panel.process.wait()

    def goes_on() -> None:
        log = own_home / "runs" / started["id"] / "output.log"
        size = log.stat().st_size if log.exists() else 0
        wait_for("more output", lambda: log.exists() and log.stat().st_size > size)
        (shown,) = listed()
        assert (shown["id"], shown["state"]) == (started["id"], "running")
        terminal = Terminal(tmp_path, "runs", "stop", started["id"])
        assert terminal.code() == 0, terminal.errors()

    await asyncio.to_thread(goes_on)


async def test_cluster_that_rejects_jobs_is_an_error(own_home: Path, tmp_path: Path) -> None:
    async with dashboard() as fake:

        def refused() -> None:
            arguments = ("run", "--cluster", fake.address, "--", "python", str(PLAIN))
            terminal = Terminal(tmp_path, *arguments)
            assert terminal.code() != 0
            assert "rejected the job" in terminal.errors() + terminal.output()
            (shown,) = listed()
            assert shown["state"] == "failed"

        await asyncio.to_thread(refused)
    assert ("POST", "/api/jobs/") not in [
        (request.method, request.path) for request in fake.requests
    ]
