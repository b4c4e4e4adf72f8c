"""What a person writes about a profile, checked before anything is started."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import evolve

from eagleray.common.profile_errors import bad_profile
from eagleray.features.runs.model import ProfilePlan
from eagleray.injected.worker_patterns import split_patterns

_STEP = re.compile(r"\d{1,9}")
_STEPS = re.compile(r"\d{1,9}:\d{1,9}")
_TRACE = re.compile(r"[a-z0-9-]+(,[a-z0-9-]+)*")
_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
# What we say ourselves: where a report goes, and that nothing but its end ends a program.
_OURS = frozenset({"o", "output", "f", "force-overwrite", "session", "session-new"})
_LONGEST_S = 24 * 3600.0


def checked(profile: ProfilePlan) -> ProfilePlan:
    """The profile with plain patterns and an absolute folder; raises `bad-profile`."""
    workers = tuple(split_patterns(profile.workers))
    if not workers:
        raise bad_profile(
            "no worker is named", "Say which workers, such as `*policy*`; `*` is all."
        )
    steps = _range_of(profile.steps) if profile.when == "steps" else profile.steps
    if profile.when == "seconds":
        check_seconds(profile.seconds)
    if not _TRACE.fullmatch(profile.trace):
        raise bad_profile(f"{profile.trace!r} is no list of traces", "Write `cuda,nvtx,osrt`.")
    for name, value in profile.options.items():
        if name in _OURS or not _OPTION.fullmatch(name) or "\0" in value:
            raise bad_profile(f"nsys is not given the option {name!r}", "Leave it out.")
    output = str(Path(profile.output).expanduser().absolute()) if profile.output else ""
    return evolve(profile, workers=workers, steps=steps, output=output)


def check_seconds(seconds: float) -> None:
    """Raises `bad-profile` for what is no length of a recording."""
    if not 0 < seconds <= _LONGEST_S:
        raise bad_profile("a recording lasts more than 0 s and a day at most", "Say how many.")


def _range_of(steps: str) -> str:
    """FIRST:END, of one step alone too; "" for none."""
    if _STEP.fullmatch(steps):
        return f"{steps}:{int(steps) + 1}"
    first, _, end = steps.partition(":")
    if steps and not (_STEPS.fullmatch(steps) and int(first) < int(end)):
        raise bad_profile(
            f"{steps!r} is no range of steps", "Write FIRST:END, such as `3:5` for steps 3 and 4."
        )
    return steps
