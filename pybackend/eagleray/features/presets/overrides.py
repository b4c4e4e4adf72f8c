"""The overrides that answers request: arguments and variables, before their placement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import asdict, evolve, frozen

from eagleray.common.redact import redact_text
from eagleray.features.presets.analysis import ProgramAnalysis
from eagleray.features.presets.conditions import TrainingLineContext, multiplied, verdict
from eagleray.features.presets.form import fresh, program_of
from eagleray.features.presets.hydra_overrides import argparse_words, hydra_text, hydra_word
from eagleray.features.presets.job_submission import Edit
from eagleray.features.presets.model import HANG_DETAILS, OPTIONS, ProposedChange
from eagleray.features.presets.placement import nothing_found
from eagleray.features.presets.recognition import Recognised
from eagleray.features.presets.table import Check, KeyEntry, Offer
from eagleray.features.presets.table_file import variables
from eagleray.features.presets.text import NOT_SET, SettingText, of_said
from eagleray.features.presets.worker_variables import variable_route
from eagleray.features.runs.model import RunPlan
from eagleray.features.runs.scripts.launch_lines import LineWord, value_of


@frozen
class Override:
    """`words` behind the line, `env` of the program, `job` of the job that it submits, an `edit` of a word.

    `change` is set where nothing has to be put anywhere any more.  `verified` says that its effect was.
    """

    asked: str
    words: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    job: tuple[tuple[str, str], ...] = ()
    edit: Edit | None = None
    change: ProposedChange | None = None
    why: str = ""
    verified: bool = True
    option: str = ""


def overrides_for(
    name: str, value: str, plan: RunPlan, analysis: ProgramAnalysis
) -> Iterator[Override]:
    """What the option `name` with the answer `value` takes."""
    option = next((one for one in OPTIONS if one.name == name), None)
    known = analysis.recognised
    if name == HANG_DETAILS.name:
        for one in variables().acting:
            yield variable_override(
                f"{HANG_DETAILS.text}: {one.why}", one.name, one.value, plan, analysis
            )
    elif option and known and (offer := known.table.offer(name, known.version.text)):
        yield from _of_offer(offer, option.text, value, plan, analysis)
    elif option and known:
        why = known.table.absence(name, known.version.text) + "."
        yield Override(option.text, change=ProposedChange(option.text, "no such option", "", why))
    elif option:
        why = "No framework was recognised. Set it in your program."
        yield Override(option.text, change=ProposedChange(option.text, "not changed", "", why))


def variable_override(
    asked: str, name: str, value: str, plan: RunPlan, analysis: ProgramAnalysis
) -> Override:
    """A variable of the workers."""
    if plan.env.get(name) == value:
        shown = SettingText(name, value, "environment")
        return Override(
            asked,
            change=ProposedChange(
                asked, "already so", f"{name}={value}", **asdict(shown, recurse=False)
            ),
        )
    way = variable_route(name, value, plan, analysis)
    if not (way.words or way.env or way.job):
        return Override(asked, change=ProposedChange(asked, "not changed", name, way.why))
    return Override(asked, words=way.words, env=way.env, job=way.job, why=way.why)


def _of_offer(
    offer: Offer, text: str, value: str, plan: RunPlan, analysis: ProgramAnalysis
) -> Iterator[Override]:
    asked = offer.text or text
    if offer.kind != "tick":
        asked = f"{asked}: {value}"
    known = analysis.recognised
    assert known is not None
    version = known.table.nearest(known.version.text)
    if analysis.keys and not offer.environment and not analysis.keys.of_offer(offer, known):
        where = ", ".join(entry.key for entry in (*offer.entries, *offer.flags))
        why = f"Your {known.table.title} doesn't define it; set what it has instead."
        yield Override(asked, change=ProposedChange(asked, "not changed", where, why))
        return
    for entry in offer.entries:
        if check := entry.check(version):
            yield from _where_it_acts(asked, entry, check, value, plan, analysis, known)
    for entry in offer.environment:
        if check := entry.check(version):
            exact = entry.value.replace("{value}", value)
            override = variable_override(asked, entry.key, exact, plan, analysis)
            yield evolve(override, verified=bool(check.acts))
    for flag in offer.flags:
        if check := flag.check(version):
            for words in _lines_with(flag.key, plan, analysis):
                yield evolve(_without(asked, flag.key, words, analysis), verified=bool(check.acts))


def _where_it_acts(
    asked: str,
    entry: KeyEntry,
    check: Check,
    answer: str,
    plan: RunPlan,
    analysis: ProgramAnalysis,
    known: Recognised,
) -> Iterator[Override]:
    """The entry, unless the line's other keys keep it from acting."""
    line = TrainingLineContext(
        line_of(plan, analysis), program_of(analysis), analysis.config, known.table.syntax
    )
    found = verdict(entry, line)
    if found.result == "fails":
        if found.why:
            change = ProposedChange(asked, "not changed", entry.key, found.why)
            yield Override(asked, change=change)
        return
    place = analysis.keys.of_entry(entry, known) if analysis.keys else None
    if analysis.keys and place is None:
        return
    value, assumed = multiplied(entry, answer, line)
    override = _of_entry(asked, entry, value, plan, analysis, known)
    defined = f"Defined in {place}." if place and not override.change else ""
    why = " ".join(part for part in (override.why, defined, found.why, assumed) if part)
    yield evolve(override, why=why, verified=bool(check.acts) and not (found.why or assumed))


