"""What is really run, as a text for a diff: one word a line, the environment, a copied script; no secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eagleray.common.redact import HIDDEN, redact_env, redact_text
from eagleray.features.runs.plan import RunPlan
from eagleray.features.runs.presets.copying import shell_quoted

# An option whose name sounds secret, with its value behind it; the second one takes a key, by its name a switch.
_OPTION = re.compile(
    r"(?<![\w.-])(?P<name>--[\w.-]{0,96}(?:key|token|secret|passw|credential)[\w.-]{0,64}|--use_wandb)"
    r"(?P<between>\s+(?:\\\n\s*)?)(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\"-][^\s]*)",
    re.IGNORECASE,
)
_COUNT = re.compile(r"[\d.,eE+-]*")


def effective(plan: RunPlan, script: str = "") -> str:
    """The command, its environment and the script that is run: the plan's copy, else the text `script`."""
    lines = [f"# in {plan.cwd}", *_words(plan.command)]
    lines += ["", "# environment"]
    lines += [
        f"{name}={without_secrets(value)}" for name, value in sorted(redact_env(plan.env).items())
    ]
    lines += ["", f"# Break on Failure: {'on' if plan.post_mortem else 'off'}"]
    if plan.copy_text or script:
        what = f"a copy of {plan.copy_of}, which stays as it is" if plan.copy_text else "as it is"
        lines += ["", f"# the script: {what}"]
        lines += without_secrets(plan.copy_text or script).splitlines()
    return "\n".join(lines) + "\n"


def without_secrets(text: str) -> str:
    """`text` of commands with `…` in place of secrets, those behind an option too."""
    return _OPTION.sub(_hidden, redact_text(text))


def _hidden(found: re.Match[str]) -> str:
    if _COUNT.fullmatch(found["value"]):
        return found[0]
    return f"{found['name']}{found['between']}{HIDDEN}"


def _words(words: Sequence[str]) -> list[str]:
    """One word a line; what is said of two of them holds for the line of both."""
    said = without_secrets("\n".join(shell_quoted(word) for word in words)).split("\n")
    return [("    " if i else "") + line for i, line in enumerate(said)]
