"""What a run wants of its processes: the environment variable EAGLERAY_RUN, with nothing secret in it."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .nsys.profile_settings import ProfileSettings

VARIABLE = "EAGLERAY_RUN"
# What a process of the run tells those that it starts: that they are within a "worker", or are "debugged" already.
INSIDE = "EAGLERAY_RUN_INSIDE"


class RunSettings:
    """One reading of the variable; what is missing in it has the value that changes nothing."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)
        self.run = str(values.get("run") or "")
        self.verifier = str(values.get("verifier") or "")
        self.package = str(values.get("package") or "")
        self.path = str(values.get("path") or "")
        self.uri = str(values.get("uri") or "")
        self.folder = str(values.get("folder") or "")
        self.host = str(values.get("host") or "")
        self.debugpy = str(values.get("debugpy") or "")
        self.main = str(values.get("main") or "")
        self.workers = [str(pattern) for pattern in values.get("workers") or []]
        ranks = values.get("ranks")
        self.ranks = None if ranks is None else [int(rank) for rank in ranks]
        self.post_mortem = bool(values.get("post_mortem"))
        self.children = bool(values.get("children"))
        self.everywhere = bool(values.get("everywhere"))
        self.wait_s = float(values.get("wait_s") or 15)
        self.hold_s = float(values.get("hold_s") or 600)
        self.paths = breakpoint_paths(values.get("breakpoints"))
        self.profile = profile_settings(values.get("profile"))
        if self.profile is not None and not self._stops:
            # Nobody is debugged, so that only those who are recorded have a debug proxy.
            self.workers, self.ranks = self.profile.workers, None

    @property
    def purpose(self) -> str:
        """What processes belong to this run for."""
        if self.profile is None:
            return "breakpoints"
        return "breakpoints and profiling" if self._stops else "profiling"

    @property
    def _stops(self) -> bool:
        return bool(self.paths) or self.post_mortem

    @property
    def filters(self) -> bool:
        """Whether only some workers are meant."""
        return bool(self.workers) or self.ranks is not None

    @property
    def site(self) -> str:
        """The folder with our sitecustomize on a file system that all nodes share; "" if there is none."""
        return f"{self.path}/{self.package}/site" if self.path else ""


def read(environ: Mapping[str, str]) -> RunSettings | None:
    """The settings of this process, None if it belongs to no run."""
    text = environ.get(VARIABLE)
    return RunSettings(json.loads(text)) if text else None


def text(values: Mapping[str, Any]) -> str:
    """What to set the variable to.  Ray expands `$NAME` in the variables of a runtime_env, so there is no `$`."""
    return json.dumps(dict(values), separators=(",", ":")).replace("$", "\\u0024")


def breakpoint_paths(breakpoints: Any) -> list[str]:
    """The files that have breakpoints."""
    return [str(one["path"]) for one in breakpoints or [] if one.get("lines")]


def profile_settings(values: Any) -> ProfileSettings | None:
    """What nsys is to record, None for nothing."""
    if not values:
        return None
    # Most runs record nothing, and need nothing of what it needs.
    from .nsys.profile_settings import ProfileSettings

    return ProfileSettings(values)
