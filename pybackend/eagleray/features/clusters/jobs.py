"""The person's SLURM jobs, here and on the hosts that they added: which there are, and which hold a live Ray."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from attrs import evolve

from eagleray.common import tasks
from eagleray.common.clock import Clock, SystemClock
from eagleray.common.errors import EaglerayError, internal
from eagleray.common.listeners import Listeners
from eagleray.common.retry import JOB_STATE, Backoff, jittered
from eagleray.features.clusters.seen_jobs import SeenHost, SeenJob, ray_of, with_ray
from eagleray.features.clusters.stored_hosts import StoredHosts
from eagleray.slurm.client import SlurmClient
from eagleray.slurm.jobs import SlurmJob
from eagleray.slurm.nodes import JobNodes
from eagleray.slurm.queue import Queue, SlurmQueue

POLL_S = JOB_STATE.steady_s
STEP_S = 1.0
# So many nodes are asked by themselves whether a Ray answers there; the jobs beyond are only offered.
MOST_NODES = 512
AFTER_FAILURE = Backoff(first_s=POLL_S, longest_s=600.0)

log = logging.getLogger(__name__)


class Jobs:
    """Polls SLURM once a minute while the panel is visible; lives on one event loop.

    Polled are this machine if it has SLURM (`here`), the hosts that the user added, and those of the
    jobs that are clusters (`also`), for their end and their time.  A hidden window polls nothing and takes what the
    visible ones have asked.  A Ray is looked for with plain
    questions to the nodes, never with a step in somebody's job, which accounting would show.
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
        self._here = here and slurm.is_here()
        self._also = also
        self._visible = visible
        self._clock = clock or SystemClock()
        self._hosts: dict[str, SeenHost] = {}
        self._jobs: dict[str, dict[str, SeenJob]] = {}
        self._listeners = Listeners[[]]()
        self._named: set[str] = set()
        self._looking: dict[str, asyncio.Lock] = {}

    async def run(self) -> None:
        """Looks until it is cancelled, soon after the panel was opened."""
        looks: set[asyncio.Task[None]] = set()
        await self.ready()
        try:
            while True:
                # One host may wait for a code that the person is to type in; the others do not wait for it.
                for host in self._wanted():
                    if not self._is_due(host):
                        continue
                    if not self._visible():
                        await self._take_shared(host)
                    else:
                        look = tasks.owned(
                            self._logged_look(host), f"jobs {host}", tasks.only_logged
                        )
                        looks.add(look)
                        look.add_done_callback(looks.discard)
                await asyncio.sleep(STEP_S)
        finally:
            for look in list(looks):
                look.cancel()
            await asyncio.gather(*looks, return_exceptions=True)

    async def ready(self) -> None:
        """Waits until it is known which hosts were added."""
        await self._stored.ready()

    async def known_hosts(self) -> list[str]:
        """This machine ("") if it has SLURM, and the hosts that were added."""
        await self.ready()
        return [host for host in self._wanted() if not host or host in self._stored.hosts()]

    async def look_once(self, hosts: Iterable[str]) -> list[SeenJob]:
        """Asks these hosts, also ones that were not added; raises what went wrong if none of them answers."""
        self._named.update(hosts)
        await asyncio.gather(*(self.look(host) for host in self._named))
        errors = [seen.error for host in self._named if (seen := self._hosts.get(host))]
        if error := next((one for one in errors if None not in errors), None):
            raise error
        return [seen for seen in self.all() if seen.host in self._named]

    async def look_at_clusters(self) -> None:
        """Asks for the jobs that are clusters."""
        hosts = dict.fromkeys(host for host, _ in self._also())
        await asyncio.gather(*(self.look(host) for host in hosts))

    async def look_everywhere(self) -> None:
        """Asks all hosts now; failures stand in `hosts()`."""
        await self.ready()
        await asyncio.gather(*(self.look(host) for host in self._wanted()))

    async def look(self, host: str, max_age_s: float = 0.0) -> None:
        """Asks one host, now unless another window did within `max_age_s`; `hosts()` shows a failure."""
        async with self._looking.setdefault(host, asyncio.Lock()):
            before = self._hosts.get(host, SeenHost(host))
            if before.state == "asking":
                self._set_host(before)
            try:
                queue = await self._queue.get(host, max_age_s)
            except EaglerayError as error:
                log.info("jobs on %s: %s", host or "this machine", error)
                self._set_failed(host, error)
                return
            if host in self._wanted():
                self._take(host, queue)
                await self._look_for_ray(host, at_once=not max_age_s)

    def _take(self, host: str, queue: Queue) -> None:
        known = self._jobs.get(host, {})
        merged = {
            job.id: self._merged(host, job, known.get(job.id), queue.at) for job in queue.jobs
        }
        self._jobs[host] = merged
        due_at = max(queue.at, self._clock.now() - POLL_S) + jittered(POLL_S)
        self._set_host(SeenHost(host, "ok", None, 0, queue.at, due_at))

    async def _take_shared(self, host: str) -> None:
        """The answer that another window got, without asking; the remaining time decreases in any case."""
        queue = await self._queue.peek(host)
        before = self._hosts.get(host, SeenHost(host))
        if queue is not None and (before.state == "asking" or queue.at > before.at):
            self._take(host, queue)
        due_at = self._clock.now() + jittered(POLL_S)
        self._set_host(evolve(self._hosts.get(host, before), due_at=due_at))

    def _set_failed(self, host: str, error: EaglerayError) -> None:
        now, failures = self._clock.now(), self._hosts.get(host, SeenHost(host)).failures + 1
        due_at = now + jittered(AFTER_FAILURE.wait_s(failures))
        self._set_host(SeenHost(host, "failing", error, failures, now, due_at))

    async def _logged_look(self, host: str) -> None:
        try:
            await self.look(host, POLL_S)
        except Exception as error:
            # A fault of one poll must not end all polling, nor be repeated without a pause.
            log.exception("looking for jobs on %s failed", host or "this machine")
            self._set_failed(host, internal(repr(error)))

    def all(self) -> list[SeenJob]:
        """Jobs that are not over, running ones first, as they were seen last; asks nobody."""
        every = [seen for of_host in self._jobs.values() for seen in of_host.values()]
        alive = [seen for seen in every if seen.job.state != "over"]
        return sorted(alive, key=lambda seen: (seen.job.state != "running", seen.host))

    def hosts(self) -> list[SeenHost]:
        """The added hosts and how it went with them."""
        return [self._hosts.get(host, SeenHost(host)) for host in self._stored.hosts()]

    def host(self, host: str) -> SeenHost | None:
        """How asking on a host went, "" for this machine; None before it was asked."""
        return self._hosts.get(host)

    def job(self, host: str, job: str) -> SeenJob | None:
        """A job as it was seen last, also one that is over; None if SLURM did not name it."""
        return self._jobs.get(host, {}).get(job)

    def time_left_s(self, seen: SeenJob) -> float | None:
        """What is left now of what SLURM said then."""
        left = seen.job.time_left_s
        return None if left is None else max(0.0, left - (self._clock.now() - seen.at))

    async def add_host(self, written: str) -> str:
        """Stores a host and asks there; raises what goes wrong, and then it is not stored."""
        await self.ready()
        before = self._stored.hosts()
        host = await self._stored.add(written)
        try:
            await self.look(host)
            seen = self._hosts.get(host)
            if seen is not None and seen.error is not None:
                raise seen.error
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
        self._tell()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` after every look; the answer ends that."""
        return self._listeners.add(listener)

    def _wanted(self) -> list[str]:
        here = [""] if self._here else []
        of_clusters = [host for host, _ in self._also()]
        return list(dict.fromkeys([*here, *self._stored.hosts(), *of_clusters, *self._named]))

    def _is_due(self, host: str) -> bool:
        seen, looking = self._hosts.get(host), self._looking.get(host)
        if looking is not None and looking.locked():
            return False
        of_cluster = any(host == one for one, _ in self._also())
        if not self._visible() and not of_cluster:
            return False
        if seen is None or (seen.state == "asking" and not seen.due_at):
            return True
        if self._visible() and not seen.failures and self._clock.now() - seen.at >= 2 * POLL_S:
            # It was hidden for long.
            return True
        return self._clock.now() >= seen.due_at

    def _merged(self, host: str, job: SlurmJob, before: SeenJob | None, now: float) -> SeenJob:
        same_run = before is not None and before.job.started == job.started
        if before is None or not same_run or job.state != "running":
            return SeenJob(host, job, now)
        return evolve(before, job=job, at=now)

    async def _look_for_ray(self, host: str, *, at_once: bool) -> None:
        """Queries the nodes of a host's running jobs that aren't clusters yet, all at once."""
        clusters = set(self._also())
        nodes_of: dict[str, list[str]] = {}
        for seen in self._jobs[host].values():
            if seen.job.state != "running" or (host, seen.job.id) in clusters:
                continue
            try:
                nodes = await self._slurm.nodes(host, seen.job.nodelist)
            except EaglerayError as error:
                log.info("nodes of job %s: %s", seen.job.id, error)
                continue
            if sum(map(len, nodes_of.values())) + len(nodes) <= MOST_NODES:
                nodes_of[seen.job.id] = nodes
        if not any(nodes_of.values()):
            return
        asked = [self._jobs[host][job].job for job in nodes_of]
        try:
            answers = await self._nodes.get(host, asked, nodes_of, 0.0 if at_once else None)
        except EaglerayError as error:
            log.info("nodes on %s: %s", host or "this machine", error)
            return
        if host not in self._jobs:
            # It was forgotten meanwhile.
            return
        before = dict(self._jobs[host])
        taken: set[str] = set()
        # Of two jobs that share a node the smaller one that has all of a Ray's nodes is the likelier.
        for job, _ in sorted(nodes_of.items(), key=lambda item: len(item[1])):
            found = ray_of(before[job], answers[job], taken)
            self._jobs[host][job] = with_ray(before[job], answers[job], found)
            taken |= {found.node} if found else set()
        if before != self._jobs[host]:
            self._tell()

    def _set_host(self, seen: SeenHost) -> None:
        self._hosts[seen.host] = seen
        self._tell()

    def _tell(self) -> None:
        self._listeners.tell()
