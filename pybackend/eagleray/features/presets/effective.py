"""The effective command as a text for a diff: one word a line, the environment, a copied script; no secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eagleray.common.redact import HIDDEN, redact_env, redact_text, redact_words
from eagleray.features.presets.copying import shell_quoted
from eagleray.features.runs.plan import RunPlan, ScriptCopy

# A variable that holds a command has one option a line, as the command itself.
_OPTION = re.compile(r" (?=--\w|\+{0,2}[\w.]+=)")


def effective(plan: RunPlan, script: str = "", inner: Sequence[ScriptCopy] = ()) -> str:
    """The command, its environment and the scripts that are run: the plan's copies, else `script` and `inner`."""
    lines = [f"# in {plan.cwd}", *_words(plan.command)]
    lines += ["", "# environment"]
    for name, value in sorted(redact_env(plan.env).items()):
        lines += _OPTION.sub("\n    ", f"{name}={value}").splitlines() or [f"{name}="]
    lines += ["", f"# Break on Failure: {'on' if plan.post_mortem else 'off'}"]
    if plan.copy_text or script:
        lines += ["", "# script"]
        lines += redact_text(plan.copy_text or script).splitlines()
    for copy in plan.inner_copies or inner:
        what = "a copy of it, which stays as it is" if plan.inner_copies else "as it is"
        lines += ["", f"# {copy.path}: {what}", *redact_text(copy.text).splitlines()]
    return "\n".join(lines) + "\n"


def _words(words: Sequence[str]) -> list[str]:
    """One word a line."""
    return [("    " if i else "") + _quoted(word) for i, word in enumerate(redact_words(words))]


def _quoted(word: str) -> str:
    """The mark of a redacted value needs no quotes."""
    is_plain = shell_quoted(bare := word.replace(HIDDEN, "_")) == bare
    return word if is_plain else shell_quoted(word)
