"""One cycle of work: the steps that a user takes, and the faults that happen meanwhile."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from tests.dap_client import DapClient
from tests.ray_cluster import Program
from tests.real_ray.command import line_of
from tests.soak.site import PROGRAM, Site, ended
from tests.soak.window import LIMIT_S, Json, Window

RUNS = "eagleray/runs"
WORKERS = "eagleray/workers"
DEBUGGING = "eagleray/debugging"
OVER = ("exited", "failed", "cancelled")


async def run_that_succeeds(site: Site) -> None:
    """Stops at a breakpoint, is debugged by an editor that crashes and another that continues."""
    run = await start(site, "success")
    client, attached = await attached_at_breakpoint(site, run)
    await follow_log(site, attached)
    await asyncio.to_thread(client.close)
    await worker_in(site.window, run, "held")
    client, _ = await attached_at_breakpoint(site, run)
    await continued(client)
    await over(site, run, "exited", 0)


async def run_over_a_cut_link(site: Site) -> None:
    """The adapter loses all its connections while a worker is stopped; the worker stays stopped."""
    run = await start(site, "success")
    client, _ = await attached_at_breakpoint(site, run)
    await asyncio.to_thread(site.cut_adapter)
    assert await asyncio.to_thread(evaluated, client) == "40"
    await continued(client)
    await over(site, run, "exited", 0)


async def run_over_a_killed_adapter(site: Site) -> None:
    """Another adapter takes the stopped worker over."""
    run = await start(site, "success")
    client, _ = await attached_at_breakpoint(site, run)
    before = await asyncio.to_thread(site.kill_adapter)
    await asyncio.to_thread(client.close)
    await until("another adapter", lambda: site.adapter_pid() not in (0, before))
    client, _ = await attached_at_breakpoint(site, run)
    assert await asyncio.to_thread(evaluated, client) == "40"
    await continued(client)
    await over(site, run, "exited", 0)


async def run_that_fails(site: Site) -> None:
    run = await start(site, "failure")
    await over(site, run, "failed", 3)


async def run_that_is_stopped(site: Site) -> None:
    run = await start(site, "wait")
    log = site.home / "runs" / run / "output.log"
    await until("the output", lambda: b"waiting" in log.read_bytes())
    await site.window.result(f"{RUNS}/stop", {"id": run})
    await over(site, run, "cancelled", None)


async def breakpoint_that_is_continued(site: Site) -> None:
    """Without a run: a program that calls breakpoint() itself."""
    await paused_program(site, "continue")


async def breakpoint_that_is_released(site: Site) -> None:
    await paused_program(site, "release")


async def link_that_is_cut(site: Site) -> None:
    """The dashboard is out of reach for a while."""
    site.link.cut(False)
    await site.until_cluster("unreachable")
    site.link.restore()
    await site.until_cluster("connected")


async def window_that_restarts(site: Site) -> None:
    """A second window opens, reads everything and closes."""
    window = await site.another_window()
    for method in (f"{WORKERS}/refresh", f"{RUNS}/list", "eagleray/clusters/refresh"):
        await window.result(method)
    await ended(window)


# --- the parts ----------------------------------------------------------------------------------


async def start(site: Site, what: str) -> str:
    """Prepares and starts a run of the program, with a breakpoint in its actor."""
    lines = [{"path": str(PROGRAM), "lines": [{"line": line_of(PROGRAM, "step")}]}]
    asked = {"path": str(PROGRAM), "args": [what], "cwd": str(site.folder)}
    more = {"python": sys.executable, "preset": "none", "breakpoints": lines}
    proposal = await site.window.result("eagleray/presets/prepare", asked | more)
    started: Json = await site.window.result(f"{RUNS}/start", {"plan": proposal["plan"]})
    return str(started["id"])


async def worker_in(window: Window, run: str, *states: str) -> Json:
    """The row of a worker of the run in one of those states."""

    def fits(said: Json) -> Json | None:
        workers = [w for one in said["runs"] if one["id"] == run for w in one["workers"]]
        return next((worker for worker in workers if worker["state"] in states), None)

    found: Json = await window.until(
        f"{' or '.join(states)} worker of {run}", f"{RUNS}/changed", fits
    )
    return found


async def attached_at_breakpoint(site: Site, run: str) -> tuple[DapClient, Json]:
    row = await worker_in(site.window, run, "paused", "held")
    # The run knows its cluster by another address than the one that is watched through the link.
    attached = await attach(site.window, site.address, row["worker_id"])
    client = await asyncio.to_thread(opened_editor, attached["socket"])
    assert await asyncio.to_thread(evaluated, client) == "40"
    return client, attached


async def attach(window: Window, cluster: str, worker: str) -> Json:
    """Tries until the list and the adapter agree about a worker that has just stopped or was taken over."""
    asked = {"cluster": cluster, "worker": worker, "workspace_folders": []}
    deadline = time.monotonic() + LIMIT_S
    while True:
        answer = await window.ask(f"{DEBUGGING}/attach", asked)
        if "error" not in answer:
            result: Json = answer["result"]
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"{worker} is not attached: {answer['error']}")
        await asyncio.sleep(0.5)


def opened_editor(socket: str) -> DapClient:
    client = DapClient.unix(socket)
    client.attach()
    return client


def evaluated(client: DapClient) -> str:
    """The local variable at the line of the program."""
    frame = client.stack(stopped_thread(client))[0]["id"]
    return client.evaluate("doubled", frame)


def stopped_thread(client: DapClient) -> int:
    """The thread of the last stop, which is waited for."""
    if not client.events("stopped"):
        client.wait_for("stopped")
    return int(client.events("stopped")[-1]["body"]["threadId"])


async def continued(client: DapClient) -> None:
    thread = await asyncio.to_thread(stopped_thread, client)
    await asyncio.to_thread(lambda: client.request("continue", threadId=thread))
    await asyncio.to_thread(client.close)


async def follow_log(site: Site, attached: Json) -> None:
    """The output of the stopped worker's step is followed, then no longer."""
    window = site.window
    window.log_texts.clear()
    worker = {name: attached[name] for name in ("cluster", "worker_id")}
    await window.result(f"{WORKERS}/followLog", {"follow_id": "soak", "stream": "out", **worker})
    await until("the log", lambda: any("a step of" in text["text"] for text in window.log_texts))
    await window.result(f"{WORKERS}/stopFollowing", {"follow_id": "soak"})


