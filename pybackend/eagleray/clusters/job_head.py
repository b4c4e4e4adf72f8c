"""Finds the Ray dashboard of a SLURM job by queries to its nodes; no node is taken for the head by its name."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from attrs import field, frozen

from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.retry import JOB_STATE, RAY_IN_JOB, Clock
from eagleray.common.slurm_errors import (
    job_not_searched,
    job_over,
    job_waits,
    no_ray_in_job,
    not_surely_yours,
    ray_not_on_usual_port,
)
from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.slurm.client import USUAL_PORT, JobDashboard, NodeAnswer, SlurmClient
from eagleray.slurm.jobs import SlurmJob
from eagleray.slurm.nodes import JobNodes
from eagleray.slurm.queue import SlurmQueue

# A job that runs for less than this may still be starting its Ray: containers are slow to unpack.
RAY_START_S = 600.0

ShowProgress = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]

log = logging.getLogger(__name__)


@frozen
class JobHead:
    """The dashboard of a job, and the routes to it in the order in which they are tried.

    `host` is the name that the remote end of each of `routes` knows.  `node_routes` lead to the other
    nodes; `addresses` has the addresses of all nodes by their names.
    """

    node: str
    host: str
    port: int
    routes: tuple[RouteSpec, ...]
    node_routes: tuple[RouteSpec, ...]
    addresses: Mapping[str, tuple[str, ...]] = field(factory=dict)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class JobHeadFinder:
    """Finds heads by queries to SLURM and the nodes; stores only the answers that all windows share."""

    def __init__(
        self,
        slurm: SlurmClient,
        queue: SlurmQueue,
        nodes: JobNodes,
        sleep: Sleep = asyncio.sleep,
        clock: Clock | None = None,
    ) -> None:
        self._slurm = slurm
        self._queue = queue
        self._nodes = nodes
        self._sleep = sleep
        self._clock = clock or Clock()

    async def find(
        self,
        ssh: str,
        job: str,
        steps: JobSteps,
        report: ShowProgress = lambda _: None,
        *,
        wait: bool = True,
        at_once: bool = True,
    ) -> JobHead:
        """Finds the head of a job, however long the job is pending; raises when it is over.

        1. A pending job is waited for, if `wait`.
        2. Its nodes are queried on Ray's usual port, all at once.  An answer counts if no other user can run on these
        nodes and all nodes of the Ray that answers belong to the job.
        3. Otherwise one step of the job searches for dashboards of this user, also on other ports and on
           localhost, if `steps` allows one more.  The one that was started last is chosen.
        4. A job that has just started is given time to start its Ray.
        With `at_once`, after a click, SLURM and the nodes are queried now, otherwise by their schedules.
        """
        checked(RouteSpec(job=job, node="n"))
        began = self._clock.now()
        max_age_s = 0.0 if at_once else JOB_STATE.steady_s
        while True:
            status = (await self._queue.get(ssh, max_age_s)).job(job)
            age_s = self._clock.now() - began
            max_age_s = JOB_STATE.interval_s(age_s)
            if status is None or status.state in ("over", "ending"):
                raise job_over(job, status.word if status else "")
            if status.state == "pending" and not wait:
                raise job_waits(job, status.reason, start_time(status.started))
            if status.state == "pending":
                report(job_waits(job, status.reason, start_time(status.started)).message)
                await self._sleep(JOB_STATE.delay_s(age_s))
                continue
            report(t("Searching the job for a Ray dashboard"))
            starting = wait and status.ran_s < RAY_START_S
            head = await self._find_in(ssh, status, steps, starting=starting, at_once=at_once)
            if head is not None:
                log.info("job %s: head on %s, port %d", job, head.node, head.port)
                return head
            if not starting:
                raise no_ray_in_job(job)
            report(t("Waiting for Ray to start in the job"))
            at_once = False
            await self._sleep(RAY_IN_JOB.delay_s(status.ran_s))

    async def _find_in(
        self, ssh: str, job: SlurmJob, steps: JobSteps, *, starting: bool, at_once: bool
    ) -> JobHead | None:
        """The head in a running job; None while one may still be starting, or if it has no nodes."""
        nodes = await self._slurm.nodes(ssh, job.nodelist)
        if not nodes:
            return None
        answers = (await self._nodes.get(ssh, [job], {job.id: nodes}, 0.0 if at_once else None))[
            job.id
        ]
        answering = [answer for answer in answers if answer.answer == "ray"]
        addresses = {answer.node: answer.addresses for answer in answers}
        for answer in answering:
            if job.exclusive and is_within_job(answer, addresses):
                return _head(ssh, job.id, answer.node, answer.node, USUAL_PORT, answers)
        if not steps.take():
            if starting:
                return None
            raise no_ray_in_job(job.id) if steps.allowed else ray_not_on_usual_port(job.id)
        try:
            dashboards = await self._slurm.find_dashboards(ssh, job.id, nodes)
        except EaglerayError as error:
            log.info("job %s: %s %s", job.id, error, error.logged)
            if answering:
                raise not_surely_yours(job.id, answering[0].node, error.output) from error
            if starting:
                return None
            raise job_not_searched(job.id, error.next_step, error.output) from error
        if not dashboards and starting:
            return None
        if not dashboards:
            raise no_ray_in_job(job.id)
        chosen = max(
            dashboards, key=lambda dashboard: (dashboard.started, -nodes.index(dashboard.node))
        )
        return _head(ssh, job.id, chosen.node, _host(chosen), chosen.port, answers)


def start_time(at: float) -> str:
    """A time of day, with its date if it is not today; "" for none, or one that has passed."""
    if at < time.time():
        return ""
    try:
        when = datetime.fromtimestamp(at)
    except (OverflowError, OSError, ValueError):
        # SLURM may give any number.
        return ""
    return when.strftime("%H:%M" if when.date() == datetime.now().date() else "%H:%M on %d %B")


def is_within_job(answer: NodeAnswer, addresses: Mapping[str, Sequence[str]]) -> bool:
    """Whether all nodes of the Ray that answered are among the queried nodes of the job.

    One that requires a token does not list its nodes.
    """
    own = {address for of_node in addresses.values() for address in of_node}
    return set(answer.ips) <= own


def _head(
    ssh: str, job: str, node: str, host: str, port: int, answers: Sequence[NodeAnswer]
) -> JobHead:
    outside, inside = RouteSpec(ssh=ssh), RouteSpec(ssh=ssh, job=job, node=node)
    answer = next((a.answer for a in answers if a.node == node), "silent")
    reachable = answer in ("ray", "other", "refused")
    node_routes = (outside, inside) if reachable else (inside,)
    return JobHead(
        node=node,
        host=host,
        port=port,
        routes=(inside,) if is_loopback(host) else node_routes,
        node_routes=node_routes,
        addresses={answer.node: answer.addresses for answer in answers},
    )


def _host(dashboard: JobDashboard) -> str:
    """The host to connect to: the name of the node if the dashboard listens on all addresses."""
    try:
        address = ipaddress.ip_address(dashboard.address)
    except ValueError:
        return dashboard.node
    return dashboard.node if address.is_unspecified else str(address)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# After a click, the minimum time from one step to the next while the job starts its Ray.
_GAPS_S = (0.0, 15.0, 30.0, 60.0, 120.0, 240.0)


class JobSteps:
    """Limits the steps of a SLURM job, each of which a site's accounting shows.

    One click allows a few steps with growing gaps; without a click (`allowed` False) none is allowed.
    """

    def __init__(self, clock: Clock | None = None, *, clicked: bool = True) -> None:
        self._clock = clock or Clock()
        self.allowed = clicked
        self._left = list(_GAPS_S) if clicked else []
        self._last = float("-inf")

    def take(self) -> bool:
        """Whether a step may be started now; a True is counted as a step."""
        if not self._left or self._clock.now() - self._last < self._left[0]:
            return False
        self._left.pop(0)
        self._last = self._clock.now()
        return True
