"""Polls the user's SLURM jobs, on this machine and on added ssh hosts, and finds out which run a Ray."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

from attrs import evolve, frozen

from eagleray.clusters.job_head import is_within_job
from eagleray.clusters.model import Choices, ClusterProblem, Job, JobStatus
from eagleray.clusters.stored_lists import StoredHosts
from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError, internal
from eagleray.common.l10n import t
from eagleray.common.listeners import Listeners
from eagleray.common.retry import JOB_STATE, Backoff, Clock, jittered
from eagleray.slurm.client import NodeAnswer, SlurmClient
from eagleray.slurm.jobs import SlurmJob
from eagleray.slurm.nodes import JobNodes
from eagleray.slurm.queue import JobQueue, SlurmQueue
from eagleray.tools.ssh_config import ConfiguredHost, configured_hosts


@frozen
class HostStatus:
    """The result of the last poll of a host, at `at`; it is polled again at `due_at`."""

    host: str
    state: Literal["ok", "asking", "failing"] = "asking"
    error: EaglerayError | None = None
    failures: int = 0
    at: float = 0.0
    due_at: float = 0.0


def find_ray(
    status: JobStatus, answers: Sequence[NodeAnswer], taken: Collection[str]
) -> NodeAnswer | None:
    """The node with the Ray of the job; a Ray with nodes outside the job belongs to another job."""
    addresses = {answer.node: answer.addresses for answer in answers}
    for answer in answers:
        sure = status.job.exclusive or (bool(answer.ips) and answer.node not in taken)
        if answer.answer == "ray" and sure and is_within_job(answer, addresses):
            return answer
    return None


def with_ray(
    status: JobStatus, answers: Sequence[NodeAnswer], head: NodeAnswer | None
) -> JobStatus:
    """`status` with the Ray on `head`; without a head, "none" only if every node has answered."""
    if head is not None:
        return evolve(status, ray="live", ray_version=head.ray)
    is_certain = bool(answers) and all(answer.answer in ("refused", "other") for answer in answers)
    return evolve(status, ray="none" if is_certain else "unknown", ray_version="")


POLL_S = JOB_STATE.steady_s
STEP_S = 1.0
# At most this many nodes are queried for a Ray without a click; further jobs are only offered.
MOST_NODES = 512
AFTER_FAILURE = Backoff(first_s=POLL_S, longest_s=600.0)

log = logging.getLogger(__name__)


class Jobs:
    """Polls SLURM once a minute while the panel is visible; lives on one event loop.

    It polls this machine if it has SLURM (`here`), the hosts that the user added, and the hosts of jobs that are
    clusters (`also`), for their end and their time left.  A hidden window polls nothing and uses the answers of visible
    ones.  A Ray is found by plain queries to the nodes, never by a job step, which accounting would show.
    """

    def __init__(
        self,
        slurm: SlurmClient,
        queue: SlurmQueue,
        nodes: JobNodes,
        stored: StoredHosts,
        *,
        here: bool,
        also: Callable[[], Iterable[tuple[str, str]]],
        visible: Callable[[], bool],
        clock: Clock | None = None,
    ) -> None:
        self._slurm = slurm
        self._queue = queue
        self._nodes = nodes
        self._stored = stored
        self._is_slurm_here = here and slurm.is_available()
        self._also = also
        self._visible = visible
        self._clock = clock or Clock()
        self._hosts: dict[str, HostStatus] = {}
        self._jobs: dict[str, dict[str, JobStatus]] = {}
        self._listeners = Listeners[[]]()
        self._named: set[str] = set()
        self._polling: dict[str, asyncio.Lock] = {}

    async def run(self) -> None:
        """Polls until it is cancelled, soon after the panel was opened."""
        polls: set[asyncio.Task[None]] = set()
        await self.ready()
        try:
            while True:
                # A host may wait for a code that the user types in; the others must not wait for it.
                for host in self._wanted():
                    if not self._is_due(host):
                        continue
                    if not self._visible():
                        await self._store_shared(host)
                    else:
                        poll = tasks.owned(
                            self._poll_logged(host), f"jobs {host}", tasks.only_logged
                        )
                        polls.add(poll)
                        poll.add_done_callback(polls.discard)
                await asyncio.sleep(STEP_S)
        finally:
            for poll in list(polls):
                poll.cancel()
            await asyncio.gather(*polls, return_exceptions=True)

    async def ready(self) -> None:
        """Waits until the list of added hosts is read."""
        await self._stored.ready()

    async def polled_hosts(self) -> list[str]:
        """This machine ("") if it has SLURM, and the hosts that were added."""
        await self.ready()
        return [host for host in self._wanted() if not host or host in self._stored.hosts()]

    async def poll_hosts(self, hosts: Iterable[str]) -> list[JobStatus]:
        """Polls these hosts, also ones that were not added; raises the error if none of them answers."""
        self._named.update(hosts)
        await asyncio.gather(*(self.poll(host) for host in self._named))
        errors = [status.error for host in self._named if (status := self._hosts.get(host))]
        if error := next((e for e in errors if None not in errors), None):
            raise error
        return [status for status in self.all() if status.host in self._named]

    async def poll_clusters(self) -> None:
        """Polls the hosts of jobs that are clusters."""
        hosts = dict.fromkeys(host for host, _ in self._also())
        await asyncio.gather(*(self.poll(host) for host in hosts))

    async def poll_all(self) -> None:
        """Polls all hosts now; `hosts()` has the failures."""
        await self.ready()
        await asyncio.gather(*(self.poll(host) for host in self._wanted()))

    async def poll(self, host: str, max_age_s: float = 0.0) -> None:
        """Polls one host, unless another window did within `max_age_s`; `hosts()` has a failure."""
        async with self._polling.setdefault(host, asyncio.Lock()):
            before = self._hosts.get(host, HostStatus(host))
            if before.state == "asking":
                self._set_host(before)
            try:
                queue = await self._queue.get(host, max_age_s)
            except EaglerayError as error:
                log.info("jobs on %s: %s %s", host or "this machine", error, error.logged)
                self._set_failed(host, error)
                return
            if host in self._wanted():
                self._store(host, queue)
                await self._find_rays(host, at_once=not max_age_s)

    def _store(self, host: str, queue: JobQueue) -> None:
        before = self._jobs.get(host, {})
        self._jobs[host] = {
            job.id: self._merged(host, job, before.get(job.id), queue.at) for job in queue.jobs
        }
        due_at = max(queue.at, self._clock.now() - POLL_S) + jittered(POLL_S)
        self._set_host(HostStatus(host, "ok", None, 0, queue.at, due_at))

    async def _store_shared(self, host: str) -> None:
        """Stores the answer that another window got, without a query; the remaining time decreases in any case."""
        queue = await self._queue.peek(host)
        before = self._hosts.get(host, HostStatus(host))
        if queue is not None and (before.state == "asking" or queue.at > before.at):
            self._store(host, queue)
        due_at = self._clock.now() + jittered(POLL_S)
        self._set_host(evolve(self._hosts.get(host, before), due_at=due_at))

    def _set_failed(self, host: str, error: EaglerayError) -> None:
        now, failures = self._clock.now(), self._hosts.get(host, HostStatus(host)).failures + 1
        due_at = now + jittered(AFTER_FAILURE.wait_s(failures))
        self._set_host(HostStatus(host, "failing", error, failures, now, due_at))

    async def _poll_logged(self, host: str) -> None:
        try:
            await self.poll(host, POLL_S)
        except Exception as error:
            # A failed poll must not end the polling, nor be repeated without a pause.
            log.exception("polling jobs on %s failed", host or "this machine")
            self._set_failed(host, internal(repr(error)))

    def all(self) -> list[JobStatus]:
        """Jobs that are not over, running ones first, by the last polls."""
        every = [status for of_host in self._jobs.values() for status in of_host.values()]
        alive = [status for status in every if status.job.state != "over"]
        return sorted(alive, key=lambda status: (status.job.state != "running", status.host))

    def hosts(self) -> list[HostStatus]:
        """The status of the added hosts."""
        return [self._hosts.get(host, HostStatus(host)) for host in self._stored.hosts()]

    def host(self, host: str) -> HostStatus | None:
        """The status of a host, "" for this machine; None before its first poll."""
        return self._hosts.get(host)

    def job(self, host: str, job: str) -> JobStatus | None:
        """A job by the last poll, also one that is over; None if SLURM did not list it."""
        return self._jobs.get(host, {}).get(job)

    def time_left_s(self, status: JobStatus) -> float | None:
        """The time left now, by the time left when the job was polled."""
        left = status.job.time_left_s
        return None if left is None else max(0.0, left - (self._clock.now() - status.at))

    async def add_host(self, written: str) -> str:
        """Stores a host and polls it; a host that fails is not stored and its error is raised."""
        await self.ready()
        before = self._stored.hosts()
        host = await self._stored.add(written)
        try:
            await self.poll(host)
            status = self._hosts.get(host)
            if status is not None and status.error is not None:
                raise status.error
        except BaseException:
            if host not in before:
                await self.remove_host(host)
            raise
        return host

    async def remove_host(self, host: str) -> None:
        await self._stored.remove(host)
        if host not in self._wanted():
            self._hosts.pop(host, None)
            self._jobs.pop(host, None)
        self._notify()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` after every poll; returns a function that ends that."""
        return self._listeners.add(listener)

    def _wanted(self) -> list[str]:
        here = [""] if self._is_slurm_here else []
        of_clusters = [host for host, _ in self._also()]
        return list(dict.fromkeys([*here, *self._stored.hosts(), *of_clusters, *self._named]))

    def _is_due(self, host: str) -> bool:
        status, polling = self._hosts.get(host), self._polling.get(host)
        if polling is not None and polling.locked():
            return False
        of_cluster = any(host == other for other, _ in self._also())
        if not self._visible() and not of_cluster:
            return False
        if status is None or (status.state == "asking" and not status.due_at):
            return True
        if self._visible() and not status.failures and self._clock.now() - status.at >= 2 * POLL_S:
            # The panel was hidden for long.
            return True
        return self._clock.now() >= status.due_at

    def _merged(self, host: str, job: SlurmJob, before: JobStatus | None, now: float) -> JobStatus:
        same_run = before is not None and before.job.started == job.started
        if before is None or not same_run or job.state != "running":
            return JobStatus(host, job, now)
        return evolve(before, job=job, at=now)

    async def _find_rays(self, host: str, *, at_once: bool) -> None:
        """Queries the nodes of a host's running jobs that aren't clusters yet, all at once."""
        clusters = set(self._also())
        nodes_of: dict[str, list[str]] = {}
        for status in self._jobs[host].values():
            if status.job.state != "running" or (host, status.job.id) in clusters:
                continue
            try:
                nodes = await self._slurm.nodes(host, status.job.nodelist)
            except EaglerayError as error:
                log.info("nodes of job %s: %s %s", status.job.id, error, error.logged)
                continue
            if sum(map(len, nodes_of.values())) + len(nodes) <= MOST_NODES:
                nodes_of[status.job.id] = nodes
        if not any(nodes_of.values()):
            return
        queried = [self._jobs[host][job].job for job in nodes_of]
        try:
            answers = await self._nodes.get(host, queried, nodes_of, 0.0 if at_once else None)
        except EaglerayError as error:
            log.info("nodes on %s: %s %s", host or "this machine", error, error.logged)
            return
        if host not in self._jobs:
            # The host was removed meanwhile.
            return
        before = dict(self._jobs[host])
        taken: set[str] = set()
        # Where two jobs share a node, the smaller job with all of a Ray's nodes is likelier.
        for job, _ in sorted(nodes_of.items(), key=lambda item: len(item[1])):
            head = find_ray(before[job], answers[job], taken)
            self._jobs[host][job] = with_ray(before[job], answers[job], head)
            taken |= {head.node} if head else set()
        if before != self._jobs[host]:
            self._notify()

    def _set_host(self, status: HostStatus) -> None:
        self._hosts[status.host] = status
        self._notify()

    def _notify(self) -> None:
        self._listeners.notify()


