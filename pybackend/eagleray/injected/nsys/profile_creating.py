"""Actors and tasks as they are created: those that nsys is to record are told so, their children are told not."""

from __future__ import annotations

import os
import re

from ..patterns import matchable_names
from .profile_settings import BY_FRAMEWORK, VARIABLE, profile_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..settings import RunSettings

# Under this key Ray keeps what a program says as `nsight` in a runtime_env.
NSIGHT = "_nsight"
# Others say it themselves, before the interpreter.
PROGRAM = "py_executable"
# Else nsys also waits for the processes that the worker leaves behind, and so for the one that waits for nsys.
WAITS_FOR_WORKER = {"wait": "primary"}
_NSYS_PROFILE = re.compile(r"\s*(?:\S*/)?nsys\s+profile(?=\s)")
_WAITS = re.compile(r"\s--wait[= ]\s*(\S+)")


class ProfileRequests:
    """What the processes of a run say to those that they create."""

    def __init__(self, settings: RunSettings) -> None:
        self._profile = settings.profile
        # Ray merges a runtime_env with that of the creator, and so hands this variable down.
        self._is_handed_down = bool(os.environ.get(VARIABLE))

    def for_actor(self, module: str, qualified: str, actor: str, given: Any) -> str | None:
        """The value of the variable; None if nothing has to be said."""
        names = matchable_names(module, qualified, actor)
        pattern = self._profile.pattern(names) if self._profile is not None else ""
        if not pattern and self.adopts(given):
            pattern = BY_FRAMEWORK
        return profile_request(pattern, module, qualified, actor) if pattern else self.for_task()

    def for_task(self) -> str | None:
        """A task is never recorded: nsys writes when a process ends, and that of tasks is used again and again."""
        return "" if self._is_handed_down else None

    def adopts(self, given: Any) -> bool:
        """Whether its framework has asked Ray for nsys, whose reports are gathered as well."""
        return self._profile is not None and bool(given) and (NSIGHT in given or _is_under(given))

    def matches(self, names: list[str]) -> bool:
        return self._profile is not None and bool(self._profile.pattern(names))


def with_profile_request(runtime_env: Mapping[str, Any] | None, said: str) -> dict[str, Any]:
    """A copy of a runtime_env that says it; all else in it stays, an `nsight` of the framework's own too."""
    known = dict(runtime_env or {})
    known["env_vars"] = {**dict(known.get("env_vars") or {}), VARIABLE: said}
    if said and known.get(NSIGHT):
        known[NSIGHT] = {**options_of(known[NSIGHT]), **WAITS_FOR_WORKER}
    elif said and _is_under(known) and not _WAITS.search(known[PROGRAM]):
        known[PROGRAM] = _NSYS_PROFILE.sub(r"\g<0> --wait=primary", known[PROGRAM], count=1)
    return known


def _is_under(runtime_env: Mapping[str, Any]) -> bool:
    """Whether its program is nsys; not one that has been told to wait for others, too."""
    text = runtime_env.get(PROGRAM)
    if not isinstance(text, str) or not _NSYS_PROFILE.match(text):
        return False
    waits = _WAITS.search(text)
    return waits is None or waits[1] == "primary"


def options_of(nsight: Any) -> dict[str, Any]:
    """What a framework has said, as options; Ray has a word for the usual ones."""
    if not isinstance(nsight, str):
        return dict(nsight)
    from ray._private.runtime_env.nsight import NSIGHT_DEFAULT_CONFIG

    if nsight != "default":
        # Ray itself says that it is nothing that it knows.
        raise LookupError(f"nsight is {nsight!r}")
    return dict(NSIGHT_DEFAULT_CONFIG)
