"""Joins what logs say with what checks of nodes say."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from eagleray.doctor.model import Checked, Diagnosis, UncheckedFile


def joined(logs: Diagnosis, nodes: Diagnosis) -> Diagnosis:
    """Causes in logs first, then causes in nodes, then what follows.

    A warning about a node doesn't explain an error in the logs: the sentence is an error's.
    """
    primary = [cause for cause in logs.causes if not cause.secondary]
    secondary = [cause for cause in logs.causes if cause.secondary]
    is_failing = any(cause.severity == "error" for cause in primary) or bool(logs.unknown)
    errors = [cause for cause in nodes.causes if cause.severity == "error"]
    rest = [cause for cause in nodes.causes if cause.severity != "error"]
    if is_failing or not errors:
        sentence = logs.sentence if logs.causes or logs.unknown else nodes.sentence
        causes = [*primary, *errors, *rest, *secondary]
    else:
        sentence = nodes.sentence
        causes = [*errors, *primary, *rest, *secondary]
    checked = Checked(
        logs.checked.files,
        logs.checked.bytes,
        logs.checked.rules + nodes.checked.rules,
        (*logs.checked.unchecked, *nodes.checked.unchecked),
    )
    return evolve(logs, sentence=sentence, causes=tuple(causes), checked=checked)


def not_checked(path: str, reason: str) -> Diagnosis:
    """The diagnosis of nodes that couldn't be checked."""
    return Diagnosis("", (), (), Checked(0, 0, 0, (UncheckedFile(path, reason),)))


def with_unchecked(diagnosis: Diagnosis, more: Sequence[UncheckedFile]) -> Diagnosis:
    checked = diagnosis.checked
    return evolve(diagnosis, checked=evolve(checked, unchecked=(*checked.unchecked, *more)))
