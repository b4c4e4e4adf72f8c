"""`eagleray inspect`: the stack and values of a worker or process that runs or hangs, without stopping it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json, completed
from eagleray.cli.json_shapes import VERSION, Json, only
from eagleray.cli.observe.shapes import INSPECTION
from eagleray.cli.output import print_json
from eagleray.cli.targets import cluster_ids, live_worker
from eagleray.common.errors import printable
from eagleray.common.l10n import t, translated
from eagleray.observe.look_inside.model import InspectionTarget
from eagleray.observe.look_inside.stacks import MORE_FRAMES, more_variables
from eagleray.remote.inspecting.inspected_process import OUTSIDE, Inspection

if TYPE_CHECKING:
    from eagleray.cli.command_line import CommandParser


def add_arguments(parser: CommandParser) -> None:
    parser.is_intermixed = True
    add_cluster(parser)
    add_json(parser)
    worker = parser.add_argument(
        "worker",
        metavar="WORKER",
        nargs="?",
        default="",
        help=t("A worker by its name, ID, class, `rank N` or PID."),
    )
    completed(worker, "workers")
    parser.add_argument(
        "--pid", metavar="PID", type=int, default=0, help=t("Inspect this process of this machine.")
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


def check(arguments: argparse.Namespace) -> str:
    if not arguments.worker and not arguments.pid:
        return t("Specify a WORKER, or a process by --pid.")
    return ""


async def run(app: App, arguments: argparse.Namespace) -> int:
    expressions = list(arguments.expressions)
    if arguments.pid:
        # Then the first argument is an expression already.
        expressions[:0] = [arguments.worker] if arguments.worker else []
        target = InspectionTarget(arguments.pid)
    else:
        ids = await cluster_ids(app, arguments)
        worker = await live_worker(app, ids, arguments.worker)
        target = InspectionTarget(
            worker.pid, worker.cluster, worker.node_id, worker.worker_id, worker.name
        )
    inspection = await app.inspections.read(
        target, tuple(expressions), allow_all=arguments.allow_all
    )
    if arguments.json or arguments.format:
        print_json(inspection_json(inspection))
    else:
        _print(inspection)
    return 1 if any(value.error for value in inspection.values) else 0


def inspection_json(inspection: Inspection) -> Json:
    values = {
        **inspection._asdict(),
        "version": VERSION,
        "stack": [
            only(frame._asdict(), ("function", "path", "line")) for frame in inspection.stack
        ],
        "variables": [variable._asdict() for variable in inspection.variables],
        "values": [
            {"expression": value.expression, "value": value.value or None, "error": value.error}
            for value in inspection.values
        ],
    }
    return only(values, INSPECTION)


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
    if inspection.more_frames:
        print("  " + translated(MORE_FRAMES))
    if inspection.exception:
        print(printable(t("Handles {exception}", exception=inspection.exception)))
    if not inspection.values:
        for variable in inspection.variables:
            print(printable(f"  {variable.name} = {variable.value}"))
        if inspection.more_variables:
            print("  " + more_variables(inspection.more_variables))
    for value in inspection.values:
        print(printable(f"{value.expression} = {value.value or value.error}"))
