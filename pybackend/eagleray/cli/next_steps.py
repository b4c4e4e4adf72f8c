"""The next steps of a terminal, for errors whose own next step names a button or command of the editor."""

from __future__ import annotations

from eagleray.common.l10n import later, translated

_LOG = later("Its log may say why: `eagleray workers logs WORKER`.")
_VERBOSE = later("Run the command again with --verbose to see the details.")
_AUTHENTICATION = later("Set RAY_AUTH_TOKEN to the token of the cluster.")

# By code of the error.
STEPS: dict[str, str] = {
    "worker-gone": _LOG,
    "debugger-gone": _LOG,
    "attach-refused": _LOG,
    "worker-taken": later("Detach it there, or debug another worker."),
    "worker-unreachable": later(
        "Run this command on a machine of the cluster, or name the cluster by ssh://HOST/PORT."
    ),
    "worker-elsewhere": later("Attach or run `eagleray workers detach` on that machine."),
    "token-needed": _AUTHENTICATION,
    "token-refused": _AUTHENTICATION,
    "token-expired": _AUTHENTICATION,
    "internal": _VERBOSE,
    "keeper-not-started": _VERBOSE,
    "bad-preset": later("Print one that works: `eagleray presets show debug`."),
    "sqlite-without-json": later("Set EAGLERAY_PYTHON to a Python whose SQLite is 3.38 or newer."),
    "nsys-missing": later(
        "Install nsys, set EAGLERAY_NSYS, or name what `nsys export --type sqlite` made."
    ),
    "nsys-unusable": later(
        "Correct or unset EAGLERAY_NSYS, or name what `nsys export --type sqlite` made."
    ),
    "nsys-older": later("Install a newer nsys, or name what its `nsys export --type sqlite` made."),
    "job-refused": later("Submitting needs the dashboard of a full Ray (`ray[default]`)."),
    "job-failed": _VERBOSE,
    "untrusted-workspace": later("Run the command in a folder that you trust."),
    "needs-consent": later("Add --yes to start it."),
    "stop-needs-consent": later("Add --yes to cancel it."),
}


def terminal_step(code: str, next_step: str) -> str:
    """The next step in a terminal."""
    return translated(STEPS[code]) if code in STEPS else next_step
