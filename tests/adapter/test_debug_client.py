"""Microsoft's DebugClient on a worker's socket, and the protocol's own types against our table of requests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagleray.adapter.sessions.dap_requests import TABLE

from tests.adapter.harness import LIMIT, PROGRAMS, ControlClient, Program
from tests.dap_client import DapClient

HERE = Path(__file__).parent
LOOP = str(PROGRAMS / "loop.py")


def node(script: str, *arguments: str) -> str:
    done = subprocess.run(
        ["node", str(HERE / script), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_debug_client_completes_a_session(
    control: ControlClient, program: Callable[..., Program]
) -> None:
    worker = program("loop.py", "3")
    path = control.attach(worker)["socket"]
    assert "messages" in node("debug_client.mjs", path, LOOP)
    held = control.worker() or {}
    assert (held["state"], held["editor"]) == ("stopped", False)
    next_client = DapClient.unix(path)
    next_client.attach()
    next_client.wait_for("stopped")
    assert next_client.variables(next_client.stack()[0]["id"])["step"] == "1"
    next_client.leave()
    worker.wait_output("step 1")


def test_request_table_agrees_with_the_types_of_the_protocol() -> None:
    commands = [command for command, request in TABLE.items() if request.arguments]
    of_protocol = json.loads(node("protocol_types.mjs", *commands))
    for command in commands:
        differs = differences(TABLE[command].arguments, of_protocol[command], command)
        assert differs == []
        needed = {name for name in of_protocol[command] if not name.endswith("?")}
        assert needed <= TABLE[command].arguments.keys(), command


def differences(ours: Any, theirs: Any, place: str) -> list[str]:
    """Where our row has properties that the protocol lacks."""
    if isinstance(ours, str):
        return [] if ours == theirs else [f"{place}: {ours} is {theirs}"]
    if isinstance(ours, list):
        return (
            differences(ours[0], theirs[0], f"{place}[]") if isinstance(theirs, list) else [place]
        )
    unknown = [f"{place}.{name}" for name in ours if name not in theirs]
    inner = [
        differences(ours[name], theirs[name], f"{place}.{name}") for name in ours if name in theirs
    ]
    return unknown + [row for rows in inner for row in rows]
