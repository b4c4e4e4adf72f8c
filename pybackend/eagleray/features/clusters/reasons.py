"""Why a cluster may look empty although its program reached breakpoint(): the rules, without any asking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.features.clusters.problems import Problem
from eagleray.tools.worker_processes import WorkerEnvironment

OLDEST_RAY = (2, 9)
# From this version on breakpoint() opens debugpy unless RAY_DEBUG says otherwise.
DEBUGPY_BY_DEFAULT = (2, 39)

# What Ray's workers write to stderr (ray/util/debugpy.py, ray/util/rpdb.py).
NO_DEBUGPY_LINE = "Ray Debugpy Debugger will not work without"
LEGACY_LINE = "RemotePdb session open at"


@frozen
class Evidence:
    """What was learnt of one cluster.

    `environments` are those of one's own workers on this machine; `settings` the env_vars of running
    jobs, tasks and actors; `logs` the ends of the error logs of some other workers.
    """

    ray_version: str
    environments: tuple[WorkerEnvironment, ...] = ()
    settings: tuple[Mapping[str, str], ...] = ()
    logs: tuple[str, ...] = ()


def reasons(evidence: Evidence) -> list[Problem]:
    """What stands in the way, the most certain first.

    1. The version is too old to be debugged so.
    2. Ray's old debugger is on, or all debugging off: by an environment, a runtime_env, or a log.
    3. debugpy is missing: by an environment, or a log.
    """
    version = _version(evidence.ray_version)
    if version and version < OLDEST_RAY:
        return [_too_old(evidence.ray_version)]
    found = [_debugger_switched(evidence, version), *_without_debugpy(evidence)]
    return [problem for problem in found if problem is not None]


def _too_old(ray_version: str) -> Problem:
    return Problem(
        "ray-too-old",
        f"Ray {printable(ray_version, 40)} does not say which workers are paused.",
        "Use Ray 2.9.1 or newer.",
    )


def _debugger_switched(evidence: Evidence, version: tuple[int, int] | None) -> Problem | None:
    said = [environment.ray_debug for environment in evidence.environments]
    said += [setting.get("RAY_DEBUG") for setting in evidence.settings if "RAY_DEBUG" in setting]
    legacy = "legacy" in said or any(LEGACY_LINE in text for text in evidence.logs)
    if version and version < DEBUGPY_BY_DEFAULT:
        unset = bool(evidence.environments) and not any(said)
        return _needs_ray_debug(evidence.ray_version) if legacy or unset else None
    if legacy:
        return Problem(
            "legacy-debugger",
            "Ray's own pdb is switched on: breakpoint() waits for a terminal and is not listed here.",
            "“Open Waiting pdb Session…” or `eagleray pdb` leads there; or take RAY_DEBUG=legacy out of"
            " the cluster's environment and the runtime_env, and start the program again.",
        )
    off = next((value for value in said if value is not None and value != "1"), None)
    if off is None:
        return None
    return Problem(
        "debugger-off",
        f"RAY_DEBUG is “{printable(off, 40)}”, which switches breakpoint() off.",
        "Unset RAY_DEBUG, or set it to 1, and start the program again.",
    )


def _needs_ray_debug(ray_version: str) -> Problem:
    return Problem(
        "legacy-debugger",
        f"Ray {printable(ray_version, 40)} opens its own pdb at breakpoint() unless RAY_DEBUG is set.",
        "“Open Waiting pdb Session…” or `eagleray pdb` leads there; or start the cluster and the program with RAY_DEBUG=1.",
    )


def _without_debugpy(evidence: Evidence) -> Iterable[Problem]:
    lacking = [one.folder for one in evidence.environments if not one.has_debugpy]
    for folder in dict.fromkeys(lacking):
        workers = "1 worker" if lacking.count(folder) == 1 else f"{lacking.count(folder)} workers"
        yield Problem(
            "no-debugpy",
            f"debugpy is missing in the environment of {workers}: breakpoint() does nothing there.",
            f"Install debugpy>=1.8 into {printable(folder, 300)} and start the program again.",
        )
    if not lacking and any(NO_DEBUGPY_LINE in text for text in evidence.logs):
        yield Problem(
            "no-debugpy",
            "debugpy is missing in the environment of a worker: breakpoint() did nothing there.",
            "Install debugpy>=1.8 into the Python environment of the workers and start the program again.",
        )


def _version(text: str) -> tuple[int, int] | None:
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})", text)
    return (int(numbers[1]), int(numbers[2])) if numbers else None
