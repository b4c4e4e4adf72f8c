"""Sets a framework's own switch for the steps that nsys records."""

from __future__ import annotations

import json
from collections.abc import Sequence

from attrs import evolve

from eagleray.common.l10n import later, t, translated
from eagleray.runs.model import ProfilePlan, RunPlan
from eagleray.runs.presets.analysis import ProgramAnalysis
from eagleray.runs.presets.framework_table import FrameworkTable, Switch
from eagleray.runs.presets.model import DebugRunProposal, Outcome, ProposedChange
from eagleray.runs.presets.overrides import (
    Override,
    hydra_override,
    hydra_text,
    variable_override,
)
from eagleray.runs.presets.placement import originals
from eagleray.runs.presets.proposal_text import effective
from eagleray.runs.presets.propose import put
from eagleray.runs.presets.recognition import Recognised
from eagleray.runs.presets.worker_classes import reads_variable

REQUEST = later("Steps to record")
_WILD = set("*?[")


def with_step_recording(
    made: DebugRunProposal, analysis: ProgramAnalysis, original: RunPlan
) -> DebugRunProposal:
    """The proposal with the framework's own switch for steps; `original` is the plan without any preset.

    1. No steps were given: nsys records between the program's own calls of cudaProfilerApi.
    2. No framework was recognised, it has no switch in this version, it can't record these workers or steps, or one of
       the switch's settings can't be set: likewise, and the steps are reported as not changed.
    3. Otherwise all of its settings are set, and the framework runs its workers under nsys; its reports are gathered.
    """
    plan, recognised = made.plan, analysis.recognised
    profile = plan.profile
    assert profile is not None
    if not profile.steps:
        where = t("between the program's own calls of cudaProfilerApi")
        marks = ProposedChange(translated(REQUEST), "will apply", where)
        return _added(made, [marks], _between_calls())
    if recognised is None:
        return _not_changed(made, "not changed", t("No framework was recognised."))
    name = f"{recognised.table.title} {recognised.version.text}".strip()
    switch = recognised.table.profile
    if switch is None or not switch.exists_in(_nearest(recognised)):
        why = t("{framework} has no option for steps to record.", framework=name)
        return _not_changed(made, "no such option", why)
    values = _values(profile, switch, plan, recognised.table)
    if isinstance(values, str):
        return _not_changed(made, "not changed", values)
    if missing := _not_in_checkout(switch, values, recognised, analysis):
        of_table = t(
            "Eagleray's table is for {framework} {versions}.",
            framework=recognised.table.title,
            versions=recognised.table.versions,
        )
        why = t("Your checkout has no {key}.", key=missing)
        return _not_changed(made, "not changed", f"{of_table} {why}")
    overrides = _overrides(switch, values, plan, analysis, _nearest(recognised))
    after, changes = put(plan, analysis, overrides)
    if refused := [change.why for change in changes if change.outcome == "not changed"]:
        # The framework refuses or ignores an incomplete switch.
        return _not_changed(made, "not changed", refused[0])
    before = made.before
    if after.copy_text and not plan.copy_text and analysis.script:
        # Otherwise every line of the copied script would be an added one.
        before = effective(original, *originals(analysis, after))
    unsure = any(change.outcome == "set, effect not verified" for change in changes)
    made = evolve(made, plan=after, before=before, after=effective(after))
    return _added(made, changes, _recorded(name, profile, unsure))


def _recorded(name: str, profile: ProfilePlan, unsure: bool) -> str:
    first, _, end = profile.steps.partition(":")
    last = int(end) - 1
    what = {
        "framework": name,
        "steps": (
            t("step {step}", step=first)
            if int(first) == last
            else t("steps {first} to {last}", first=first, last=last)
        ),
        "workers": t("all workers") if "*" in profile.workers else ", ".join(profile.workers),
    }
    sentences = [
        t("{framework} should run nsys itself, for {steps} of {workers}.", **what)
        if unsure
        else t("{framework} runs nsys itself, for {steps} of {workers}.", **what),
        *([t("This is not verified for this version.")] if unsure else []),
        t("Eagleray downloads the reports."),
    ]
    return " ".join(sentences)


