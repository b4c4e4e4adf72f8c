"""`eagleray inspect`: the stack and values of a process that runs or hangs, without stopping it."""

from __future__ import annotations

import argparse
import asyncio

from eagleray.app import App
from eagleray.cli.arguments import add_json
from eagleray.cli.output import print_json
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.features.inspections import errors
from eagleray.inspecting.questions import OUTSIDE, Inspection, inspect
from eagleray.inspecting.remote_thread import NotStarted
from eagleray.sampling.dumps import Tools
from eagleray.tools.pyspy import find_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    parser.add_argument(
        "--pid", metavar="PID", type=int, required=True, help=t("Inspect this process.")
    )
    parser.add_argument(
        "expressions",
        metavar="EXPR",
        nargs="*",
        help=t("Evaluate this in the innermost frame of your own code."),
    )
    parser.add_argument(
        "--allow-all",
        action="store_true",
        help=t("Allow any expression, also one that changes the program or waits."),
    )


async def run(app: App, arguments: argparse.Namespace) -> int:
    try:
        inspection = await asyncio.to_thread(
            inspect,
            arguments.pid,
            tuple(arguments.expressions),
            Tools(py_spy=find_program()),
            allow_all=arguments.allow_all,
        )
    except NotStarted as error:
        raise errors.not_inspected(arguments.pid, error.reason, str(error)) from error
    if arguments.json or arguments.format:
        print_json(inspection_json(inspection))
    else:
        _print(inspection)
    return 1 if any(value.error for value in inspection.values) else 0


def inspection_json(inspection: Inspection) -> dict[str, object]:
    return {
        "pid": inspection.pid,
        "how": inspection.how,
        "why_outside": inspection.why_outside,
        "thread": inspection.thread,
        "exception": inspection.exception,
        "stack": [
            {"function": frame.function, "path": frame.path, "line": frame.line}
            for frame in inspection.stack
        ],
        "variables": [
            {"name": variable.name, "value": variable.value} for variable in inspection.variables
        ],
        "values": [
            {"expression": value.expression, "value": value.value or None, "error": value.error}
            for value in inspection.values
        ],
    }


def _print(inspection: Inspection) -> None:
    if inspection.how == OUTSIDE:
        print(
            printable(
                t(
                    "Only py-spy can read it, with variables as text: {reason}.",
                    reason=inspection.why_outside,
                )
            )
        )
    for frame in inspection.stack:
        print(printable(f"  {frame.function} ({frame.path}:{frame.line})"))
    if inspection.exception:
        print(printable(t("Handles {exception}", exception=inspection.exception)))
    if not inspection.values:
        for variable in inspection.variables:
            print(printable(f"  {variable.name} = {variable.value}"))
    for value in inspection.values:
        print(printable(f"{value.expression} = {value.value or value.error}"))
