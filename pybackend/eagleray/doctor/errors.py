"""Errors of a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eagleray.common.errors import EaglerayError, error


# fmt: off
@error("no-logs", "{path} doesn't exist.", "Pass a log file, or a folder with logs.")
def no_such_path(path: Path) -> EaglerayError: ...
@error("no-logs", "No log file is in {path}.", "Pass a folder with logs, such as /tmp/ray/session_latest/logs.")
def no_logs(path: Sequence[Path]) -> EaglerayError: ...
@error("no-logs", "No node of {address} is alive, so no logs can be copied.",
       "Each node keeps them in /tmp/ray/session_latest/logs: diagnose that folder there.")
def no_living_node(address: str) -> EaglerayError: ...
@error("no-logs", "There is nothing to diagnose.", "Specify a run, or files and folders with logs.")
def no_diagnosis_target() -> EaglerayError: ...
@error("no-logs", "Standard input can't be copied to {path}.", "Write it into a file, and name that.")
def no_copy(path: Path, output: str) -> EaglerayError: ...
@error("bad-rules", "{path} has no valid rules: {why}.", "Correct the file, then try again.")
def bad_rules(path: Path, why: str) -> EaglerayError: ...
@error("node-silent", "{python} couldn't check this node.", "It needs Python 3.9 or newer on Linux.")
def node_silent(python: str, output: str) -> EaglerayError: ...
# fmt: on
