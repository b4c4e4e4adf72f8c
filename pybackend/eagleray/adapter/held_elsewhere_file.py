"""The file of the workers that this adapter holds, for other login nodes, which often share the home."""

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

from eagleray.common.blocking_calls import off_loop
from eagleray.common.tasks import wait_for_event
from eagleray.protocol.adapter_control import HELD_REFRESH_S, PROTOCOL, WorkerState

log = logging.getLogger(__name__)

# Many changes at once, as when a group of workers is attached, are written once.
_REST_S = 0.5
_END_S = 2.0
# The end of the name of a file, or of one that is being written; those without a process id are of older versions.
_END_OF_NAME = re.compile(r"(?:-(?P<pid>[0-9]+)(?:\.[0-9]+\.new|\.json)|\.json)")


class HeldRecord:
    """Owns one file, which exists exactly while workers are attached or held.

    Its name contains the process id, since two adapters of one version may run where the runtime folder was
    removed; files of processes that have ended are removed at the start.  It is written off the event loop, since
    a home that does not answer must not stop the debugging.
    """

    def __init__(
        self, folder: Path, host: str, version: str, states: Callable[[], list[WorkerState]]
    ) -> None:
        self._prefix = f"{host}-{version}"
        self._path = folder / f"{self._prefix}-{os.getpid()}.json"
        self._host = host
        self._version = version
        self._states = states
        self._changed = asyncio.Event()
        # The first write doesn't wait for a change.
        self._changed.set()

    def changed(self) -> None:
        self._changed.set()

    async def run(self) -> None:
        """Updates the file until it is cancelled, then removes it."""
        try:
            await off_loop(self._remove_stale)
            while True:
                await wait_for_event(self._changed, HELD_REFRESH_S)
                states = self._states()
                if states or self._changed.is_set():
                    self._changed.clear()
                    await off_loop(partial(self._write, states))
                    await asyncio.sleep(_REST_S)
        finally:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(off_loop(partial(self._write, [])), _END_S)

    def _remove_stale(self) -> None:
        """Removes what killed adapters of this version and machine left behind, half-written files too."""
        with contextlib.suppress(OSError):
            for path in self._path.parent.glob(f"{self._prefix}*"):
                match = _END_OF_NAME.fullmatch(path.name.removeprefix(self._prefix))
                if match and not (match["pid"] and _is_alive(int(match["pid"]))):
                    path.unlink(missing_ok=True)

    def _write(self, states: list[WorkerState]) -> None:
        try:
            if not states:
                self._path.unlink(missing_ok=True)
                return
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            new = self._path.with_suffix(f".{os.getpid()}.new")
            new.touch(mode=0o600)
            new.write_text(json.dumps(self._text(states)))
            new.replace(self._path)
        except OSError as error:
            log.info("the record of held workers: %s", error)

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
