"""The catalogue of errors: what happened, what the user can do next, and whether Eagleray retries.

Every error that can reach the user is an `EaglerayError` made by a row or function below, in the `*_errors.py`
beside this file, or in the `errors.py` of a package or feature.  A row (`@error`) declares an error in two lines; an
error that computes its texts is a function.
A foreign error (aiohttp, OSError, JSON) is mapped to one of them once, in `ray/`, `routes/`, `tools/` or
`adapter/`.  Texts are plain text: never Markdown, never a value that came from a cluster without `printable`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from eagleray.common.l10n import later, translated
from eagleray.common.redact import redact_text

_Row = TypeVar("_Row", bound=Callable[..., "EaglerayError"])
_LONGEST_VALUE = 300

# Follows the next step in the text of an error with `retries`.
RETRYING = later("Eagleray retries automatically.")


# Not frozen: contextlib sets __traceback__ on exceptions that pass through it.
@dataclass(eq=False)
class EaglerayError(Exception):
    """An error of the catalogue.

    `code` is stable and meant for programs; `message` is one sentence that says what happened;
    `next_step` says what the user can do; `detail` goes to the log only.  `retries`: a window, or another
    process that keeps running, retries automatically.  Texts for them end with `RETRYING`; a command that
    ends after the error leaves it out.  `output` is what a program such as ssh or sbatch printed, without
    secrets: never part of the texts, but shown in the log, on request, and below the error in a terminal.
    """

    code: str
    message: str
    next_step: str = ""
    detail: str = ""
    retries: bool = False
    output: str = ""

    def __post_init__(self) -> None:
        self.output = printed(self.output)

    @property
    def logged(self) -> str:
        """Returns what the log has besides the texts."""
        return f"{self.detail} {self.output}".strip()

    @property
    def shown_step(self) -> str:
        """The next step as a process that retries shows it."""
        return with_retry(self.next_step, self.retries)

    def __str__(self) -> str:
        return f"{self.message} {self.shown_step}".strip()


def with_retry(next_step: str, retries: bool) -> str:
    """Returns `next_step`, followed by `RETRYING` if `retries`."""
    return f"{next_step} {translated(RETRYING)}".strip() if retries else next_step


def printable(text: str, limit: int = 200) -> str:
    """Returns `text` on one line, without control characters, at most `limit` characters long."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def error(
    code: str, message: str, next_step: str = "", *, retries: bool = False
) -> Callable[[_Row], _Row]:
    """Makes a row of the catalogue, a function without a body, return an error with these texts.

    The parameters of the function replace the `{placeholders}` of the texts, printable and at most
    `_LONGEST_VALUE` characters long; those named `detail` and `output` become these fields of the error,
    and a `next_step` that isn't "" replaces the row's.
    """

    def fill(row: _Row) -> _Row:
        @wraps(row)
        def made(*args: object, **named: object) -> EaglerayError:
            given = inspect.signature(row).bind(*args, **named)
            given.apply_defaults()
            values = {name: _value(value) for name, value in given.arguments.items()}
            return EaglerayError(
                code,
                translated(message, **values),
                given.arguments.get("next_step") or translated(next_step, **values),
                given.arguments.get("detail", ""),
                retries,
                given.arguments.get("output", ""),
            )

        return made  # type: ignore[return-value]  # the signature of the row

    return fill


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return printable(str(value), _LONGEST_VALUE)


_MOST_LINES = 20
_LONGEST_LINE = 500


def printed(output: str) -> str:
    """Returns the last lines of what a program printed, without secrets and control characters."""
    # The end of a long output has the reason; what comes before it isn't worth a search for secrets.
    end = output[-_MOST_LINES * _LONGEST_LINE :]
    lines = [printable(line.strip(), _LONGEST_LINE) for line in end.splitlines()]
    return redact_text("\n".join([line for line in lines if line][-_MOST_LINES:]))


def last_line(output: str) -> str:
    """Returns the last line that isn't empty."""
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")


FOLDER_NOT_MADE = "folder-not-made"


# fmt: off
@error("command-missing", "Can't run {command}: {why}.", "Check that it is installed and on the PATH.")
def command_missing(command: str, why: str) -> EaglerayError: ...
@error("command-slow", "`{command}` took longer than {seconds} s and was stopped.",
       "Try again when the machine is less busy.")
def command_slow(command: str, seconds: float) -> EaglerayError: ...
@error(FOLDER_NOT_MADE, "Can't create the folder {path}: {why}.",
       "Set EAGLERAY_HOME to a folder that you can write to.")
def folder_not_made(path: str, why: str) -> EaglerayError: ...
@error("unsafe-folder", "The folder {path} is not safe for sockets: {why}.",
       "Remove it, or set EAGLERAY_HOME to a private folder.")
def unsafe_folder(path: str, why: str) -> EaglerayError: ...
@error("not-a-folder", "{path} is not a folder on this machine.",
       "Select the folder with your copy of the worker's files.")
def not_a_folder(path: str) -> EaglerayError: ...
@error("newer-file", "A newer version of Eagleray wrote {path}.", "Use the newer version, or remove the file.")
def newer_file(path: str) -> EaglerayError: ...
@error("cancelled", "Cancelled.")
def cancelled() -> EaglerayError: ...
@error("internal", "Something went wrong in Eagleray.", "The log has the details. Please report them.")
def internal(detail: str) -> EaglerayError: ...
# fmt: on


# Deep nesting raises RecursionError; converting an infinite or huge number raises OverflowError.
UNREADABLE_JSON = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
)
