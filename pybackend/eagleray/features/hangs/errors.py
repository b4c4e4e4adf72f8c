"""Errors of pictures of hangs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t


def no_processes(pids: Sequence[int]) -> EaglerayError:
    return EaglerayError(
        "no-processes",
        t("None of these processes runs: {pids}.", pids=", ".join(map(str, pids))),
        t("Check the numbers with `ps`."),
    )


def not_inspected(pid: int, reason: str, text: str) -> EaglerayError:
    steps = {
        "ended": t("Check the number with `ps`."),
        "stopped": t("Resume it first, with `kill -CONT {pid}`.", pid=pid),
        "permission": t("Run this as the user of the process, where ptrace is allowed."),
    }
    return EaglerayError(
        "not-inspected",
        t("Can't look into process {pid}: {reason}.", pid=pid, reason=text),
        steps.get(reason, t("Run `eagleray stacks --pids {pid}` for its stack.", pid=pid)),
    )


def no_picture(path: Path, why: str) -> EaglerayError:
    return EaglerayError(
        "no-picture",
        t("Can't read {path}: {why}.", path=printable(str(path)), why=printable(why)),
        t("Select a file that `eagleray stacks --save` wrote."),
    )
