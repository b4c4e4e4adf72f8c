"""What a Ray dashboard says, as values: workers, tasks, actors, nodes and jobs.

Every text comes from the cluster and is unchecked: it may hold markup, terminal escapes and newlines.
"""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen


@frozen
class Version:
    """What runs behind an address.

    `session` is Ray's session name, new with every start of the cluster; an old Ray does not tell it,
    there it is `head-` and the id of the head node.
    """

    ray: str
    session: str
    commit: str


@frozen
class WorkerRow:
    """A live process that runs tasks or actors, or a driver.

    `debug_port` is 0 for a worker that never reached a breakpoint(); `paused_threads` counts the
    threads that wait for a debugger *and* have none yet.  `started_ms` is 0 when unknown.
    """

    worker_id: str
    kind: Literal["worker", "driver", "other"]
    node_id: str
    node_ip: str
    pid: int
    debug_port: int
    paused_threads: int
    started_ms: int


@frozen
class RuntimeEnv:
    """The part of a runtime_env that matters here; `env` holds env_vars as they are, secrets included.

    `working_dir` and `py_modules` are URIs (`gcs://_ray_pkg_….zip`) or paths.  `python` names what
    makes the environment differ from the cluster's own ("pip", "conda", "uv", "container", …), or "".
    """

    working_dir: str = ""
    py_modules: tuple[str, ...] = ()
    env: dict[str, str] = field(factory=dict, repr=False)
    python: str = ""


@frozen
class TaskRow:
    """A task that runs now: `kind` in Ray's words (NORMAL_TASK, ACTOR_TASK, ACTOR_CREATION_TASK, DRIVER_TASK)."""

    task_id: str
    attempt: int
    name: str
    function: str
    kind: str
    state: str
    job_id: str
    actor_id: str
    worker_id: str
    node_id: str
    pid: int
    parent_task_id: str
    started_ms: int
    runtime_env: RuntimeEnv


@frozen
class ActorRow:
    """An actor that is not dead.  `name` is the one given with `options(name=…)`, often ""."""

    actor_id: str
    class_name: str
    name: str
    repr_name: str
    state: str
    job_id: str
    node_id: str
    pid: int
    restarts: int
    namespace: str
    runtime_env: RuntimeEnv


@frozen
class NodeRow:
    """A node of the cluster."""

    node_id: str
    ip: str
    name: str
    alive: bool
    head: bool


@frozen
class JobRow:
    """A job: `kind` "driver" (a program that called ray.init) or "submission" (through the job API).

    `job_id` is "" for a submission whose driver has not called ray.init; `driver_pid` is 0 when unknown.
    """

    job_id: str
    submission_id: str
    kind: Literal["driver", "submission"]
    status: str
    entrypoint: str
    driver_ip: str
    driver_node_id: str
    driver_pid: int
    runtime_env: RuntimeEnv
