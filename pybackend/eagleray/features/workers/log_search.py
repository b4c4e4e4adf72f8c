"""Searches the logs of several workers, a few at a time, for plain text or a regular expression."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen

from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import bad_pattern, slow_pattern
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
    """All matches in the order of the workers; `unread` lists the workers whose log could not be read, and why."""

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


CHILD = Path(__file__).with_name("regex_child.py")
TIME_LIMIT_S = 10.0
# A regular expression sees only the beginning of a line: its time may explode with the length.
WIDTH = 2_000


class Matcher(Protocol):
    """Tells which lines fit; may be asked from several tasks at once."""

    async def lines(self, text: str, most: int) -> list[int]:
        """The indexes of the first `most` lines of `text` that fit."""


def matcher(pattern: str, regex: bool, match_case: bool) -> Matcher:
    """Raises `bad-pattern`."""
    if not pattern:
        raise bad_pattern(pattern, "it is empty")
    if not regex:
        return PlainText(pattern if match_case else pattern.casefold(), match_case)
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise bad_pattern(pattern, str(error)) from None
    return Regex(pattern, match_case)


@frozen
class PlainText:
    """A piece of text, folded already unless the case matters."""

    text: str
    match_case: bool

    async def lines(self, text: str, most: int) -> list[int]:
        # Off the loop: a large log would block it.
        return await asyncio.to_thread(self._lines, text, most)

    def _lines(self, text: str, most: int) -> list[int]:
        found: list[int] = []
        for index, line in enumerate(text.split("\n")):
            if self.text in (line if self.match_case else line.casefold()):
                found.append(index)
                if len(found) >= most:
                    break
        return found


@frozen
class Regex:
    """A regular expression, run in a process of its own that ends with the call, or after a time limit."""

    pattern: str
    match_case: bool

    async def lines(self, text: str, most: int) -> list[int]:
        if not text:
            return []
        asked = {
            "pattern": self.pattern,
            "ignore_case": not self.match_case,
            "most": most,
            "width": WIDTH,
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(CHILD)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            said = f"{json.dumps(asked)}\n{text}".encode("utf-8", "replace")
            out, _ = await asyncio.wait_for(process.communicate(said), TIME_LIMIT_S)
            found: list[int] = json.loads(out)
        except (asyncio.TimeoutError, ValueError):
            raise slow_pattern(self.pattern) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return found
