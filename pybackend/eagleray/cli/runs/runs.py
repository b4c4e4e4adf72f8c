"""`eagleray runs`: lists, follows, stops, reruns and removes the last runs."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator

from eagleray.app import App
from eagleray.cli.arguments import completed
from eagleray.cli.command_line import did_you_mean
from eagleray.cli.next_steps import TerminalError
from eagleray.cli.output import print_json, say
from eagleray.cli.questions import confirmed
from eagleray.cli.runs.run_following import follow, start_attended
from eagleray.cli.runs.shapes import run_json
from eagleray.cli.table import TableColumn, add_list_output, print_rows
from eagleray.common.durations import duration_text
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import counted, t, translated
from eagleray.common.redact import redact_text
from eagleray.runs.handlers import wire_run
from eagleray.runs.model import arguments_text, command_text, confirm_text
from eagleray.runs.records import StoredRun


def run_help() -> str:
    return t("Run ID, or unambiguous beginning of one.")


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    add_list_output(parser)


def add_id_argument(parser: argparse.ArgumentParser) -> None:
    completed(parser.add_argument("id", metavar="ID", help=run_help()), "runs")


def add_ids_argument(parser: argparse.ArgumentParser) -> None:
    completed(parser.add_argument("ids", metavar="ID", nargs="+", help=run_help()), "runs")


def add_start_arguments(parser: argparse.ArgumentParser) -> None:
    add_id_argument(parser)
    parser.add_argument(
        "--yes", action="store_true", help=t("Don't ask before submitting to SLURM.")
    )


def add_nothing(parser: argparse.ArgumentParser) -> None:
    """The command has no arguments of its own."""


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    add_id_argument(parser)
    # It follows anyway.
    parser.add_argument("-f", "--follow", action="store_true", help=argparse.SUPPRESS)


async def list_runs(app: App, arguments: argparse.Namespace) -> int:
    listed = app.runs.listed()
    if arguments.json:
        print_json([run_json(item) for item in listed])
        return 0
    if not listed:
        say(t("No runs yet. Start one: `eagleray run -- COMMAND`."))
    rows = [_row(item, time.time()) for item in listed]
    print_rows(_COLUMNS, rows, [item.record.id for item in listed], arguments)
    return 0


async def output(app: App, arguments: argparse.Namespace) -> int:
    with suggesting_runs(app, arguments.id):
        record = app.runs.find(arguments.id)
    await app.runs.adopt(record)
    return await follow(app, record)


async def stop(app: App, arguments: argparse.Namespace) -> int:
    with suggesting_runs(app, arguments.id):
        run = app.runs.load(arguments.id)
    question = wire_run(run).confirm_stop
    is_confirmed = bool(question) and (arguments.yes or await confirmed(question))
    await app.runs.stop(arguments.id, confirmed=is_confirmed)
    return 0


async def rerun(app: App, arguments: argparse.Namespace) -> int:
    with suggesting_runs(app, arguments.id):
        plan = app.runs.load(arguments.id).plan
    question = confirm_text(plan)
    is_confirmed = bool(question) and (arguments.yes or await confirmed(question))
    return await start_attended(
        app,
        plan,
        lambda streams: app.runs.restart(
            arguments.id, None, confirmed=is_confirmed, streams=streams
        ),
    )


async def remove(app: App, arguments: argparse.Namespace) -> int:
    # A typo in one ID removes none of the others.
    runs = {_id_of(app, written) for written in arguments.ids}
    for run in runs:
        await app.runs.forget(run)
    say(counted(len(runs), "Removed {n} ended run.", "Removed {n} ended runs."))
    return 0


def _id_of(app: App, written: str) -> str:
    with suggesting_runs(app, written):
        return app.runs.find(written).id


async def clear(app: App, arguments: argparse.Namespace) -> int:
    ended = [item for item in app.runs.listed() if item.state.is_over]
    for item in ended:
        await app.runs.forget(item.record.id)
    say(counted(len(ended), "Removed {n} ended run.", "Removed {n} ended runs."))
    return 0


@contextlib.contextmanager
def suggesting_runs(app: App, written: str) -> Iterator[None]:
    """Names runs with a similar id in the error of an unknown one."""
    try:
        yield
    except EaglerayError as error:
        if error.code != "unknown-run":
            raise
        ids = [item.record.id for item in app.runs.listed()]
        several = [run for run in ids if written and run.startswith(written)]
        name = f"“{printable(written, 40)}”"
        if len(several) > 1:
            why = t("{run} matches {n} runs.", run=name, n=len(several))
            step = t("Enter more of the ID.")
        else:
            why = t("Unknown run {run}.", run=name)
            # An id is often written by its beginning.
            short = {run[: max(4, len(written))]: run for run in ids}
            step = did_you_mean(written, short) or t("List your runs: `eagleray runs`.")
        raise TerminalError(error.code, why, step) from error


_COLUMNS = (
    TableColumn("ID"),
    TableColumn("STATE", states=True),
    TableColumn("EXIT"),
    TableColumn("STARTED"),
    TableColumn("DURATION"),
    TableColumn("NAME"),
    TableColumn("COMMAND", wide=True),
    TableColumn("KIND", wide=True),
    TableColumn("CLUSTER", wide=True),
    TableColumn("PRESET", wide=True),
    TableColumn("FOLDER", wide=True),
    TableColumn("REASON", wide=True),
)


def _row(run: StoredRun, now: float) -> list[str]:
    plan, state = run.plan, run.state
    name: str = state.phase
    if name == "paused":
        count = sum(worker.is_at_stop for worker in state.workers)
        name = f"paused ({count})" if count else name
    # It is unknown when a run without a supervisor ends.
    end = state.ended or (0.0 if state.phase == "unwatched" else now)
    return [
        run.record.id,
        name,
        "" if state.code is None else str(state.code),
        started_text(state.started, now),
        duration_text(end - state.started) if state.started and end else "",
        f"{redact_text(plan.name)} {arguments_text(plan)}".rstrip(),
        command_text(plan),
        plan.kind,
        state.cluster,
        plan.preset,
        plan.cwd,
        wire_run(run).reason or redact_text(translated(state.note)),
    ]


def started_text(started: float, now: float) -> str:
    """The local time: "14:02" within this day, "Nov 22 14:02" within this year, else with its year."""
    if not started:
        return ""
    then, today = time.localtime(started), time.localtime(now)
    if (then.tm_year, then.tm_yday) == (today.tm_year, today.tm_yday):
        return time.strftime("%H:%M", then)
    return time.strftime("%b %d %H:%M" if then.tm_year == today.tm_year else "%Y-%m-%d %H:%M", then)
