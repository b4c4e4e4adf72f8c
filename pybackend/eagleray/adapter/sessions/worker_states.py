"""A worker as the control protocol tells of it."""

from __future__ import annotations

from typing import Literal, Protocol

from eagleray.adapter.sessions.watching import ConnectedEditor
from eagleray.adapter.sessions.worker_rpc import Prepared
from eagleray.protocol.control import AttachParams, WorkerState, WorkerStop


class Attached(Protocol):
    """What is told of a worker, all but where it stands."""

    params: AttachParams
    socket_path: str
    state: Literal["attaching", "stopped", "running", "gone"]
    editor: ConnectedEditor | None
    seen: bool

    @property
    def prepared(self) -> Prepared: ...


def state_of(worker: Attached, stop: WorkerStop | None, held_s: float) -> WorkerState:
    """`stop` is where it stands, None while it runs; `held_s` how long it has stood there with no editor."""
    return WorkerState(
        session=worker.params.session,
        worker_id=worker.params.worker_id,
        cluster=worker.params.cluster,
        name=worker.params.name,
        pid=worker.prepared.pid,
        state=worker.state,
        editor=worker.editor is not None,
        held_s=held_s,
        rank=worker.prepared.rank,
        stop=stop,
        socket=worker.socket_path,
        seen=worker.seen,
    )
