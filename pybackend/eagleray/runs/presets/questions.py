"""The form of a debug run: its questions with the proposed values, and the check of the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eagleray.common.l10n import t, translated
from eagleray.runs.presets.analysis import ProgramAnalysis
from eagleray.runs.presets.errors import bad_answer
from eagleray.runs.presets.framework_table import Offer, TrainingLineContext, verdict
from eagleray.runs.presets.model import (
    ANSWERS,
    HANG_DETAILS,
    NOT_COMPILED,
    OPTIONS,
    POST_MORTEM,
    Option,
    PresetQuestion,
)
from eagleray.runs.presets.recognition import Recognised

OFF, ON = "off", "on"
NAME, REPLAY = "name", "replay"


def questions(analysis: ProgramAnalysis, answers: Mapping[str, str]) -> tuple[PresetQuestion, ...]:
    """All questions, with the answers given and what is proposed for the others.

    For a version that the table was not read from, only what has a key in the user's checkout is proposed.
    """
    recognised = analysis.recognised
    of_framework = [
        _question(option, offer, recognised, analysis, answers)
        for option in OPTIONS
        if recognised is not None
        and (offer := recognised.table.offer(option.name, recognised.version.text))
    ]
    common = [
        PresetQuestion(
            HANG_DETAILS.name,
            translated(HANG_DETAILS.text),
            t("Sets NCCL and torch variables that help with hangs; the run is slower."),
            (ON, OFF),
            answers.get(HANG_DETAILS.name, OFF),
        ),
        PresetQuestion(
            NOT_COMPILED.name,
            translated(NOT_COMPILED.text),
            t("Breakpoints stop in functions that torch.compile compiles; the run is slower."),
            (ON, OFF),
            answers.get(NOT_COMPILED.name, OFF),
        ),
        PresetQuestion(
            POST_MORTEM.name,
            translated(POST_MORTEM.text),
            t("A worker that fails pauses at the failing line."),
            (ON, OFF),
            answers.get(POST_MORTEM.name, ON),
        ),
    ]
    return (*of_framework, *common)


def with_fresh(text: str, analysis: ProgramAnalysis) -> str:
    """`text` with a name that no experiment had before; AReaL (4aef98d8) allows no "-" in names of its trials."""
    name = f"debug-{analysis.stamp}"
    return text.replace("{fresh}", name).replace("{fresh_underscored}", name.replace("-", "_"))


def _name_of_folder(recognised: Recognised, answers: Mapping[str, str]) -> str:
    """The name that all debug runs have that share a folder of rollouts; "" where its files don't depend on a name."""
    folder = answers.get(REPLAY, "").strip()
    version = recognised.table.nearest(recognised.version.text)
    offer = recognised.table.offer(REPLAY, version)
    if not folder or offer is None or offer.by_name is None or not offer.by_name.holds(version):
        return ""
    parts = re.findall(r"[A-Za-z0-9_]+", folder.rstrip("/").rpartition("/")[2])
    return "-".join(["debug", *parts])


def program_of(analysis: ProgramAnalysis) -> str:
    """The name of the program that the training line starts."""
    return analysis.launch.target.rpartition("/")[2] if analysis.launch else ""


def checked(answers: Mapping[str, str], analysis: ProgramAnalysis) -> dict[str, str]:
    """The answers that are neither empty nor off, by their options; raises `bad-answer` for an invalid one."""
    given = {name: value for name, value in answers.items() if name in ANSWERS}
    values = {question.id: question.value.strip() for question in questions(analysis, given)}
    # An answer to an option that this framework doesn't have stays, so that its outcome is reported.
    values |= {name: value.strip() for name, value in given.items() if name not in values}
    wanted = {name: value for name, value in values.items() if value not in ("", OFF)}
    recognised = analysis.recognised
    for name, value in wanted.items():
        if recognised and (offer := recognised.table.offer(name, recognised.version.text)):
            _check(offer, value)
    return wanted


def _check(offer: Offer, value: str) -> None:
    if offer.kind == "tick" and value != ON:
        raise bad_answer(value, t("it is neither “on” nor “off”"))
    if offer.kind == "number" and not (value.isdecimal() and 0 < int(value) < 10**9):
        raise bad_answer(value, t("a whole number above 0 is needed"))
    if offer.kind == "folder" and not value.startswith("/"):
        raise bad_answer(value, t("a folder with its whole path is needed"))
    if offer.kind == "text" and ("/" in value or value.startswith((".", "-"))):
        raise bad_answer(value, t("it becomes part of a path"))


def _question(
    option: Option,
    offer: Offer,
    recognised: Recognised,
    analysis: ProgramAnalysis,
    answers: Mapping[str, str],
) -> PresetQuestion:
    nothing = OFF if offer.kind == "tick" else ""
    verified = analysis.keys.of_offer(offer, recognised) if analysis.keys else recognised.in_range
    proposes = option.default and verified and _can_act(offer, recognised, analysis)
    proposed = with_fresh(offer.value, analysis) if proposes else nothing
    if proposed and option.name == NAME:
        proposed = _name_of_folder(recognised, answers) or proposed
    is_sure = recognised.in_range or recognised.table.is_unknown
    doubt = "" if is_sure else _doubt(recognised)
    return PresetQuestion(
        id=option.name,
        text=translated(offer.text or option.text),
        detail=" ".join(part for part in (translated(offer.detail), doubt) if part),
        choices=(ON, OFF) if offer.kind == "tick" else (),
        value=answers.get(option.name, proposed),
    )


def _doubt(recognised: Recognised) -> str:
    return t(
        "Written for {framework} {versions}; yours is {version}.",
        framework=recognised.table.title,
        versions=recognised.table.versions,
        version=recognised.version.text or t("unknown"),
    )


def _can_act(offer: Offer, recognised: Recognised, analysis: ProgramAnalysis) -> bool:
    """Whether one of the offer's entries acts in this line."""
    version = recognised.table.nearest(recognised.version.text)
    tokens = analysis.launch.arguments if analysis.launch else ()
    line = TrainingLineContext(
        tokens, program_of(analysis), analysis.config, recognised.table.syntax
    )
    return any(
        verdict(entry, line).result != "fails"
        for entry in offer.all_entries
        if entry.check(version)
    )
