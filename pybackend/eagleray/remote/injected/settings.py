"""The settings of a run, which its processes read from the environment variable EAGLERAY_RUN.  Nothing in it is secret."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Any

    from .profile_settings import ProfileSettings

VARIABLE = "EAGLERAY_RUN"
# Set for the processes that a process of the run starts: they are inside a "worker", or one that the run has "selected".
INSIDE = "EAGLERAY_RUN_INSIDE"
# The debugger's name for a process whose script is ours; the process removes it, so that its children have none.
PROCESS_NAME = "EAGLERAY_PROCESS_NAME"


class RunSettings:
    """The parsed variable; a value that is missing in it gets a default that changes nothing."""

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
        self.has_input = bool(values.get("input", True))
        self.wait_s = float(values.get("wait_s") or 15)
        self.hold_s = float(values.get("hold_s") or 600)
        self.paths = breakpoint_paths(values.get("breakpoints"))
        self.profile = profile_settings(values.get("profile"))
        if self.profile is not None and not self.stops:
            # Nothing is debugged, so only the workers that are recorded get a debug proxy.
            self.workers, self.ranks = self.profile.workers, None

    @property
    def purpose(self) -> str:
        """The purpose of the run, as messages name it."""
        if self.profile is None:
            return "breakpoints"
        return "breakpoints and profiling" if self.stops else "profiling"

    @property
    def stops(self) -> bool:
        """Whether the run stops processes."""
        return bool(self.paths) or self.post_mortem

    @property
    def filters(self) -> bool:
        """Whether the run selects only some workers."""
        return bool(self.workers) or self.ranks is not None

    @property
    def site(self) -> str:
        """The folder with our sitecustomize on a file system that all nodes share; "" if there is none."""
        return f"{self.path}/{self.package}/site" if self.path else ""


def read(environ: Mapping[str, str]) -> RunSettings | None:
    """The settings of this process; None if it doesn't belong to a run."""
    text = environ.get(VARIABLE)
    return RunSettings(json.loads(text)) if text else None


def mark_selected(environ: MutableMapping[str, str]) -> None:
    """Marks the processes that this one starts as started by one that the run has selected."""
    if not is_inside_selected(environ):
        environ[INSIDE] = f"{environ.get(INSIDE, '')} selected".strip()


def is_inside_selected(environ: Mapping[str, str]) -> bool:
    return "selected" in environ.get(INSIDE, "").split()


def text(values: Mapping[str, Any]) -> str:
    """The value of the variable, without `$`: Ray expands `$NAME` in a runtime_env (2.60, `update_envs`)."""
    return json.dumps(dict(values), separators=(",", ":")).replace("$", "\\u0024")


def breakpoint_paths(breakpoints: Any) -> list[str]:
    """The files that have breakpoints."""
    return [str(file["path"]) for file in breakpoints or [] if file.get("lines")]


def profile_settings(values: Any) -> ProfileSettings | None:
    """Returns the settings of nsys; None if the run records nothing."""
    if not values:
        return None
    # Most runs record nothing and don't need these modules.
    from .profile_settings import ProfileSettings

    return ProfileSettings(values)
