"""The panel's requests about runs: wire types in, wire types out."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import cattrs
from attrs import Attribute, asdict

from eagleray.common.off_loop import InOrder, off_loop
from eagleray.common.redact import redact_text
from eagleray.common.waiting import after_changes
from eagleray.features.presets.composing import error_of, shown_values
from eagleray.features.presets.debug_runs import DebugRuns
from eagleray.features.presets.errors import untrusted_workspace
from eagleray.features.presets.model import Change as ProposedChange
from eagleray.features.presets.model import Proposal, Question
from eagleray.features.presets.text import lines_of, setting_of
from eagleray.features.runs import messages
from eagleray.features.runs.errors import bad_plan
from eagleray.features.runs.model import (
    Breakpoint,
    Line,
    ProfilePlan,
    RunPlan,
    plan_of_json,
    plan_to_json,
)
from eagleray.features.runs.output_pieces import next_piece, tail_of
from eagleray.features.runs.plan_text import (
    command_text,
    confirm_text,
    exact_command,
    title,
)
from eagleray.features.runs.preflight import check
from eagleray.features.runs.preparing import Asked, Preparing
from eagleray.features.runs.preset_messages import Change, PresetQuestion, PresetRow
from eagleray.features.runs.profile_plan import checked
from eagleray.features.runs.program_python import target_of, with_python
from eagleray.features.runs.records import Listed
from eagleray.features.runs.run_status import prints_no_more
from eagleray.features.runs.runs import Runs

if TYPE_CHECKING:
    from eagleray.app import Parts
    from eagleray.wire.requests import Requests


def register(server: Requests, parts: Parts) -> None:
    """Answers all methods of this feature."""
    trusted = parts.settings.trusted
    handlers = Handlers(
        parts.runs, parts.preparing, parts.debug_runs, parts.cluster_pythons, trusted=trusted
    )
    server.answer_plain(messages.LIST, handlers.list)
    server.answer(messages.PREPARE, messages.Prepare, handlers.prepare)
    server.answer(messages.COMPOSE, messages.Prepare, handlers.compose)
    server.answer(messages.START, messages.Start, handlers.start)
    server.answer(messages.STOP, messages.Stop, handlers.stop)
    server.answer(messages.RESTART, messages.Restart, handlers.restart)
    server.answer_plain(messages.PYTHONS, handlers.pythons)
    server.answer(messages.FORGET, messages.RunRef, handlers.forget)
    server.answer(messages.COMMAND, messages.RunRef, handlers.command)
    server.answer(messages.BREAKPOINTS, messages.SetBreakpoints, handlers.set_breakpoints)
    server.answer(messages.PAUSE, messages.Pause, handlers.pause)
    server.answer(messages.OUTPUT, messages.OutputFrom, handlers.output)
    server.answer(messages.PRESETS, messages.PresetsOf, handlers.presets)
    server.answer(messages.SAVE_PRESET, messages.SavePreset, handlers.save_preset)
    server.answer(messages.DELETE_PRESET, messages.PresetRef, handlers.delete_preset)
    changed = asyncio.Event()
    parts.runs.on_change(changed.set)

    async def publish() -> None:
        server.notify(messages.CHANGED, await handlers.list())

    server.in_background("runs", parts.runs.run)
    server.in_background("rows of runs", lambda: after_changes(changed, publish))


class Handlers:
    """One method per request."""

    def __init__(
        self,
        runs: Runs,
        preparing: Preparing,
        debug_runs: DebugRuns,
        cluster_pythons: Callable[[], builtins.list[str]],
        *,
        trusted: bool = False,
    ) -> None:
        self._runs = runs
        self._preparing = preparing
        self._debug_runs = debug_runs
        self._cluster_pythons = cluster_pythons
        self._trusted = trusted
        self._preset_files = InOrder()

    async def list(self) -> messages.Runs:
        return await off_loop(self._all)

    def _all(self) -> messages.Runs:
        return messages.Runs([wire_run(one) for one in self._runs.listed()])

    async def prepare(self, asked: messages.Prepare) -> messages.Proposal:
        plan, made = await self._proposed(asked)
        problems = await self._preparing.problems(made.plan)
        return messages.Proposal(
            plan=wire_plan(made.plan),
            title=made.title or title(plan),
            before=made.before,
            after=made.after,
            changes=[wire_change(one) for one in made.changes],
            questions=[wire_question(one) for one in made.questions],
            framework=made.framework,
            framework_version=made.framework_version,
            text=lines_of(made, details=True),
            presets=await self._rows(asked.workspace),
            problems=[messages.Problem(one.code, one.message, one.next_step) for one in problems],
            confirm=confirm_text(made.plan),
        )

    async def compose(self, asked: messages.Prepare) -> messages.Composition:
        """Runs the program's imports."""
        if not self._trusted:
            raise untrusted_workspace()
        plan, made = await self._proposed(asked)
        composed = await self._debug_runs.composed(plan, made.plan)
        if error := error_of(composed):
            raise error
        return messages.Composition(shown_values(composed))

    async def _proposed(self, asked: messages.Prepare) -> tuple[RunPlan, Proposal]:
        """The plan without the preset, and the proposal for it."""
        plan = await self._preparing.plan(_asked(asked))
        answers, python = asked.options.answers, asked.python
        propose = partial(self._debug_runs.proposal, plan, asked.preset, answers, python)
        return plan, await off_loop(propose)

    async def start(self, asked: messages.Start) -> messages.RunRef:
        plan = plan_of(asked.plan)
        if not asked.anyway:
            await self._require_ray(plan)
        return messages.RunRef(await self._runs.start(plan, confirmed=asked.confirmed))

    async def stop(self, asked: messages.Stop) -> None:
        await self._runs.stop(asked.id, confirmed=asked.confirmed)

    async def restart(self, asked: messages.Restart) -> messages.RunRef:
        lines = None if asked.breakpoints is None else _breakpoints(asked.breakpoints)
        if not asked.anyway:
            plan = (await off_loop(partial(self._runs.one, asked.id))).plan
            await self._require_ray(with_python(plan, asked.python) if asked.python else plan)
        again = await self._runs.restart(
            asked.id, lines, confirmed=asked.confirmed, python=asked.python
        )
        return messages.RunRef(again)

    async def _require_ray(self, plan: RunPlan) -> None:
        """Checks the Python only of a program that can start."""
        await check(plan)
        await self._preparing.require_ray(plan)

    async def pythons(self) -> messages.Pythons:
        return messages.Pythons(await off_loop(self._cluster_pythons))

    async def forget(self, asked: messages.RunRef) -> None:
        await self._runs.forget(asked.id)

    async def command(self, asked: messages.RunRef) -> messages.Command:
        found = await off_loop(partial(self._runs.one, asked.id))
        return messages.Command(exact_command(found.plan))

    async def set_breakpoints(self, asked: messages.SetBreakpoints) -> None:
        await self._runs.set_breakpoints(asked.workspace, _breakpoints(asked.breakpoints))

    async def pause(self, asked: messages.Pause) -> None:
        await self._runs.pause(asked.run, asked.worker_id)

    async def output(self, asked: messages.OutputFrom) -> messages.OutputPiece:
        record = await off_loop(partial(self._runs.find, asked.id))
        if asked.offset < 0:
            await self._runs.adopt(record)
        piece = await next_piece(record.output, asked.offset, lambda: prints_no_more(record))
        return messages.OutputPiece(**asdict(piece))

    async def presets(self, asked: messages.PresetsOf) -> messages.Presets:
        return messages.Presets(await self._rows(asked.workspace))

    async def save_preset(self, asked: messages.SavePreset) -> messages.Presets:
        save = partial(self._debug_runs.save, asked.workspace, asked.name, asked.text)
        await self._preset_files.run(save)
        return messages.Presets(await self._rows(asked.workspace))

    async def delete_preset(self, asked: messages.PresetRef) -> messages.Presets:
        await self._preset_files.run(partial(self._debug_runs.delete, asked.workspace, asked.name))
        return messages.Presets(await self._rows(asked.workspace))

    async def _rows(self, workspace: str) -> builtins.list[PresetRow]:
        rows = await self._preset_files.run(partial(self._debug_runs.rows, workspace))
        return [PresetRow(**vars(one)) for one in rows]


