"""Runs of one agent under the debugger: `eagleray agent run`, as a run with the breakpoints of the editor."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from attrs import frozen

from eagleray.common.off_loop import off_loop
from eagleray.protocol.runs import Breakpoint
from eagleray.rollouts.agents.model import Mode
from eagleray.runs.model import RunPlan
from eagleray.runs.runs import Runs
from eagleray.tools.code_copies import detached_command


@frozen
class AgentDebugRequest:
    """`target` is `FILE.py:Class`, `server` a name or URL; item `number` of the file `data` counts from 1.

    `arguments` are for the class: a JSON object, "" for none.
    """

    target: str
    data: str
    number: int
    server: str
    cwd: str
    python: str
    workspace: str
    mode: Mode = "inline"
    breakpoints: tuple[Breakpoint, ...] = ()
    arguments: str = ""


async def start(runs: Runs, request: AgentDebugRequest) -> str:
    """The id of the run, which belongs to the window."""
    return await runs.start(await off_loop(partial(_plan, request)), confirmed=True)


def _plan(request: AgentDebugRequest) -> RunPlan:
    """The command runs in our own Python, isolated from the run; the agent's interpreter is its child, and has the breakpoints.

    A run that is stopped at a breakpoint is never late.  When it is restarted, it gets the server that is chosen then.
    """
    path, _, name = request.target.rpartition(":")
    command = detached_command(
        "cli",
        "agent",
        "run",
        request.target,
        "--data",
        f"{request.data}:{request.number}",
        "--server",
        request.server,
        "--mode",
        request.mode,
        "--timeout",
        "0",
        *(("--python", request.python) if request.python else ()),
        *(("--kwargs", request.arguments) if request.arguments else ()),
    )
    return RunPlan(
        kind="command",
        argv=tuple(command),
        cwd=request.cwd,
        name=f"{Path(path).stem}:{name}",
        server_at=command.index("--server") + 1,
        breakpoints=request.breakpoints,
        children=request.mode == "subproc",
        workspace=request.workspace,
    )
