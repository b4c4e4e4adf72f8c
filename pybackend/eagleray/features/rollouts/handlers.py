"""Answers the requests of the feature `rollouts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagleray.features.rollouts import messages
from eagleray.features.rollouts.trajectories.model import (
    DumpStatistics,
    TrajectoryGroup,
    TrajectoryItem,
    TrajectoryPage,
    TrajectoryQuery,
)
from eagleray.features.rollouts.trajectories.rows import PAGE_LIMITS
from eagleray.features.rollouts.trajectories.trajectories import Trajectories

if TYPE_CHECKING:
    from eagleray.wire.requests import ReportProgress, RequestServer


def register(server: RequestServer, trajectories: Trajectories) -> None:
    """Answers the requests of this feature."""
    handlers = TrajectoryHandlers(trajectories)
    server.on_request(messages.PAGE, handlers.page)
    server.on_request(messages.ITEM, handlers.item)
    server.on_request(messages.GROUP, handlers.group)
    server.on_request(messages.STATISTICS, handlers.statistics)


class TrajectoryHandlers:
    """One method per request about trajectories."""

    def __init__(self, trajectories: Trajectories) -> None:
        self._trajectories = trajectories

    async def page(self, request: TrajectoryQuery, report: ReportProgress) -> TrajectoryPage:
        return await self._trajectories.page(request, report)

    async def item(self, request: messages.TrajectoryNumber) -> TrajectoryItem:
        return await self._trajectories.item(request.path, request.item, PAGE_LIMITS)

    async def group(
        self, request: messages.TrajectoryNumber, report: ReportProgress
    ) -> TrajectoryGroup:
        return await self._trajectories.group(request.path, request.item, report)

    async def statistics(
        self, request: messages.DumpPath, report: ReportProgress
    ) -> DumpStatistics:
        return await self._trajectories.statistics(request.path, report)
