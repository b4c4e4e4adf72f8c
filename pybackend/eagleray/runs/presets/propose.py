"""Proposes a debug run: turns answers into arguments and variables at the places that the framework reads.

Arguments follow the user's, since the last of two that set one key counts.  No file is edited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import asdict, evolve

from eagleray.common.l10n import later, t, translated
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.analysis import ProgramAnalysis
from eagleray.runs.presets.ended_processes import about_ended_processes, ended_processes
from eagleray.runs.presets.framework_table_file import variables
from eagleray.runs.presets.job_submission import (
    Edit,
    for_submission,
    submits,
    with_variables,
)
from eagleray.runs.presets.model import (
    NAMES,
    POST_MORTEM,
    WITHOUT_EFFECT,
    DebugRunProposal,
    Outcome,
    ProposedChange,
)
from eagleray.runs.presets.overrides import Override, line_of, overrides_for, variable_override
from eagleray.runs.presets.placement import (
    Placement,
    copied_text,
    left_out_in,
    lines_text,
    originals,
    place_for,
    placed,
)
from eagleray.runs.presets.proposal_text import (
    REMOVED,
    SettingText,
    effective,
    of_arguments,
    of_variable,
    summary,
)
from eagleray.runs.presets.questions import checked, questions
from eagleray.runs.presets.recognition import Recognised
from eagleray.runs.presets.user_presets import Preset
from eagleray.runs.scripts.script_edits import ORIGINAL

COPIED = later("The script is not changed")


def propose(
    plan: RunPlan,
    analysis: ProgramAnalysis,
    answers: Mapping[str, str],
    preset: Preset | None = None,
) -> DebugRunProposal:
    """The debug run of `plan` with the form's `answers`, which take precedence over the user's own `preset`.

    Raises `bad-answer`.
    """
    preset = preset or Preset("")
    answers = {**preset.answers, **answers}
    wanted = checked(answers, analysis)
    overrides = [
        evolve(override, option=name)
        for name, value in wanted.items()
        for override in overrides_for(name, value, plan, analysis)
    ]
    for name, value in preset.env.items():
        overrides.append(
            variable_override(t("Your variable {name}", name=name), name, value, plan, analysis)
        )
    if preset.arguments:
        overrides.append(Override(t("Your own arguments"), arguments=preset.arguments))
    after, changes = put(plan, analysis, overrides)
    if POST_MORTEM.name in wanted:
        changes.append(_post_mortem(plan, analysis))
        after = evolve(after, post_mortem=True)
    recognised = analysis.recognised
    form = questions(analysis, answers)
    if recognised and recognised.in_range:
        changes = _with_details(changes, {question.id: question.detail for question in form})
    changes = [*_about_framework(analysis, preset), *changes, *_about_variables(plan, analysis)]
    return DebugRunProposal(
        plan=after,
        title=_title(recognised),
        before=effective(plan, *originals(analysis, after)),
        after=effective(after),
        changes=tuple(changes),
        questions=form,
        framework=recognised.table.title if recognised else "",
        framework_version=recognised.version.text if recognised else "",
        summary=summary(_name(recognised), analysis, changes, wanted, {q.id: q.text for q in form}),
    )


def unchanged(plan: RunPlan) -> DebugRunProposal:
    """The program as it is."""
    text = effective(plan)
    return DebugRunProposal(plan=plan, before=text, after=text)


def _title(recognised: Recognised | None) -> str:
    if recognised is None:
        return t("Debug run")
    return t("Debug run of {framework}", framework=_name(recognised))


def _name(recognised: Recognised | None) -> str:
    if recognised is None:
        return ""
    if recognised.table.is_unknown:
        return recognised.table.title
    return f"{recognised.table.title} {recognised.version.text or t('(version unknown)')}"


def put(
    plan: RunPlan, analysis: ProgramAnalysis, overrides: Sequence[Override]
) -> tuple[RunPlan, list[ProposedChange]]:
    """Everything at its place; where there is none for arguments, they are left out."""
    if submits(analysis.launch):
        overrides = [
            evolve(override, arguments=for_submission(override.arguments)) for override in overrides
        ]
    arguments = [argument for override in overrides for argument in override.arguments]
    edits = [edit for override in overrides for edit in override.edits]
    for_job = dict(pair for override in overrides for pair in override.job)
    for launch in analysis.launches if for_job else ():
        if isinstance(edit := with_variables(launch, for_job), Edit):
            edits.append(edit)
    ended = tuple(ended_processes(analysis.root))
    left_out = left_out_in(analysis, ended)
    place = (
        place_for(analysis, arguments, edits, left_out)
        if arguments or edits or left_out
        else Placement("nowhere", "")
    )
    if place.kind != "copy":
        left_out = ()
    env = dict(pair for override in overrides for pair in override.env)
    after = placed(
        evolve(plan, env={**plan.env, **env}), analysis, place, arguments, edits, left_out
    )
    changes = [
        *_about_copy(plan, after, analysis, place),
        *(_change(override, place, plan, analysis) for override in overrides),
        *about_ended_processes(ended, left_out),
        *_about_other_lines(analysis, place),
    ]
    return after, changes


def _about_copy(
    plan: RunPlan, after: RunPlan, analysis: ProgramAnalysis, place: Placement
) -> list[ProposedChange]:
    """A copy that runs in place of the script, if there is one."""
    if place.kind == "copy":
        why, where = place.why, copied_text(analysis, place)
        if ORIGINAL in after.copy_text:
            own_path = t("In the copy, {variable} is the path of your script.", variable=ORIGINAL)
            why = f"{why} {own_path}"
    elif plan.copy_text:
        why = t("It has Windows line endings, which no shell reads.")
        where = t("a copy of it runs")
    else:
        return []
    return [ProposedChange(translated(COPIED), "will apply", where, why)]


def _change(
    override: Override, place: Placement, plan: RunPlan, analysis: ProgramAnalysis
) -> ProposedChange:
    if override.change:
        return evolve(override.change, option=override.option)
    change = _placed_change(override, place, analysis)
    return evolve(
        change, option=override.option, **asdict(_shown(override, plan, analysis), recurse=False)
    )


def _shown(override: Override, plan: RunPlan, analysis: ProgramAnalysis) -> SettingText:
    if override.edits:
        token = override.edits[0].token
        return SettingText(token.text, REMOVED, t("line {line}", line=token.line))
    if override.arguments:
        syntax = analysis.recognised.table.syntax if analysis.recognised else "none"
        return of_arguments(override.arguments, line_of(plan, analysis), syntax)
    for name, value in (*override.env, *override.job):
        where = t("environment") if override.env else t("runtime_env of the job")
        return of_variable(name, value, plan.env.get(name), where)
    return SettingText()


def _with_details(
    changes: Sequence[ProposedChange], details: Mapping[str, str]
) -> list[ProposedChange]:
    """The detail of a question is added to the last change that it leads to."""
    left = {name: text for name, text in details.items() if text and name in NAMES}
    shown = []
    for change in reversed(changes):
        detail = "" if change.outcome in WITHOUT_EFFECT else left.pop(change.option, "")
        shown.append(evolve(change, why=f"{change.why} {detail}".strip()))
    return shown[::-1]


def _placed_change(
    override: Override, place: Placement, analysis: ProgramAnalysis
) -> ProposedChange:
    pairs = [f"{name}={value}" for name, value in (*override.env, *override.job)]
    what = " ".join([*override.arguments, *pairs])
    if override.edits:
        removed = " ".join(edit.token.text for edit in override.edits)
        what = t("without {argument}", argument=removed)
    if override.env and not override.arguments:
        return ProposedChange(
            override.request,
            _outcome(override, analysis),
            f"{what} ({t('environment')})",
            override.why,
        )
    if place.kind == "nowhere":
        return ProposedChange(override.request, "not changed", what, place.why)
    return ProposedChange(
        override.request, _outcome(override, analysis), f"{what} ({place.where})", override.why
    )


def _outcome(override: Override, analysis: ProgramAnalysis) -> Outcome:
    recognised = analysis.recognised
    read = recognised is None or (recognised.verified and not analysis.missing_config)
    return "will apply" if read and override.verified else "set, effect not verified"


def _about_other_lines(analysis: ProgramAnalysis, place: Placement) -> list[ProposedChange]:
    """Training lines that stay as they are."""
    if place.kind == "nowhere":
        return []
    left = list(place.unreached)
    for line in analysis.other_lines:
        program = Path(line.launch.target).name
        is_unknown = analysis.recognised and analysis.recognised.table.is_unknown
        other = t("It starts another trainer, {program}.", program=program)
        if is_unknown:
            other = t("{program} has options of a trainer, too.", program=program)
        why = f"{other} {t('Run it separately to shorten it.')}"
        left.append((line, why))
    return [
        ProposedChange(t("Another training line"), "not changed", lines_text([line]), why)
        for line, why in left
    ]


def _about_framework(analysis: ProgramAnalysis, preset: Preset) -> tuple[ProposedChange, ...]:
    recognised = analysis.recognised
    if recognised is None:
        elsewhere = analysis.elsewhere.remark if analysis.elsewhere else ""
        why = (
            elsewhere
            or analysis.remark
            or t("No framework was recognised, so this program isn't shortened.")
        )
        return (ProposedChange(t("Debug run"), "no framework", "", why),)
    if recognised.table.is_unknown:
        about = [t("Eagleray doesn't know this trainer.")]
        if recognised.table.syntax != "none":
            about += [t("It sets keys of your code or line."), t("Their effect isn't verified.")]
        return (ProposedChange(t("Debug run"), "no framework", "", " ".join(about)),)
    of_version = _about_version(recognised, analysis)
    if preset.framework not in ("", recognised.table.framework, recognised.table.title):
        why = t(
            "It was made for {other}; this is {framework}.",
            other=preset.framework,
            framework=recognised.table.title,
        )
        request = t("Your preset {name}", name=preset.name)
        return (*of_version, ProposedChange(request, "set, effect not verified", "", why))
    return of_version


def _about_version(recognised: Recognised, analysis: ProgramAnalysis) -> tuple[ProposedChange, ...]:
    """Says what is proposed for a version that the table was not read from, and why."""
    if recognised.in_range:
        return ()
    table = recognised.table
    sentences = [
        t(
            "Eagleray's settings for {framework} were checked in {versions}.",
            framework=table.title,
            versions=table.versions,
        )
    ]
    if recognised.version.text:
        sentences.append(t("This is {version}.", version=recognised.version.text))
    else:
        files = ", ".join(path for path, _ in table.version_files)
        sentences += [
            t("No version was found in {files} of the checkout.", files=files),
            t("No {package} is installed either.", package=table.distribution),
        ]
    if analysis.keys:
        sentences.append(t("Only keys that your code defines are set."))
    else:
        sentences += [
            t("So nothing is proposed."),
            t("Answer a question, or use `--set steps=2`, to set it anyway."),
        ]
    request = t("Which {framework} this is", framework=table.title)
    where = recognised.version.where
    return (ProposedChange(request, "unknown version", where, " ".join(sentences)),)


def _post_mortem(plan: RunPlan, analysis: ProgramAnalysis) -> ProposedChange:
    text, where = translated(POST_MORTEM.text), t("all workers of the run")
    if elsewhere := analysis.elsewhere:
        why = t("Programs that `{tool}` starts may not belong to the run.", tool=elsewhere.tool)
        if elsewhere.has_environment:
            return ProposedChange(text, "set, effect not verified", where, why, POST_MORTEM.name)
        why = t("Breakpoints don't reach programs that `{tool}` starts.", tool=elsewhere.tool)
        return ProposedChange(text, "not changed", where, why, POST_MORTEM.name)
    return ProposedChange(text, "already so" if plan.post_mortem else "will apply", where)


def _about_variables(plan: RunPlan, analysis: ProgramAnalysis) -> list[ProposedChange]:
    """Variables that the user sets and that have no effect."""
    changes = []
    for name, why in variables().ineffective.items():
        assigned = analysis.assigned(name)
        if assigned or name in plan.env:
            place = where = t("environment")
            if assigned:
                line, script = assigned[0].line, assigned[1]
                place = t("line {line}", line=line)
                where = t("line {line} of {script}", line=line, script=script)
            shown = asdict(SettingText(name, "", place), recurse=False)
            changes.append(
                ProposedChange(
                    t("{name}, which you set", name=name),
                    "no such option",
                    where,
                    translated(why),
                    **shown,
                )
            )
    return changes
