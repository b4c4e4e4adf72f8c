"""`eagleray pdb`: the workers that wait in Ray's own pdb, and a terminal that is connected to one."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from eagleray.app import App
from eagleray.cli import printing
from eagleray.cli.pdb_terminal import REFUSED, SILENT, WENT_ON
from eagleray.common.errors import EaglerayError, printable
from eagleray.features.pdb.errors import ambiguous_pdb, pdb_refused, pdb_silent, unknown_pdb
from eagleray.features.pdb.handlers import wire_session
from eagleray.features.pdb.pdb import in_order, shown_node
from eagleray.features.pdb.sessions import PdbSession, chosen
from eagleray.features.pdb.target import Target
from eagleray.tools.self_command import self_command

LEAVE = "c, or Ctrl-D, lets it run on; `remote` goes into the next task."


async def run(parts: App, ids: Sequence[str], asked: argparse.Namespace) -> int:
    """Lists the sessions of these clusters, or talks to the one that was named."""
    if not asked.session:
        return await _list(parts, ids, as_json=asked.json)
    return await talk(parts, parts.pdb.target(await _named(parts, ids, asked.session)))


async def talk(parts: App, target: Target) -> int:
    """A terminal for each task into which `remote` leads, one after the other."""
    while True:
        code = await _terminal(await parts.pdb.address(target), target)
        if code == REFUSED:
            raise pdb_refused(target.name)
        if code == SILENT:
            raise pdb_silent(target.name)
        if code != WENT_ON:
            return code
        _say("Waiting for the next task to stop (Ctrl-C: no longer) …")
        following = await parts.pdb.followed(target)
        if following is None:
            _say("No other task was called.")
            return 0
        target = parts.pdb.target(following)


async def _list(parts: App, ids: Sequence[str], *, as_json: bool) -> int:
    waiting = in_order(await asyncio.gather(*(parts.pdb.waiting(cluster) for cluster in ids)))
    if as_json:
        printing.print_json([printing.plain(wire_session(one)) for one in waiting])
    elif waiting:
        printing.print_table([_row(one) for one in waiting])
    else:
        _say(
            "No worker waits in Ray's own pdb; `eagleray paused` lists those of the usual debugger."
        )
    return 0


def _row(session: PdbSession) -> list[str]:
    return [session.id, session.name, session.place, shown_node(session.node), session.error]


async def _named(parts: App, ids: Sequence[str], text: str) -> PdbSession:
    found: list[PdbSession] = []
    for cluster in ids:
        with contextlib.suppress(EaglerayError) if len(ids) > 1 else contextlib.nullcontext():
            found.append(chosen(await parts.pdb.waiting(cluster), text))
    if len(found) > 1:
        raise ambiguous_pdb(text, len(found))
    if not found:
        raise unknown_pdb(text)
    return found[0]


async def _terminal(address: str, target: Target) -> int:
    name, place, node = (
        printable(target.name),
        printable(target.place, 4200),
        printable(target.node),
    )
    _say(f"{name} at {place} on {node}. {LEAVE}")
    async with _signals_of_terminal():
        process = await asyncio.create_subprocess_exec(*self_command("pdb-terminal", address))
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


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
