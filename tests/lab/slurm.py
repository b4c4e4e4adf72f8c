"""Jobs of alice in the site's SLURM, with Ray in them or without."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from tests.lab.hosts import SLURM_NODES
from tests.lab.ray import PROGRAMS, LabRay, end_ray, environment
from tests.lab.site import Site
from tests.ray_cluster import wait_for


@dataclass(frozen=True)
class Job:
    """One job; `ray` is the cluster in it, whether it answers yet or not."""

    site: Site
    id: str
    ray: LabRay

    def state(self) -> str:
        """As squeue says it: RUNNING, PENDING, …; "" when it is over."""
        done = self.site.run_as(
            "login", "alice", ["squeue", "-h", "-j", self.id, "-o", "%T"], check=False
        )
        return done.stdout.strip()

    def wait_state(self, *states: str) -> None:
        wait_for(f"job {self.id} {states}", lambda: self.state() in states)

    def wait_ray(self) -> None:
        """Until all its nodes are in the cluster."""
        wait_for("Ray in the job", self._whole, patience_s=300)

    def _whole(self) -> bool:
        return self.ray.answers() and len(self.ray.alive()) == len(self.ray.nodes)

    def control(self, *words: str) -> None:
        self.site.run_as("login", "alice", ["scontrol", *words])

    def requeue(self) -> None:
        self.control("requeue", self.id)
        self.wait_state("PENDING")
        end_leftovers(self.site)

    def requeue_soon(self) -> None:
        """Requeues it, to start again two seconds after its nodes are free.

        A job that starts again in the second in which it was killed fails for good: its node says "already killed, do
        not launch batch job".  That is why SLURM itself waits for `cred_expire`, here ten seconds.
        """
        self.control("requeue", self.id)
        # Its begin time is set once all of it has ended.
        wait_for("the end of its first run", lambda: self._reason() == "BeginTime")
        self.control("update", f"jobid={self.id}", "StartTime=now+2")

    def _reason(self) -> str:
        words = ["squeue", "-h", "-j", self.id, "-o", "%r"]
        return self.site.run_as("login", "alice", words, check=False).stdout.strip()

    def cancel(self) -> None:
        self.site.run_as("login", "alice", ["scancel", self.id], check=False)
        self.wait_state("", "CANCELLED", "COMPLETED", "FAILED", "TIMEOUT")


def submit(
    site: Site,
    *words: str,
    name: str = "ray-cluster",
    nodes: int = 2,
    limit: str = "2:00:00",
    begin: str = "now",
    token: str = "",
) -> Job:
    """sbatch of `words`, of the job that starts Ray if there are none, which wants the `token` if there is one."""
    command = ["sbatch", "--parsable", f"--nodes={nodes}", f"--job-name={name}", f"--time={limit}"]
    command += ["--requeue", "--output=%j.out", f"--begin={begin}"]
    command += ["--wrap", " ".join(words)] if words else [str(PROGRAMS / "job.sh")]
    env = {**environment(token), **({"DASHBOARD_HOST": "127.0.0.1"} if token else {})}
    job = site.run_as("login", "alice", command, env).stdout.strip()
    return Job(site, job, LabRay(site, tuple(sorted(SLURM_NODES)[:nodes]), token))


@contextlib.contextmanager
def submitted(
    site: Site,
    *words: str,
    name: str = "ray-cluster",
    nodes: int = 2,
    limit: str = "2:00:00",
    begin: str = "now",
    token: str = "",
) -> Iterator[Job]:
    """A job that ends with the `with`."""
    job = submit(site, *words, name=name, nodes=nodes, limit=limit, begin=begin, token=token)
    try:
        yield job
    finally:
        job.cancel()
        if not words:
            end_leftovers(site)


def end_leftovers(site: Site) -> None:
    """Ray's daemons outlive their job here, where no control groups reap them."""
    for node in SLURM_NODES:
        end_ray(site, node)
