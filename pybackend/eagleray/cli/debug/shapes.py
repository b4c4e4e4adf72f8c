"""Workers in `--json`: paused ones and all, and what commands do with them."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import asdict

from eagleray.cli.json_shapes import (
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER_OR_NULL,
    VERSION,
    VERSIONED,
    Field,
    Json,
    Shape,
    shaped,
)
from eagleray.common.errors import EaglerayError
from eagleray.debug.attaching.model import Attachment
from eagleray.debug.pdb.sessions import WaitingPdb
from eagleray.debug.workers.model import LiveWorker, LogEnd, PausedWorker

LOCATION = ("path", "line", "function", "local")
WORKER_STATES = '"paused", "debugging", "held", "running" or "gone"'
_WORKER: Shape = {
    **VERSIONED,
    "cluster": Field("id of its cluster"),
    "worker_id": Field("Ray's id of the worker"),
    "name": Field("name as in the editor"),
    "rank": Field("its rank, null if unknown", INTEGER_OR_NULL),
    "node_id": Field("Ray's id of the node"),
    "node_ip": Field("IP address of the node"),
    "pid": Field("process id", INTEGER),
}
PAUSED: Shape = {
    **_WORKER,
    "kind": Field('"breakpoint", "post-mortem" or "unknown"'),
    "state": Field(WORKER_STATES),
    "held": Field("whether the debug adapter holds it and no editor is attached", "boolean"),
    "waiting_s": Field(
        "seconds since it paused, or since it is held; null if unknown", NUMBER_OR_NULL
    ),
    "location": Field(f"{{{', '.join(LOCATION)}}}, null if unknown", "object or null", LOCATION),
    "exception": Field('what it failed with, "" if unknown'),
    "threads": Field("number of paused threads", INTEGER),
    "attempt": Field("attempt of its task", INTEGER),
    "children": Field("worker ids of those that only relay its error", "array"),
    "held_on": Field('another machine that holds it, "" for none'),
}
WORKER: Shape = {
    **_WORKER,
    "kind": Field('"actor", "task", "driver" or "idle"'),
    "class_name": Field("its class, or what it runs"),
    "state": Field(f'{WORKER_STATES}; "idle"; of an actor also "pending" or "restarting"'),
    "running": Field('the tasks that it runs, "" for none'),
    "job_id": Field("Ray's id of its job"),
    "actor_id": Field('Ray\'s id of its actor, "" for none'),
    "waiting_s": PAUSED["waiting_s"],
    "location": PAUSED["location"],
    "exception": PAUSED["exception"],
}
ATTACHMENT: Shape = {
    **VERSIONED,
    "socket": Field("Unix socket for any DAP client"),
    "cluster": Field("id of its cluster"),
    "worker_id": Field("Ray's id of the worker"),
    "name": Field("name as in the editor"),
    "rank": Field("its rank, null if unknown", INTEGER_OR_NULL),
    "path": Field('file on the worker where it is paused, "" while it runs'),
    "line": Field("line where it is paused", INTEGER),
    "local": Field('the same file on this machine, "" if unknown'),
}
OUTCOME: Shape = {
    **VERSIONED,
    "done": Field("number of workers", INTEGER),
    "failures": Field("list of {name, code, message}", "array", ("name", "code", "message")),
}
LOG: Shape = {
    **VERSIONED,
    "title": Field("worker and stream"),
    "text": Field("the last lines"),
    "truncated": Field("whether the log holds more", "boolean"),
}
PDB_SESSION: Shape = {
    **VERSIONED,
    "id": Field("what `eagleray pdb` takes"),
    "cluster": Field("id of its cluster"),
    "file": Field("file where it is paused"),
    "line": Field("line where it is paused", INTEGER),
    "name": Field("name of the worker"),
    "node": Field("its node"),
    "pid": Field("process id", INTEGER),
    "error": Field('what it failed with, "" at a breakpoint()'),
    "since": Field("seconds since 1970", "number"),
}


def paused_json(worker: PausedWorker, waited: float | None) -> Json:
    """Flat: workers that only relay the error of this one are rows of their own."""
    return shaped(
        worker,
        PAUSED,
        children=[child.worker_id for child in worker.children],
        state=state_of(worker),
        held=worker.is_held,
        waiting_s=waited,
    )


def worker_json(worker: LiveWorker, paused: PausedWorker | None, waited: float | None) -> Json:
    """A live worker, with the stop of one that is paused or being debugged."""
    stop = asdict(paused) if paused else {}
    return shaped(
        worker,
        WORKER,
        state=live_state(worker, paused),
        waiting_s=waited,
        location=stop.get("location"),
        exception=stop.get("exception", ""),
    )


def attachment_json(attachment: Attachment) -> Json:
    return shaped(attachment, ATTACHMENT)


def outcome_json(done: int, failures: Sequence[tuple[str, EaglerayError]]) -> Json:
    failed = [{"name": name, "code": e.code, "message": e.message} for name, e in failures]
    return {"version": VERSION, "done": done, "failures": failed}


def log_json(log: LogEnd) -> Json:
    return shaped(log, LOG)


def pdb_session_json(session: WaitingPdb) -> Json:
    return shaped(session, PDB_SESSION)


def state_of(worker: PausedWorker) -> str:
    """The state as the editor shows it; an editor may debug a worker that runs at the moment."""
    return "debugging" if worker.is_attached else worker.state


def live_state(worker: LiveWorker, paused: PausedWorker | None) -> str:
    """The state of any worker."""
    return worker.state if paused is None else state_of(paused)
