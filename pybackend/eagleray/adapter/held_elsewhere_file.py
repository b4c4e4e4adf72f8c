"""What this adapter holds, written where the person's other login nodes see it: their homes are often one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from eagleray.common.off_loop import off_loop
from eagleray.protocol.control import HELD_REFRESH_S, PROTOCOL, WorkerState

log = logging.getLogger(__name__)

# Many changes at once, as of a group that is attached, are one text.
_REST_S = 0.5
_END_S = 2.0
# Of the name of a record, or of one that is being written; one without a process id is of an older version.
_END_OF_NAME = re.compile(r"(?:-(?P<pid>[0-9]+)(?:\.[0-9]+\.new|\.json)|\.json)")


class HeldRecord:
    """Owns one file, which is there exactly while workers are attached or held.

    Its name has the process id, since two adapters of one version may run where the runtime folder was
    removed; files of processes that have ended are removed at the start.  It is written beside the loop, since a home that does not answer must not stop the debugging.
    """

    def __init__(
        self, folder: Path, host: str, version: str, states: Callable[[], list[WorkerState]]
    ) -> None:
        self._beginning = f"{host}-{version}"
        self._path = folder / f"{self._beginning}-{os.getpid()}.json"
        self._host = host
        self._version = version
        self._states = states
        self._news = asyncio.Event()
        # The first write doesn't wait for a change.
        self._news.set()

    def changed(self) -> None:
        self._news.set()

    async def run(self) -> None:
        """Keeps the file up to date until it is cancelled, then removes it."""
        try:
            await off_loop(self._remove_stale)
            while True:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._news.wait(), HELD_REFRESH_S)
                states = self._states()
                if states or self._news.is_set():
                    self._news.clear()
                    await off_loop(partial(self._write, states))
                    await asyncio.sleep(_REST_S)
        finally:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(off_loop(partial(self._write, [])), _END_S)

    def _remove_stale(self) -> None:
        """Removes what killed adapters of this version and machine left behind, half-written files too."""
        with contextlib.suppress(OSError):
            for path in self._path.parent.glob(f"{self._beginning}*"):
                found = _END_OF_NAME.fullmatch(path.name.removeprefix(self._beginning))
                if found and not (found["pid"] and _is_alive(int(found["pid"]))):
                    path.unlink(missing_ok=True)

    def _write(self, states: list[WorkerState]) -> None:
        try:
            if not states:
                self._path.unlink(missing_ok=True)
                return
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            beside = self._path.with_suffix(f".{os.getpid()}.new")
            beside.touch(mode=0o600)
            beside.write_text(json.dumps(self._text(states)))
            beside.replace(self._path)
        except OSError as error:
            log.info("the record of what is held: %s", error)

    def _text(self, states: list[WorkerState]) -> dict[str, object]:
        workers = [asdict(_without_values(state)) for state in states]
        return {
            "host": self._host,
            "version": self._version,
            "protocol": PROTOCOL,
            "written": time.time(),
            "workers": workers,
        }


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _without_values(state: WorkerState) -> WorkerState:
    """Without the text of an exception, which may hold a value of the program."""
    stop = state.stop
    return state if stop is None else replace(state, stop=replace(stop, exception=""))
