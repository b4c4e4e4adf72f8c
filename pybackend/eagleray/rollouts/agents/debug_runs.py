"""Runs of one agent under the debugger: `eagleray agent run`, as a run with the breakpoints of the editor."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from attrs import frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.protocol.runs import Breakpoint
from eagleray.rollouts.agents.model import AgentSetup
from eagleray.runs.model import RunPlan
from eagleray.runs.runs import Runs
from eagleray.tools.code_copies import detached_command


@frozen(kw_only=True)
class DebugAgent(AgentSetup):
    """Runs the agent for item `number`, counted from 1, of the file `data`; `server` is a name or URL."""

    data: str
    number: int
    server: str
    workspace: str
    breakpoints: tuple[Breakpoint, ...] = ()


async def start(runs: Runs, request: DebugAgent) -> str:
    """The id of the run, which belongs to the window."""
    return await runs.start(await off_loop(partial(_plan, request)), confirmed=True)


def _plan(request: DebugAgent) -> RunPlan:
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
