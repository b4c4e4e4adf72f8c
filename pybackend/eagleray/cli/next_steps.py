"""The next steps of a terminal, for errors whose own next step doesn't name the command that helps.

The next step of an error is the editor's: it names no `eagleray` command, and the editor adds its buttons by the code of
the error (extension/error_messages.ts). The command line takes the step of this table instead where the code is in it.
"""

from __future__ import annotations

from eagleray.common.doctor_hints import DiagnosedPart, diagnosed_part
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import later, translated

_LOG = later("Its log may say why: `eagleray workers logs WORKER`.")
_PAUSED = later("`eagleray paused` lists paused workers.")
_PDB = later("`eagleray pdb` lists the workers in Ray's pdb.")
_DOWNLOAD = later("`eagleray profile download RUN` continues where it stopped.")
_VERBOSE = later("Run the command again with --verbose to see the details.")
_AUTHENTICATION = later("Set RAY_AUTH_TOKEN to the token of the cluster.")

# By code of the error.
STEPS: dict[str, str] = {
    "ssh-missing": later("Install OpenSSH's client, or set EAGLERAY_SSH to it."),
    "worker-gone": _LOG,
    "attach-refused": _LOG,
    "unknown-worker": _PAUSED,
    "debugger-silent": _PAUSED,
    "worker-taken": later("Detach it there, or debug another worker."),
    "worker-unreachable": later("Run this command in the cluster, or use ssh://HOST/PORT."),
    "worker-elsewhere": later("Attach or run `eagleray workers detach` on that machine."),
    "token-needed": _AUTHENTICATION,
    "token-refused": _AUTHENTICATION,
    "token-expired": _AUTHENTICATION,
    "internal": _VERBOSE,
    "keeper-not-started": _VERBOSE,
    "in-use": later("Detach them first: `eagleray detach --all`."),
    "unknown-cluster": later(
        "`eagleray clusters` lists clusters, `eagleray clusters add ADDRESS` adds one."
    ),
    "not-inspected": later("`eagleray stacks --pids PID` shows its stack."),
    "no-stacks": later("`eagleray doctor FILE` reads the errors in a log."),
    "no-picture": later("Select a file that `eagleray stacks --save` wrote."),
    "no-wave-prompts": later("Name the server of the wave, which has them: `--server NAME`."),
    "needs-unpickle": later("Add --unpickle only if you trust who wrote it."),
    "batch-python-not-started": later("Name the Python of your training with --python."),
    "no-torch": later("Name the Python of your training with --python."),
    "unknown-run": later("`eagleray runs` lists runs."),
    "unknown-server": later("`eagleray serve ls` lists servers."),
    "server-name-taken": later("`eagleray serve stop NAME` stops it. Or use another --name."),
    "run-elsewhere": later("Run `eagleray runs stop RUN` on that machine."),
    "unknown-pdb": _PDB,
    "ambiguous-pdb": _PDB,
    "pdb-refused": _PDB,
    "pdb-not-followed": _PDB,
    "legacy-debugger": later(
        "Open it with `eagleray pdb`, or restart everything with RAY_DEBUG=1."
    ),
    "not-profiled": later("Start one that is: `eagleray profile --workers PATTERN -- COMMAND…`."),
    "nobody-records": later("`eagleray runs` lists the runs and their workers."),
    "no-nsys": later("Install Nsight Systems, or name it with --nsys or EAGLERAY_NSYS."),
    "no-room": later("Free some space, then run `eagleray profile download RUN`."),
    "bad-report": _DOWNLOAD,
    "report-unreachable": _DOWNLOAD,
    "far-folder-failed": _DOWNLOAD,
    "not-gathered": _DOWNLOAD,
    "unknown-preset": later("`eagleray presets` lists presets; `none` changes nothing."),
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


class TerminalError(EaglerayError):
    """An error whose next step is for a terminal, such as a name that the user may have meant."""


# The part that the doctor examines.
_DOCTOR: dict[DiagnosedPart, str] = {
    "cluster": later("`eagleray doctor --cluster URL` may say why."),
    "machine": later("`eagleray doctor --before` checks this machine."),
}


def terminal_step(code: str, next_step: str) -> str:
    """The next step in a terminal; an error that stems from a machine or a cluster leads to the doctor, too."""
    step = translated(STEPS[code]) if code in STEPS else next_step
    part = diagnosed_part(code)
    return f"{step} {translated(_DOCTOR[part])}".strip() if part else step
