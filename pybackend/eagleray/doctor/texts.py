"""Texts of diagnoses, for the terminal and for the first line of a report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.doctor.model import Cause, Checked, Diagnosis, LogEvidence
from eagleray.doctor.unknown_errors import unlogged

_SEVERITY_MARKS = {"error": "✗", "warning": "!", "info": "·"}


def sentence(causes: Sequence[Cause], unknown: Sequence[LogEvidence], checked: Checked) -> str:
    """Returns the sentence that a user reads first."""
    if causes:
        return causes[0].sentence
    if unknown:
        return unlogged(unknown[0].text)
    if not checked.files:
        return t("No file could be read, so nothing is known of errors.")
    return counted(
        checked.files,
        "No errors in {n} file.",
        "No errors in {n} files.",
    )


def lines(diagnosis: Diagnosis) -> list[str]:
    """The diagnosis as text: causes with their evidence and fix, what follows from them, what is unknown."""
    is_named = bool(diagnosis.causes) and diagnosis.causes[0].sentence == diagnosis.sentence
    result = [] if is_named or not diagnosis.unknown else _unknown(diagnosis)
    for index, cause in enumerate(diagnosis.causes):
        if not cause.secondary:
            result += [*_cause(cause, "" if index or not is_named else diagnosis.raised), ""]
    secondary = [cause for cause in diagnosis.causes if cause.secondary]
    if secondary:
        result.append(t("Consequences:"))
        for cause in secondary:
            result += _secondary(cause)
        result.append("")
    if diagnosis.unknown and is_named:
        result += _unknown(diagnosis, t("Other errors:"))
    elif not diagnosis.causes and not diagnosis.unknown:
        result += [diagnosis.sentence, ""]
    return [*result, *_checked(diagnosis.checked)]


def node_lines(diagnosis: Diagnosis) -> list[str]:
    """The results of checks of nodes, worst first."""
    result: list[str] = []
    for cause in diagnosis.causes:
        result.append(f"{_SEVERITY_MARKS[cause.severity]} {cause.sentence}")
        result += [f"    {item.node}  {item.path}: {item.text}" for item in cause.evidence]
        result += ["    " + t("Fix: {text}", text=cause.fix), *_command(cause)]
    if not diagnosis.causes:
        result.append(diagnosis.sentence)
    checked = diagnosis.checked
    return [*result, "", t("Checks done: {n}", n=checked.rules), *_unchecked(checked)]


def _cause(cause: Cause, raised: str = "") -> list[str]:
    shown = cause.evidence[:3]
    result = [
        cause.sentence,
        *([f"  {raised}"] if raised else []),
        *(f"  {_place(item)}" for item in shown),
    ]
    if cause.count > len(shown):
        result.append("  " + t("lines: {n}, files: {files}", n=cause.count, files=cause.files))
    if cause.fix:
        # A fix that holds in some cases only is a question.
        is_question = cause.fix.endswith("?")
        text = cause.fix
        shown_fix = t("Check: {text}", text=text) if is_question else t("Fix: {text}", text=text)
        result.append(f"  {shown_fix}")
    result += [f"    {name}: {setting}" for name, setting in cause.settings.items()]
    result += _command(cause)
    if cause.why and not cause.secondary:
        result.append("  " + t("Why the others failed: {text}", text=cause.why))
    return result


def _command(cause: Cause) -> list[str]:
    return [f"    $ {cause.command}"] if cause.command else []


def _secondary(cause: Cause) -> list[str]:
    shown = t(
        "{sentence} (lines: {n}, files: {files})",
        sentence=cause.sentence,
        n=cause.count,
        files=cause.files,
    )
    return [f"  {shown}", *([f"    {cause.why}"] if cause.why else [])]


def _unknown(diagnosis: Diagnosis, heading: str = "") -> list[str]:
    """The errors without a rule: those that the sentence is about without a heading of their own."""
    is_first = not heading
    shown = []
    counts = Counter(item.text for item in diagnosis.unknown)
    # The same error of many ranks is listed once.
    first = {item.text: item for item in reversed(diagnosis.unknown)}
    for item in [each for each in diagnosis.unknown if each is first[each.text]][:5]:
        shown.append(f"  {_place(item)}")
        if counts[item.text] > 1:
            shown.append("    " + t("lines: {n}", n=counts[item.text]))
        # The sentence is about the first exception, which may not be the first error.
        if diagnosis.raised and is_first and item.text in diagnosis.sentence:
            shown.append(f"    {diagnosis.raised}")
    return [heading or t("The first errors:"), *shown, ""]


def _place(evidence: LogEvidence) -> str:
    rank = "" if evidence.rank is None else t("rank {rank}", rank=evidence.rank)
    source = " ".join(part for part in (evidence.worker, rank, evidence.node) if part)
    # A check of a node has no line.
    at = f"{evidence.path}:{evidence.line}" if evidence.line else evidence.path
    parts = [at, _clock(evidence.time), source]
    return "  ".join(part for part in (*parts, evidence.text) if part)


def _clock(at: float | None) -> str:
    return "" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _checked(checked: Checked) -> list[str]:
    result = [
        counted(
            checked.files,
            "Checked {n} file.",
            "Checked {n} files.",
        )
    ]
    return [*result, *_unchecked(checked)]


def _unchecked(checked: Checked) -> list[str]:
    result = []
    for item in checked.unchecked[:5]:
        path = printable(item.path)
        result.append(t("Not checked: {path} ({reason})", path=path, reason=item.reason))
    if len(checked.unchecked) > 5:
        more = len(checked.unchecked) - 5
        result.append(
            counted(more, "{n} more file was not checked.", "{n} more files were not checked.")
        )
    return result