async def choices(
    jobs: Jobs, configured: Callable[[], Sequence[ConfiguredHost]] = configured_hosts
) -> Choices:
    """Polls all hosts now and reads the ssh config."""
    await jobs.poll_all()
    hosts = [
        status
        for host in ("", *(added.host for added in jobs.hosts()))
        if (status := jobs.host(host))
    ]
    return Choices(
        jobs=tuple(shown_job(status, jobs) for status in jobs.all()),
        ssh_hosts=tuple(await off_loop(configured)),
        polled_hosts=tuple(status.host for status in jobs.hosts()),
        problems=tuple(ClusterProblem.of(status.error) for status in hosts if status.error),
    )


def shown_job(status: JobStatus, jobs: Jobs) -> Job:
    """The job as the panel shows it now."""
    job = status.job
    is_expected = job.state == "pending" and job.started
    return Job(
        status=status,
        address=status.address,
        sentence=job_sentence(status),
        time_left_s=jobs.time_left_s(status),
        starts_s=max(0.0, job.started - time.time()) if is_expected else None,
    )


def job_sentence(status: JobStatus) -> str:
    """The state of a job besides its name, nodes and time: "Ray 2.60.0", "pending · Priority"."""
    if status.job.state == "pending":
        return " · ".join(filter(None, [t("pending"), status.job.reason]))
    if status.job.state == "ending":
        return t("ending")
    if status.ray == "live":
        return f"Ray {status.ray_version}" if status.ray_version else "Ray"
    return t("no Ray found yet")
