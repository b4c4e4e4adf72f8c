"""A debug run proposed: what is asked for becomes words and variables at the places that the framework reads.

Words are put behind those of the person, since of two that set one key the last counts.  No file is edited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import asdict, evolve

from eagleray.features.presets.analysis import ProgramAnalysis
from eagleray.features.presets.form import checked, questions
from eagleray.features.presets.job_submission import (
    Edit,
    for_submission,
    submits,
    with_variables,
)
from eagleray.features.presets.model import (
    NAMES,
    POST_MORTEM,
    WITHOUT_EFFECT,
    DebugRunProposal,
    Outcome,
    ProposedChange,
)
from eagleray.features.presets.overrides import Override, line_of, overrides_for, variable_override
from eagleray.features.presets.placement import (
    Placement,
    copied_text,
    lines_text,
    originals,
    place_for,
    placed,
)
from eagleray.features.presets.recognition import Recognised
from eagleray.features.presets.summary import summary
from eagleray.features.presets.table_file import variables
from eagleray.features.presets.text import REMOVED, SettingText, effective, of_variable, of_words
from eagleray.features.presets.user_presets import Preset
from eagleray.features.runs.model import RunPlan
from eagleray.features.runs.scripts.script_edits import ORIGINAL

COPIED = "The script is not changed"
_OWN_PATH = f" In the copy, {ORIGINAL} is the path of your script."


def propose(
    plan: RunPlan,
    facts: ProgramAnalysis,
    answers: Mapping[str, str],
    preset: Preset | None = None,
) -> DebugRunProposal:
    """The debug run of `plan` with the form's `answers`, which come before those of a person's own `preset`.

    Raises what is wrong with an answer.
    """
    preset = preset or Preset("")
    answers = {**preset.answers, **answers}
    wanted = checked(answers, facts)
    wishes = [
        evolve(wish, option=name)
        for name, value in wanted.items()
        for wish in overrides_for(name, value, plan, facts)
    ]
    for name, value in preset.env.items():
        wishes.append(variable_override(f"Your variable {name}", name, value, plan, facts))
    if preset.words:
        wishes.append(Override("Your own words", words=preset.words))
    after, changes = put(plan, facts, wishes)
    if POST_MORTEM.name in wanted:
        changes.append(_post_mortem(plan))
        after = evolve(after, post_mortem=True)
    known = facts.recognised
    asked = questions(facts, answers)
    if known and known.known:
        changes = _with_details(changes, {question.id: question.detail for question in asked})
    changes = [*_about_framework(facts, preset), *changes, *_about_variables(plan, facts)]
    return DebugRunProposal(
        plan=after,
        title=_title(known),
        before=effective(plan, *originals(facts, after)),
        after=effective(after),
        changes=tuple(changes),
        questions=asked,
        framework=known.table.title if known else "",
        framework_version=known.version.text if known else "",
        summary=summary(_name(known), facts, changes, wanted, {q.id: q.text for q in asked}),
    )


def unchanged(plan: RunPlan) -> DebugRunProposal:
    """The program as it is."""
    text = effective(plan)
    return DebugRunProposal(plan, "", text, text, (), (), "", "")


def _title(known: Recognised | None) -> str:
    return f"Debug run of {_name(known)}" if known else "Debug run"


def _name(known: Recognised | None) -> str:
    return f"{known.table.title} {known.version.text or '(version unknown)'}" if known else ""


def put(
    plan: RunPlan, facts: ProgramAnalysis, wishes: Sequence[Override]
) -> tuple[RunPlan, list[ProposedChange]]:
    """Everything at its place; where there is none for words, nothing of them is put anywhere."""
    if submits(facts.launch):
        wishes = [evolve(wish, words=for_submission(wish.words)) for wish in wishes]
    words = [word for wish in wishes for word in wish.words]
    edits = [wish.edit for wish in wishes if wish.edit]
    for_job = dict(pair for wish in wishes for pair in wish.job)
    for launch in facts.launches if for_job else ():
        if isinstance(edit := with_variables(launch, for_job), Edit):
            edits.append(edit)
    place = place_for(facts, words, edits) if words or edits else Placement("nowhere", "")
    env = dict(pair for wish in wishes for pair in wish.env)
    after = placed(evolve(plan, env={**plan.env, **env}), facts, place, words, edits)
    changes = [_change(wish, place, plan, facts) for wish in wishes]
    if plan.copy_text and place.kind != "copy":
        why = "It has Windows line endings, which no shell reads."
        changes.insert(0, ProposedChange(COPIED, "will apply", "a copy of it runs", why))
    changes += _about_other_lines(facts, place)
    if place.kind == "copy":
        why = place.why + (_OWN_PATH if ORIGINAL in after.copy_text else "")
        changes.insert(0, ProposedChange(COPIED, "will apply", copied_text(facts, place), why))
    return after, changes


def _change(
    wish: Override, place: Placement, plan: RunPlan, facts: ProgramAnalysis
) -> ProposedChange:
    if wish.change:
        return evolve(wish.change, option=wish.option)
    change = _placed_change(wish, place, facts)
    return evolve(change, option=wish.option, **asdict(_shown(wish, plan, facts), recurse=False))


def _shown(wish: Override, plan: RunPlan, facts: ProgramAnalysis) -> SettingText:
    if wish.edit:
        return SettingText(wish.edit.word.text, REMOVED, f"line {wish.edit.word.line}")
    if wish.words:
        syntax = facts.recognised.table.syntax if facts.recognised else "none"
        return of_words(wish.words, line_of(plan, facts), syntax)
    for name, value in (*wish.env, *wish.job):
        where = "environment" if wish.env else "runtime_env of the job"
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


def _placed_change(wish: Override, place: Placement, facts: ProgramAnalysis) -> ProposedChange:
    pairs = [f"{name}={value}" for name, value in (*wish.env, *wish.job)]
    what = " ".join([*wish.words, *pairs])
    if wish.edit:
        what = f"without {wish.edit.word.text}"
    if wish.env and not wish.words:
        return ProposedChange(wish.asked, _outcome(wish, facts), f"{what} (environment)", wish.why)
    if place.kind == "nowhere":
        return ProposedChange(wish.asked, "not changed", what, place.why)
    return ProposedChange(wish.asked, _outcome(wish, facts), f"{what} ({place.where})", wish.why)


def _outcome(wish: Override, facts: ProgramAnalysis) -> Outcome:
    known = facts.recognised
    read = known is None or known.verified
    return "will apply" if read and wish.verified else "set, effect not verified"


def _about_other_lines(facts: ProgramAnalysis, place: Placement) -> list[ProposedChange]:
    """Training lines that stay as they are."""
    if place.kind == "nowhere":
        return []
    left = list(place.unreached)
    for line in facts.other_lines:
        program = Path(line.launch.target).name
        why = f"It starts another trainer, {program}. Run it separately to shorten it."
        left.append((line, why))
    return [
        ProposedChange("Another training line", "not changed", lines_text([line]), why)
        for line, why in left
    ]


def _about_framework(facts: ProgramAnalysis, preset: Preset) -> tuple[ProposedChange, ...]:
    known = facts.recognised
    if known is None:
        why = facts.remark or (
            "No framework was recognised, so the debug run doesn't shorten this program."
        )
        return (ProposedChange("Debug run", "no framework", "", why),)
    found = _about_version(known, facts)
    if preset.framework not in ("", known.table.framework, known.table.title):
        why = f"It was made for {preset.framework}; this is {known.table.title}."
        return (
            *found,
            ProposedChange(f"Your preset {preset.name}", "set, effect not verified", "", why),
        )
    return found


def _about_version(known: Recognised, facts: ProgramAnalysis) -> tuple[ProposedChange, ...]:
    """What is proposed for a version that the table was not read from, and why."""
    if known.known:
        return ()
    table = known.table
    what = f"Eagleray's settings for {table.title} were checked in {table.versions}"
    if known.version.text:
        what += f", not in {known.version.text}"
    else:
        files = ", ".join(path for path, _ in table.version_files)
        what += f"; no version was found in {files} of the checkout, nor of an installed {table.distribution}"
    if facts.keys:
        why = f"{what}. Only keys that your code defines are set."
    else:
        why = f"{what}, so nothing is proposed. Answer a question, or use --set steps=2, to set it anyway."
    return (
        ProposedChange(f"Which {table.title} this is", "unknown version", known.version.where, why),
    )


def _post_mortem(plan: RunPlan) -> ProposedChange:
    return ProposedChange(
        POST_MORTEM.text,
        "already so" if plan.post_mortem else "will apply",
        "all workers of the run",
    )


def _about_variables(plan: RunPlan, facts: ProgramAnalysis) -> list[ProposedChange]:
    """Variables that the person sets and that act on nothing."""
    found = []
    for name, why in variables().ineffective.items():
        said = facts.assigned(name)
        if said or name in plan.env:
            place = f"line {said[0].line}" if said else "environment"
            where = f"{place} of {said[1]}" if said else place
            shown = asdict(SettingText(name, "", place), recurse=False)
            found.append(
                ProposedChange(f"{name}, which you set", "no such option", where, why, **shown)
            )
    return found
