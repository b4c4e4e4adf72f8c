"""Prints JSON for programs; messages about results go to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

from eagleray.cli.next_steps import TerminalError, terminal_step
from eagleray.clusters.model import ClusterProblem
from eagleray.common.errors import EaglerayError, last_line
from eagleray.common.l10n import t


def print_json(value: Any) -> None:
    """Escapes all but ASCII on a terminal: a name from the cluster may contain control sequences."""
    is_utf_8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    json.dump(value, sys.stdout, indent=2, ensure_ascii=sys.stdout.isatty() or not is_utf_8)
    print()


def step_now(error: EaglerayError | ClusterProblem) -> str:
    """Returns the next step for a command that ends, which doesn't retry."""
    own = isinstance(error, TerminalError)
    step = error.next_step if own else terminal_step(error.code, error.next_step)
    return step or (t("Try again later.") if error.retries else "")


def error_text(error: EaglerayError | ClusterProblem) -> str:
    """The error on one line, with the step of a terminal; below it what ssh or SLURM printed."""
    return "\n".join([f"{error.message} {step_now(error)}".rstrip(), *printed_line(error)])


def printed_line(error: EaglerayError | ClusterProblem) -> list[str]:
    """The last line of what a program printed, none where no program failed."""
    return [f"  {last_line(error.output)}"] if error.output else []


def say(message: str) -> None:
    """Prints a message to standard error."""
    print(message, file=sys.stderr, flush=True)
