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

from attrs import frozen

from eagleray import __version__
from eagleray.common import l10n
from eagleray.common.errors import EaglerayError

# The exit codes of a shell for a command that it cannot start.
CODES = {"program-not-found": 127, "not-executable": 126}
# Errors of writing to a full or broken disk, or to a terminal that is gone.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@frozen
class Command:
    """A command and the module that implements it, which is imported only for this command.

    The module has `add_arguments(parser)`, the coroutine `function(app, arguments)` that returns the exit code, and
    optionally `check(arguments)`, which returns what is wrong with them.
    """

    module: str
    help: str
    function: str = "run"


COMMANDS = {
    "clusters": Command("clusters", "the known clusters, and what is seen of them"),
    "slurm": Command("slurm", "your SLURM jobs, and which of them hold a Ray"),
    "tunnel": Command("tunnel", "a port of 127.0.0.1 that leads into a cluster until Ctrl-C"),
    "paused": Command("paused", "workers that wait at a breakpoint() or that are held"),
    "attach": Command("attach", "attach to a worker; prints a Unix socket for any DAP client"),
    "continue": Command("resume", "let workers run on", "continue_"),
    "release": Command("resume", "let held workers run on and give them up", "release"),
    "logs": Command("logs", "the end of a worker's log"),
    "run": Command(
        "run", "start a program whose workers stop at breakpoints, without a change of its code"
    ),
    "profile": Command(
        "profile", "start a program whose workers nsys records, without a change of its code"
    ),
    "runs": Command("runs", "the last runs: list, follow, stop, restart or forget them"),
    "report": Command("report", "what nsys has recorded: GPUs, kernels, NVTX ranges, gaps"),
    "pdb": Command(
        "pdb", "workers that wait in Ray's own pdb (RAY_DEBUG=legacy), or a terminal to one"
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    l10n.use(l10n.language_of())
    try:
        module, parsed = parse(sys.argv[1:] if arguments is None else arguments)
        return _run(module, parsed)
    except EaglerayError as error:
        from eagleray.cli.output import step_now

        step = step_now(error)
        print(f"eagleray: {error.message}", step, sep="\n", file=sys.stderr)
        return CODES.get(error.code, 1)
    except BrokenPipeError:
        # The reader of our output has enough of it.
        _drop_output()
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        _drop_output()
        print(f"eagleray: The output can't be written: {error.strerror}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def parse(arguments: Sequence[str]) -> tuple[Any, argparse.Namespace]:
    """The module of the command and its checked arguments; exits with 2 if they are wrong."""
    ours, program = split_program(arguments)
    parsed = parser(ours).parse_args(ours)
    parsed.program = program
    module = import_module(f"eagleray.cli.{COMMANDS[parsed.command].module}")
    if wrong := getattr(module, "check", _nothing_wrong)(parsed):
        parsed.refuse(wrong)
    return module, parsed


def split_program(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and the user's command after the first `--` of `run` or `profile`."""
    every = list(arguments)
    starts = [every.index(name) for name in ("run", "profile") if name in every]
    if starts and "--" in every[min(starts) :]:
        at = every.index("--", min(starts))
        return every[:at], every[at + 1 :]
    return every, []


def parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The command line, with the arguments of those commands that `arguments` may mean."""
    top = argparse.ArgumentParser(
        prog="eagleray", description="Debug and profile distributed training on Ray."
    )
    top.add_argument("--version", action="version", version=f"eagleray {__version__}")
    top.add_argument("--verbose", action="store_true", help="say what is done, on standard error")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        made = commands.add_parser(name, help=command.help, description=command.help)
        # Refuses with the usage of the command itself.
        made.set_defaults(refuse=made.error)
        if name in arguments:
            import_module(f"eagleray.cli.{command.module}").add_arguments(made)
    return top


def _nothing_wrong(_: argparse.Namespace) -> str:
    return ""


def _run(module: Any, arguments: argparse.Namespace) -> int:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if arguments.verbose else logging.CRITICAL,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that can't show a name must not end the command.
        sys.stdout.reconfigure(errors="backslashreplace")
    code = asyncio.run(_with_app(getattr(module, COMMANDS[arguments.command].function), arguments))
    sys.stdout.flush()
    return code


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
