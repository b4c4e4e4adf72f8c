"""Errors of a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t


def no_such_path(path: Path) -> EaglerayError:
    return EaglerayError(
        "no-logs",
        t("{path} doesn't exist.", path=printable(str(path))),
        t("Name log files or folders with logs."),
    )


def no_logs(paths: Sequence[Path]) -> EaglerayError:
    return EaglerayError(
        "no-logs",
        t("No log file is in {path}.", path=printable(", ".join(map(str, paths)))),
        t("Ray writes its logs to /tmp/ray/session_latest/logs."),
    )


def no_living_node(address: str) -> EaglerayError:
    return EaglerayError(
        "no-logs",
        t("No node of {address} is alive, so no logs can be copied.", address=printable(address)),
        t("Each node keeps them in /tmp/ray/session_latest/logs: diagnose that folder there."),
    )


def no_diagnosis_target() -> EaglerayError:
    return EaglerayError(
        "no-logs",
        t("There is nothing to diagnose."),
        t("Specify a run, or files and folders with logs."),
    )


def no_copy(folder: Path, reason: str) -> EaglerayError:
    return EaglerayError(
        "no-logs",
        t("Standard input can't be copied to {path}.", path=printable(str(folder))),
        t("Write it into a file, and name that."),
        output=reason,
    )


def bad_rules(path: Path, why: str) -> EaglerayError:
    return EaglerayError(
        "bad-rules",
        t("{path} has no valid rules: {why}.", path=printable(str(path)), why=printable(why)),
        t("Correct the file, then try again."),
    )


def node_silent(python: str, output: str) -> EaglerayError:
    return EaglerayError(
        "node-silent",
        t("{python} couldn't check this node.", python=printable(python)),
        t("It needs Python 3.9 or newer on Linux."),
        output=output,
    )
