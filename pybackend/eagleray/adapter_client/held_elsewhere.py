"""Workers held by adapters without a connection: on another machine with this home, or with another protocol."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from eagleray.common.errors import UNREADABLE_JSON, EaglerayError, printable
from eagleray.common.paths import held_folder, host_name
from eagleray.protocol.adapter_control import HELD_REFRESH_S, PROTOCOL, WorkerState
from eagleray.protocol.records import read

# An older record belongs to an adapter that has ended, or to a host that has crashed.
BELIEVED_S = 4 * HELD_REFRESH_S
# The most by which the clocks of two login nodes may differ; munge requires no less.
_CLOCKS_APART_S = 300.0
_LARGEST = 4 * 2**20

log = logging.getLogger(__name__)


def held_elsewhere(folder: Path | None = None, now: float | None = None) -> list[WorkerState]:
    """Returns the workers, each with the name of its host; reads files of the home, which may be slow."""
    workers: list[WorkerState] = []
    with contextlib.suppress(OSError, EaglerayError):
        for path in sorted((folder or held_folder()).glob("*.json")):
            workers += _of_record(path, time.time() if now is None else now)
    return workers


def _of_record(path: Path, now: float) -> Iterator[WorkerState]:
    try:
        record = json.loads(path.read_bytes()[:_LARGEST])
        holder, age = _holder(record), now - float(record["written"])
        workers = [read(WorkerState, worker) for worker in record["workers"]]
    except UNREADABLE_JSON as error:
        log.info("a record of what is held elsewhere: %r", error)
        return
    if holder and -_CLOCKS_APART_S < age < BELIEVED_S:
        yield from (replace(worker, socket="", host=printable(holder, 60)) for worker in workers)


def _holder(record: dict[str, Any]) -> str:
    """Returns the location of the adapter of the record, as rows show it; "" for one that this process can connect to."""
    host = str(record["host"])
    if host != host_name():
        return host
    is_ours = record.get("protocol", PROTOCOL) == PROTOCOL
    return "" if is_ours else f"this machine (version {record.get('version')})"
