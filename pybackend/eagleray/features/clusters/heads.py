"""Finding the Ray dashboard of a SLURM job: its nodes are asked, none is taken for the head by its name."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from attrs import field, frozen

from eagleray.common.clock import Clock, SystemClock
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import JOB_STATE, RAY_IN_JOB
from eagleray.common.slurm_errors import (
    job_over,
    job_waits,
    no_ray_in_job,
    not_surely_yours,
    ray_not_on_usual_port,
)
from eagleray.features.clusters.job_steps import JobSteps
from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.slurm.client import USUAL_PORT, JobDashboard, NodeAnswer, SlurmClient
from eagleray.slurm.jobs import SlurmJob
from eagleray.slurm.nodes import JobNodes
from eagleray.slurm.queue import SlurmQueue

# A job that runs for less than this may still be starting its Ray: containers are slow to unpack.
RAY_START_S = 600.0

Say = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]

log = logging.getLogger(__name__)


@frozen
class Head:
    """Where the dashboard of a job listens, and the ways to it in the order in which they are tried.

    `host` is as the far end of each of `routes` knows it.  `beyond` are the routes to the other nodes,
    `addresses` those of all nodes by their names.
    """

    node: str
    host: str
    port: int
    routes: tuple[RouteSpec, ...]
    beyond: tuple[RouteSpec, ...]
    addresses: Mapping[str, tuple[str, ...]] = field(factory=dict)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class Heads:
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
        self._clock = clock or SystemClock()

    async def find(
        self,
        ssh: str,
        job: str,
        steps: JobSteps,
        say: Say = lambda _: None,
        *,
        wait: bool = True,
        at_once: bool = True,
    ) -> Head:
        """The head of a job, however long the job waits for its nodes; raises when it is over.

        1. A job that waits is waited for, if `wait`.
        2. Its nodes are asked on Ray's usual port, all at once.  An answer is taken if nobody else can run on
           these nodes and all nodes of the Ray that answers are of the job.
        3. Else one step of the job looks from inside for dashboards of this user's own, also on other
           ports and on localhost, if `steps` allows one more.  The one that was started last is taken.
        4. A job that has just begun is given time to start its Ray.
        With `at_once`, after a click, SLURM and the nodes are asked now, else as their schedules say.
        """
        checked(RouteSpec(job=job, node="n"))
        began = self._clock.now()
        max_age_s = 0.0 if at_once else JOB_STATE.steady_s
        while True:
            seen = (await self._queue.get(ssh, max_age_s)).job(job)
            age_s = self._clock.now() - began
            max_age_s = JOB_STATE.interval_s(age_s)
            if seen is None or seen.state in ("over", "ending"):
                raise job_over(job, seen.word if seen else "")
            if seen.state == "pending" and not wait:
                raise job_waits(job, seen.reason, starts(seen.started))
            if seen.state == "pending":
                say(job_waits(job, seen.reason, starts(seen.started)).message)
                await self._sleep(JOB_STATE.delay_s(age_s))
                continue
            say(f"Looking for Ray in job {job}")
            starting = wait and seen.ran_s < RAY_START_S
            head = await self._in(ssh, seen, steps, starting=starting, at_once=at_once)
            if head is not None:
                log.info("job %s: head on %s, port %d", job, head.node, head.port)
                return head
            if not starting:
                raise no_ray_in_job(job)
            say(f"Job {job} runs; waiting for its Ray")
            at_once = False
            await self._sleep(RAY_IN_JOB.delay_s(seen.ran_s))

    async def _in(
        self, ssh: str, job: SlurmJob, steps: JobSteps, *, starting: bool, at_once: bool
    ) -> Head | None:
        """The head in a running job; None while one may still be starting, or if it has no nodes."""
        nodes = await self._slurm.nodes(ssh, job.nodelist)
        if not nodes:
            return None
        asked = (await self._nodes.get(ssh, [job], {job.id: nodes}, 0.0 if at_once else None))[
            job.id
        ]
        answering = [answer for answer in asked if answer.said == "ray"]
        addresses = {answer.node: answer.addresses for answer in asked}
        for answer in answering:
            if job.exclusive and is_within(answer, addresses):
                return _head(ssh, job.id, answer.node, answer.node, USUAL_PORT, asked)
        if not steps.take():
            if starting:
                return None
            raise no_ray_in_job(job.id) if steps.allowed else ray_not_on_usual_port(job.id)
        try:
            found = await self._slurm.find_dashboards(ssh, job.id, nodes)
        except EaglerayError as error:
            log.info("job %s: %s", job.id, error)
            if answering:
                raise not_surely_yours(job.id, answering[0].node, error.message) from error
            if starting:
                return None
            raise no_ray_in_job(job.id, error.message) from error
        if not found and starting:
            return None
        if not found:
            raise no_ray_in_job(job.id)
        chosen = max(found, key=lambda one: (one.started, -nodes.index(one.node)))
        return _head(ssh, job.id, chosen.node, _host(chosen), chosen.port, asked)


def starts(at: float) -> str:
    """A time of day, with its date if it is not today; "" for none, or one that has passed."""
    if at < time.time():
        return ""
    try:
        when = datetime.fromtimestamp(at)
    except (OverflowError, OSError, ValueError):
        # SLURM may give any number.
        return ""
    return when.strftime("%H:%M" if when.date() == datetime.now().date() else "%H:%M on %d %B")


def is_within(answer: NodeAnswer, addresses: Mapping[str, Sequence[str]]) -> bool:
    """Whether all nodes of the Ray that answered are among the nodes that were asked.

    One that asks for a token does not say which nodes it has.
    """
    known = {address for of_node in addresses.values() for address in of_node}
    return set(answer.ips) <= known


def _head(ssh: str, job: str, node: str, host: str, port: int, asked: Sequence[NodeAnswer]) -> Head:
    outside, inside = RouteSpec(ssh=ssh), RouteSpec(ssh=ssh, job=job, node=node)
    said = next((answer.said for answer in asked if answer.node == node), "silent")
    reachable = said in ("ray", "other", "refused")
    beyond = (outside, inside) if reachable else (inside,)
    return Head(
        node=node,
        host=host,
        port=port,
        routes=(inside,) if is_loopback(host) else beyond,
        beyond=beyond,
        addresses={answer.node: answer.addresses for answer in asked},
    )


def _host(found: JobDashboard) -> str:
    """Where to connect to: what listens everywhere is reached by the name of its node."""
    try:
        address = ipaddress.ip_address(found.address)
    except ValueError:
        return found.node
    return found.node if address.is_unspecified else str(address)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
