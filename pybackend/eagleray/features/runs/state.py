"""What has become of a run, as the process that keeps it writes it down for everybody who looks."""

from __future__ import annotations

from typing import Any, Literal

import cattrs
from attrs import frozen

from eagleray.features.runs.profiled import Profiled

Phase = Literal[
    "starting", "running", "stopped_at", "stopping", "stopped", "ended", "failed", "unwatched"
]

_converter = cattrs.Converter()


@frozen
class Process:
    """A process for life: its id is given to others later, but not with the same time of birth."""

    pid: int
    born: float


@frozen
class SeenWorker:
    """A process of the run, as the adapter knows it; `path:line` is where it stands, "" and 0 if it does not."""

    worker_id: str
    pid: int
    kind: Literal["driver", "worker", "child"]
    name: str
    state: Literal["free", "waiting", "running", "stopped"]
    files: tuple[str, ...]
    rank: str = ""
    path: str = ""
    line: int = 0
    python: str = ""


@frozen
class SeenLine:
    """What has become of a breakpoint."""

    path: str
    line: int
    state: Literal["pending", "verified", "moved", "unreachable"]
    moved_to: int = 0
    workers: int = 0
    reason: str = ""


@frozen
class RunState:
    """`started` and `ended` are seconds since 1970, `ended` 0.0 while it lives.

    `keeper` and `program` are processes of the machine `host`.  `cluster` is that in which its workers are, ""
    while none is known.  `far_id` is the id of its Ray job or SLURM job, and `ssh` where SLURM was asked.
    `profile` is what nsys records of it, and what of that is here.
    """

    phase: Phase
    started: float
    ended: float = 0.0
    code: int | None = None
    note: str = ""
    host: str = ""
    keeper: Process | None = None
    program: Process | None = None
    cluster: str = ""
    session: str = ""
    far_id: str = ""
    ssh: str = ""
    workers: tuple[SeenWorker, ...] = ()
    lines: tuple[SeenLine, ...] = ()
    profile: Profiled | None = None

    @property
    def is_over(self) -> bool:
        return self.phase in ("stopped", "ended", "failed")


def to_json(state: RunState) -> dict[str, Any]:
    """A state as plain JSON values."""
    said: dict[str, Any] = _converter.unstructure(state)
    return said


def of_json(said: dict[str, Any]) -> RunState:
    """The state that `to_json` said; raises a `cattrs` error, ValueError or TypeError."""
    return _converter.structure(said, RunState)
