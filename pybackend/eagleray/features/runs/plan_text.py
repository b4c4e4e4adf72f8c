"""A plan as text: its command with and without secrets, and the question before its start."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from eagleray.common.redact import HIDDEN, redact_env, redact_text, redact_words
from eagleray.features.runs.model import RunPlan


def command_text(plan: RunPlan) -> str:
    """The command as you would type it, with secrets redacted: for views, messages, logs and the terminal."""
    values = [_assigned(name, value) for name, value in sorted(redact_env(plan.env).items())]
    return " ".join([*values, quoted(redact_words(plan.command))])


def exact_command(plan: RunPlan) -> str:
    """The command with its secrets, for the clipboard alone."""
    values = [f"{name}={shlex.quote(value)}" for name, value in sorted(plan.env.items())]
    return " ".join([*values, shlex.join(plan.command)])


def confirm_text(plan: RunPlan) -> str:
    """The question before the start, "" for none: only SLURM allocates nodes for a run."""
    if plan.kind != "sbatch":
        return ""
    where = f" on {plan.cluster.removeprefix('ssh://').partition('/')[0]}" if plan.cluster else ""
    return f"In {plan.cwd}{where}: {command_text(plan)}"


def title(plan: RunPlan) -> str:
    """A short title for progress messages."""
    where = f" on {plan.cluster}" if plan.cluster else ""
    return f"{redact_text(plan.name)}{where}"


def quoted(arguments: Sequence[str]) -> str:
    """Redacted arguments quoted for a shell; the mark of a redacted value needs no quotes."""
    return " ".join(map(_quoted, arguments))


def _quoted(word: str) -> str:
    is_plain = shlex.quote(bare := word.replace(HIDDEN, "_")) == bare
    return word if is_plain else shlex.quote(word)


def _assigned(name: str, value: str) -> str:
    return f"{name}={_quoted(value)}"