def _of_entry(
    asked: str,
    entry: KeyEntry,
    value: str,
    plan: RunPlan,
    analysis: ProgramAnalysis,
    known: Recognised,
) -> Override:
    """Whether it is so already, is set by a variable of the script, or takes words."""
    key = entry.key.replace("{section}", known.section)
    exact = entry.value.replace("{value}", value).replace("{fresh}", fresh(analysis))
    said = value_of(line_of(plan, analysis), key, known.table.syntax)
    if entry.present_only and said is None and analysis.launch:
        return _not_set(asked, key)
    others = [value_of(launch.words, key, known.table.syntax) for launch in analysis.launches[1:]]
    if (
        said
        and said[1] is not None
        and all(other and _is(other[1], exact) for other in (said, *others))
    ):
        shown = of_said(key, said[1], said[0])
        return Override(
            asked,
            change=ProposedChange(
                asked, "already so", _at(analysis, said[0]), **asdict(shown, recurse=False)
            ),
        )
    if analysis.script and entry.variable and analysis.script.uses(entry.variable):
        why = f"The script sets {key} to it."
        return Override(asked, env=((entry.variable, exact),), why=why)
    if known.table.syntax == "argparse":
        words = argparse_words(key, exact)
    else:
        text = "{" in entry.value and not exact.isdecimal()
        words = (hydra_word(key, hydra_text(exact) if text else exact),)
    return Override(asked, words=words)


def _without(
    asked: str, flag: str, words: Sequence[LineWord], analysis: ProgramAnalysis
) -> Override:
    """An argument that is to be removed from a line with these `words`."""
    word = next((word for word in words if word.text == flag), None)
    if analysis.launch is None:
        change = ProposedChange(asked, "not changed", flag, nothing_found(analysis.script))
        return Override(asked, change=change)
    if word is None:
        return _not_set(asked, flag)
    if word.span is None:
        why = f"{flag} has no opposite; take it out where it stands."
        shown = SettingText(flag, "", f"line {word.line}" if word.line else "")
        return Override(
            asked,
            change=ProposedChange(
                asked, "not changed", _at(analysis, word), why, **asdict(shown, recurse=False)
            ),
        )
    return Override(asked, edit=Edit(word, ""))


def _lines_with(
    flag: str, plan: RunPlan, analysis: ProgramAnalysis
) -> Iterator[Sequence[LineWord]]:
    """The main line, and those others that have the flag."""
    yield line_of(plan, analysis)
    for launch in analysis.launches[1:]:
        if any(word.text == flag for word in launch.words):
            yield launch.words


def line_of(plan: RunPlan, analysis: ProgramAnalysis) -> tuple[LineWord, ...]:
    """The words of the training line, and those that the user adds to the script."""
    of_line = analysis.launch.words if analysis.launch else ()
    behind = plan.command if analysis.script else ()
    return (*of_line, *map(LineWord, behind))


def _not_set(asked: str, key: str) -> Override:
    return Override(asked, change=ProposedChange(asked, "already so", key, key=key, value=NOT_SET))


def _at(analysis: ProgramAnalysis, word: LineWord) -> str:
    shown = redact_text(word.text)
    if word.line:
        return f"{shown} (line {word.line} of {analysis.script_word})"
    return f"{shown} (in the command)"


def _is(value: str | None, exact: str) -> bool:
    return value is not None and _plain(value) == _plain(exact)


def _plain(value: str) -> str:
    bare = "".join(sign for sign in value if sign not in " '\"")
    return bare.lower() if bare.lower() in ("true", "false", "null") else bare
