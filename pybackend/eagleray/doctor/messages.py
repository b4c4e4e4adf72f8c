"""The requests of the feature `doctor`, printed as `extension/doctor/messages.ts`."""

from __future__ import annotations

from attrs import frozen

from eagleray.doctor.model import Cause, Diagnosis, DiagnosisTarget
from eagleray.wire.requests import LongRequest, Request


@frozen
class FollowedRun:
    """A run by its ID, whose output is followed until its first problem; causes that were `reported`, by their IDs,
    don't count any more.  `rule_folders` are as in a DiagnosisTarget.
    """

    id: str
    reported: tuple[str, ...] = ()
    rule_folders: tuple[str, ...] = ()


@frozen
class ClusterLogs:
    """A cluster by its ID, whose logs are followed; causes that were `reported`, by their IDs, don't count any more.

    `rule_folders` are as in a DiagnosisTarget.
    """

    cluster: str
    reported: tuple[str, ...] = ()
    rule_folders: tuple[str, ...] = ()


@frozen
class FirstProblem:
    """The first cause of trouble in the output of a run or a cluster; None for a run that has ended without one."""

    cause: Cause | None


DIAGNOSE = LongRequest("eagleray/doctor/diagnose", DiagnosisTarget, Diagnosis)
FIRST_PROBLEM = Request("eagleray/doctor/firstProblem", FollowedRun, FirstProblem)
FIRST_CLUSTER_PROBLEM = Request("eagleray/doctor/firstClusterProblem", ClusterLogs, FirstProblem)
