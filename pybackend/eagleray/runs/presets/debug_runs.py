"""Selects the preset of a debug run and proposes the run; stores the user's presets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from attrs import evolve

from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t
from eagleray.runs.model import RunPlan
from eagleray.runs.presets import user_presets
from eagleray.runs.presets.analysis import ProgramAnalysis, analyze
from eagleray.runs.presets.composed_config import Composed, compose, line_arguments
from eagleray.runs.presets.errors import bad_preset, unknown_preset
from eagleray.runs.presets.framework_table import FrameworkTable
from eagleray.runs.presets.framework_table_file import tables
from eagleray.runs.presets.model import OF_VARIABLES, POST_MORTEM, DebugRunProposal, PresetRow
from eagleray.runs.presets.propose import propose, unchanged
from eagleray.runs.presets.questions import OFF, ON
from eagleray.runs.presets.step_recording import with_step_recording
from eagleray.runs.presets.user_presets import OwnPresets, Preset

NONE, DEBUG = "none", "debug"


class DebugRuns:
    """Proposes; starts nothing and edits nothing."""

    def __init__(
        self, presets: OwnPresets, now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    ) -> None:
        self._presets = presets
        self._now = now

    def proposal(
        self, plan: RunPlan, name: str, answers: Mapping[str, str], python: str = ""
    ) -> DebugRunProposal:
        """Returns what the preset `name` makes of `plan`; `python` is the interpreter whose packages the program has.

        Steps to record are set in a framework that has such options, whatever the preset.
        """
        made = self._by_preset(plan, name, answers, python)
        if made.plan.profile is None or made.plan.profile.when != "steps":
            return made
        analysis = analyze(made.plan, python or plan.argv[0], self._now())
        return with_step_recording(made, analysis, plan)

    async def composed(self, original: RunPlan, plan: RunPlan, python: str = "") -> Composed:
        """The composed configuration of `plan`, the proposal for `original`.

        `python` replaces the interpreter of the training line.
        Runs the program's imports: only on request, and only in a trusted workspace.
        """
        before, after = await off_loop(
            lambda: [
                analyze(candidate, python or candidate.python or candidate.argv[0], self._now())
                for candidate in (original, plan)
            ]
        )
        return await compose(plan, after, line_arguments(original, before), python)

    def _by_preset(
        self, plan: RunPlan, name: str, answers: Mapping[str, str], python: str
    ) -> DebugRunProposal:
        """The proposal of the preset.

        1. "none": the program as it is.  2. A preset of the user's own.
        3. "" or the name of a framework: the settings of the framework that is recognised; with "" the program
           stays as it is if none was.  4. "debug": that, or the settings for any program.
        Reads files and nothing else; `answers` take precedence over the preset's.
        """
        if name == NONE:
            return unchanged(plan)
        analysis = analyze(plan, python or plan.argv[0], self._now())
        if name == "" and analysis.recognised is None:
            return unchanged(plan)
        preset = self._chosen(plan.workspace, name, analysis)
        return propose(evolve(plan, preset=preset.name), analysis, answers, preset)

    def rows(self, workspace: str) -> list[PresetRow]:
        """The presets of a workspace: ours for each framework and for any program, then the user's own."""
        newest: dict[str, FrameworkTable] = {}
        for table in tables():
            newest.setdefault(table.framework, table)
        ours = [_row(table) for name, table in sorted(newest.items()) if table.package]
        of_user = [
            PresetRow(
                preset.name, preset.name, preset.framework, True, user_presets.to_text(preset)
            )
            for preset in self._presets.of(workspace)
        ]
        any_program = PresetRow(
            DEBUG,
            t("Debug run of any program"),
            "",
            False,
            _template(t("my debug run"), "", {}),
        )
        return [*ours, any_program, *of_user]

    def save(self, workspace: str, name: str, text: str) -> None:
        """Saves the preset in `text` under `name`, "" for its own name; raises `bad-preset` for an invalid one."""
        preset = user_presets.of_text(text)
        if name and name != preset.name:
            preset = user_presets.of_text(user_presets.to_text(evolve(preset, name=name)))
        if preset.name in {table.framework for table in tables()}:
            raise bad_preset(t("“{name}” is the name of one of ours", name=preset.name))
        self._presets.save(workspace, preset)

    def delete(self, workspace: str, name: str) -> None:
        self._presets.delete(workspace, name)

    def _chosen(self, workspace: str, name: str, analysis: ProgramAnalysis) -> Preset:
        if name and (own := self._presets.named(workspace, name)):
            return own
        table = analysis.recognised.table if analysis.recognised else None
        recognised = table.framework if table and not table.is_unknown else ""
        if name in ("", DEBUG, recognised):
            return Preset(recognised or DEBUG)
        raise unknown_preset(name)


def _row(table: FrameworkTable) -> PresetRow:
    proposed = {
        name: offer.value
        for name, offer in table.offers.items()
        if offer.value and "{" not in offer.value
    }
    own = t("my {framework} run", framework=table.framework)
    title = t("Debug run of {framework}", framework=table.title)
    text = _template(own, table.framework, proposed)
    return PresetRow(table.framework, title, table.title, False, text)


def _template(name: str, framework: str, answers: Mapping[str, str]) -> str:
    """A template for a preset of the user's own."""
    common = {**{option.name: OFF for option in OF_VARIABLES}, POST_MORTEM.name: ON}
    return user_presets.to_text(Preset(name, framework, {**answers, **common}))