def wire_change(one: ProposedChange) -> Change:
    return Change(one.asked, one.outcome, one.where, one.why, setting_of(one))


def wire_question(one: Question) -> PresetQuestion:
    return PresetQuestion(**{**vars(one), "choices": list(one.choices)})


def wire_run(one: Listed) -> messages.Run:
    plan, state = one.plan, one.state
    tail = tail_of(one)
    return messages.Run(
        id=one.record.id,
        name=redact_text(plan.name),
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
        workers=[
            messages.RunWorker(cluster=state.cluster, **asdict(worker, filter=_without_files))
            for worker in state.workers
        ],
        lines=[messages.RunLine(**asdict(line)) for line in state.lines],
        note=redact_text(state.note),
        reason=tail.reason,
        tail=tail.lines,
        output=str(one.record.output),
        python=python_of(plan),
        can_restart=True,
        confirm_stop=f"Cancel SLURM job {state.far_id}?"
        if plan.kind == "sbatch" and state.far_id and not state.is_over
        else "",
    )


def python_of(plan: RunPlan) -> str:
    """The Python of a program of this machine, "" if it isn't a Python program."""
    return (plan.python or plan.argv[0]) if target_of(plan) else ""


def _without_files(field: Attribute[object], value: object) -> bool:
    return field.name != "files"


def wire_plan(plan: RunPlan) -> messages.Plan:
    said = plan_to_json(plan)
    said["breakpoints"] = [
        messages.Breakpoint(one.path, [messages.Line(**asdict(line)) for line in one.lines])
        for one in plan.breakpoints
    ]
    if plan.profile is not None:
        said["profile"] = messages.Profile(**said["profile"])
    return messages.Plan(**said)


def plan_of(said: messages.Plan) -> RunPlan:
    try:
        return plan_of_json(asdict(said))
    except (cattrs.BaseValidationError, ValueError, TypeError) as error:
        raise bad_plan(str(error)) from error


def _asked(asked: messages.Prepare) -> Asked:
    options = asked.options
    return Asked(
        path=asked.path,
        args=asked.args,
        cwd=asked.cwd,
        kind=asked.kind or None,
        cluster=asked.cluster,
        python=asked.python,
        workspace=asked.workspace,
        breakpoints=_breakpoints(options.breakpoints),
        workers=tuple(options.workers),
        ranks=None if options.ranks is None else tuple(options.ranks),
        post_mortem=options.post_mortem,
        children=options.children,
        env=options.env,
        overrides=tuple(options.overrides),
        profile=_profile(options.profile),
    )


def _profile(said: messages.Profile | None) -> ProfilePlan | None:
    """Raises `bad-plan`."""
    if said is None:
        return None
    ranks = None if said.ranks is None else tuple(said.ranks)
    return checked(ProfilePlan(**{**asdict(said), "workers": tuple(said.workers), "ranks": ranks}))


def _breakpoints(said: list[messages.Breakpoint]) -> tuple[Breakpoint, ...]:
    return tuple(
        Breakpoint(one.path, tuple(Line(**asdict(line)) for line in one.lines)) for one in said
    )
