"""The requests of the feature `profiling` and their records, printed as `extension/features/profiling/messages.ts`."""

from __future__ import annotations

from types import NoneType
from typing import Literal

from attrs import field, frozen

from eagleray.wire.requests import LongRequest, Notification, Request


@frozen
class ProfiledWorker:
    """A worker of a profiled run; `sentence` is what its log says of it, or why it runs without nsys ("missing").

    `reports` are those of it that are here, as absolute paths.
    """

    run: str
    worker_id: str
    name: str
    node: str
    state: Literal["profiled", "recording", "writing", "gathered", "missing"]
    sentence: str
    reports: list[str]


@frozen
class ProfiledRun:
    """A run with `profile` in its plan; of `expected` reports that are whole `gathered` lie in `output`."""

    run: str
    output: str
    state: Literal["idle", "recording", "writing", "gathering", "gathered", "failed"]
    sentence: str
    expected: int
    gathered: int
    workers: list[ProfiledWorker]


@frozen
class ProfiledRuns:
    """All of them that are remembered, the newest first."""

    runs: list[ProfiledRun]


@frozen
class Record:
    """Begins a recording of these workers, [] for all, for `seconds` unless that is 0; one that goes on ends so too."""

    run: str
    workers: list[str] = field(factory=list)
    seconds: float = 0.0


@frozen
class Recording:
    """The recordings of these workers, [] for all."""

    run: str
    workers: list[str] = field(factory=list)


@frozen
class Asked:
    """How many workers were asked; what comes of it is told by `changed`."""

    workers: int


@frozen
class Gather:
    """Fetches what is whole.  `finish`: ends all recordings, waits for their reports, and then ends the program."""

    run: str
    finish: bool = False


@frozen
class Gathered:
    """The folder with the manifest, and the reports in it by their absolute paths."""

    folder: str
    reports: list[str]


@frozen
class WorkersOf:
    """Asks which classes of the actors of a cluster and of the last runs fit shell patterns; "" is no cluster."""

    cluster: str
    patterns: list[str]


@frozen
class Seen:
    """A class of actors that live or that were seen lately; `matched_by` is the first pattern that fits, or ""."""

    name: str
    running: int
    matched_by: str


@frozen
class Preview:
    """The classes, those that fit first."""

    classes: list[Seen]


LIST = Request("eagleray/profiling/list", NoneType, ProfiledRuns)
CHANGED = Notification("eagleray/profiling/changed", ProfiledRuns)
RECORD = Request("eagleray/profiling/record", Record, Asked)
STOP = Request("eagleray/profiling/stop", Recording, Asked)
GATHER = LongRequest("eagleray/profiling/gather", Gather, Gathered)
WORKERS = Request("eagleray/profiling/workers", WorkersOf, Preview)
