"""Answers the editor's requests about runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from attrs import asdict

from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t, translated
from eagleray.common.redact import redact_text
from eagleray.common.tasks import publish_changes
from eagleray.runs import messages
from eagleray.runs.interpreters import Interpreters
from eagleray.runs.model import (
    RunPlan,
    ServerStatus,
    arguments_text,
    command_text,
    exact_command,
    server_state,
)
from eagleray.runs.planner import RunPreparation
from eagleray.runs.preflight import check
from eagleray.runs.program_python import target_of, with_python
from eagleray.runs.records import StoredRun
from eagleray.runs.run_status import output_is_complete
from eagleray.runs.runs import Runs
from eagleray.runs.terminal_output import next_piece, tail_of

if TYPE_CHECKING:
    from eagleray.wire.requests import RequestServer


def register(
    server: RequestServer,
    runs: Runs,
    preparing: RunPreparation,
    cluster_pythons: Callable[[], list[str]],
) -> None:
    """Answers the requests of this feature."""
    handlers = RunHandlers(runs, preparing, cluster_pythons)
    # It runs them, so only the editor of a trusted workspace asks.
    interpreters = Interpreters()
    server.on_request(messages.LIST, handlers.list_runs)
    server.on_request(messages.START, handlers.start)
    server.on_request(messages.STOP, lambda run: runs.stop(run.id, confirmed=run.confirmed))
    server.on_request(messages.RESTART, handlers.restart)
    server.on_request(messages.PYTHONS, handlers.pythons)
    server.on_request(
        messages.INTERPRETER, lambda of: interpreters.facts(of.python, of.cwd, of.env)
    )
    server.on_request(messages.FORGET, lambda run: runs.forget(run.id))
    server.on_request(messages.COMMAND, handlers.command)
    server.on_request(
        messages.BREAKPOINTS, lambda new: runs.set_breakpoints(new.workspace, new.breakpoints)
    )
    server.on_request(messages.PAUSE, lambda worker: runs.pause(worker.run, worker.worker_id))
    server.on_request(messages.OUTPUT, handlers.output)
    changed = asyncio.Event()
    runs.on_change(changed.set)

    async def publish() -> None:
        server.notify(messages.CHANGED, await handlers.list_runs())

    server.in_background("runs", runs.run)
    server.in_background("rows of runs", lambda: publish_changes(changed, publish))


class RunHandlers:
    """One method per request."""

    def __init__(
        self,
        runs: Runs,
        preparing: RunPreparation,
        cluster_pythons: Callable[[], list[str]],
    ) -> None:
        self._runs = runs
        self._preparing = preparing
        self._cluster_pythons = cluster_pythons

    async def list_runs(self) -> messages.StoredRuns:
        return await off_loop(self._all)

    def _all(self) -> messages.StoredRuns:
        return messages.StoredRuns([wire_run(run) for run in self._runs.listed()])

    async def start(self, request: messages.Start) -> messages.RunRef:
        plan = self._preparing.plans.get(request.plan)
        if request.python:
            plan = with_python(plan, request.python)
        if not request.anyway:
            await self._require_python(plan)
        return messages.RunRef(await self._runs.start(plan, confirmed=request.confirmed))

    async def restart(self, request: messages.Restart) -> messages.RunRef:
        if not request.anyway:
            plan = (await off_loop(partial(self._runs.load, request.id))).plan
            await self._require_python(
                with_python(plan, request.python) if request.python else plan
            )
        again = await self._runs.restart(
            request.id,
            request.breakpoints,
            confirmed=request.confirmed,
            python=request.python,
            server_env=request.server_env,
        )
        return messages.RunRef(again)

    async def _require_python(self, plan: RunPlan) -> None:
        """Checks the Python only of a program that can start."""
        await check(plan)
        if unfit := await self._preparing.unfit_python(plan):
            raise unfit

    async def pythons(self) -> messages.Pythons:
        return messages.Pythons(await off_loop(self._cluster_pythons))

    async def command(self, request: messages.RunRef) -> messages.RunCommand:
        run = await off_loop(partial(self._runs.load, request.id))
        return messages.RunCommand(exact_command(run.plan))

    async def output(self, request: messages.OutputFrom) -> messages.OutputPiece:
        record = await off_loop(partial(self._runs.find, request.id))
        if request.offset < 0:
            await self._runs.adopt(record)
        piece = await next_piece(record.output, request.offset, lambda: output_is_complete(record))
        return messages.OutputPiece(**asdict(piece))


def wire_run(run: StoredRun) -> messages.Run:
    plan, state = run.plan, run.state
    tail = tail_of(run)
    return messages.Run(
        id=run.record.id,
        name=redact_text(plan.name),
        arguments=arguments_text(plan),
        kind=plan.kind,
        state=state.phase,
        started=state.started,
        ended=state.ended,
        code=state.code,
        cluster=state.cluster,
        command=command_text(plan),
        cwd=plan.cwd,
        workspace=plan.workspace,
        preset=plan.preset,
        workers=state.workers,
        lines=state.lines,
        note=redact_text(translated(state.note)),
        reason=tail.reason,
        tail=tail.lines,
        output=str(run.record.output),
        python=python_of(plan),
        can_restart=True,
        confirm_stop=t("Cancel SLURM job {job}?", job=state.external_id)
        if plan.kind == "sbatch" and state.external_id and not state.is_over
        else "",
        picture=state.picture,
        server=_wire_server(run),
        is_agent=plan.server_at is not None,
    )


def _wire_server(run: StoredRun) -> messages.RunServer | None:
    plan, status = run.plan.server, run.state.server or ServerStatus("starting")
    if plan is None:
        return None
    return messages.RunServer(
        plan.name,
        server_state(run.state),
        status.url,
        status.model or plan.model,
        redact_text(status.reason),
        status.warning,
    )


def python_of(plan: RunPlan) -> str:
    """The Python of a program of this machine, "" if it isn't a Python program."""
    return (plan.python or plan.argv[0]) if target_of(plan) else ""
