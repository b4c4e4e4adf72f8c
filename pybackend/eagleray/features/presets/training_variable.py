"""COMMAND: the variable that holds the training line of scripts such as NeMo RL's `ray.sub`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve

from eagleray.features.runs.kinds import script_at
from eagleray.features.runs.model import RunPlan

COMMAND = "COMMAND"
_USE = re.compile(r"\$\{?COMMAND\b")
_LARGEST = 2**20


def with_training_line(plan: RunPlan, environ: Mapping[str, str]) -> RunPlan:
    """The plan with COMMAND of the caller's environment, if its script reads it and the plan does not set it."""
    line = environ.get(COMMAND, "")
    if not line or COMMAND in plan.env or not _USE.search(_script(plan)):
        return plan
    return evolve(plan, env={**plan.env, COMMAND: line})


def _script(plan: RunPlan) -> str:
    name = script_at("script" if plan.kind == "job" else plan.kind, plan.argv)
    file = Path(plan.cwd) / name
    try:
        is_script = bool(name) and file.stat().st_size <= _LARGEST
        return file.read_text("utf-8", "replace") if is_script else ""
    except OSError:
        return ""
