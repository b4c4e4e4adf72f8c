"""The nsys session of one worker, and the reports of its recordings."""

from __future__ import annotations

import contextlib
import time

from . import node_processes, node_reports
from .arguments import to_record
from .program import START_S, STOP_S, generated_reports

# Each check of a report runs nsys on a node that has other work.
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 30.0

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..profile_settings import ProfileSettings
    from .program import NsysProgram


class NsysRecording:
    """A recording: `path` is where its report belongs, `generated` the path that nsys has printed."""

    def __init__(self, path: str, arguments: list[str], in_ranges: bool) -> None:
        self.path = path
        self.arguments = arguments
        self.in_ranges = in_ranges
        self.began = time.time()
        self.generated = ""


class NsysSession:
    """Begins and ends recordings; used by one thread of the watcher.  `recording` is the running one."""

    def __init__(self, nsys: NsysProgram, name: str, profile: ProfileSettings) -> None:
        self.name = name
        self.recording: NsysRecording | None = None
        self._nsys = nsys
        self._profile = profile

    def begin(self, path: str, in_ranges: bool) -> None:
        """Begins a recording; raises NsysError."""
        arguments = to_record(self._profile, self.name, path.removesuffix(".nsys-rep"), in_ranges)
        self._nsys.call(arguments, START_S)
        self.recording = NsysRecording(path, arguments, in_ranges)

    def end(self) -> None:
        """Ends the running recording, if there is one; raises NsysError, and then it is still running."""
        recording = self.recording
        if recording is not None:
            output = self._nsys.call(["stop", f"--session={self.name}"], STOP_S)
            recording.generated = next(iter(generated_reports(output)), "")
            self.recording = None

    def processes(self) -> list[int]:
        """The processes of nsys that hold the recorded data, also after the worker's end."""
        return node_processes.with_argument(f"--session-name={self.name}")


class GrowingReports:
    """Decides which reports of recordings that the program ends may be complete: those that have stopped growing.

    A report that couldn't be read is checked at growing intervals.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._due: dict[str, tuple[float, float]] = {}

    def may_be_whole(self, path: str) -> bool:
        """Called once in each poll, before the report is read."""
        before, size = self._sizes.get(path), node_reports.size_of(path)
        self._sizes[path] = size
        if not size or size != before:
            self._due.pop(path, None)
            return False
        due, pause_s = self._due.get(path, (0.0, FIRST_PAUSE_S))
        if time.monotonic() < due:
            return False
        self._due[path] = (time.monotonic() + pause_s, min(2 * pause_s, LONGEST_PAUSE_S))
        return True


def place_report(recording: NsysRecording) -> str:
    """Returns why no report is at its path, "" if one is; a report that nsys has put elsewhere is copied or moved.

    nsys returns 0 also when it could not write there, or has written nothing at all.
    """
    if node_reports.size_of(recording.path):
        return ""
    if node_reports.size_of(recording.generated):
        return _relocate(node_reports.move_report, recording.generated, recording.path)
    # A program that began no range has no report; a stray one belongs to something else.
    elsewhere = (
        [] if recording.in_ranges else node_reports.strays(recording.began, node_reports.REPORT)
    )
    if len(elsewhere) == 1:
        # The original stays: it may belong to an nsys which the user has started.
        return _relocate(node_reports.copy_report, elsewhere[0], recording.path)
    if elsewhere:
        return f"nsys has put it at one of {', '.join(elsewhere)}"
    raw = node_reports.strays(recording.began, ".qdstrm")
    if raw:
        return f"nsys ended before it had written the report; what it had recorded is in {raw[-1]}"
    return "nsys ended without a report"


def _relocate(take: Callable[[str, str], None], source: str, target: str) -> str:
    try:
        take(source, target)
    except OSError as error:
        return f"nsys has put it at {source}, from where it cannot be moved: {error.strerror}"
    return ""


def report_entry(recording: NsysRecording, facts: dict[str, Any], problem: str) -> dict[str, Any]:
    """The description that is written beside a report, or alone with no size if the report is missing."""
    size, digest = 0, ""
    with contextlib.suppress(OSError):
        size, digest = node_reports.measured(recording.path)
    times = {
        "started_utc": node_reports.utc(recording.began),
        "ended_utc": node_reports.utc(time.time()),
    }
    options = {"options": [*facts.get("options", []), *recording.arguments]}
    return {**facts, **options, **times, "size": size, "sha256": digest, "problem": problem}
