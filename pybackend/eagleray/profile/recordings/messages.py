"""The requests of the feature `profiling` and their records, printed as `extension/profile/recordings/messages.ts`."""

from __future__ import annotations

from types import NoneType
from typing import Literal

from attrs import field, frozen

from eagleray.profile.recordings.model import ClassMatch
from eagleray.runs.model import ProfilePhase
from eagleray.wire.requests import LongRequest, Notification, Request


@frozen
class ProfiledWorker:
    """A worker of a profiled run; `sentence` is the last line of its log, or why it runs without nsys ("missing").

    `reports` are the absolute paths of its collected reports.  `WorkerProfile`, which is stored, has more than a view shows.
    """

    run: str
    worker_id: str
    name: str
    node: str
    rank: int | None
    state: Literal["profiled", "recording", "writing", "gathered", "missing"]
    sentence: str
    reports: list[str]


@frozen
class ProfiledRun:
    """A run with a profile in its plan; `gathered` of `expected` complete reports are in the folder `output`."""

    run: str
    output: str
    state: ProfilePhase
    sentence: str
    expected: int
    gathered: int
    workers: list[ProfiledWorker]


@frozen
class ProfiledRuns:
    """All profiled runs, the newest first."""

    runs: list[ProfiledRun]


@frozen
class StartRecording:
    """Starts a recording of these workers ([]: all), for `seconds` unless that is 0; also limits one that is running."""

    run: str
    workers: list[str] = field(factory=list)
    seconds: float = 0.0


@frozen
class StopRecording:
    """Stops the recordings of these workers ([]: all)."""

    run: str
    workers: list[str] = field(factory=list)


@frozen
class RecordingResult:
    """The number of workers that were asked; `changed` reports the results."""

    workers: int


@frozen
class GatherReports:
    """Gathers complete reports.  `finish`: stops all recordings, waits for their reports, then ends the program."""

    run: str
    finish: bool = False


@frozen
class GatheredReports:
    """The folder with the manifest, and the absolute paths of the reports in it."""

    folder: str
    reports: list[str]


@frozen
class PreviewRequest:
    """Requests the classes of a cluster ("" for none) and of recent runs, matched with shell patterns."""

    cluster: str
    patterns: list[str]


@frozen
class Preview:
    """The classes, matching ones first."""

    classes: list[ClassMatch]


LIST = Request("eagleray/profiling/list", NoneType, ProfiledRuns)
CHANGED = Notification("eagleray/profiling/changed", ProfiledRuns)
RECORD = Request("eagleray/profiling/record", StartRecording, RecordingResult)
STOP = Request("eagleray/profiling/stop", StopRecording, RecordingResult)
GATHER = LongRequest("eagleray/profiling/gather", GatherReports, GatheredReports)
WORKERS = Request("eagleray/profiling/workers", PreviewRequest, Preview)
