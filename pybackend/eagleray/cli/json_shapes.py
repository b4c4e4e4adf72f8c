"""The shapes of `--json`: what scripts may rely on, independent of what editor and sidecar exchange.

Each shape lists its fields with their meaning; docs/command-line.md prints them, and tests keep both. A field is added
by adding a line here; none is renamed or removed without an entry in CHANGELOG.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import asdict

from eagleray.common.errors import EaglerayError
from eagleray.features.clusters.handlers import shown_cluster
from eagleray.features.clusters.jobs import Jobs, shown_job
from eagleray.features.clusters.model import Cluster, JobStatus
from eagleray.features.debugging.model import Attachment
from eagleray.features.pdb.handlers import wire_session
from eagleray.features.pdb.sessions import WaitingPdb
from eagleray.features.reports.handlers import wire_report, wire_table
from eagleray.features.reports.model import LoadedReport, ReportTable
from eagleray.features.runs.handlers import wire_run
from eagleray.features.runs.records import StoredRun
from eagleray.features.workers.model import LogEnd, PausedWorker

Json = dict[str, Any]
Shape = dict[str, str]

PROBLEM = ["code", "message", "next_step"]
CLUSTER: Shape = {
    "id": "what other commands take as --cluster",
    "name": "the name in the panel",
    "origin": '"own" (found on this machine) or "added"',
    "state": '"connecting", "connected", "unreachable", "unauthorized", "not-ray" or "failing"',
    "session": 'Ray\'s session name, "" before the first answer',
    "ray_version": 'version of Ray, "" before the first answer',
    "sentence": "the state as a sentence",
    "problems": f"list of {{{', '.join(PROBLEM)}}}",
    "route": "{kind, via, state, sentence, message}, null for a direct connection",
    "job": 'SLURM job id, "" for none',
    "host": 'ssh destination, "" for none',
    "time_left_s": "seconds left of its SLURM job, null if unknown",
    "time_warning": 'a sentence while the time is nearly up and a worker is paused, else ""',
}
JOB: Shape = {
    "address": "what other commands take as --cluster",
    "job": "SLURM job id",
    "host": 'ssh destination, "" for this machine',
    "name": "name of the job",
    "partition": "its partition",
    "state": '"running", "pending" or "other"',
    "reason": "why SLURM lets it wait",
    "nodes": "number of nodes",
    "sentence": "the state as a sentence",
    "ray": '"live" (a Ray dashboard answers in it), "none" or "unknown"',
    "time_left_s": "seconds left, null if unknown",
    "starts_s": "seconds until SLURM expects it to start, null if unknown",
}
PAUSED: Shape = {
    "cluster": "id of its cluster",
    "worker_id": "Ray's id of the worker",
    "name": "name as in the panel",
    "rank": "its rank, null if unknown",
    "node_id": "Ray's id of the node",
    "node_ip": "IP address of the node",
    "pid": "process id",
    "kind": '"breakpoint", "post-mortem" or "unknown"',
    "state": '"paused", "held", "attached", "running" or "gone"',
    "held": "whether the debug adapter holds it and no editor is attached",
    "waiting_s": "seconds for which the adapter has held it, null if it hasn't",
    "location": "{path, line, function, local}, null if unknown",
    "exception": 'what it failed with, "" if unknown',
    "threads": "number of paused threads",
    "attempt": "attempt of its task",
    "children": "worker ids of those that only relay its error",
    "held_on": 'another machine that holds it, "" for none',
}
ATTACHMENT: Shape = {
    "socket": "Unix socket for any DAP client",
    "cluster": "id of its cluster",
    "worker_id": "Ray's id of the worker",
    "name": "name as in the panel",
    "rank": "its rank, null if unknown",
    "path": 'file on the worker where it is paused, "" while it runs',
    "line": "line where it is paused",
    "local": 'the same file on this machine, "" if unknown',
}
OUTCOME: Shape = {
    "done": "number of workers",
    "failures": "list of {name, code, message}",
}
LOG: Shape = {
    "title": "worker and stream",
    "text": "the last lines",
    "truncated": "whether the log holds more",
}
PDB_SESSION: Shape = {
    "id": "what `eagleray pdb` takes",
    "cluster": "id of its cluster",
    "file": "file where it is paused",
    "line": "line where it is paused",
    "name": "name of the worker",
    "node": "its node",
    "pid": "process id",
    "error": 'what it failed with, "" at a breakpoint()',
    "since": "seconds since 1970",
}
RUN_WORKER = [
    "cluster",
    "worker_id",
    "pid",
    "kind",
    "name",
    "state",
    "rank",
    "path",
    "line",
    "python",
]
RUN: Shape = {
    "id": "what `eagleray runs` takes",
    "name": "name of the run",
    "kind": '"process", "job" or "sbatch"',
    "state": "its phase",
    "started": "seconds since 1970, 0 before it started",
    "ended": "seconds since 1970, 0 before it ended",
    "code": "exit code, null before it ended",
    "cluster": "id of its cluster",
    "command": "the command, secrets left out",
    "cwd": "its folder",
    "workspace": "folder of the window that started it",
    "preset": 'name of the preset, "" for none',
    "workers": f"list of {{{', '.join(RUN_WORKER)}}}",
    "lines": "breakpoints, list of {path, line, state, moved_to, workers, reason}",
    "note": "a sentence about its state",
    "reason": "why it failed",
    "tail": "its last lines of output",
    "output": "file with its output",
    "python": 'its interpreter, "" if it isn\'t a Python program',
    "can_restart": "whether it can be started again",
    "confirm_stop": 'question before it is stopped, "" for none',
}
REPORT: Shape = {
    "path": "the report",
    "name": "its file name",
    "database": "the database that nsys made of it",
    "size": "bytes",
    "host": "where it was recorded",
    "started_utc": "when the recording began",
    "duration_ns": "nanoseconds",
    "nsys_version": "version of nsys",
    "schema_version": "version of the database's schema",
    "trace": "what was traced",
    "gpus": "list of GPUs with their shares and curves",
    "tables": "list of {id, title, columns, rows, total, sorted_by, descending, note}",
    "warnings": "list of {code, message, next_step}",
}

SHAPES: dict[str, tuple[str, Shape]] = {
    "clusters": ("a list of", CLUSTER),
    "slurm": ("a list of", JOB),
    "paused": ("a list of", PAUSED),
    "attach": ("one", ATTACHMENT),
    "continue, release": ("one", OUTCOME),
    "logs": ("one", LOG),
    "pdb": ("a list of", PDB_SESSION),
    "runs": ("a list of", RUN),
    "report": ("one", REPORT),
}


def cluster_json(cluster: Cluster) -> Json:
    shown = shown_cluster(cluster)
    problems = [_shaped(problem, PROBLEM) for problem in shown.problems]
    return _shaped(shown, CLUSTER, problems=problems)


def job_json(status: JobStatus, jobs: Jobs) -> Json:
    """Flat: the fields of the job beside those of its status."""
    job = status.job
    return _shaped(
        shown_job(status, jobs),
        JOB,
        job=job.id,
        host=status.host,
        name=job.name,
        partition=job.partition,
        state=job.state if job.state in ("running", "pending") else "other",
        reason=job.reason,
        nodes=job.node_count,
        ray=status.ray,
    )


def paused_json(worker: PausedWorker) -> Json:
    """Flat: workers that only relay the error of this one are rows of their own."""
    state = state_of(worker)
    return _shaped(
        worker,
        PAUSED,
        children=[child.worker_id for child in worker.children],
        state=state,
        held=state == "held",
        waiting_s=waiting_s(worker),
    )


def attachment_json(attachment: Attachment) -> Json:
    return _shaped(attachment, ATTACHMENT)


def outcome_json(done: int, failures: Sequence[tuple[str, EaglerayError]]) -> Json:
    failed = [{"name": name, "code": e.code, "message": e.message} for name, e in failures]
    return {"done": done, "failures": failed}


def log_json(log: LogEnd) -> Json:
    return _shaped(log, LOG)


def pdb_session_json(session: WaitingPdb) -> Json:
    return _shaped(wire_session(session), PDB_SESSION)


def run_json(run: StoredRun) -> Json:
    workers = [
        _shaped(worker, RUN_WORKER, cluster=run.state.cluster) for worker in run.state.workers
    ]
    return _shaped(wire_run(run), RUN, workers=workers)


def report_json(report: LoadedReport, tables: Sequence[ReportTable]) -> Json:
    shown = [asdict(wire_table(table, len(table.rows))) for table in tables]
    return _shaped(wire_report(report), REPORT, tables=shown)


def state_of(worker: PausedWorker) -> str:
    """The state on a terminal, where nothing is marked as new: what an adapter holds is held."""
    if worker.is_attached:
        return "attached"
    return "held" if worker.state == "paused" and worker.is_held else worker.state


def waiting_s(worker: PausedWorker) -> float | None:
    """None unless an adapter has held it: Ray doesn't report since when a worker waits, and one command asks once."""
    return round(worker.held_s, 3) or None


def _shaped(record: Any, shape: Iterable[str], **instead: object) -> Json:
    """The fields of `record` that the shape names, in its order."""
    values = {**asdict(record), **instead}
    return {name: values[name] for name in shape}
