"""The records of profiling: profiled runs, and classes that match the patterns of a profile."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from eagleray.runs.model import ProfileState
from eagleray.runs.remote_files import RemotePath


@frozen
class RunProfile:
    """A run with a profile, called `name`; its workers write into `reports_folder` or `remote`, reports are collected in `output`.

    `is_supervised`: a supervisor collects them; `cluster` is where its nodes are, "" if unknown.
    """

    run: str
    reports_folder: Path
    output: Path
    cluster: str
    is_over: bool
    is_supervised: bool
    state: ProfileState | None
    remote: RemotePath | None = None
    name: str = ""


@frozen
class ClassMatch:
    """A class or a named actor; `running` counts the live ones, `matched_by` is the matching pattern or ""."""

    name: str
    running: int
    matched_by: str
