"""What is really run, as a text for a diff: one word a line, the environment, a copied script; no secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eagleray.common.redact import HIDDEN, SECRET_NAME, redact_env, redact_text
from eagleray.features.runs.plan import RunPlan
from eagleray.features.runs.presets.copying import shell_quoted

_COUNT = re.compile(r"[\d.,eE+-]*")


def effective(plan: RunPlan, script: str = "") -> str:
    """The command, its environment and the script that is run: the plan's copy, else the text `script`."""
    lines = [f"# in {plan.cwd}", *_words(plan.command)]
    lines += ["", "# environment"]
    lines += [
        f"{name}={redact_text(value)}" for name, value in sorted(redact_env(plan.env).items())
    ]
    lines += ["", f"# Break on Failure: {'on' if plan.post_mortem else 'off'}"]
    if plan.copy_text or script:
        what = f"a copy of {plan.copy_of}, which stays as it is" if plan.copy_text else "as it is"
        lines += ["", f"# the script: {what}"]
        lines += redact_text(plan.copy_text or script).splitlines()
    return "\n".join(lines) + "\n"


def _words(words: Sequence[str]) -> list[str]:
    said: list[str] = []
    for i, word in enumerate(words):
        secret = i > 0 and words[i - 1].startswith("-") and "=" not in words[i - 1]
        if secret and SECRET_NAME.search(words[i - 1]) and not _COUNT.fullmatch(word):
            said.append("    " + HIDDEN)
        else:
            said.append(("    " if i else "") + redact_text(shell_quoted(word)))
    return said
