"""The variable EAGLERAY_PROFILE, which selects a worker for nsys as it is created.

An actor or task that is created gets the variable in its runtime_env; an actor or task of a recorded worker gets it
empty, since Ray merges a runtime_env with the creator's (measured with 2.60).
"""

from __future__ import annotations

import json
import os
import re

from ..worker_patterns import matchable_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..settings import RunSettings

# In the environment of a worker that is to be recorded, with the pattern; "" where it would only be inherited.
VARIABLE = "EAGLERAY_PROFILE"
# In place of a pattern: only the worker's own framework has asked for nsys.
BY_FRAMEWORK = "(nsight)"
# Under this key Ray keeps what a program sets as `nsight` in a runtime_env.
NSIGHT = "_nsight"
# Other frameworks put nsys before the interpreter.
PROGRAM = "py_executable"
# Otherwise nsys also waits for the processes that the worker leaves behind (`all`, the default in 2022.4), and so for
# the one that waits for nsys.
WAITS_FOR_WORKER = {"wait": "primary"}
_NSYS_PROFILE = re.compile(r"\s*(?:\S*/)?nsys\s+profile(?=\s)")
_WAITS = re.compile(r"\s--wait[= ]\s*(\S+)")


def profile_request(pattern: str, module: str, qualified: str, actor: str) -> str:
    """The value of the variable for a worker that is to be recorded.

    It contains no `$`, because Ray expands `$NAME` in the variables of a runtime_env (2.60, `update_envs`).
    """
    request = {"pattern": pattern, "module": module, "class": qualified, "name": actor}
    return json.dumps(request, separators=(",", ":")).replace("$", "\\u0024")


def read_profile_request(environ: Mapping[str, str]) -> dict[str, str] | None:
    """The parsed variable; None if this worker isn't to be recorded."""
    text = environ.get(VARIABLE)
    return {str(key): str(value) for key, value in json.loads(text).items()} if text else None


class ProfileRequests:
    """Decides for each actor and task that this process creates what its variable is."""

    def __init__(self, settings: RunSettings) -> None:
        self._profile = settings.profile
        self._is_inherited = bool(os.environ.get(VARIABLE))

    def for_actor(self, module: str, qualified: str, actor: str, given: Any) -> str | None:
        """The value of the variable for an actor; None to leave it unset."""
        names = matchable_names(module, qualified, actor)
        pattern = self._profile.pattern(names) if self._profile is not None else ""
        if not pattern and self.is_by_framework(given):
            pattern = BY_FRAMEWORK
        return profile_request(pattern, module, qualified, actor) if pattern else self.for_task()

    def for_task(self) -> str | None:
        """A task is never recorded: nsys writes when a process ends, and processes of tasks are used many times."""
        return "" if self._is_inherited else None

    def is_by_framework(self, given: Any) -> bool:
        """Whether the framework has asked for nsys itself in this runtime_env; its reports are gathered as well."""
        return (
            self._profile is not None and bool(given) and (NSIGHT in given or _is_under_nsys(given))
        )

    def matches(self, names: list[str]) -> bool:
        return self._profile is not None and bool(self._profile.pattern(names))


def with_profile_request(runtime_env: Mapping[str, Any] | None, request: str) -> dict[str, Any]:
    """A copy of a runtime_env with this value; all else in it stays, including an `nsight` of the framework."""
    result = dict(runtime_env or {})
    result["env_vars"] = {**dict(result.get("env_vars") or {}), VARIABLE: request}
    if request and result.get(NSIGHT):
        result[NSIGHT] = {**nsight_options(result[NSIGHT]), **WAITS_FOR_WORKER}
    elif request and _is_under_nsys(result) and not _WAITS.search(result[PROGRAM]):
        result[PROGRAM] = _NSYS_PROFILE.sub(r"\g<0> --wait=primary", result[PROGRAM], count=1)
    return result


def _is_under_nsys(runtime_env: Mapping[str, Any]) -> bool:
    """Whether the worker's program is nsys, unless that waits for other processes, too."""
    text = runtime_env.get(PROGRAM)
    if not isinstance(text, str) or not _NSYS_PROFILE.match(text):
        return False
    waits = _WAITS.search(text)
    return waits is None or waits[1] == "primary"


def nsight_options(nsight: Any) -> dict[str, Any]:
    """The `nsight` of a framework as options; Ray has a name for the usual ones."""
    if not isinstance(nsight, str):
        return dict(nsight)
    from ray._private.runtime_env.nsight import NSIGHT_DEFAULT_CONFIG

    if nsight != "default":
        # Ray itself reports that it doesn't know this name.
        raise LookupError(f"nsight is {nsight!r}")
    return dict(NSIGHT_DEFAULT_CONFIG)
