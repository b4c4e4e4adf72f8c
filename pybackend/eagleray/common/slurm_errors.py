"""Errors of SLURM: its commands, jobs and nodes."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t


def no_slurm(host: str) -> EaglerayError:
    where = printable(host) or "this machine"
    return EaglerayError(
        "no-slurm",
        f"There is no `squeue` on {where}.",
        "Choose the login node of the SLURM cluster.",
    )


def slurm_failed(command: str, output: str) -> EaglerayError:
    """`output` is for the log: SLURM's own messages fill many lines."""
    return EaglerayError(
        "slurm-failed",
        t("Can't reach SLURM: `{command}` failed.", command=printable(command, 40)),
        t("The log has its output."),
        detail=printable(output.strip() or "no reason given", 2_000),
        retries=True,
    )


def no_srun(host: str) -> EaglerayError:
    return EaglerayError(
        "no-srun",
        f"There is no `srun` on {printable(host) or 'this machine'}.",
        "Choose the login node of the SLURM cluster.",
    )


def srun_failed(node: str, output: str) -> EaglerayError:
    return EaglerayError(
        "srun-failed",
        f"`srun` ran nothing on {printable(node)}: {printable(output) or 'it said nothing'}",
        "Try `srun --overlap --jobid JOB -w NODE hostname` in a terminal.",
    )


def job_over(job: str, word: str) -> EaglerayError:
    ends = {
        "CANCELLED": "was cancelled",
        "COMPLETED": "has ended",
        "COMPLETING": "is ending",
        "TIMEOUT": "ran out of time",
        "DEADLINE": "ran out of time",
        "PREEMPTED": "was preempted",
        "NODE_FAIL": "lost a node",
        "BOOT_FAIL": "lost a node",
        "OUT_OF_MEMORY": "ran out of memory",
        "FAILED": "failed",
        "": "is over; SLURM does not know it any more",
    }
    ended = ends.get(word.split(" ")[0], f"is {printable(word, 40)}")
    return EaglerayError(
        "job-over",
        f"Job {printable(job, 40)} {ended}.",
        "Submit it again; remove this cluster when it is not needed any more.",
    )


def job_waits(job: str, why: str, starts: str = "") -> EaglerayError:
    """`starts`: the time at which SLURM expects the job to start, in the user's format."""
    expected = f"; SLURM expects it to start at {starts}" if starts else ""
    return EaglerayError(
        "job-waits",
        f"Job {printable(job, 40)} waits for its nodes{f' ({printable(why, 60)})' if why else ''}{expected}.",
        retries=True,
    )


def job_waits_for_step(job: str) -> EaglerayError:
    return EaglerayError(
        "job-waits-for-step",
        f"SLURM starts no further step in job {printable(job)}.",
        "All its resources are taken, or it is not running yet; ask the site whether `srun --overlap` is allowed.",
    )


def no_ray_in_job(job: str, why: str = "") -> EaglerayError:
    return EaglerayError(
        "no-ray-in-job",
        f"No Ray dashboard of yours was found in job {printable(job, 40)}. {printable(why)}".strip(),
        "Start Ray in it with its dashboard, or add the cluster by its address.",
    )


def ray_not_on_usual_port(job: str) -> EaglerayError:
    return EaglerayError(
        "ray-not-on-usual-port",
        f"No Ray dashboard that is surely yours answers on the usual port of job {printable(job, 40)}.",
        "Select Reconnect to look inside the job. This starts a job step.",
    )


def bridge_needs_click(job: str) -> EaglerayError:
    return EaglerayError(
        "bridge-needs-click",
        f"Job {printable(job, 40)} is only reached through a job step, which has ended.",
        "Select Reconnect to start a new job step.",
    )


def not_surely_yours(job: str, node: str, why: str) -> EaglerayError:
    return EaglerayError(
        "not-surely-yours",
        f"A Ray dashboard answers on {printable(node)}, but whether it is that of job {printable(job, 40)} could not be seen: {printable(why)}",
        "If it is yours, add it by its address.",
    )


def job_not_looked_into(why: str) -> EaglerayError:
    return EaglerayError(
        "job-not-looked-into",
        f"The nodes could not be asked: {printable(why)}",
        "It needs `python3` there, and for a look into a job `srun --overlap`.",
    )


def unknown_node(node: str) -> EaglerayError:
    return EaglerayError(
        "unknown-node",
        f"The cluster has no node “{printable(node, 80)}” that could be found.",
        "It may have left the cluster; refresh the list.",
    )


def node_not_in_job(node: str, job: str) -> EaglerayError:
    return EaglerayError(
        "node-not-in-job",
        f"{printable(node)} is not a node of job {printable(job)}, or no longer.",
        "Refresh the list of jobs.",
    )


def no_python_there(node: str, version: str = "") -> EaglerayError:
    has = f"Python {printable(version)} only" if version else "no `python3`"
    return EaglerayError(
        "no-python",
        f"{printable(node)} has {has}, which carries connections there.",
        "Load a module or environment with Python 3.6 or newer before the job is submitted.",
    )
