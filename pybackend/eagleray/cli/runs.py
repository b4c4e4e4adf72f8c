"""`eagleray runs`: lists, follows, stops, restarts or forgets the last runs."""

from __future__ import annotations

import argparse

from eagleray.app import App
from eagleray.cli.arguments import add_json
from eagleray.cli.json_shapes import run_json
from eagleray.cli.output import print_json, print_table, say
from eagleray.cli.questions import confirmed
from eagleray.cli.run_following import follow
from eagleray.common.errors import printable
from eagleray.common.redact import redact_text
from eagleray.features.runs.handlers import wire_run
from eagleray.features.runs.model import command_text, confirm_text
from eagleray.features.runs.records import StoredRun

ACTIONS = ("list", "follow", "stop", "restart", "forget")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    parser.add_argument(
        "action", nargs="?", choices=ACTIONS, default="list", help="list by default"
    )
    parser.add_argument("id", metavar="ID", nargs="?", default="", help="the id or its beginning")
    parser.add_argument("--yes", action="store_true", help="do not ask before anything on SLURM")


def check(arguments: argparse.Namespace) -> str:
    if (arguments.action == "list") == bool(arguments.id):
        return "follow, stop, restart and forget take the id of a run, list takes none"
    return ""


async def run(app: App, arguments: argparse.Namespace) -> int:
    if arguments.action == "list":
        return _list(app, arguments)
    if arguments.action == "follow":
        record = app.runs.find(arguments.id)
        await app.runs.adopt(record)
        return await follow(app, record)
    if arguments.action == "stop":
        question = wire_run(app.runs.load(arguments.id)).confirm_stop
        is_confirmed = bool(question) and (arguments.yes or await confirmed(question))
        await app.runs.stop(arguments.id, confirmed=is_confirmed)
        return 0
    if arguments.action == "forget":
        await app.runs.forget(arguments.id)
        return 0
    plan = app.runs.load(arguments.id).plan
    question = confirm_text(plan)
    is_confirmed = bool(question) and (arguments.yes or await confirmed(question))
    again = await app.runs.restart(arguments.id, None, confirmed=is_confirmed)
    say(f"Run {again}: {printable(command_text(plan), 2000)}")
    return await follow(app, app.runs.find(again))


def _list(app: App, arguments: argparse.Namespace) -> int:
    listed = app.runs.listed()
    if arguments.json:
        print_json([run_json(item) for item in listed])
        return 0
    rows = [
        [
            item.record.id,
            _phase(item),
            "" if item.state.code is None else str(item.state.code),
            printable(command_text(item.plan), 100),
            printable(redact_text(item.state.note), 200),
        ]
        for item in listed
    ]
    if rows:
        print_table(rows)
    else:
        say("There is no run yet; `eagleray run -- COMMAND…` starts one.")
    return 0


def _phase(run: StoredRun) -> str:
    if run.state.phase != "stopped_at":
        return run.state.phase
    count = sum(worker.state == "stopped" for worker in run.state.workers)
    return f"{count} at a breakpoint"
