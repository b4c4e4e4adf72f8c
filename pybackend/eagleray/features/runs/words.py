"""A plan in words: the exact command, what is asked before it, and the environment beside it."""

from __future__ import annotations

import shlex

from eagleray.common.redact import redact_env
from eagleray.features.runs.plan import RunPlan


def command_text(plan: RunPlan) -> str:
    """The command as a person would type it, without secrets."""
    quoted = {name: shlex.quote(value) for name, value in sorted(plan.env.items())}
    values = [f"{name}={value}" for name, value in redact_env(quoted).items()]
    return " ".join([*values, shlex.join(plan.command)])


def confirm_text(plan: RunPlan) -> str:
    """What the person must say yes to before the start, "" for nothing: SLURM takes nodes for it."""
    if plan.kind != "sbatch":
        return ""
    where = f" on {plan.cluster.removeprefix('ssh://').partition('/')[0]}" if plan.cluster else ""
    return f"In {plan.cwd}{where}: {command_text(plan)}"


def title(plan: RunPlan) -> str:
    """What is started, shortly."""
    where = f" on {plan.cluster}" if plan.cluster else ""
    return f"{plan.name}{where}"
