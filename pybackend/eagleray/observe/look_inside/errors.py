"""Errors of inspections."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error
from eagleray.common.l10n import t


def not_inspected(pid: int, reason: str, text: str) -> EaglerayError:
    """`reason` and `text` come from `NotStarted`."""
    code, step = {
        "ended": ("process-ended", t("Check the number with `ps`.")),
        "ended-meanwhile": ("process-ended", t("Look for its exit code and its log.")),
        "stopped": ("process-stopped", t("Resume it first, with `kill -CONT {pid}`.", pid=pid)),
        "permission": (
            "process-not-readable",
            t("Run this as the user of the process, where ptrace is allowed."),
        ),
        "not-python": ("not-python", t("Select a Python process.")),
    }.get(reason, ("not-inspected", t("Sample its stack instead.")))
    message = t("Can't look into process {pid}: {reason}.", pid=pid, reason=text)
    return EaglerayError(code, message, step)


# fmt: off
@error("not-trusted", "This workspace isn't trusted, so no process is inspected.", "Trust the workspace first.")
def not_trusted() -> EaglerayError: ...
@error("process-elsewhere", "Process {pid} runs on {node}, or another user owns it.", "Look inside it on that machine.")
def process_elsewhere(pid: int, node: str) -> EaglerayError: ...
# fmt: on
