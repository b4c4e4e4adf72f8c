"""Workers that are attached or held by Eagleray on another machine with the same home."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from eagleray.adapter.protocol import HELD_REFRESH_S, WorkerState
from eagleray.clients.adapter import worker_state
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.paths import held_folder, host_name

# A record that was not renewed for so long is of an adapter that is gone, or of a host that has crashed.
BELIEVED_S = 4 * HELD_REFRESH_S
# So far the clocks of two login nodes may be apart; munge asks for no less.
_CLOCKS_APART_S = 300.0
_LARGEST = 4 * 2**20

log = logging.getLogger(__name__)


def held_elsewhere(folder: Path | None = None, now: float | None = None) -> list[WorkerState]:
    """Each with the name of its host; reads files of the home, which may take its time."""
    found: list[WorkerState] = []
    with contextlib.suppress(OSError, EaglerayError):
        for path in sorted((folder or held_folder()).glob("*.json")):
            found += _of_record(path, time.time() if now is None else now)
    return found


def _of_record(path: Path, now: float) -> Iterator[WorkerState]:
    try:
        said = json.loads(path.read_bytes()[:_LARGEST])
        host, age = str(said["host"]), now - float(said["written"])
        workers = [_state(worker) for worker in said["workers"]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        log.info("a record of what is held elsewhere: %r", error)
        return
    if host != host_name() and -_CLOCKS_APART_S < age < BELIEVED_S:
        yield from (replace(worker, host=printable(host, 60)) for worker in workers)


def _state(said: dict[str, Any]) -> WorkerState:
    return replace(worker_state(said), socket="")
