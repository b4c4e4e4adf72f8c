"""The `eagleray` command: a thin face over the features, for terminals, scripts and CI.

Results go to standard output, messages and errors to standard error; help_text.py has the table of exit codes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from eagleray.cli import command_line
from eagleray.common import l10n
from eagleray.common.errors import EaglerayError

if TYPE_CHECKING:
    from eagleray.runs.waiting_supervisor import WaitingSupervisor

# The exit codes of a shell for a command that it cannot start.
CODES = {"program-not-found": 127, "not-executable": 126}
# Errors of writing to a full or broken disk, or to a terminal that is gone.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    l10n.use(l10n.language_of())
    try:
        written = list(sys.argv[1:] if arguments is None else arguments)
        if written[:1] == ["__complete"]:
            from eagleray.cli.completing import complete

            return complete(written[1:])
        with waiting_supervisor(written) as supervisor:
            module, parsed = parse(written)
            code = _run(module, parsed, supervisor)
        return code if code >= 0 else _end_as(code)
    except EaglerayError as error:
        from eagleray.cli.output import printed_line, step_now

        lines = [f"eagleray: {error.message}", step_now(error), *printed_line(error)]
        print(*lines, sep="\n", file=sys.stderr)
        return CODES.get(error.code, 1)
    except BrokenPipeError:
        # The reader of our output has enough of it.
        _drop_output()
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        _drop_output()
        reason = l10n.t("The output can't be written: {reason}.", reason=error.strerror)
        print(f"eagleray: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def parse(arguments: Sequence[str]) -> tuple[Any, argparse.Namespace]:
    """The module of the command and its checked arguments; exits with 2 if they are wrong."""
    return command_line.parse(arguments, lambda name: import_module(name))


@contextlib.contextmanager
def waiting_supervisor(arguments: Sequence[str]) -> Iterator[WaitingSupervisor | None]:
    """The supervisor of the run that a command will start, None for other commands; both load their code at the same time."""
    command = arguments[: arguments.index("--")] if "--" in arguments else ()
    if command[:1] not in (["run"], ["profile"]) or "--dry-run" in command:
        yield None
        return
    from eagleray.runs.waiting_supervisor import start_waiting

    waiting = None
    # Else it is started where the error is told.
    with contextlib.suppress(OSError):
        waiting = start_waiting(subprocess.DEVNULL)
    try:
        yield waiting
    finally:
        if waiting is not None:
            waiting.end_unused()


def _run(
    module: Any, arguments: argparse.Namespace, supervisor: WaitingSupervisor | None = None
) -> int:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if arguments.verbose else logging.CRITICAL,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that can't show a name must not end the command.
        sys.stdout.reconfigure(errors="backslashreplace")
    command = arguments.command
    function = getattr(module, command.function)
    code = (
        asyncio.run(_with_app(function, arguments, supervisor))
        if command.needs_app
        else function(arguments)
    )
    sys.stdout.flush()
    return int(code)


async def _with_app(
    function: Any, arguments: argparse.Namespace, supervisor: WaitingSupervisor | None
) -> int:
    from eagleray.app import App, Settings
    from eagleray.cli.questions import TerminalQuestions

    app = App(Settings.read({}, dict(os.environ)), follows_routes=True, supervisor=supervisor)
    # Closed before the app: an open question has no use then.
    questions = TerminalQuestions(app.adapters.routes)
    try:
        return int(await function(app, arguments))
    finally:
        await questions.close()
        await app.close()


def _end_as(code: int) -> int:
    from eagleray.cli.foreground import end_as

    return end_as(code)


def _drop_output() -> None:
    """Keeps the interpreter from failing at its end on output that it couldn't write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
