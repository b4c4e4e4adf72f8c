"""SLURM's commands on this machine or a login node: lists jobs, finds Ray dashboards in a job, reaches its nodes.

No output is trusted: names and lists are data of a job's submitter, and every argument of a command is checked.
"""

from __future__ import annotations

import secrets
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve, frozen

from eagleray.common.errors import printable
from eagleray.common.slurm_errors import job_not_looked_into, no_slurm, slurm_failed
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.slurm import hostlist
from eagleray.slurm.jobs import EXCLUSIVE, SESSIONS, SlurmJob, jobs_alone, parse_jobs, squeue_format
from eagleray.tools.commands import EXIT_NO_COMMAND, Commands, run_remote_script

USUAL_PORT = 8265
SQUEUE_S = 20.0
ASK_S = 30.0
SRUN_S = 25

# Variables with which a user's profile changes the output of squeue.
_SETTINGS = (
    "SQUEUE_ACCOUNT", "SQUEUE_ALL", "SQUEUE_ARRAY", "SQUEUE_FEDERATION", "SQUEUE_FORMAT",
    "SQUEUE_FORMAT2", "SQUEUE_LICENSES", "SQUEUE_LOCAL", "SQUEUE_NAMES", "SQUEUE_PARTITION",
    "SQUEUE_PRIORITY", "SQUEUE_QOS", "SQUEUE_SIBLING", "SQUEUE_SORT", "SQUEUE_STATES",
    "SQUEUE_USERS",
)  # fmt: skip
# Variables of an allocation in which we run, which must not affect steps of other jobs.
_STEP_SETTINGS = (
    "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_NNODES", "SLURM_NPROCS", "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE", "SLURM_STEP_ID", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_OVERLAP",
    "SLURM_DISTRIBUTION", "SLURM_WORKING_DIR",
)  # fmt: skip
# No user can answer questions, and hosts unknown to the login node are rejected.
_SSH = (
    "ssh",
    *("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=10"),
    *("-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes"),
)


@frozen
class NodeAnswer:
    """The answer of a job's node on Ray's usual port; `ips` are the nodes of the Ray that answered.

    `answer`: "ray", "other", "refused", "silent" or "unknown" (no such name exists).
    """

    node: str
    answer: str
    addresses: tuple[str, ...]
    session: str = ""
    ray: str = ""
    ips: tuple[str, ...] = ()


@frozen
class JobDashboard:
    """A dashboard of this user that was found from inside a node of the job."""

    node: str
    address: str
    port: int
    session: str
    started: int


