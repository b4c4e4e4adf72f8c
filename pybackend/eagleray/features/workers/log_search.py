"""Search in the logs of some workers at once, a few at a time, with progress."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence

from attrs import frozen

from eagleray.common.errors import EaglerayError, bad_pattern
from eagleray.features.workers.live_workers import LiveWorker
from eagleray.features.workers.logs import Logs, Stream

LOGS_AT_ONCE = 4
LINES = 50_000
MATCHES = 1_000
MATCH_LIMIT = 500
# A pattern meets only the beginning of a line: some patterns need time that explodes with its length.
REGEX_LIMIT = 2_000

Progress = Callable[[int, int, str], None]
Fits = Callable[[str], bool]


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


def fits(pattern: str, regex: bool, match_case: bool) -> Fits:
    """The test of one line; raises `bad-pattern`."""
    if not pattern:
        raise bad_pattern(pattern, "it is empty")
    if not regex:
        wanted = pattern if match_case else pattern.casefold()
        return lambda line: wanted in (line if match_case else line.casefold())
    try:
        compiled = re.compile(pattern, 0 if match_case else re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise bad_pattern(pattern, str(error)) from None
    return lambda line: compiled.search(line[:REGEX_LIMIT]) is not None


async def search(
    logs: Logs,
    cluster: str,
    workers: Sequence[LiveWorker],
    fit: Fits,
    progress: Progress,
) -> Found:
    """Searches all logs of `workers`; ends early, with its lookups, when it is cancelled."""
    slots = asyncio.Semaphore(LOGS_AT_ONCE)
    done = 0

    async def one(worker: LiveWorker) -> tuple[list[Match], list[str]]:
        nonlocal done
        async with slots:
            found = await _search_worker(logs, cluster, worker, fit)
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
    logs: Logs, cluster: str, worker: LiveWorker, fit: Fits
) -> tuple[list[Match], list[str]]:
    matches: list[Match] = []
    # A driver has one log for both streams.
    streams: tuple[Stream, ...] = ("out",) if worker.kind == "driver" else ("out", "err")
    for stream in streams:
        try:
            text = await logs.whole(cluster, worker, stream, LINES)
        except EaglerayError as error:
            return matches, [f"{worker.name} (pid {worker.pid}): {error.message}"]
        # Off the loop: a large log would keep everybody else waiting.
        matches += await asyncio.to_thread(_matches, worker, stream, text, fit)
    return matches, []


def _matches(worker: LiveWorker, stream: Stream, text: str, fit: Fits) -> list[Match]:
    found: list[Match] = []
    for number, line in enumerate(text.split("\n"), 1):
        if fit(line):
            found.append(Match(worker, stream, number, line[:MATCH_LIMIT]))
            if len(found) > MATCHES:
                break
    return found
