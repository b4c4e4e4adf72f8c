"""Search in the logs of some workers at once, a few at a time, with progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from attrs import frozen

from eagleray.common.errors import EaglerayError
from eagleray.features.workers.line_matching import Matcher
from eagleray.features.workers.live_workers import LiveWorker
from eagleray.features.workers.logs import Logs, Stream

LOGS_AT_ONCE = 4
LINES = 50_000
MATCHES = 1_000
MATCH_LIMIT = 500

Progress = Callable[[int, int, str], None]


@frozen
class Match:
    """A line that fits; `line_number` counts from 1 within what was read."""

    worker: LiveWorker
    stream: Stream
    line_number: int
    text: str


@frozen
class Found:
    """All matches in the order of the workers; `unread` says whose log could not be read, and why."""

    matches: tuple[Match, ...]
    truncated: bool
    unread: tuple[str, ...]


async def search(
    logs: Logs,
    cluster: str,
    workers: Sequence[LiveWorker],
    matching: Matcher,
    progress: Progress,
) -> Found:
    """Searches all logs of `workers`; ends early, with its lookups, when it is cancelled."""
    slots = asyncio.Semaphore(LOGS_AT_ONCE)
    done = 0

    async def one(worker: LiveWorker) -> tuple[list[Match], list[str]]:
        nonlocal done
        async with slots:
            found = await _search_worker(logs, cluster, worker, matching)
        done += 1
        progress(done, len(workers), worker.name)
        return found

    tasks = [asyncio.create_task(one(worker)) for worker in workers]
    try:
        results = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    matches = [match for found, _ in results for match in found]
    unread = [why for _, missing in results for why in missing]
    return Found(tuple(matches[:MATCHES]), len(matches) > MATCHES, tuple(unread))


def choose(workers: Sequence[LiveWorker], worker_ids: Collection[str]) -> list[LiveWorker]:
    """The workers to search: those of `worker_ids`, or all that have a log."""
    started = [worker for worker in workers if worker.worker_id]
    return [worker for worker in started if not worker_ids or worker.worker_id in worker_ids]


async def _search_worker(
    logs: Logs, cluster: str, worker: LiveWorker, matching: Matcher
) -> tuple[list[Match], list[str]]:
    matches: list[Match] = []
    unread: list[str] = []
    # A driver has one log for both streams.
    streams: tuple[Stream, ...] = ("out",) if worker.kind == "driver" else ("out", "err")
    for stream in streams:
        try:
            text = await logs.whole(cluster, worker, stream, LINES)
        except EaglerayError as error:
            unread = [f"{worker.name} (pid {worker.pid}): {error.message}"]
            continue
        lines = text.split("\n")
        for index in await matching.lines(text, MATCHES + 1):
            matches.append(Match(worker, stream, index + 1, lines[index][:MATCH_LIMIT]))
    return matches, unread
