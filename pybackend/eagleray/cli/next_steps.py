"""The next steps of a terminal, for errors whose own next step names a button or command of the editor."""

from __future__ import annotations

import re

# What only a next step for the editor mentions.
_EDITOR = re.compile("“|setting eagleray|the editor|from a window|in a terminal")
_LOG = "Its log may say why: `eagleray workers logs WORKER`."
_VERBOSE = "Run the command again with --verbose to see the details."
_AUTHENTICATION = "Set RAY_AUTH_AUTHENTICATION to the token of the cluster."
_NSYS = "set EAGLERAY_NSYS to your nsys, or run `nsys export --type sqlite` where nsys is and name the .sqlite."

# By code of the error.
STEPS: dict[str, str] = {
    "worker-gone": _LOG,
    "debugger-gone": _LOG,
    "attach-refused": _LOG,
    "worker-taken": "Detach it there, or debug another worker.",
    "worker-unreachable": "Run this command on a machine of the cluster, or name the cluster by ssh://HOST/PORT.",
    "worker-elsewhere": "Attach or run `eagleray workers detach` on that machine.",
    "token-needed": _AUTHENTICATION,
    "token-refused": _AUTHENTICATION,
    "token-expired": _AUTHENTICATION,
    "internal": _VERBOSE,
    "keeper-not-started": _VERBOSE,
    "bad-preset": "Print one that works: `eagleray presets show debug`.",
    "sqlite-without-json": "Set EAGLERAY_PYTHON to a Python whose SQLite is 3.38 or newer.",
    "nsys-missing": f"Install Nsight Systems here, {_NSYS}",
    "nsys-unusable": f"Correct or unset EAGLERAY_NSYS, {_NSYS}",
    "nsys-older": f"Install a newer Nsight Systems, {_NSYS}",
    "job-refused": "Submitting needs the dashboard of a full Ray (`ray[default]`).",
    "job-failed": _VERBOSE,
    "unknown-preset": "List yours: `eagleray presets ls`.",
    "needs-consent": "Add --yes to start it.",
    "stop-needs-consent": "Add --yes to cancel it.",
}


def terminal_step(code: str, next_step: str) -> str:
    """The next step in a terminal."""
    return STEPS.get(code, next_step) if _EDITOR.search(next_step) else next_step
