"""The workers that wait in Ray's own pdb, parsed from Ray's records, and the target to connect to one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.debug.pdb.errors import ambiguous_pdb, unknown_pdb
from eagleray.protocol import route_spec
from eagleray.protocol.route_spec import RouteSpec
from eagleray.ray.rows import ActorRow, JobRow, NodeRow, TaskRow, WorkerRow

_ID = re.compile(r"[0-9a-fA-F-]{8,64}")
_ADDRESS = re.compile(
    r"(?:\[(?P<bare>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9_.-]{1,253})):(?P<port>\d{1,5})"
)
_FRAME = re.compile(r'^ *File "([^"\n]{1,4096})", line (\d{1,9})', re.MULTILINE)
# Ray itself entered pdb after an error if its location is in one of these.
_OF_RAY = ("/ray/_private/", "/ray/util/", "/ray/_raylet")
_NO_ERROR = "NoneType: None"
_LOCALHOST = ("localhost", "127.0.0.1", "::1")


@frozen
class PdbSession:
    """A worker that waits in Ray's own pdb (`RAY_DEBUG=legacy`) at `file:line` ("" and 0: where its task begins).

    `error` is what it failed with, "" at a breakpoint().  Texts are printable.  `pid` is 0 when unknown; `since` is in
    seconds since the epoch.
    """

    id: str
    cluster: str
    file: str
    line: int
    name: str
    node: str
    pid: int
    error: str
    since: float


@frozen
class WaitingPdb(PdbSession):
    """A session with its address: `port` listens on the localhost of `host`, or on its address if `is_open`."""

    host: NodeRow
    port: int
    is_open: bool

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "its first line"


@frozen
class DashboardRows:
    """The dashboard's lists of a cluster; tasks and jobs only where pdb does not name its worker."""

    workers: Sequence[WorkerRow]
    actors: Sequence[ActorRow]
    nodes: Sequence[NodeRow]
    tasks: Sequence[TaskRow] = ()
    jobs: Sequence[JobRow] = ()


def lacks_worker_ids(records: Any) -> bool:
    """Whether this is the pdb of an old Ray, which reports neither worker nor node."""
    listed = records if isinstance(records, list) else []
    return any(isinstance(item, Mapping) and not _text(item, "worker_id") for item in listed)


def sessions(cluster: str, records: Any, rows: DashboardRows) -> list[WaitingPdb]:
    """The sessions of live workers, the longest waiting first; malformed records are left out."""
    listed = records if isinstance(records, list) else []
    parsed = [_session(cluster, value, rows) for value in listed if isinstance(value, Mapping)]
    return sorted((item for item in parsed if item), key=lambda item: (item.since, item.id))


def chosen(waiting: Sequence[WaitingPdb], text: str) -> WaitingPdb:
    """The session that `text` means: by its id, else by the name, else by the beginning of the id."""
    exact = [session for session in waiting if session.id == text]
    named = [session for session in waiting if session.name == text]
    beginning = [session for session in waiting if text and session.id.startswith(text)]
    fitting = exact or named or beginning
    if not fitting:
        raise unknown_pdb(text)
    if len(fitting) > 1:
        raise ambiguous_pdb(text, len(fitting))
    return fitting[0]


def _session(cluster: str, value: Mapping[str, Any], rows: DashboardRows) -> WaitingPdb | None:
    identity, address = _text(value, "id"), _ADDRESS.fullmatch(_text(value, "pdb_address"))
    process = _worker_process(value, rows)
    if process is None or address is None or not _ID.fullmatch(identity):
        return None
    node, pid = process
    host, port = (address["bare"] or address["host"]).lower(), int(address["port"])
    if not 0 < port < 2**16 or host not in (*_LOCALHOST, node.ip):
        # Only the node of the worker itself may be connected to.
        return None
    file, line = _stop_location(value)
    return WaitingPdb(
        id=identity,
        cluster=cluster,
        file=file,
        line=line,
        name=_name(value, rows.actors),
        error=_error(value) if _entered_by_ray(value) else "",
        node=node.name or node.ip,
        host=node,
        pid=pid,
        port=port,
        is_open=host not in _LOCALHOST,
        since=_number(value, "timestamp"),
    )


