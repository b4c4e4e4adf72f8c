"""What Ray knows of this process, asked only once ray is imported; "" or None for what it does not know."""

from __future__ import annotations

import os
import sys

from . import process_file
from .guard import never_raise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .debug_proxy import handle
    from .settings import RunSettings


def global_worker() -> Any:
    """Ray's own idea of this process, None unless it is connected to a cluster."""
    module = sys.modules.get("ray._private.worker")
    worker = getattr(module, "global_worker", None)
    return worker if worker is not None and getattr(worker, "connected", False) else None


def ray_node() -> Any:
    return getattr(sys.modules.get("ray._private.worker"), "_global_node", None)


def started_cluster() -> bool:
    """Whether this driver started the cluster itself, whose workers inherit its environment."""
    node = ray_node()
    return node is not None and bool(node.is_head())


def session_dir() -> str:
    """The folder of its cluster's session on this node; "" while it is in none."""
    node = getattr(global_worker(), "node", None)
    return str(node.get_session_dir_path()) if node is not None else ""


def facts() -> dict[str, Any]:
    """Who this is for Ray."""
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
    """What the debug proxy has to know of nsys at this worker; nothing where nobody asked for it."""
    module = sys.modules.get(f"{__package__}.nsys.launch")
    known = dict(getattr(module, "for_gate", {}))
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return {**known, "gpus": gpus.split(",") if gpus else []} if known else {}


def becomes_actor() -> bool:
    """Whether this worker is about to be an actor that it is not yet: then the class being loaded is its own.

    A worker that is handed another actor's handle loads that actor's class, too.
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
def register_proxy(proxy: handle.ProxyHandle) -> None:
    """Puts the debug proxy into Ray's own table of workers, where everybody can find it."""
    worker = global_worker()
    if worker is not None:
        worker.set_debugger_port(proxy.port)


def address(settings: RunSettings) -> str:
    """Where the debug proxy of this process has to listen to be reached by whoever started the run."""
    import socket

    worker = global_worker()
    if worker is not None and worker.node_ip_address:
        return str(worker.node_ip_address)
    if settings.host == socket.gethostname():
        return "127.0.0.1"
    head = os.environ.get("RAY_ADDRESS", "").rpartition("://")[2].rpartition(":")[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent: connecting chooses the address that this machine would speak from.
            probe.connect((head or "192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def proxy_file(settings: RunSettings) -> str:
    """The file that tells of the debug proxy of a process which is in no table of workers; "" where nobody would see it."""
    if settings.folder and os.path.isdir(settings.folder):
        return os.path.join(settings.folder, process_file.name("proxy"))
    return ""