async def over(site: Site, run: str, phase: str, code: int | None) -> None:
    def fits(said: Json) -> Json | None:
        rows = [one for one in said["runs"] if one["id"] == run and one["state"] in OVER]
        return rows[0] if rows else None

    row = await site.window.until(f"end of run {run}", f"{RUNS}/changed", fits)
    output = (site.home / "runs" / run / "output.log").read_text(errors="replace")[-2000:]
    assert row["state"] == phase, f"{row['state']} {row['code']} {row['note']}\n{output}"
    assert code is None or row["code"] == code, f"{row['code']} {row['note']}\n{output}"


async def paused_program(site: Site, action: str) -> None:
    program = await asyncio.to_thread(site.cluster.run, PROGRAM, "pause")
    try:
        row = await site.window.until(
            "paused worker",
            f"{WORKERS}/changed",
            paused_worker,
        )
        attached = await attach(site.window, row["cluster"], row["worker_id"])
        client = await asyncio.to_thread(opened_editor, attached["socket"])
        await asyncio.to_thread(client.wait_for, "stopped")
        await asyncio.to_thread(client.close)
        workers = {"cluster": row["cluster"], "worker_ids": [row["worker_id"]]}
        outcome = await site.window.result(f"{DEBUGGING}/{action}", workers)
        assert outcome["done"] == 1, outcome
        assert await asyncio.to_thread(program.wait, LIMIT_S) == 0, program.output()
    finally:
        await asyncio.to_thread(end_program, program)


def paused_worker(said: Json) -> Json | None:
    """Processes of a run that has just ended may be listed for a moment, in another state."""
    workers = [worker for group in said["groups"] for worker in group["workers"]]
    return next((worker for worker in workers if worker["state"] == "paused"), None)


def end_program(program: Program) -> None:
    program.end()
    program.log.unlink()


async def until(what: str, ask: Callable[[], Any], limit_s: float = LIMIT_S) -> Any:
    """The first true answer; a missing file isn't an answer."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            answer = await asyncio.to_thread(ask)
        except FileNotFoundError:
            answer = None
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"no {what} within {limit_s:g} s")
        await asyncio.sleep(0.2)


async def quiet(site: Site) -> None:
    """All runs are over, nothing is paused, and the processes of the cycle have ended."""
    window = site.window

    def calm(said: Json) -> bool:
        return all(one["state"] in OVER for one in said["runs"])

    await window.until("end of all runs", f"{RUNS}/changed", calm)
    await window.until("empty list", f"{WORKERS}/changed", lambda said: not said["groups"])
    await until("end of all debuggers", lambda: not site.debuggers())


async def stop_everything(site: Site) -> None:
    """After a step that failed: ends its run and continues what it left stopped."""
    listed = await site.window.result(f"{RUNS}/list")
    for item in listed["runs"]:
        if item["state"] not in OVER:
            await site.window.ask(f"{RUNS}/stop", {"id": item["id"]})
    snapshot = await site.window.result(f"{WORKERS}/refresh")
    for row in (worker for group in snapshot["groups"] for worker in group["workers"]):
        workers = {"cluster": row["cluster"], "worker_ids": [row["worker_id"]]}
        await site.window.ask(f"{DEBUGGING}/release", workers)


Step = Callable[[Site], Awaitable[None]]

# Each step, and in which of how many cycles it is taken.
STEPS: tuple[tuple[Step, int], ...] = (
    (run_that_succeeds, 1),
    (breakpoint_that_is_continued, 2),
    (window_that_restarts, 1),
    (run_that_fails, 1),
    (run_that_is_stopped, 1),
    (breakpoint_that_is_released, 2),
    (run_over_a_cut_link, 2),
    (link_that_is_cut, 3),
)


def steps_of(cycle: int) -> list[Step]:
    """Returns the steps of cycle 1, 2, …; the first takes all, and later ones are spread by their position."""
    if cycle == 1:
        return [step for step, _ in STEPS]
    return [step for at, (step, every) in enumerate(STEPS) if (cycle + at) % every == 0]
