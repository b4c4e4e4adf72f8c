"""Runs and their presets in `--json`."""

from __future__ import annotations

from eagleray.cli.json_shapes import INTEGER_OR_NULL, VERSIONED, Field, Json, Shape, shaped
from eagleray.runs.handlers import wire_run
from eagleray.runs.presets.model import PresetRow
from eagleray.runs.records import StoredRun

RUN_WORKER = (
    "cluster", "worker_id", "pid", "kind", "name", "state", "rank", "path", "line", "python",
)  # fmt: skip
_RUN_LINE = ("path", "line", "state", "moved_to", "workers", "reason")
_RUN_SERVER = ("name", "state", "url", "model", "reason", "warning")
_RUN_PICTURE = ("path", "taken_at", "kind", "sentence", "is_stuck")
RUN: Shape = {
    **VERSIONED,
    "id": Field("what `eagleray runs` takes"),
    "name": Field("name of the run"),
    "kind": Field('"program", "module", "script", "command", "job", "remote" or "sbatch"'),
    "state": Field(
        '"starting", "running", "paused" (a worker is), "stopping", "exited", "failed",'
        ' "cancelled", "unwatched" (its supervisor has ended) or "unknown" (it ended, exit code unknown)'
    ),
    "started": Field("seconds since 1970, 0 before it started", "number"),
    "ended": Field("seconds since 1970, 0 before it ended", "number"),
    "code": Field("exit code, null before it ended or if unknown", INTEGER_OR_NULL),
    "cluster": Field("id of its cluster"),
    "command": Field("the command, secrets left out"),
    "cwd": Field("its folder"),
    "workspace": Field("folder of the window that started it"),
    "preset": Field('name of the preset, "" for none'),
    "workers": Field(f"list of {{{', '.join(RUN_WORKER)}}}", "array", RUN_WORKER),
    "lines": Field(f"breakpoints, list of {{{', '.join(_RUN_LINE)}}}", "array", _RUN_LINE),
    "note": Field("a sentence about its state"),
    "reason": Field("why it failed"),
    "tail": Field("its last lines of output"),
    "output": Field("file with its output"),
    "python": Field('its interpreter, "" if it isn\'t a Python program'),
    "can_restart": Field("whether it can be started again", "boolean"),
    "confirm_stop": Field('question before it is stopped, "" for none'),
    "picture": Field(
        f"{{{', '.join(_RUN_PICTURE)}}}: taken because nothing was printed, null for none",
        "object or null",
        _RUN_PICTURE,
    ),
    "server": Field(
        f"{{{', '.join(_RUN_SERVER)}}}: of an inference server, null for any other run",
        "object or null",
        _RUN_SERVER,
    ),
}
PRESET: Shape = {
    **VERSIONED,
    "name": Field("what --preset takes"),
    "title": Field("what it is for"),
    "framework": Field('its framework, "" for any'),
    "own": Field("whether you made it", "boolean"),
}


def run_json(run: StoredRun) -> Json:
    workers = [
        shaped(worker, RUN_WORKER, cluster=run.state.cluster) for worker in run.state.workers
    ]
    return shaped(wire_run(run), RUN, workers=workers)


def preset_json(row: PresetRow) -> Json:
    return shaped(row, PRESET)
