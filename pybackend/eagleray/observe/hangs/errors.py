"""Errors of pictures of hangs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.observe.hangs.model import SilentNode


def no_processes(pids: Sequence[int]) -> EaglerayError:
    return EaglerayError(
        "no-processes",
        t("None of these processes runs: {pids}.", pids=", ".join(map(str, pids))),
        t("Check the numbers with `ps`."),
    )


def no_ras_address(written: str) -> EaglerayError:
    return EaglerayError(
        "no-ras",
        t("“{text}” is not an address.", text=printable(written, 80)),
        t("Write {forms}.", forms="HOST:PORT, such as localhost:28028"),
    )


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


def no_slurm_job(written: str) -> EaglerayError:
    return EaglerayError(
        "no-slurm-job",
        t("“{text}” is not a SLURM job.", text=printable(written, 80)),
        t("Write {forms}.", forms="JOB, slurm://JOB or ssh://HOST/slurm://JOB"),
    )


def nothing_in_job(job: str) -> EaglerayError:
    return EaglerayError(
        "no-processes",
        t("None of your Python processes runs in job {job}.", job=printable(job, 40)),
        t("Check its output. It may not have started its program."),
    )


def python_too_old(version: str) -> EaglerayError:
    return EaglerayError(
        "python-too-old",
        t("`python3` there is {version}; sampling needs 3.9.", version=printable(version, 40)),
        t("Run your program with Python 3.9 or newer."),
    )


def no_ranks_on(hosts: Sequence[str], matching: str) -> EaglerayError:
    if matching:
        return EaglerayError(
            "no-processes",
            t(
                "None of your Python processes on {hosts} has “{text}” in its command.",
                hosts=printable(", ".join(hosts), 200),
                text=printable(matching, 80),
            ),
            t("Check their commands with `ps -ef`."),
        )
    return EaglerayError(
        "no-processes",
        t("None of your ranks runs on {hosts}.", hosts=printable(", ".join(hosts), 200)),
        t("Ranks have RANK and MASTER_PORT in their environment."),
    )


def hosts_silent(node: SilentNode) -> EaglerayError:
    """None of the hosts has answered; `node` is the first of them."""
    return EaglerayError(
        "hosts-silent",
        t("{host} sent no stacks.", host=printable(node.node)),
        t("It needs Python 3.9 or newer as `python3`."),
        output=node.detail,
    )


def no_picture(path: Path, why: str) -> EaglerayError:
    return EaglerayError(
        "no-picture",
        t("Can't read {path}: {why}.", path=printable(str(path)), why=printable(why)),
        t("Select a saved picture of stacks."),
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


def no_workers(address: str, written: str) -> EaglerayError:
    return EaglerayError(
        "no-workers",
        t(
            "No running worker of {address} matches “{text}”.",
            address=printable(address),
            text=printable(written, 80),
        ),
        t("Check the name in the list of workers."),
    )


def no_longer_paused() -> EaglerayError:
    return EaglerayError(
        "no-longer-paused",
        t("These workers are no longer paused."),
        t("Take a new picture of their cluster."),
    )


def not_saved(path: Path, why: str) -> EaglerayError:
    return EaglerayError(
        "picture-not-saved",
        t("Can't write {path}: {why}.", path=printable(str(path)), why=printable(why)),
        t("Save it in another folder."),
    )


def no_target() -> EaglerayError:
    return EaglerayError(
        "no-target", t("Nothing to sample."), t("Select a cluster, a run, or processes.")
    )


def run_not_sampled(is_over: bool) -> EaglerayError:
    if is_over:
        return EaglerayError(
            "run-over", t("The run has ended."), t("Sample a run that is running.")
        )
    return EaglerayError(
        "run-not-sampled",
        t("The run has no cluster yet, and no program on this machine."),
        t("Connect to its cluster, and sample that."),
    )


def unreadable_answer(address: str, why: str = "") -> EaglerayError:
    return EaglerayError(
        "unreadable-answer",
        t("The stacks of {address} arrived damaged.", address=printable(address)),
        t("Take the picture again."),
        output=why,
    )
