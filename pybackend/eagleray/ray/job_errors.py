"""Errors of Ray's job API: what was submitted, and what became of it."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


def job_refused(address: str, said: str) -> EaglerayError:
    """`said` is what the dashboard answered: often a traceback, the last line of which says why."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return EaglerayError(
        "job-refused",
        f"{printable(address)} did not take the job: {printable(lines[-1]) if lines else 'no reason given'}",
        "Submitting needs the dashboard of a full Ray (`ray[default]`); “Show Logs” has all that it said.",
        printable(said, 4000),
    )


def no_job(address: str, job: str) -> EaglerayError:
    return EaglerayError(
        "no-job",
        f"{printable(address)} knows no job {printable(job)}.",
        "It may have been deleted, or the cluster was started anew.",
    )


def job_unfinished(address: str, what: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "job-unfinished",
        f"The job for {what} did not end within {seconds:g} s on {printable(address)}.",
        "The head may be busy; try again.",
    )


def job_failed(address: str, what: str, why: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "job-failed",
        f"The job for {what} failed on {printable(address)}: {printable(why) or 'no reason given'}",
        "“Show Logs” has what it wrote.",
        printable(detail, 4000),
    )
