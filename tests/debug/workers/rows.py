"""Rows of Ray, states of the adapter and live workers, with everything that a test does not care for filled in."""

from __future__ import annotations

from typing import Any

from eagleray.debug.workers.model import LiveWorker
from eagleray.protocol.adapter_control import WorkerState, WorkerStop
from eagleray.ray.rows import ActorRow, JobRow, RuntimeEnv, TaskRow, WorkerRow

CLUSTER = "http://127.0.0.1:8265"
SESSION = "session_1"
NODE = "node1"
IP = "10.0.0.1"


def worker_row(worker_id: str = "w1", **other: Any) -> WorkerRow:
    values: dict[str, Any] = {
        "worker_id": worker_id,
        "kind": "worker",
        "node_id": NODE,
        "node_ip": IP,
        "pid": 100,
        "debug_port": 4000,
        "paused_threads": 1,
        "started_ms": 0,
    }
    return WorkerRow(**{**values, **other})


def task_row(worker_id: str = "w1", name: str = "PolicyWorker.train", **other: Any) -> TaskRow:
    values: dict[str, Any] = {
        "task_id": f"task-of-{worker_id}",
        "attempt": 0,
        "name": name,
        "function": name,
        "kind": "NORMAL_TASK",
        "state": "RUNNING",
        "job_id": "01000000",
        "actor_id": "",
        "worker_id": worker_id,
        "node_id": NODE,
        "pid": 100,
        "parent_task_id": "",
        "started_ms": 0,
        "runtime_env": RuntimeEnv(),
    }
    return TaskRow(**{**values, **other})


def live_worker(worker_id: str = "w1", **other: Any) -> LiveWorker:
    values: dict[str, Any] = {
        "cluster": CLUSTER,
        "worker_id": worker_id,
        "name": "policy-0",
        "kind": "actor",
        "class_name": "Policy",
        "rank": 0,
        "state": "running",
        "running": "",
        "node_id": NODE,
        "node_ip": IP,
        "pid": 100,
        "job_id": "01000000",
        "actor_id": "a1",
    }
    return LiveWorker(**{**values, **other})


def actor_row(actor_id: str = "a1", **other: Any) -> ActorRow:
    values: dict[str, Any] = {
        "actor_id": actor_id,
        "class_name": "PolicyWorker",
        "name": "",
        "repr_name": "",
        "state": "ALIVE",
        "job_id": "01000000",
        "node_id": NODE,
        "pid": 100,
        "restarts": 0,
        "namespace": "",
        "runtime_env": RuntimeEnv(),
    }
    return ActorRow(**{**values, **other})


def job_row(**other: Any) -> JobRow:
    values: dict[str, Any] = {
        "job_id": "01000000",
        "submission_id": "",
        "kind": "driver",
        "status": "RUNNING",
        "entrypoint": "python train.py",
        "driver_ip": IP,
        "driver_node_id": NODE,
        "driver_pid": 50,
        "runtime_env": RuntimeEnv(),
    }
    return JobRow(**{**values, **other})


def stop(**other: Any) -> WorkerStop:
    values: dict[str, Any] = {
        "reason": "breakpoint",
        "path": "/code/train.py",
        "line": 12,
        "function": "PolicyWorker.train",
        "exception": "",
        "thread_id": 1,
    }
    return WorkerStop(**{**values, **other})


def worker_state(worker_id: str = "w1", **other: Any) -> WorkerState:
    values: dict[str, Any] = {
        "session": SESSION,
        "worker_id": worker_id,
        "cluster": CLUSTER,
        "name": "policy",
        "pid": 100,
        "state": "stopped",
        "editor": False,
        "held_s": 0.0,
        "rank": "",
        "stop": stop(),
        "socket": "/run/w1.sock",
    }
    return WorkerState(**{**values, **other})
