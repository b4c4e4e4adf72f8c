"""A run that starts again has the variables of the server that is chosen then."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from eagleray.runs.records import RunRecords, load

from tests.sidecar.stdio_client import sidecar


@pytest.mark.parametrize("server_env", [{"OPENAI_API_KEY": "sk-1"}, None])
async def test_restarted_run_gets_the_variables_of_the_server_that_is_chosen_now(
    own_home: Path, tmp_path: Path, server_env: dict[str, str] | None
) -> None:
    """A run that got none, such as one that may leave this machine, gets none later."""
    (tmp_path / "train.py").write_text("print()\n")
    request = {"path": "train.py", "args": [], "cwd": str(tmp_path), "python": sys.executable} | {
        "server_env": server_env
    }
    async with sidecar() as panel:
        await panel.initialize(discovery="off")
        proposal = await panel.result("eagleray/presets/prepare", request)
        started = await panel.result("eagleray/runs/start", {"plan": proposal["plan"]})
        keeps = await panel.result("eagleray/runs/restart", started)
        other = {**started, "server_env": {"OPENAI_API_KEY": "sk-2"}}
        again = await panel.result("eagleray/runs/restart", other)
    records = RunRecords(own_home / "runs")
    plans = [load(records.find(run["id"])).plan for run in (started, keeps, again)]
    got = [plan.env.get("OPENAI_API_KEY") for plan in plans]
    assert got == (["sk-1", "sk-1", "sk-2"] if server_env else [None, None, None])
