"""The agent runner: carries out a plan and reports it as events.

The plan: `target` (`module:Class`), `arguments` (of the class), `mode` ("inline" or "subproc"), `items`
([{number, data}]), `groups`, `group_size`, `timeout_s` (null: none, as under a debugger), `base_url`, `api_key`,
`processes`, and `events`, the descriptor of the pipe.  With `rows` ({path, first, count}) it only reads rows of a
table. A line `stop` on standard input cancels the runs; so does its end, since then no process waits for them.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import sys
import threading

from ..settings import PROCESS_NAME
from .areal_contract import outcome, static_rules
from .errors import described
from .events import EventWriter
from .http_clients import record_clients
from .loading import NotLoaded, load_class, make_agent
from .parquet_rows import read_rows
from .printing import watch_prints
from .runner_threads import own_thread
from .shared_client import make_client
from .subprocesses import AgentProcesses
from .waves import Wave, drive, left_threads
from .workflows import has_episodes, workflow_arguments, workflow_call, workflow_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from .http_recording import HttpRecorder

_TICK_S = 0.25
_STOP_S = 5.0
# How long the loop of a run without a time limit may take to hear of a stop: a debugger may hold it.
_HELD_S = 1.0
_CLOSE_S = 1.0


def main(arguments: Sequence[str]) -> None:
    """Ends the process."""
    os.environ.pop(PROCESS_NAME, None)
    stream = None
    if arguments[:1] == ["--plan"]:
        with open(arguments[1], encoding="utf-8") as opened:  # own file
            plan = json.load(opened)
    else:
        # The agent's own reads get nothing: what follows the plan is for us.
        stream = os.fdopen(os.dup(0), "rb")
        plan = json.loads(stream.readline())
        _read_nothing()
    if "rows" in plan:
        events = EventWriter(plan["events"])
        events.put(read_rows(**plan["rows"]))
        events.close()
        return
    threads = set(threading.enumerate())
    writer = EventWriter(plan["events"])
    own = {writer.thread}
    has_tasks = False
    try:
        has_tasks = _carry_out(plan, writer, stream)
    finally:
        left = left_threads(threads | own)
        writer.put({"event": "end", "threads": [thread.name for thread in left]})
        writer.close()
    if left or has_tasks:
        _end_now()


def _carry_out(plan: dict[str, Any], writer: EventWriter, stream: Any) -> bool:
    """Whether tasks are left that swallow their cancellation."""
    watch_prints(plan["api_key"])
    recorder = record_clients(plan["base_url"])
    agent, skipped = _agent(plan, writer)
    if agent is None:
        return False
    if skipped:
        rule = outcome("import", False, lines=sorted(set(skipped)))
        writer.put({"event": "contract", "rules": [rule]})
    is_workflow = has_episodes(agent)
    rules = (workflow_rules if is_workflow else static_rules)(agent, plan["mode"])
    writer.put({"event": "contract", "rules": rules})
    if not all(rule["ok"] for rule in rules):
        return False
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    call = (workflow_call if is_workflow else agent_call)(agent, plan)
    wave = Wave(plan, call, recorder, writer.put)
    ended = threading.Event()
    is_debugged = plan["timeout_s"] is None and plan["groups"] * plan["group_size"] == 1
    if stream is not None:
        _in_thread(lambda: _obey(stream, loop, wave, ended, is_debugged), "eagleray-stop")
    ticks = _in_thread(lambda: _tick(wave, writer, ended), "eagleray-totals")
    try:
        drive(loop, _wave(plan, agent, recorder, wave))
    finally:
        ended.set()
        ticks.join()
        writer.put(wave.snapshot())
        _cancel_rest(loop)
    has_tasks = bool(asyncio.all_tasks(loop))
    if not has_tasks:
        loop.close()
    return has_tasks


async def _wave(plan: dict[str, Any], agent: Any, recorder: HttpRecorder, wave: Wave) -> None:
    processes = None
    if plan["mode"] == "subproc":
        processes = AgentProcesses(agent, plan, recorder, plan["processes"])
    try:
        await wave.run(lambda: make_client(plan["base_url"]), processes)
    finally:
        if processes is not None:
            processes.close()


def agent_call(agent: Any, plan: dict[str, Any]) -> Callable[[Any, Any], Awaitable[Any]]:
    """Runs an agent for a data item, with what the framework passes inline."""

    async def call(data: Any, client: Any) -> Any:
        return await agent.run(
            data, base_url=plan["base_url"], http_client=client, api_key=plan["api_key"]
        )

    return call


def _agent(plan: dict[str, Any], writer: EventWriter) -> tuple[Any, list[int]]:
    """The agent, and the lines that its import skipped; None after an event that says why there is none."""
    try:
        loaded, skipped = load_class(plan["target"])
        arguments = plan["arguments"]
        if has_episodes(loaded):
            arguments = workflow_arguments(arguments)
        return make_agent(loaded, arguments), skipped
    except NotLoaded as failed:
        error = None if failed.error is None else described(failed.error)
        quoted = "" if error is None else f"{error['type']}: {error['message']}"
        rule = outcome("loads", False, quoted, reason=failed.reason, line=failed.line)
        writer.put({"event": "contract", "rules": [rule], "error": error})
        return None, []


def _obey(
    stream: Any,
    loop: asyncio.AbstractEventLoop,
    wave: Wave,
    ended: threading.Event,
    is_debugged: bool,
) -> None:
    """Returns when the runs were stopped, or ends a process whose loop doesn't stop."""
    stream.readline()
    if ended.is_set():
        return
    heard = threading.Event()

    def stop() -> None:
        heard.set()
        wave.stop()

    try:
        loop.call_soon_threadsafe(stop)
    except RuntimeError:
        # The loop is closed: everything has ended.
        return
    is_held = is_debugged and not heard.wait(_HELD_S)
    if is_held or not ended.wait(_STOP_S):
        os._exit(1)


def _tick(wave: Wave, writer: EventWriter, ended: threading.Event) -> None:
    while not ended.wait(_TICK_S):
        writer.put(wave.snapshot())


def _cancel_rest(loop: asyncio.AbstractEventLoop) -> None:
    """Cancels what the agent left in the loop, once: it may not end."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        drive(loop, asyncio.wait(left, timeout=_CLOSE_S))
    drive(loop, _end_threads(loop))


async def _end_threads(loop: asyncio.AbstractEventLoop) -> None:
    """Ends the threads of the loop's pool that have nothing to do."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(loop.shutdown_default_executor(), _CLOSE_S)


def _in_thread(call: Any, name: str) -> threading.Thread:
    thread = own_thread(call, name)
    thread.start()
    return thread


def _read_nothing() -> None:
    null = os.open(os.devnull, os.O_RDONLY)  # kernel's file
    os.dup2(null, 0)
    os.close(null)


def _end_now() -> None:
    """Ends without the threads that the agent left, which may never end."""
    atexit._run_exitfuncs()
    for output in (sys.stdout, sys.stderr):
        if output is not None:
            output.flush()
    os._exit(0)
