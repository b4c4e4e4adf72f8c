"""Answers the editor's requests about proposals of debug runs and about presets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eagleray.common.blocking_calls import InOrder, off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.redact import redact_text
from eagleray.runs.command_ports import port_arguments
from eagleray.runs.model import RunPlan, RunRequest, confirm_text, title
from eagleray.runs.planner import RunPreparation
from eagleray.runs.preflight import check_files
from eagleray.runs.presets import messages
from eagleray.runs.presets.composed_config import error_of, shown_values
from eagleray.runs.presets.debug_runs import DebugRuns
from eagleray.runs.presets.errors import untrusted_workspace
from eagleray.runs.presets.fields import field_of, field_problem
from eagleray.runs.presets.messages import Change
from eagleray.runs.presets.model import DebugRunProposal, PresetRow, ProposalTexts, ProposedChange
from eagleray.runs.presets.nsys_check import nsys_here
from eagleray.runs.presets.proposal_text import lines_of, setting_of
from eagleray.wire.records import fields_in

if TYPE_CHECKING:
    from eagleray.wire.requests import RequestServer


def register(
    server: RequestServer, preparing: RunPreparation, debug_runs: DebugRuns, *, trusted: bool
) -> None:
    """Answers the requests of this feature; `trusted`: the user trusts the workspace."""
    handlers = PresetHandlers(preparing, debug_runs, trusted=trusted)
    server.on_request(messages.PREPARE, handlers.prepare)
    server.on_request(messages.CHECK, handlers.check)
    server.on_request(messages.COMPOSE, handlers.compose)
    server.on_request(messages.LIST_PRESETS, handlers.list_presets)
    server.on_request(messages.SAVE_PRESET, handlers.save)
    server.on_request(messages.DELETE_PRESET, handlers.delete)


class PresetHandlers:
    """One method per request."""

    def __init__(
        self, preparing: RunPreparation, debug_runs: DebugRuns, *, trusted: bool = False
    ) -> None:
        self._preparing = preparing
        self._debug_runs = debug_runs
        self._trusted = trusted
        self._preset_files = InOrder()

    async def prepare(self, request: RunRequest) -> messages.Proposal:
        plan, made = await self._proposed(request)
        problems = await self._preparing.problems(made.plan)
        return messages.Proposal(
            **{**fields_in(made, ProposalTexts), "title": made.title or title(plan)},
            plan=self._preparing.plans.add(made.plan),
            preset=made.plan.preset,
            name=redact_text(made.plan.name),
            changes=[wire_change(change) for change in made.changes],
            text=lines_of(made, details=True),
            presets=await self._rows(request.workspace),
            problems=[
                messages.RunProblem(problem.code, problem.message, problem.next_step)
                for problem in problems
            ],
            confirm=confirm_text(made.plan),
        )

    async def check(self, request: RunRequest) -> messages.OptionsCheck:
        """Everything that the options page shows while the user types; starts nothing."""
        plan: RunPlan | None = None
        proposal: messages.Proposal | None = None
        problems: list[messages.FieldProblem] = []
        try:
            proposal = await self.prepare(request)
            plan = self._preparing.plans.get(proposal.plan)
            await off_loop(partial(check_files, plan))
        except EaglerayError as error:
            problems.append(await off_loop(partial(field_problem, request, error)))
        nsys = await off_loop(partial(nsys_here, plan)) if plan else None
        problems += [
            messages.FieldProblem(
                field_of(problem.code), problem.code, problem.message, problem.next_step, False
            )
            for problem in (proposal.problems if proposal else ())
        ]
        return messages.OptionsCheck(problems, proposal, nsys or "", _ports(plan))

    async def compose(self, request: RunRequest) -> messages.Composition:
        """Runs the program's imports."""
        if not self._trusted:
            raise untrusted_workspace()
        plan, made = await self._proposed(request)
        composed = await self._debug_runs.composed(plan, made.plan)
        if error := error_of(composed):
            raise error
        return messages.Composition(shown_values(composed))

    async def _proposed(self, request: RunRequest) -> tuple[RunPlan, DebugRunProposal]:
        """The plan without the preset, and the proposal for it."""
        plan = await self._preparing.plan(request)
        answers, python = request.answers, request.python
        propose = partial(self._debug_runs.proposal, plan, request.preset, answers, python)
        return plan, await off_loop(propose)

    async def list_presets(self, request: messages.PresetsOf) -> messages.Presets:
        return messages.Presets(await self._rows(request.workspace))

    async def save(self, request: messages.SavePreset) -> messages.Presets:
        save = partial(self._debug_runs.save, request.workspace, request.name, request.text)
        await self._preset_files.run(save)
        return messages.Presets(await self._rows(request.workspace))

    async def delete(self, request: messages.PresetRef) -> messages.Presets:
        await self._preset_files.run(
            partial(self._debug_runs.delete, request.workspace, request.name)
        )
        return messages.Presets(await self._rows(request.workspace))

    async def _rows(self, workspace: str) -> list[PresetRow]:
        return await self._preset_files.run(partial(self._debug_runs.rows, workspace))


def wire_change(change: ProposedChange) -> Change:
    return Change(change.request, change.outcome, change.where, change.why, setting_of(change))


def _ports(plan: RunPlan | None) -> list[str]:
    """The ports that a local program is started with; other machines have their own."""
    if plan is None or plan.kind in ("job", "remote", "sbatch"):
        return []
    return port_arguments([*(f"{name}={value}" for name, value in plan.env.items()), *plan.command])