class SlurmClient:
    """Runs SLURM's commands on one event loop; `ssh` is the destination, "" for this machine."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def is_available(self) -> bool:
        """Whether this machine has SLURM's commands."""
        return shutil.which("squeue") is not None

    async def jobs(self, ssh: str, before: Sequence[SlurmJob] = ()) -> list[SlurmJob]:
        """Returns the user's jobs, also those that ended a while ago.

        `before` are the jobs of an earlier answer: what was checked of them isn't asked again.
        """
        mark = secrets.token_hex(8)
        query = ["--me", "-r", "-t", "all"]
        ran = await self._squeue(ssh, [*query, "-o", squeue_format(mark)])
        if ran.code != 0:
            raise slurm_failed("squeue", ran.stderr)
        try:
            jobs = parse_jobs(ran.stdout, mark)
        except ValueError as error:
            raise slurm_failed("squeue", str(error)) from error
        return await self._surely_exclusive(ssh, query, jobs, before)

    async def job_of_session(self, session: int) -> str:
        """The running job of this user that a session of this machine has submitted, as `srun` does; "" without one."""
        ran = await self._squeue("", ["--me", "-h", "-t", "RUNNING", "-O", SESSIONS])
        if ran.code != 0:
            raise slurm_failed("squeue", ran.stderr)
        rows = (line.split() for line in ran.stdout.splitlines())
        jobs = [row[0] for row in rows if len(row) == 2 and row[1] == str(session)]
        # Sessions of two login nodes may have the same number.
        return jobs[0] if len(jobs) == 1 and jobs[0].isdigit() else ""

    async def nodes(self, ssh: str, nodelist: str) -> list[str]:
        """Returns the names of the nodes of a list; asks `scontrol` for forms that we can't expand."""
        try:
            return hostlist.expand(nodelist)
        except ValueError:
            if nodelist.startswith("-"):
                return []
        ran = await self._commands.run(
            ssh, ["scontrol", "show", "hostnames", nodelist], "", SQUEUE_S
        )
        names = ran.stdout.split() if ran.code == 0 else []
        try:
            return hostlist.expand(",".join(names))
        except ValueError as error:
            raise slurm_failed("scontrol", str(error)) from error

    async def ask_nodes(self, ssh: str, nodes: Sequence[str]) -> list[NodeAnswer]:
        """Asks all nodes at once on Ray's usual port, from the host on which SLURM's commands run."""
        python = "python3" if ssh else sys.executable
        values = await self._script(
            ssh, "ask_nodes", [python], [str(USUAL_PORT), *nodes], limit_s=ASK_S
        )
        rows = values[0] if values and isinstance(values[0], list) else []
        return [answer for row in rows if (answer := _node_answer(row))]

    async def find_dashboards(self, ssh: str, job: str, nodes: Sequence[str]) -> list[JobDashboard]:
        """Finds this user's dashboards in a job, by one step on its nodes."""
        checked(RouteSpec(job=job, node=nodes[0]))
        step = [*step_of(job, nodes), "python3"]
        values = await self._script(ssh, "find_dashboards", step, [job], limit_s=SRUN_S + 5)
        return [dashboard for value in values for dashboard in _dashboards(value, nodes)]

    async def _surely_exclusive(
        self,
        ssh: str,
        query: Sequence[str],
        jobs: list[SlurmJob],
        before: Sequence[SlurmJob],
    ) -> list[SlurmJob]:
        """Returns `jobs`; exclusive are only those that a newer SLURM, too, lists as having their nodes alone.

        Only running jobs are checked, each once: a second `squeue` is one more query for the controller.
        """
        checked_before = {(job.id, job.started): job.exclusive for job in before if job.checked}
        claimed = [job for job in jobs if job.exclusive and job.nodelist]
        alone, checked = (
            {job.id for job in claimed if checked_before.get((job.id, job.started))},
            True,
        )
        if any((job.id, job.started) not in checked_before for job in claimed):
            ran = await self._squeue(ssh, [*query, "-h", "-O", EXCLUSIVE])
            checked = ran.code == 0
            alone = jobs_alone(ran.stdout) if checked else set()
        ids = {job.id for job in claimed} if checked else set()
        return [evolve(job, exclusive=job.id in alone, checked=job.id in ids) for job in jobs]

    async def _squeue(self, ssh: str, query: Sequence[str]) -> CommandOutput:
        unset = [part for name in _SETTINGS for part in ("-u", name)]
        plain = ["env", *unset, "LC_ALL=C", "SLURM_TIME_FORMAT=%s", "squeue", *query]
        ran = await self._commands.run(ssh, plain, "", SQUEUE_S)
        if ran.code == EXIT_NO_COMMAND:
            raise no_slurm(ssh)
        return ran

    async def _script(
        self, ssh: str, name: str, before: Sequence[str], arguments: Sequence[str], limit_s: float
    ) -> list[Any]:
        """Returns the values that a script of `remote/scripts` prints; raises `job-not-looked-into` if there are none."""
        values, output = await run_remote_script(
            self._commands, ssh, name, before, arguments, limit_s
        )
        if not values:
            raise job_not_looked_into(output)
        return values


def step_of(job: str, nodes: Sequence[str], limit_s: int = SRUN_S) -> list[str]:
    """Returns the arguments before a command that runs once on each of these nodes of a job."""
    return [
        *("timeout", str(limit_s), "env", *(f"-u{name}" for name in _STEP_SETTINGS)),
        *("srun", "--overlap", "--quiet", f"--jobid={job}", f"--nodelist={','.join(nodes)}"),
        *(f"--nodes={len(nodes)}", f"--ntasks={len(nodes)}", "--ntasks-per-node=1"),
        *("--kill-on-bad-exit=0", "--mpi=none", "--chdir=/"),
    ]


def _node_answer(row: Any) -> NodeAnswer | None:
    if not isinstance(row, dict) or not isinstance(row.get("node"), str):
        return None
    return NodeAnswer(
        node=row["node"],
        answer=str(row.get("said")),
        addresses=_texts(row.get("addresses")),
        session=printable(str(row.get("session", "")), 120),
        ray=printable(str(row.get("ray", "")), 40),
        ips=_texts(row.get("ips")),
    )


def _dashboards(value: Any, nodes: Sequence[str]) -> list[JobDashboard]:
    rows = value.get("found") if isinstance(value, dict) else None
    if not isinstance(rows, list) or value.get("node") not in nodes:
        return []
    dashboards = []
    for row in rows:
        port = row.get("port") if isinstance(row, dict) else None
        if isinstance(port, int) and 0 < port < 2**16:
            dashboards.append(
                JobDashboard(
                    node=value["node"],
                    address=str(row.get("address", "")),
                    port=port,
                    session=printable(str(row.get("session", "")), 120),
                    started=row["started"] if isinstance(row.get("started"), int) else 0,
                )
            )
    return dashboards


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


WrapCommand = Callable[[list[str]], list[str]]


def on_node(route: RouteSpec, host: str) -> WrapCommand:
    """Returns a function that wraps a command for the end of the route's ssh; raises `bad-route` for an invalid host."""
    node = checked(RouteSpec(job=route.job or "1", node=host)).node
    if route.job:
        return lambda command: [*step_of(route.job, [node.partition(".")[0]]), *command]
    # ssh joins its arguments for a shell.
    return lambda command: [*_SSH, node, shlex.join(command)]
