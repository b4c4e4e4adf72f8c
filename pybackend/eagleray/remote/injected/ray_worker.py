"""Ray's view of this process: its worker, actor, node and cluster.  Never imports ray itself."""

from __future__ import annotations

import os
import sys
import time

from .guard import never_raise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .settings import RunSettings

# A worker's row comes into Ray's table within milliseconds, on a busy head node within seconds.
ROW_TIMEOUT_S = 10.0
ROW_POLL_INTERVAL_S = 0.02


def global_worker() -> Any:
    """Ray's `global_worker`, None unless it is connected to a cluster."""
    module = sys.modules.get("ray._private.worker")
    worker = getattr(module, "global_worker", None)
    return worker if worker is not None and getattr(worker, "connected", False) else None


def ray_node() -> Any:
    return getattr(sys.modules.get("ray._private.worker"), "_global_node", None)


def started_cluster() -> bool:
    """Whether this driver started the cluster itself, so that its workers inherit its environment."""
    node = ray_node()
    return node is not None and bool(node.is_head())


def session_dir() -> str:
    """The session folder of the cluster on this node; "" before this process has connected."""
    node = getattr(global_worker(), "node", None)
    return str(node.get_session_dir_path()) if node is not None else ""


def facts() -> dict[str, Any]:
    """The ids of this process in Ray, without those that are empty."""
    worker = global_worker()
    if worker is None:
        return {}
    return {name: value for name, value in _facts(worker) if value}


def _facts(worker: Any) -> list[tuple[str, Any]]:
    core = worker.core_worker
    actor = core.get_actor_id()
    return [
        ("worker_id", core.get_worker_id().hex()),
        ("actor_id", "" if actor.is_nil() else actor.hex()),
        ("job_id", core.get_current_job_id().hex()),
        ("node_ip", worker.node_ip_address),
        ("session", getattr(worker.node, "session_name", "")),
        ("gcs", getattr(worker.node, "gcs_address", "")),
    ]


def profiling() -> dict[str, Any]:
    """Returns the data about nsys that the debug proxy needs; empty if this worker isn't profiled."""
    module = sys.modules.get(f"{__package__}.nsys.launch")
    status = dict(getattr(module, "for_proxy", {}))
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return {**status, "gpus": gpus.split(",") if gpus else []} if status else {}


def becomes_actor() -> bool:
    """Whether this worker is about to become an actor: then the class being loaded is its own.

    A worker that gets another actor's handle loads that actor's class, too.
    """
    worker = global_worker()
    if worker is None:
        return False
    actor = worker.core_worker.get_actor_id()
    return not actor.is_nil() and actor not in worker.actors


def actor_name() -> str:
    worker = global_worker()
    if worker is None or worker.core_worker.get_actor_id().is_nil():
        return ""
    name = worker.core_worker.get_actor_name()
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name or "")


@never_raise
def register_proxy(port: int) -> None:
    """Puts the debug proxy into Ray's own table of workers, which every client can read.

    A worker that isn't in this table yet must not do so: the GCS, and with it the cluster, would crash (ray#66331, seen
    with 2.60).
    """
    worker = global_worker()
    if worker is not None and _wait_for_row(worker):
        worker.set_debugger_port(port)


def _wait_for_row(worker: Any) -> bool:
    """Waits until Ray's table of workers has this one; False if it hasn't in time."""
    accessor = _state_accessor(sys.modules["ray._private.state"].state)
    worker_id = worker.core_worker.get_worker_id()
    deadline = time.monotonic() + ROW_TIMEOUT_S
    while accessor.get_worker_info(worker_id) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(ROW_POLL_INTERVAL_S)
    return True


def _state_accessor(state: Any) -> Any:
    """Ray's connection to the tables of the GCS, which the first use of it opens."""
    connect = getattr(state, "_connect_and_get_accessor", None)
    if connect is not None:
        return connect()
    # Older versions, such as 2.9, have it as an attribute.
    state._check_connected()
    return state.global_state_accessor


def address(settings: RunSettings) -> str:
    """The address at which the debug proxy has to listen so that the machine that started the run reaches it."""
    import contextlib
    import socket

    worker = global_worker()
    if worker is not None and worker.node_ip_address:
        return str(worker.node_ip_address)
    if settings.host == socket.gethostname():
        return "127.0.0.1"
    head = os.environ.get("RAY_ADDRESS", "").rpartition("://")[2].rpartition(":")[0]
    # Nodes of a cluster may have no route to anywhere else: where srun was called is the machine that started the run.
    for target in (head, os.environ.get("SLURM_LAUNCH_NODE_IPADDR", ""), "192.0.2.1"):
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
            contextlib.suppress(OSError),
        ):
            # Nothing is sent: connecting chooses the address that this machine would send from.
            if target:
                probe.connect((target, 9))
                return str(probe.getsockname()[0])
    return "127.0.0.1"


def after_connecting(module: Any, then: Callable[[], object]) -> None:
    """Calls `then` whenever this process has connected to a cluster; `module` is Ray's `_private.worker`."""
    before = module.connect

    def connect(*args: Any, **kwargs: Any) -> Any:
        result = before(*args, **kwargs)
        never_raise(then)()
        return result

    module.connect = connect
