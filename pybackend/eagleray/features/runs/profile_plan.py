"""Validates the profile options of a run before it starts."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import evolve

from eagleray.features.runs.errors import bad_profile
from eagleray.features.runs.model import ProfilePlan
from eagleray.injected.worker_patterns import split_patterns

_STEP = re.compile(r"\d{1,9}")
_STEPS = re.compile(r"\d{1,9}:\d{1,9}")
_TRACE = re.compile(r"[a-z0-9-]+(,[a-z0-9-]+)*")
_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
# Options that Eagleray sets: where a report goes, and that nsys never ends the program.
_RESERVED_OPTIONS = frozenset({"o", "output", "f", "force-overwrite", "session", "session-new"})
_LONGEST_S = 24 * 3600.0


def validate_profile(profile: ProfilePlan) -> ProfilePlan:
    """The profile with split patterns and an absolute output folder; raises `bad-profile`."""
    workers = tuple(split_patterns(profile.workers))
    if not workers:
        raise bad_profile(
            "no worker is named", "Say which workers, such as `*policy*`; `*` is all."
        )
    steps = _parse_steps(profile.steps) if profile.when == "steps" else profile.steps
    if profile.when == "seconds":
        check_seconds(profile.seconds)
    if not _TRACE.fullmatch(profile.trace):
        raise bad_profile(f"{profile.trace!r} is no list of traces", "Write `cuda,nvtx,osrt`.")
    for name, value in profile.options.items():
        if name in _RESERVED_OPTIONS or not _OPTION.fullmatch(name) or "\0" in value:
            raise bad_profile(f"nsys is not given the option {name!r}", "Leave it out.")
    output = str(Path(profile.output).expanduser().absolute()) if profile.output else ""
    return evolve(profile, workers=workers, steps=steps, output=output)


def check_seconds(seconds: float) -> None:
    """Raises `bad-profile` unless this is a valid length of a recording."""
    if not 0 < seconds <= _LONGEST_S:
        raise bad_profile("a recording lasts more than 0 s and a day at most", "Say how many.")


def _parse_steps(steps: str) -> str:
    """The range as FIRST:END, also for a single step; "" stays "".  Raises `bad-profile`."""
    if _STEP.fullmatch(steps):
        return f"{steps}:{int(steps) + 1}"
    first, _, end = steps.partition(":")
    if steps and not (_STEPS.fullmatch(steps) and int(first) < int(end)):
        raise bad_profile(
            f"{steps!r} is no range of steps", "Write FIRST:END, such as `3:5` for steps 3 and 4."
        )
    return steps
