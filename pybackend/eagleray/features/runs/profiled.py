"""What has become of a profiled run: its workers under nsys, and what of their reports is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WorkerPhase = Literal["armed", "recording", "writing", "ended", "missing"]
Phase = Literal["idle", "recording", "writing", "gathering", "gathered", "failed"]

# From a worker in such a state nothing more comes.
OVER: frozenset[str] = frozenset({"ended", "missing"})


@dataclass(frozen=True)
class ProfiledWorker:
    """`key` is the worker's own file, in `folder` on its node; `said` is what its log says, `problem` why it runs without nsys.

    `whole` are the reports that it has written, by their names there; `reports` those that are here, as paths.
    """

    key: str
    worker_id: str
    pid: int
    name: str
    node: str
    state: WorkerPhase
    said: str = ""
    problem: str = ""
    whole: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    node_id: str = ""
    folder: str = ""


@dataclass(frozen=True)
class Profiled:
    """`folder` is where the reports come to; `sentence` says what is done, or what went wrong.

    `files` are the reports that are here, as paths, `classes` those of the actors of the run, as `module:Class`.  `done_bytes` of `bytes` were fetched, of `expected` reports `gathered` are here, whole and compared.
    """

    folder: str
    phase: Phase = "idle"
    sentence: str = ""
    expected: int = 0
    gathered: int = 0
    bytes: int = 0
    done_bytes: int = 0
    workers: tuple[ProfiledWorker, ...] = ()
    files: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
