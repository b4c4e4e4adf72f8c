"""`eagleray pdb`: workers that wait in Ray's own pdb, and a terminal connected to one."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from eagleray.app import App
from eagleray.cli.arguments import add_cluster
from eagleray.cli.debug.pdb_terminal import REFUSED, SILENT, WENT_ON
from eagleray.cli.debug.shapes import pdb_session_json
from eagleray.cli.output import print_json, say
from eagleray.cli.table import TableColumn, add_list_output, print_rows
from eagleray.cli.targets import cluster_ids
from eagleray.common import l10n
from eagleray.common.durations import duration_text
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import later, t, translated
from eagleray.debug.pdb.errors import ambiguous_pdb, pdb_refused, pdb_silent, unknown_pdb
from eagleray.debug.pdb.pdb import in_order
from eagleray.debug.pdb.sessions import PdbTarget, WaitingPdb, chosen
from eagleray.debug.pdb.sessions import read as read_target
from eagleray.tools.code_copies import self_command

LEAVE = later("c or Ctrl-D resumes it. `remote` steps into the next task.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_list_output(parser)
    parser.add_argument(
        "session",
        metavar="SESSION",
        nargs="?",
        help=t("Open this session: its ID, beginning of it, or name."),
    )
    parser.add_argument("--at", default="", help=argparse.SUPPRESS)


def check(arguments: argparse.Namespace) -> str:
    if arguments.json and (arguments.session or arguments.at):
        return t("Only the list is printed as JSON. Remove SESSION or --json.")
    return ""


async def run(app: App, arguments: argparse.Namespace) -> int:
    """Lists the sessions, or connects a terminal to the named one."""
    if arguments.at:
        return await talk(app, read_target(arguments.at))
    ids = await cluster_ids(app, arguments)
    if not arguments.session:
        return await _list(app, ids, arguments)
    return await talk(app, app.pdb.target(await _named(app, ids, arguments.session)))


async def talk(app: App, target: PdbTarget) -> int:
    """A terminal for each task into which `remote` leads, one after the other."""
    while True:
        code = await _terminal(await app.pdb.address(target), target)
        if code == REFUSED:
            raise pdb_refused(target.name)
        if code == SILENT:
            raise pdb_silent(target.name)
        if code != WENT_ON:
            return code
        say(t("Waiting for the next task to pause. Press Ctrl-C to end."))
        following = await app.pdb.followed(target)
        if following is None:
            say(t("No other task was called."))
            return 0
        target = app.pdb.target(following)


async def _list(app: App, ids: Sequence[str], arguments: argparse.Namespace) -> int:
    waiting = in_order(await asyncio.gather(*(app.pdb.waiting(cluster) for cluster in ids)))
    if arguments.json:
        print_json([pdb_session_json(session) for session in waiting])
        return 0
    if not waiting:
        say(
            t(
                "No worker waits in Ray's own pdb. List paused workers: `eagleray workers ls --paused`."
            )
        )
    rows = [_row(session, time.time()) for session in waiting]
    print_rows(_COLUMNS, rows, [session.id for session in waiting], arguments)
    return 0


_COLUMNS = (
    TableColumn("ID"),
    TableColumn("NAME"),
    TableColumn("AGE"),
    TableColumn("LOCATION"),
    TableColumn("NODE"),
    TableColumn("PID"),
    TableColumn("ERROR"),
    TableColumn("CLUSTER", wide=True),
)


def _row(session: WaitingPdb, now: float) -> list[str]:
    return [
        session.id,
        session.name,
        duration_text(now - session.since) if session.since else "",
        session.place,
        session.node,
        str(session.pid or ""),
        session.error,
        session.cluster,
    ]


async def _named(app: App, ids: Sequence[str], text: str) -> WaitingPdb:
    sessions: list[WaitingPdb] = []
    for cluster in ids:
        with contextlib.suppress(EaglerayError) if len(ids) > 1 else contextlib.nullcontext():
            sessions.append(chosen(await app.pdb.waiting(cluster), text))
    if len(sessions) > 1:
        raise ambiguous_pdb(text, len(sessions))
    if not sessions:
        raise unknown_pdb(text)
    return sessions[0]


async def _terminal(address: str, target: PdbTarget) -> int:
    name, place, node = (
        printable(target.name),
        printable(target.place, 4200),
        printable(target.node),
    )
    paused = t("{name} is paused at {place} on {node}.", name=name, place=place, node=node)
    say(f"{paused} {translated(LEAVE)}")
    async with _signals_of_terminal():
        process = await asyncio.create_subprocess_exec(
            *self_command("pdb-terminal", address), env=l10n.environment()
        )
        return await process.wait()


@asynccontextmanager
async def _signals_of_terminal() -> AsyncIterator[None]:
    """The terminal's process answers to them; we carry its connection until it has ended."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, lambda: None)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
