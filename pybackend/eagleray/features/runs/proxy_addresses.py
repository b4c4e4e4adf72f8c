"""Finds the debug proxies of a run, in Ray's worker table and in the run's folder."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.ray.rows import WorkerRow

LOOPBACK = "127.0.0.1"


@frozen
class ProxyAddress:
    """A debug proxy; `key` is its process, `here`: it is on this machine, whatever its address."""

    key: str
    host: str
    port: int
    here: bool = False


def in_table(
    rows: Iterable[WorkerRow], since_ms: int, announced: Collection[int] = ()
) -> Iterator[ProxyAddress]:
    """The debug proxies among the debug ports of workers, without those of drivers that are `announced` by files.

    A worker that began before the run has none of its proxies.  A worker that waits for a debugger shows the port of
    that debugger, which takes one client only and must not be tried.
    """
    for row in rows:
        old = 0 < row.started_ms < since_ms
        is_announced = row.kind == "driver" and row.debug_port in announced
        if row.debug_port > 0 and row.paused_threads == 0 and not old and not is_announced:
            yield ProxyAddress(row.worker_id, row.node_ip, row.debug_port)


def in_folder(folder: Path) -> Iterator[ProxyAddress]:
    """The debug proxies that drivers of this machine, or with this home, have announced by files."""
    for name, announcement in _announced(folder):
        try:
            host, port = str(announcement["host"]), int(announcement["port"])
        except (ValueError, KeyError, TypeError, OverflowError):
            continue
        yield ProxyAddress(name, host, port, here=host.startswith("127."))


def joined_in(folder: Path) -> set[str]:
    """The clusters that drivers have joined, as the addresses at which programs join; some have no debug proxy."""
    announced = [*_announced(folder), *_announced(folder, "driver")]
    addresses = (str(announcement.get("gcs") or "") for _, announcement in announced)
    return {address for address in addresses if address}


def _announced(folder: Path, kind: str = "proxy") -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(folder.glob(f"{kind}-*.json")):
        try:
            announcement = json.loads(path.read_text("utf-8"))
        except UNREADABLE_JSON:
            # It ended, or is being written.
            continue
        if isinstance(announcement, dict):
            yield path.name, announcement
