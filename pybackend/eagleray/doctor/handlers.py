"""Answers the requests of the feature `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagleray.doctor import messages
from eagleray.doctor.doctor import Doctor

if TYPE_CHECKING:
    from eagleray.wire.requests import RequestServer


def register(server: RequestServer, doctor: Doctor) -> None:
    """Answers the requests of this feature."""

    async def first_problem(run: messages.FollowedRun) -> messages.FirstProblem:
        return messages.FirstProblem(await doctor.first_problem(run))

    async def first_cluster_problem(watched: messages.ClusterLogs) -> messages.FirstProblem:
        return messages.FirstProblem(await doctor.first_cluster_problem(watched))

    server.on_request(messages.DIAGNOSE, doctor.diagnose)
    server.on_request(messages.FIRST_PROBLEM, first_problem)
    server.on_request(messages.FIRST_CLUSTER_PROBLEM, first_cluster_problem)
