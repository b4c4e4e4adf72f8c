"""Errors that stem from a machine or a cluster: by their code, what the doctor is asked about them.

The editor adds a button to their messages (extension/error_messages.ts), a terminal the command (cli/next_steps.py).
Errors of ssh are not among them: ssh itself says why, in the SSH log.
"""

from __future__ import annotations

from typing import Literal

# "machine": the checks of this machine, where a cluster can't be asked, or isn't part of the trouble.
DiagnosedPart = Literal["cluster", "machine"]

CLUSTER_CODES = frozenset(
    {
        # Workers and their debuggers.
        *("worker-gone", "worker-unreachable", "worker-silent", "node-gone"),
        *("debugger-gone", "debugger-silent", "attach-refused", "not-a-debugger"),
        *("gate-left", "gate-silent", "gate-refused", "pdb-silent", "pdb-not-followed"),
        # Jobs, and what the dashboard answers.
        *("job-failed", "job-refused", "job-unfinished", "no-gcs"),
        *("dashboard-failed", "dashboard-busy", "protobuf-breaks-api"),
        # Nodes that profiles and stacks are collected from.
        *("hosts-silent", "unreadable-answer", "no-workers", "nobody-records"),
        *("gathering-failed", "report-unreachable", "copy-not-there"),
    }
)
MACHINE_CODES = frozenset(
    {
        # Connections.
        *("cluster-unreachable", "no-clusters", "no-cluster", "link-lost", "proxy-refused"),
        *("port-refused", "port-silent", "port-taken", "server-port-taken"),
        # Processes that Eagleray starts here.
        *("adapter-not-started", "adapter-stuck", "keeper-not-started"),
        *("server-failed", "no-room", "folder-not-made"),
        # Programs that are missing, and processes that can't be read.
        *("no-nsys", "nsys-missing", "nsys-unusable", "no-ray", "no-python-here"),
        *("python-silent", "other-python", "process-not-readable"),
    }
)


def diagnosed_part(code: str) -> DiagnosedPart | None:
    """Returns the part to diagnose after an error with this code; None if the error explains itself."""
    if code in CLUSTER_CODES:
        return "cluster"
    return "machine" if code in MACHINE_CODES else None
