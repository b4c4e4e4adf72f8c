"""Searches the logs of several workers, a few at a time, for plain text or a regular expression."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.worker_errors import bad_pattern, slow_pattern
from eagleray.debug.workers.logs import Logs
from eagleray.debug.workers.model import LiveWorker, LogMatch, LogMatches, Stream
from eagleray.routes.commands import start_process

LOGS_AT_ONCE = 4
LINES = 50_000
MATCHES = 1_000
MATCH_LIMIT = 500

Progress = Callable[[int, int, str], None]


async def search(
    logs: Logs,
    cluster: str,
    workers: Sequence[LiveWorker],
    matching: Matcher,
    progress: Progress,
) -> LogMatches:
    """Searches all logs of `workers`; a cancellation ends it with its lookups."""
    slots = asyncio.Semaphore(LOGS_AT_ONCE)
    done = 0

    async def search_worker(worker: LiveWorker) -> tuple[list[LogMatch], list[str]]:
        nonlocal done
        async with slots:
            result = await _search_worker(logs, cluster, worker, matching)
        done += 1
        progress(done, len(workers), worker.name)
        return result

    tasks = [asyncio.create_task(search_worker(worker)) for worker in workers]
    try:
        results = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    matches = [match for of_worker, _ in results for match in of_worker]
    unread = [why for _, missing in results for why in missing]
    return LogMatches(tuple(matches[:MATCHES]), len(matches) > MATCHES, tuple(unread), LINES)


def choose(workers: Sequence[LiveWorker], worker_ids: Collection[str]) -> list[LiveWorker]:
    """The workers to search: the workers of `worker_ids`, or all that have a log."""
    started = [worker for worker in workers if worker.worker_id]
    return [worker for worker in started if not worker_ids or worker.worker_id in worker_ids]


async def _search_worker(
    logs: Logs, cluster: str, worker: LiveWorker, matching: Matcher
) -> tuple[list[LogMatch], list[str]]:
    matches: list[LogMatch] = []
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
            line = lines[index][:MATCH_LIMIT]
            matches.append(LogMatch(worker.worker_id, worker.name, stream, index + 1, line))
    return matches, unread


CHILD = Path(__file__).with_name("regex_child.py")
TIME_LIMIT_S = 10.0
# A regular expression sees only the beginning of a line: its time may explode with the length.
WIDTH = 2_000


def matcher(pattern: str, regex: bool, match_case: bool) -> Matcher:
    """The matcher of a pattern, which several tasks may use at once; raises `bad-pattern`."""
    if not pattern:
        raise bad_pattern(pattern, t("it is empty"))
    if not regex:
        return PlainText(pattern if match_case else pattern.casefold(), match_case)
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise bad_pattern(pattern, str(error)) from None
    return Regex(pattern, match_case)


@frozen
class PlainText:
    """Matches lines that contain `text`, which is already case-folded unless `match_case`."""

    text: str
    match_case: bool

    async def lines(self, text: str, most: int) -> list[int]:
        """The indexes of the first `most` lines of `text` that match."""
        # Off the loop: a large log would block it.
        return await asyncio.to_thread(self._lines, text, most)

    def _lines(self, text: str, most: int) -> list[int]:
        matches: list[int] = []
        for index, line in enumerate(text.split("\n")):
            if self.text in (line if self.match_case else line.casefold()):
                matches.append(index)
                if len(matches) >= most:
                    break
        return matches


@frozen
class Regex:
    """Matches a regular expression, in a process that ends with the call or at a time limit."""

    pattern: str
    match_case: bool

    async def lines(self, text: str, most: int) -> list[int]:
        """The indexes of the first `most` lines of `text` that match; raises `slow-pattern`."""
        if not text:
            return []
        request = {
            "pattern": self.pattern,
            "ignore_case": not self.match_case,
            "most": most,
            "width": WIDTH,
        }
        process = await start_process(
            *(sys.executable, "-I", "-S", str(CHILD)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            request_bytes = f"{json.dumps(request)}\n{text}".encode("utf-8", "replace")
            out, _ = await asyncio.wait_for(process.communicate(request_bytes), TIME_LIMIT_S)
            matches: list[int] = json.loads(out)
        except (asyncio.TimeoutError, ValueError):
            raise slow_pattern(self.pattern) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return matches


Matcher = PlainText | Regex
