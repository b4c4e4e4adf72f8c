"""Finds the field of the options page that a problem of a run belongs to."""

from __future__ import annotations

from pathlib import Path

from eagleray.common.errors import EaglerayError, printable
from eagleray.runs.model import RunRequest
from eagleray.runs.presets.errors import BAD_ANSWER
from eagleray.runs.presets.messages import FieldProblem

_FIELDS = {
    "no-program": "path",
    "program-not-found": "path",
    "not-executable": "path",
    "no-module": "path",
    "unknown-kind": "kind",
    "nothing-to-run": "args",
    "no-python-here": "python",
    "no-ray": "python",
    "other-python": "python",
    "breakpoint-elsewhere": "breakpoints",
    "unmatched-workers": "workers",
    "unknown-preset": "preset",
    "bad-profile": "recordWorkers",
    "bad-watch": "watchMinutes",
    "no-nsys": "nsys",
}

# The program that is started, which may be the Python of the run.
_PROGRAM = ("program-not-found", "not-executable")


def field_of(code: str) -> str:
    return _FIELDS.get(code, "")


def field_problem(request: RunRequest, error: EaglerayError) -> FieldProblem:
    """Why the program of `request` can't be prepared or started, at its field."""
    field = field_of(error.code)
    if field == "path" and not Path(request.cwd).expanduser().is_dir():
        field = "cwd"
    elif (
        request.python
        and error.code in _PROGRAM
        and printable(request.python, 300) in error.message
    ):
        field = "python"
    elif field == "path" and not request.path:
        field = "args"
    elif error.code == BAD_ANSWER:
        field = _answered(request, error.detail)
    elif field == "" and request.cluster and error.code.endswith("cluster"):
        field = "cluster"
    return FieldProblem(field, error.code, error.message, error.shown_step, True)


def _answered(request: RunRequest, value: str) -> str:
    """The question that was answered with `value`."""
    answers = request.answers
    names = [name for name, answer in answers.items() if answer.strip() == value]
    return f"answer.{names[0]}" if names else ""
