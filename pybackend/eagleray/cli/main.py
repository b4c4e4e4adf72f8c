"""The `eagleray` command: a thin face over the features, for terminals, scripts and CI.

Results go to standard output, messages and errors to standard error. The exit code is 0 on success, 1 after an error
of the catalogue, 2 for a wrong command line, 126 or 127 if a program can't be started.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from eagleray.cli import command_line
from eagleray.common import l10n
from eagleray.common.errors import EaglerayError

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
        module, parsed = parse(written)
        return _run(module, parsed)
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


def _run(module: Any, arguments: argparse.Namespace) -> int:
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
    code = asyncio.run(_with_app(function, arguments)) if command.needs_app else function(arguments)
    sys.stdout.flush()
    return int(code)


async def _with_app(function: Any, arguments: argparse.Namespace) -> int:
    from eagleray.app import Settings, build_app
    from eagleray.cli.questions import TerminalQuestions

    app = build_app(Settings.read({}, dict(os.environ)))
    # Closed before the app: an open question has no use then.
    questions = TerminalQuestions(app.adapters.routes)
    app.connection_monitor.follow_routes()
    try:
        return int(await function(app, arguments))
    finally:
        await questions.close()
        await app.close()


def _drop_output() -> None:
    """Keeps the interpreter from failing at its end on output that it couldn't write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