def _worker_process(value: Mapping[str, Any], rows: DashboardRows) -> tuple[NodeRow, int] | None:
    """The node and process id of the worker that waits; None for one that is gone.

    Ray never removes the records of killed workers: only the session itself does, at its end (2.60, `util/rpdb.py`).

    1. By the id of the worker, in newer versions of Ray.
    2. An old Ray: by the one task of that name in the job.
    3. Otherwise by the nodes on which such tasks run, or all: certain if it is one.
    """
    if worker_id := _text(value, "worker_id"):
        worker = next((worker for worker in rows.workers if worker.worker_id == worker_id), None)
        nodes = [node for node in rows.nodes if worker and node.node_id == worker.node_id]
        return (nodes[0], worker.pid) if worker and nodes else None
    job_id, title = _text(value, "job_id"), _title(value)
    if not any(job.job_id == job_id and job.status == "RUNNING" for job in rows.jobs):
        return None
    running = [task for task in rows.tasks if (task.job_id, task.name) == (job_id, title)]
    places = {task.node_id for task in running} or {
        node.node_id for node in rows.nodes if node.alive
    }
    nodes = [node for node in rows.nodes if node.node_id in places]
    if len(nodes) != 1:
        return NodeRow("", "", f"one of {len(nodes)} nodes", alive=True, head=False), 0
    return nodes[0], running[0].pid if len(running) == 1 else 0


def _entered_by_ray(value: Mapping[str, Any]) -> bool:
    return any(part in _text(value, "filename") for part in _OF_RAY)


def _stop_location(value: Mapping[str, Any]) -> tuple[str, int]:
    """The stop location: for pdb that Ray entered, the last frame of the error that is not Ray's."""
    if _entered_by_ray(value):
        frames = _FRAME.findall(_text(value, "traceback"))
        own = [frame for frame in frames if not any(part in frame[0] for part in _OF_RAY)]
        return (printable(own[-1][0], 4096), int(own[-1][1])) if own else ("", 0)
    return printable(_text(value, "filename"), 4096), max(0, int(_number(value, "lineno")))


def _error(value: Mapping[str, Any]) -> str:
    lines = [line for line in _text(value, "traceback").splitlines() if line.strip()]
    return "" if not lines or lines[-1] == _NO_ERROR else printable(lines[-1])


def _name(value: Mapping[str, Any], actors: Sequence[ActorRow]) -> str:
    """The actor's name or class with the method, otherwise the process title."""
    title = _title(value)
    actor = next((actor for actor in actors if actor.actor_id == _text(value, "actor_id")), None)
    if actor is None or not _text(value, "actor_id"):
        return printable(title, 120) or "worker"
    method = title.rpartition(".")[2] if "." in title else ""
    name = actor.name or actor.class_name
    return printable(f"{name}.{method}" if method else name, 120)


def _title(value: Mapping[str, Any]) -> str:
    return _text(value, "proctitle").removeprefix("ray::").removesuffix("()")


def _text(value: Mapping[str, Any], key: str) -> str:
    entry = value.get(key)
    return entry if isinstance(entry, str) else ""


def _number(value: Mapping[str, Any], key: str) -> float:
    entry = value.get(key)
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        return 0.0
    # A number can be too large, infinite or NaN.
    return float(entry) if abs(entry) < 2**53 else 0.0


@frozen
class PdbTarget:
    """`host:port` is tried on `routes` in their order; `is_local`: it is the localhost of the node.

    It is an argument of another process, which needs only this of a `WaitingPdb`.
    """

    id: str
    cluster: str
    name: str
    place: str
    node: str
    routes: tuple[RouteSpec, ...]
    host: str
    port: int
    is_local: bool

    def text(self) -> str:
        fields = {name: getattr(self, name) for name in _TEXTS} | {"port": self.port}
        fields |= {"routes": [route_spec.to_json(route) for route in self.routes]}
        return json.dumps(fields | {"is_local": self.is_local})


_TEXTS = ("id", "cluster", "name", "place", "node", "host")


def read(text: str) -> PdbTarget:
    """The target that `PdbTarget.text` wrote; raises `unknown-pdb`, or `bad-route`."""
    try:
        fields = json.loads(text)
        return PdbTarget(
            **{name: str(fields[name]) for name in _TEXTS},
            routes=tuple(route_spec.of_json(route) for route in fields["routes"]),
            port=int(fields["port"]),
            is_local=fields["is_local"] is True,
        )
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise unknown_pdb(printable(text)) from error
