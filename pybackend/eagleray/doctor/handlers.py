"""Answers the requests of the feature `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagleray.doctor import messages
from eagleray.doctor.doctor import Doctor
from eagleray.doctor.model import Diagnosis, DiagnosisTarget

if TYPE_CHECKING:
    from eagleray.wire.requests import ReportProgress, RequestServer


def register(server: RequestServer, doctor: Doctor) -> None:
    """Answers the requests of this feature."""
    handlers = DoctorHandlers(doctor)
    server.on_request(messages.DIAGNOSE, handlers.diagnose)
    server.on_request(messages.FIRST_PROBLEM, handlers.first_problem)
    server.on_request(messages.FIRST_CLUSTER_PROBLEM, handlers.first_cluster_problem)


class DoctorHandlers:
    """One method per request about diagnoses."""

    def __init__(self, doctor: Doctor) -> None:
        self._doctor = doctor

    async def diagnose(self, target: DiagnosisTarget, report: ReportProgress) -> Diagnosis:
        return await self._doctor.diagnose(target, report)

    async def first_problem(self, run: messages.FollowedRun) -> messages.FirstProblem:
        return messages.FirstProblem(await self._doctor.first_problem(run))

    async def first_cluster_problem(self, watched: messages.ClusterLogs) -> messages.FirstProblem:
        return messages.FirstProblem(await self._doctor.first_cluster_problem(watched))
