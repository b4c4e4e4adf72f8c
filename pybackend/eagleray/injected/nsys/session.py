"""The session of nsys round one worker: recordings begin and end in it as often as somebody wants."""

from __future__ import annotations

import contextlib
import time

from . import arguments, node_processes, node_reports
from .program import START_S, STOP_S, generated_reports

# Each look at a report is a run of nsys on a node that has other work.
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 30.0

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .profile_settings import ProfileSettings
    from .program import NsysProgram


class NsysRecording:
    """One of them; `path` is where its report is to be, `generated` where nsys said that it has put it."""

    def __init__(self, path: str, words: list[str], in_ranges: bool) -> None:
        self.path = path
        self.words = words
        self.in_ranges = in_ranges
        self.began = time.time()
        self.generated = ""


class NsysSession:
    """Used by one thread of the watcher.  `recording` is the one that is going on."""

    def __init__(self, nsys: NsysProgram, name: str, profile: ProfileSettings) -> None:
        self.name = name
        self.recording: NsysRecording | None = None
        self._nsys = nsys
        self._profile = profile

    def begin(self, path: str, in_ranges: bool) -> None:
        """Raises Refused."""
        words = arguments.to_record(
            self._profile, self.name, path.removesuffix(".nsys-rep"), in_ranges
        )
        self._nsys.call(words, START_S)
        self.recording = NsysRecording(path, words, in_ranges)

    def end(self) -> None:
        """Of the recording that is going on, if there is one; raises Refused, and then it still is."""
        recording = self.recording
        if recording is not None:
            said = self._nsys.call(["stop", f"--session={self.name}"], STOP_S)
            recording.generated = next(iter(generated_reports(said)), "")
            self.recording = None

    def processes(self) -> list[int]:
        """Those of nsys that hold what was recorded, also when the worker has ended."""
        return node_processes.having_word(f"--session-name={self.name}")


class GrowingReports:
    """Reports that somebody else ends: which of them may be whole, as they have not grown since the look before.

    One that could not be read then is tried ever more rarely.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._due: dict[str, tuple[float, float]] = {}

    def may_be_whole(self, path: str) -> bool:
        """Asked once in each look, by who then tries to read it."""
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


def placed(recording: NsysRecording) -> str:
    """Why there is no report where it should be, "" if it is there now: one elsewhere is brought.

    nsys returns 0 also when it could not write there, or has written nothing at all.
    """
    if node_reports.size_of(recording.path):
        return ""
    if node_reports.size_of(recording.generated):
        return _taken(node_reports.moved, recording.generated, recording.path)
    # A program that began no range has no report, and one of those is of something else.
    elsewhere = (
        [] if recording.in_ranges else node_reports.strays(recording.began, node_reports.REPORT)
    )
    if len(elsewhere) == 1:
        # It stays there as well: it may be that of an nsys which the person has started.
        return _taken(node_reports.brought, elsewhere[0], recording.path)
    if elsewhere:
        return f"nsys has put it at one of {', '.join(elsewhere)}"
    raw = node_reports.strays(recording.began, ".qdstrm")
    if raw:
        return f"nsys ended before it had written the report; what it had recorded is in {raw[-1]}"
    return "nsys ended without a report"


def _taken(take: Callable[[str, str], None], found: str, wanted: str) -> str:
    try:
        take(found, wanted)
    except OSError as error:
        return f"nsys has put it at {found}, from where it cannot be moved: {error.strerror}"
    return ""


def entry(recording: NsysRecording, known: dict[str, Any], problem: str) -> dict[str, Any]:
    """What is written beside a report; of one that is lost it stands alone, with no size."""
    size, digest = 0, ""
    with contextlib.suppress(OSError):
        size, digest = node_reports.measured(recording.path)
    times = {
        "started_utc": node_reports.utc(recording.began),
        "ended_utc": node_reports.utc(time.time()),
    }
    options = {"options": [*known.get("options", []), *recording.words]}
    return {**known, **options, **times, "size": size, "sha256": digest, "problem": problem}
