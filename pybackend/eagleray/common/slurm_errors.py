"""Errors of SLURM: its commands, jobs and nodes."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import later, t, translated


def no_slurm(host: str) -> EaglerayError:
    return _not_installed("no-slurm", "squeue", host)


# fmt: off
@error("slurm-failed", "Can't reach SLURM: `{command}` failed.",
       "Check that `{command}` works in a terminal.", retries=True)
def slurm_failed(command: str, output: str) -> EaglerayError: ...
@error("srun-failed", "Can't start a job step on {node}: `srun` failed.",
       "Try `srun --overlap --jobid JOB -w NODE hostname` in a terminal.")
def srun_failed(node: str, output: str) -> EaglerayError: ...
@error("job-waits-for-step", "SLURM doesn't start another step in job {job}.",
       "It may be pending or full. Ask your administrators about `srun --overlap`.")
def job_waits_for_step(job: str) -> EaglerayError: ...
@error("no-ray-in-job", "Job {job} has no Ray dashboard.", "Start Ray with a dashboard in it, or connect by address.")
def no_ray_in_job(job: str) -> EaglerayError: ...
@error("ray-not-on-usual-port", "Your dashboard doesn't listen on the usual port of job {job}.",
       "Select Reconnect to look inside the job. This starts a job step.")
def ray_not_on_usual_port(job: str) -> EaglerayError: ...
@error("bridge-needs-click", "The job step that connected to job {job} has ended.",
       "Select Reconnect to start a new job step.")
def bridge_needs_click(job: str) -> EaglerayError: ...
@error("job-not-looked-into", "Can't query the nodes of the job.",
       "The nodes need `python3`, and the job `srun --overlap`.")
def job_not_looked_into(output: str) -> EaglerayError: ...
@error("unknown-node", "The cluster has no node “{node}”.", "It may have left the cluster. Refresh the list.")
def unknown_node(node: str) -> EaglerayError: ...
@error("node-not-in-job", "{node} is not a node of job {job}.", "Refresh the list of jobs.")
def node_not_in_job(node: str, job: str) -> EaglerayError: ...
@error("not-surely-yours", "The dashboard on {node} may not belong to job {job}.",
       "If it is yours, connect to it by its address.")
def not_surely_yours(job: str, node: str, output: str) -> EaglerayError: ...
@error("no-ray-in-job", "Can't find out whether job {job} has a Ray dashboard.")
def job_not_searched(job: str, next_step: str, output: str) -> EaglerayError: ...
# fmt: on


def no_srun(host: str) -> EaglerayError:
    return _not_installed("no-srun", "srun", host)


def _not_installed(code: str, command: str, host: str) -> EaglerayError:
    """`host` is "" for this machine."""
    message = (
        t("{host} has no `{command}`.", host=printable(host), command=command)
        if host
        else t("This machine has no `{command}`.", command=command)
    )
    return EaglerayError(code, message, t("Add the login node of the SLURM cluster."))


# By the state of a job.
_ENDS = {
    "CANCELLED": later("Job {job} was cancelled."),
    "COMPLETED": later("Job {job} has ended."),
    "COMPLETING": later("Job {job} is ending."),
    "TIMEOUT": later("Job {job} reached its time limit."),
    "DEADLINE": later("Job {job} reached its time limit."),
    "PREEMPTED": later("Job {job} was preempted."),
    "NODE_FAIL": later("Job {job} lost a node."),
    "BOOT_FAIL": later("Job {job} lost a node."),
    "OUT_OF_MEMORY": later("Job {job} ran out of memory."),
    "FAILED": later("Job {job} failed."),
    "": later("Job {job} has ended, and SLURM no longer lists it."),
}


def job_over(job: str, word: str) -> EaglerayError:
    ended = _ENDS.get(word.split(" ")[0], later("Job {job} is {state}."))
    return EaglerayError(
        "job-over",
        translated(ended, job=printable(job, 40), state=printable(word, 40)),
        t("Submit it again, or remove this cluster."),
    )


def job_waits(job: str, why: str, starts: str = "") -> EaglerayError:
    """`starts`: the time at which SLURM expects the job to start, in the user's format."""
    expected = t(", starts at {time}", time=starts) if starts else ""
    return EaglerayError(
        "job-waits",
        t(
            "Job {job} is pending{why}{expected}.",
            job=printable(job, 40),
            why=f" ({printable(why, 60)})" if why else "",
            expected=expected,
        ),
        retries=True,
    )


def no_python_there(node: str, version: str = "") -> EaglerayError:
    has = t("only Python {version}", version=printable(version)) if version else t("no `python3`")
    return EaglerayError(
        "no-python",
        t(
            "{node} has {has}, but connections need Python 3.6 or newer.",
            node=printable(node),
            has=has,
        ),
        t("Load a newer Python before you submit the job."),
    )
