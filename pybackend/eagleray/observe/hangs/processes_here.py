"""Lists the Python processes of this user on this machine, from which the user selects those that are stuck."""

from __future__ import annotations

import time

from eagleray.common.errors import printable
from eagleray.common.redact import redact_arguments
from eagleray.observe.hangs.messages import CandidateProcess
from eagleray.remote.sampling import proc
from eagleray.remote.sampling.job_processes import is_eaglerays
from eagleray.remote.sampling.ray_services import is_service
from eagleray.tools.processes import born, own_commands

# A longer list is better searched by a PID.
_MOST_PROCESSES = 200
_LONGEST_COMMAND = 300


def candidates() -> tuple[CandidateProcess, ...]:
    """Returns the user's programs, the newest first.

    1. Processes that run Python.
    2. Without Ray's own services, and without Eagleray's programs.
    """
    programs = (
        _candidate(pid, arguments)
        for pid, arguments in own_commands().items()
        if proc.is_python(pid) and not is_service(pid) and not is_eaglerays(pid)
    )
    # One that ends meanwhile has no age.
    living = [program for program in programs if program.age_s >= 0]
    living.sort(key=lambda program: program.age_s)
    return tuple(living[:_MOST_PROCESSES])


def _candidate(pid: int, arguments: tuple[str, ...]) -> CandidateProcess:
    command = printable(" ".join(redact_arguments(arguments)), _LONGEST_COMMAND)
    birth = born(pid)
    age = max(0.0, time.time() - birth) if birth else -1.0
    return CandidateProcess(pid, command, age)
