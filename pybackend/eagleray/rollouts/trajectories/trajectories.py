"""Dumps that are open: each is indexed once, read off the event loop, and indexed again where its file was replaced."""

from __future__ import annotations

import heapq
import math
import threading
from functools import partial
from itertools import islice
from pathlib import Path

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.rollouts.trajectories.dump import TrajectoryDump
from eagleray.rollouts.trajectories.errors import dump_unreadable
from eagleray.rollouts.trajectories.model import (
    DumpStatistics,
    TrajectoryGroup,
    TrajectoryItem,
    TrajectoryPage,
    TrajectoryQuery,
)
from eagleray.rollouts.trajectories.reading import (
    DumpReading,
    OnProgress,
    ignore_progress,
    read_off_loop,
)
from eagleray.rollouts.trajectories.rows import ItemLimits, group_of, item_of, rows_of
from eagleray.rollouts.trajectories.search import matching_items
from eagleray.rollouts.trajectories.statistics import group_sum, groups_of, sum_up
from eagleray.rollouts.trajectories.table import PROBLEM, DumpTable

# Indexes that stay in memory.
MOST_OPEN = 4


@frozen
class OpenDump:
    """A dump and the table of its numbers."""

    dump: TrajectoryDump
    table: DumpTable


class Trajectories:
    """Lives on one event loop; its readings run in threads."""

    def __init__(self) -> None:
        self._open: dict[Path, OpenDump] = {}
        self._lock = threading.Lock()

    async def page(
        self, query: TrajectoryQuery, on_progress: OnProgress = ignore_progress
    ) -> TrajectoryPage:
        """Rows of the list; without search, filter and order, as soon as these rows are read."""
        return await read_off_loop(partial(self._page, query), on_progress)

    async def item(self, path: str, item: int, limits: ItemLimits) -> TrajectoryItem:
        """One trajectory; `item` counts from 1."""
        return await read_off_loop(partial(self._item, path, item - 1, limits))

    async def group(
        self, path: str, item: int, on_progress: OnProgress = ignore_progress
    ) -> TrajectoryGroup:
        """The trajectories with the same prompt as `item`."""
        return await read_off_loop(partial(self._group, path, item - 1), on_progress)

    async def statistics(
        self, path: str, on_progress: OnProgress = ignore_progress
    ) -> DumpStatistics:
        """Reads every line; a later call reads only what came since."""
        return await read_off_loop(partial(self._statistics, path), on_progress)

    def _page(self, query: TrajectoryQuery, reading: DumpReading) -> TrajectoryPage:
        opened = self._opened(query.path)
        dump = opened.dump
        start, limit = query.start, query.limit
        matches: int | None = None
        if query.needs_table:
            self._read_all(opened, reading)
            order = ordered(opened.table, query)
            if query.search:
                having = set(matching_items(dump, query.search, 0, reading))
                order = [item for item in order if item in having]
            items, matches = order[start : start + limit], len(order)
            following = start + limit if start + limit < matches else None
        elif query.search:
            dump.extend(reading)
            items = list(islice(matching_items(dump, query.search, start, reading), limit))
            following = items[-1] + 1 if len(items) == limit and limit else None
            matches = len(items) if start == 0 and following is None else None
        else:
            dump.extend(reading, start + limit + 1)
            count = dump.count
            items = list(range(start, min(start + limit, count)))
            following = start + limit if start + limit < count else None
            matches = count if dump.is_complete else None
        rows, notes = rows_of(dump, items, opened.table.endings())
        return TrajectoryPage(
            rows=rows,
            next=following,
            matches=matches,
            items=dump.count,
            complete=dump.is_complete,
            scanned=dump.scanned,
            size=dump.size,
            files=dump.files,
            unfinished=dump.unfinished(),
            notes=notes,
        )

    def _item(
        self, path: str, item: int, limits: ItemLimits, reading: DumpReading
    ) -> TrajectoryItem:
        opened = self._opened(path)
        opened.dump.extend(reading, item + 1)
        return item_of(opened.dump.line(item), opened.table.endings(), limits)

    def _group(self, path: str, item: int, reading: DumpReading) -> TrajectoryGroup:
        opened = self._opened(path)
        self._read_all(opened, reading)
        opened.dump.line(item)
        table = opened.table
        number = table.groups[item]
        items = [at for at, group in enumerate(table.groups) if group == number]
        # A line without a prompt is alone.
        summed = group_sum(table, number, items if number >= 0 else [item])
        return group_of(opened.dump, summed, table.endings())

    def _statistics(self, path: str, reading: DumpReading) -> DumpStatistics:
        opened = self._opened(path)
        self._read_all(opened, reading)
        return sum_up(opened.dump, opened.table)

    def _read_all(self, opened: OpenDump, reading: DumpReading) -> None:
        opened.dump.extend(reading)
        opened.table.extend(reading)

    def _opened(self, path: str) -> OpenDump:
        """The dump of a path, with what has grown since; another one where a file was replaced."""
        try:
            file = Path(path).expanduser().absolute()
        except (RuntimeError, ValueError) as error:
            raise dump_unreadable(path, t("no file can have such a name")) from error
        with self._lock:
            opened = self._open.pop(file, None)
            if opened is None or not opened.dump.refresh():
                dump = TrajectoryDump(file)
                dump.refresh()
                opened = OpenDump(dump, DumpTable(dump))
            while len(self._open) >= MOST_OPEN:
                self._open.pop(next(iter(self._open)))
            self._open[file] = opened
        return opened


def ordered(table: DumpTable, query: TrajectoryQuery) -> list[int]:
    """The items that the filter and the bounds of the reward leave, in the order of the query."""
    items = [item for item in _filtered(table, query.filter) if _is_within(table, item, query)]
    if not query.sort:
        return items[::-1] if query.descending else items
    values = table.rewards if query.sort == "reward" else table.lengths

    def key(item: int) -> tuple[bool, float]:
        value = values[item]
        # Missing rewards are last in either order.
        return math.isnan(value), -value if query.descending else value

    return sorted(items, key=key)


def _filtered(table: DumpTable, name: str) -> list[int]:
    if name == "problems":
        return [item for item in range(table.count) if table.flags[item] & PROBLEM]
    if name == "truncated":
        endings = table.endings()
        return [item for item in range(table.count) if table.truncated(item, endings)]
    if name == "zero-advantage":
        equal = [group.items for group in groups_of(table) if group.equal_rewards]
        return list(heapq.merge(*equal))
    if name == "duplicates":
        repeated = [group.duplicates for group in groups_of(table)]
        return list(heapq.merge(*repeated))
    return list(range(table.count))


def _is_within(table: DumpTable, item: int, query: TrajectoryQuery) -> bool:
    """A missing reward is outside of any bound."""
    reward = table.rewards[item]
    return (query.least_reward is None or reward >= query.least_reward) and (
        query.most_reward is None or reward <= query.most_reward
    )
