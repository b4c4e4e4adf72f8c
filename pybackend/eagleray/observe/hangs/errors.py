"""Errors of pictures of hangs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t


# fmt: off
@error("no-processes", "No process {pids}.", "Check the numbers with `ps`.")
def no_processes(pids: Sequence[int]) -> EaglerayError: ...
@error("no-processes", "None of your Python processes runs in job {job}.",
       "Check its output. It may not have started its program.")
def nothing_in_job(job: str) -> EaglerayError: ...
@error("python-too-old", "`python3` there is {version}; sampling needs 3.9.",
       "Run your program with Python 3.9 or newer.")
def python_too_old(version: str) -> EaglerayError: ...
@error("no-picture", "Can't read {path}: {why}.", "Select a saved picture of stacks.")
def no_picture(path: Path, why: str) -> EaglerayError: ...
@error("no-workers", "No running worker of {address} matches “{text}”.", "Check the name in the list of workers.")
def no_workers(address: str, text: str) -> EaglerayError: ...
@error("no-longer-paused", "These workers are no longer paused.", "Take a new picture of their cluster.")
def no_longer_paused() -> EaglerayError: ...
@error("picture-not-saved", "Can't write {path}: {why}.", "Save it in another folder.")
def not_saved(path: Path, why: str) -> EaglerayError: ...
@error("no-target", "Nothing to sample.", "Select a cluster, a run, or processes.")
def no_target() -> EaglerayError: ...
@error("unreadable-answer", "The stacks of {address} arrived damaged.", "Take the picture again.")
def unreadable_answer(address: str, output: str = "") -> EaglerayError: ...
@error("no-ras", "“{text}” is not an address.", "Write {forms}.")
def no_ras_address(text: str, forms: str = "HOST:PORT, such as localhost:28028") -> EaglerayError: ...
@error("no-slurm-job", "“{text}” is not a SLURM job.", "Write {forms}.")
def no_slurm_job(text: str, forms: str = "JOB, slurm://JOB or ssh://HOST/slurm://JOB") -> EaglerayError: ...
@error("hosts-silent", "{host} sent no stacks.", "It needs Python 3.9 or newer as `python3`.")
def hosts_silent(host: str, output: str) -> EaglerayError:
    """None of the hosts has answered; `host` is the first of them."""
@error("no-processes", "None of your Python processes on {hosts} has “{text}” in its command.",
       "Check their commands with `ps -ef`.")
def no_commands_on(hosts: Sequence[str], text: str) -> EaglerayError: ...
@error("no-processes", "None of your ranks runs on {hosts}.", "Ranks have RANK and MASTER_PORT in their environment.")
def no_ranks_on(hosts: Sequence[str]) -> EaglerayError: ...
@error("run-over", "The run has ended.", "Sample a run that is running.")
def run_over() -> EaglerayError: ...
@error("run-not-sampled", "The run has no cluster yet, and no program on this machine.",
       "Connect to its cluster, and sample that.")
def run_not_sampled() -> EaglerayError: ...
# fmt: on


def no_ras(address: str, reasons: Sequence[str]) -> EaglerayError:
    """RAS that doesn't listen, or whose process is stopped; what answers otherwise isn't RAS."""
    if "timeout" in reasons:
        text = t("NCCL at {address} didn't answer in time.", address=printable(address, 80))
        return EaglerayError("no-ras", text, t("Check whether a process there is stopped."))
    if "unreadable" in reasons:
        text = t("What listens at {address} is not NCCL.", address=printable(address, 80))
        return EaglerayError("no-ras", text, t("Check `NCCL_RAS_ADDR` of your program."))
    return EaglerayError(
        "no-ras",
        t("No NCCL listens at {address}.", address=printable(address, 80)),
        t("It needs NCCL 2.24 or newer, without `NCCL_RAS_ENABLE=0`."),
    )


def no_stacks(paths: Sequence[str], unread: Sequence[tuple[str, str]]) -> EaglerayError:
    named = ", ".join(path for path in paths[:3] if path != "-")
    sentence = (
        t("No stacks are in {path}.", path=printable(named))
        if named
        else t("No stacks are in the text.")
    )
    reasons = "".join(f" {printable(name)}: {printable(why)}." for name, why in unread[:3])
    return EaglerayError(
        "no-stacks",
        sentence + reasons,
        t(
            "Eagleray reads dumps of py-spy, faulthandler, PyStack and py-bt, also in logs."
            " It also reads flight recorders and the watchdog's lines of PyTorch."
        ),
    )
