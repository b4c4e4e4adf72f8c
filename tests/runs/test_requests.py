"""The editor's requests about runs, through a real sidecar with real supervisors."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.dashboard import FakeDashboard
from tests.ray_cluster import wait_for
from tests.runs.terminal import PLAIN
from tests.sidecar.stdio_client import StdioClient, sidecar

RUNS = "eagleray/runs"


@pytest.fixture
async def panel(own_home: Path) -> AsyncIterator[StdioClient]:
    async with sidecar() as client:
        await client.initialize(discovery="off")
        yield client


async def prepared(panel: StdioClient, folder: Path, *args: str, **more: Any) -> dict[str, Any]:
    request = {"path": str(PLAIN), "args": list(args), "cwd": str(folder), "python": sys.executable}
    proposal: dict[str, Any] = await panel.result("eagleray/presets/prepare", {**request, **more})
    return proposal


async def reported(panel: StdioClient, run: str, state: str) -> dict[str, Any]:
    """The row of a run as it is told, without being asked for, once it is in that state."""

    def rows(response: dict[str, Any]) -> list[dict[str, Any]]:
        return [row for row in response["runs"] if (row["id"], row["state"]) == (run, state)]

    return rows(await panel.heard(f"{RUNS}/changed", rows))[0]


async def test_run_is_reported_from_its_form_to_its_end(
    panel: StdioClient, own_home: Path, tmp_path: Path
) -> None:
    proposal = await prepared(panel, tmp_path, "wait", workspace="/ws")
    command = [line.strip() for line in proposal["after"].splitlines()[1:4]]
    assert command == [sys.executable, str(PLAIN), "wait"]
    assert (proposal["name"], proposal["confirm"]) == (PLAIN.name, "")
    run = (await panel.result(f"{RUNS}/start", {"plan": proposal["plan"]}))["id"]
    shown = await reported(panel, run, "running")
    assert shown["workspace"] == "/ws"
    log = own_home / "runs" / run / "output.log"
    await asyncio.to_thread(wait_for, "the output", lambda: b"waits" in log.read_bytes())
    live = await panel.result(f"{RUNS}/output", {"id": run})
    assert '"argv"' in live["text"] and not live["is_over"]
    await panel.result(f"{RUNS}/stop", {"id": run})
    stopped = await reported(panel, run, "cancelled")
    assert (await printed(panel, run)).endswith("waits\ninterrupted\n")
    assert (stopped["code"], stopped["can_restart"]) == (7, True)
    await panel.result(f"{RUNS}/forget", {"id": run})
    assert (await panel.result(f"{RUNS}/list"))["runs"] == []


async def printed(panel: StdioClient, run: str) -> str:
    """All output of a run, piece by piece, as its terminal asks for it."""
    text, piece = "", {"next": -1, "is_over": False}
    while not piece["is_over"]:
        piece = await panel.result(f"{RUNS}/output", {"id": run, "offset": piece["next"]})
        text += piece["text"]
    return text


async def test_failed_run_has_a_reason(panel: StdioClient, tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import no_such_package\n")
    proposal = await prepared(panel, tmp_path, path="fails.py")
    run = (await panel.result(f"{RUNS}/start", {"plan": proposal["plan"]}))["id"]
    failed = await reported(panel, run, "failed")
    why = "ModuleNotFoundError: No module named 'no_such_package'"
    assert (failed["reason"], failed["code"], failed["python"]) == (why, 1, sys.executable)
    assert failed["tail"].split("\n")[0].startswith("Traceback")
    assert (await printed(panel, run)).endswith(f"{why}\n")
    # Once more from its beginning, as after a reload of the window.
    assert (await printed(panel, run)).startswith("Traceback")


async def test_script_finds_the_chosen_python_as_in_a_terminal(
    panel: StdioClient, own_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "go.sh").write_text('#!/bin/bash\necho "with $(command -v python)"\n')
    proposal = await prepared(panel, tmp_path, path="go.sh", preset="none")
    run = (await panel.result(f"{RUNS}/start", {"plan": proposal["plan"]}))["id"]
    await reported(panel, run, "exited")
    python = Path(sys.executable).with_name("python")
    assert f"with {python}\n" in (own_home / "runs" / run / "output.log").read_text()


async def test_lines_of_a_restart_come_from_the_editor(panel: StdioClient, tmp_path: Path) -> None:
    proposal = await prepared(panel, tmp_path, "code", "0")
    first = (await panel.result(f"{RUNS}/start", {"plan": proposal["plan"]}))["id"]
    lines = [{"path": str(PLAIN), "lines": [{"line": 1}]}]
    again = {"id": first, "breakpoints": lines}
    second = (await panel.result(f"{RUNS}/restart", again))["id"]
    rows = {row["id"]: row for row in (await panel.result(f"{RUNS}/list"))["runs"]}
    assert set(rows) == {first, second}
    assert rows[first]["command"] == rows[second]["command"]


async def test_slurm_start_needs_confirmation(panel: StdioClient, tmp_path: Path) -> None:
    script = tmp_path / "ray.sub"
    script.write_text("#!/bin/bash\n#SBATCH --nodes=2\n")
    request = {"path": "ray.sub", "args": ["a b"], "cwd": str(tmp_path), "preset": "none"}
    proposal = await panel.result("eagleray/presets/prepare", request)
    assert proposal["confirm"] == f"In {tmp_path}: sbatch ray.sub 'a b'"
    refused = await panel.ask(f"{RUNS}/start", {"plan": proposal["plan"]})
    assert refused["error"]["data"]["code"] == "needs-consent"
    assert (await panel.result(f"{RUNS}/list"))["runs"] == []


REFUSED = [
    ("presets/prepare", {"path": "no.py", "args": [], "cwd": "/"}, "no-program"),
    ("presets/prepare", {"path": "", "args": [], "cwd": "/"}, "nothing-to-run"),
    ("presets/prepare", {"path": "", "args": ["ls"], "cwd": "/no/such"}, "no-program"),
    ("runs/stop", {"id": "abc"}, "unknown-run"),
    ("runs/restart", {"id": ""}, "unknown-run"),
]


@pytest.mark.parametrize(("method", "params", "code"), REFUSED)
async def test_invalid_requests_are_rejected(
    panel: StdioClient, method: str, params: dict[str, Any], code: str
) -> None:
    answer = await panel.ask(f"eagleray/{method}", params)
    assert answer["error"]["data"]["code"] == code


async def test_lines_that_change_right_after_the_start(
    panel: StdioClient, own_home: Path, tmp_path: Path
) -> None:
    """Before anybody knows the run they are kept in its plan, from which it is made known."""
    proposal = await prepared(panel, tmp_path, "wait", workspace="/ws")
    run = (await panel.result(f"{RUNS}/start", {"plan": proposal["plan"]}))["id"]
    lines = [{"path": str(PLAIN), "lines": [{"line": 4}]}]
    await panel.result(f"{RUNS}/breakpoints", {"workspace": "/other", "breakpoints": []})
    await panel.result(f"{RUNS}/breakpoints", {"workspace": "/ws", "breakpoints": lines})
    stored = json.loads((own_home / "runs" / run / "plan.json").read_text())["breakpoints"]
    assert [(breakpoint_["path"], breakpoint_["lines"][0]["line"]) for breakpoint_ in stored] == [
        (str(PLAIN), 4)
    ]


async def test_typed_token_reaches_the_supervisor_and_no_file(
    panel: StdioClient, own_home: Path, tmp_path: Path
) -> None:
    """The cluster takes no job, but only a supervisor that has the token learns that."""
    cluster = FakeDashboard()
    cluster.token = "typed-in-token"
    await cluster.start()
    try:
        access = {"cluster": cluster.address, "token": cluster.token}
        await panel.ask("eagleray/clusters/setAccess", access)
        proposal = await prepared(panel, tmp_path, "wait", kind="job", cluster=cluster.address)
        run = (await panel.result(f"{RUNS}/start", {"plan": proposal["plan"]}))["id"]
        failed = await reported(panel, run, "failed")
    finally:
        await cluster.stop()
    assert "rejected the job" in failed["note"]
    assert any(path.startswith("/api/packages/") for path in cluster.paths())
    stored = b"".join(path.read_bytes() for path in own_home.rglob("*") if path.is_file())
    assert cluster.token.encode() not in stored