def _between_calls() -> str:
    """Says what is recorded without steps: torch.cuda.profiler makes these calls, too."""
    return t("nsys records between the program's own calls of cudaProfilerApi.")


def _nearest(recognised: Recognised) -> str:
    return recognised.table.nearest(recognised.version.text)


def _not_in_checkout(
    switch: Switch, values: dict[str, str], recognised: Recognised, analysis: ProgramAnalysis
) -> str:
    """The first setting of a version outside of the table that the user's checkout does not have."""
    if recognised.in_range:
        return ""
    for entry in switch.entries:
        if entry.check(_nearest(recognised)) and not (
            analysis.keys and analysis.keys.of_entry(entry, recognised)
        ):
            return entry.key
    for entry in switch.environment:
        check = entry.check(_nearest(recognised)) if _filled(entry.value, values) else None
        if check and not reads_variable(recognised, check.exists.rpartition(":")[0], entry.key):
            return entry.key
    return ""


def _not_changed(made: DebugRunProposal, outcome: Outcome, why: str) -> DebugRunProposal:
    change = ProposedChange(translated(REQUEST), outcome, "", f"{why} {_between_calls()}")
    return _added(made, [change], "")


def _added(
    made: DebugRunProposal, changes: Sequence[ProposedChange], summary: str
) -> DebugRunProposal:
    sentences = " ".join(part for part in (made.summary, summary) if part)
    return evolve(made, changes=(*made.changes, *changes), summary=sentences)


def _values(
    profile: ProfilePlan, switch: Switch, plan: RunPlan, table: FrameworkTable
) -> dict[str, str] | str:
    """The values of the names in braces, or why the framework can't record these workers or steps."""
    title = table.title
    first, _, end = profile.steps.partition(":")
    if int(first) < switch.first:
        return t("The first step of {framework} is {step}.", framework=title, step=switch.first)
    groups = ["all"] if "*" in profile.workers else list(profile.workers)
    if switch.groups == "names" and any(_WILD.intersection(group) for group in groups):
        return t("{framework} takes names of worker groups, not patterns.", framework=title)
    if switch.groups == "all" and "*" not in profile.workers:
        return t("{framework} can only record all of its workers: `*`.", framework=title)
    steps = list(range(int(first), int(end)))
    folder = profile.output or f"{plan.cwd}/eagleray-profiles"
    return {
        "patterns": ",".join(profile.workers),
        "groups": json.dumps(groups, separators=(",", ":")).replace('"', ""),
        "steps": profile.steps,
        "list": json.dumps(steps, separators=(",", ":")),
        "count": str(len(steps)),
        "trace": hydra_text(profile.trace) if switch.entries else profile.trace,
        "options": json.dumps(profile.options) if profile.options else "",
        "all_ranks": "true" if profile.ranks is None else "false",
        "ranks": json.dumps(list(profile.ranks or ()), separators=(",", ":")),
        "output": f"{folder}/{table.framework}",
    }


def _overrides(
    switch: Switch, values: dict[str, str], plan: RunPlan, analysis: ProgramAnalysis, version: str
) -> list[Override]:
    overrides = []
    for entry in switch.entries:
        if check := entry.check(version):
            argument = hydra_override(entry.key, _filled(entry.value, values))
            overrides.append(
                Override(translated(REQUEST), arguments=(argument,), verified=bool(check.acts))
            )
    for entry in switch.environment:
        exact, check = _filled(entry.value, values), entry.check(version)
        if exact and check:
            override = variable_override(translated(REQUEST), entry.key, exact, plan, analysis)
            overrides.append(evolve(override, verified=bool(check.acts)))
    return overrides


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text
