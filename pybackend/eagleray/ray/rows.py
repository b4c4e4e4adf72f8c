"""Rows of Ray's state API, parsed from the JSON of every version, and from invalid JSON.

A row without its id is dropped; a field of another type counts as missing.  Every text comes from the cluster
and is unchecked: it may contain markup, terminal escapes and newlines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar

from attrs import field, frozen

Row = Mapping[str, Any]
T = TypeVar("T")

# No count, time or amount of a cluster is larger.
_MOST = 2**53

# Keys of a runtime_env that give a worker another Python than the node's.
PYTHON_KEYS = ("pip", "uv", "conda", "py_executable", "container", "image_uri")


def each(parse: Callable[[Row], T | None], rows: Iterable[Row]) -> list[T]:
    return [value for row in rows if (value := parse(row)) is not None]


def worker(row: Row) -> WorkerRow | None:
    worker_id = text(row, "worker_id")
    if not worker_id:
        return None
    kinds: dict[str, Literal["worker", "driver"]] = {"WORKER": "worker", "DRIVER": "driver"}
    return WorkerRow(
        worker_id=worker_id,
        kind=kinds.get(text(row, "worker_type"), "other"),
        node_id=text(row, "node_id"),
        node_ip=text(row, "ip"),
        pid=number(row, "pid"),
        debug_port=port(row, "debugger_port"),
        paused_threads=number(row, "num_paused_threads"),
        started_ms=number(row, "start_time_ms"),
    )


def task(row: Row) -> TaskRow | None:
    task_id = text(row, "task_id")
    if not task_id:
        return None
    return TaskRow(
        task_id=task_id,
        attempt=number(row, "attempt_number"),
        name=text(row, "name"),
        function=text(row, "func_or_class_name"),
        kind=text(row, "type"),
        state=text(row, "state"),
        job_id=text(row, "job_id"),
        actor_id=text(row, "actor_id"),
        worker_id=text(row, "worker_id"),
        node_id=text(row, "node_id"),
        pid=number(row, "worker_pid"),
        parent_task_id=text(row, "parent_task_id"),
        started_ms=number(row, "start_time_ms"),
        runtime_env=serialized_runtime_env(mapping(row, "runtime_env_info")),
        resources=amounts(mapping(row, "required_resources")),
    )


def actor(row: Row) -> ActorRow | None:
    actor_id = text(row, "actor_id")
    if not actor_id:
        return None
    return ActorRow(
        actor_id=actor_id,
        class_name=text(row, "class_name"),
        name=text(row, "name"),
        repr_name=text(row, "repr_name"),
        state=text(row, "state"),
        job_id=text(row, "job_id"),
        node_id=text(row, "node_id"),
        pid=number(row, "pid"),
        restarts=number(row, "num_restarts"),
        namespace=text(row, "ray_namespace"),
        runtime_env=serialized_runtime_env(row),
        death=_death(row),
        holds=amounts(mapping(row, "required_resources")),
    )


def _death(row: Row) -> str:
    """Ray's reason for the death of an actor; "" for one that lives, or of whose constructor an exception is the reason."""
    context = mapping(mapping(row, "death_cause"), "actor_died_error_context")
    return text(context, "error_message")


def node(row: Row) -> NodeRow | None:
    node_id = text(row, "node_id")
    if not node_id:
        return None
    return NodeRow(
        node_id=node_id,
        ip=text(row, "node_ip"),
        name=text(row, "node_name"),
        alive=text(row, "state") == "ALIVE",
        head=row.get("is_head_node") is True,
        resources=amounts(mapping(row, "resources_total")),
        available=amounts(mapping(row, "resources_available")),
    )


def placement_group(row: Row) -> PlacementGroupRow | None:
    group_id = text(row, "placement_group_id")
    bundles = row.get("bundles")
    if not group_id or not isinstance(bundles, list):
        return None
    return PlacementGroupRow(
        group_id,
        text(row, "name"),
        text(row, "creator_job_id"),
        tuple(
            amounts(mapping(bundle, "unit_resources"))
            for bundle in bundles
            if isinstance(bundle, dict)
        ),
        text(mapping(row, "stats"), "scheduling_state") == "INFEASIBLE",
        is_placed=text(row, "state") == "CREATED",
    )


def agent(row: Row) -> AgentRow | None:
    """The agent of a node, by the summary of the node; None for a node that isn't alive."""
    raylet = mapping(row, "raylet")
    node_id = text(raylet, "nodeId")
    if not node_id or text(raylet, "state") != "ALIVE":
        return None
    port = raylet.get("dashboardAgentListenPort")
    return AgentRow(
        node_id=node_id,
        ip=text(raylet, "nodeManagerAddress"),
        head=raylet.get("isHeadNode") is True,
        raylet_socket=text(raylet, "rayletSocketName"),
        # Its default in a message of an older raylet is 0.
        listen_port=port if isinstance(port, int) and port != 0 else None,
        # Numbers of 64 bits are texts in the JSON of a message.
        started_ms=int(started) if (started := text(raylet, "startTimeMs")).isdecimal() else 0,
    )


def job(row: Row) -> JobRow | None:
    job_id, submission_id = text(row, "job_id"), text(row, "submission_id")
    if not (job_id or submission_id):
        return None
    driver = mapping(row, "driver_info")
    return JobRow(
        job_id=job_id or text(driver, "id"),
        submission_id=submission_id,
        kind="submission" if submission_id else "driver",
        status=text(row, "status"),
        entrypoint=text(row, "entrypoint"),
        driver_ip=text(driver, "node_ip_address"),
        driver_node_id=text(row, "driver_node_id"),
        driver_pid=number(driver, "pid"),
        runtime_env=runtime_env(mapping(row, "runtime_env")),
        ended_at=number(row, "end_time") / 1000,
    )


def serialized_runtime_env(row: Row) -> RuntimeEnv:
    """Returns the runtime_env that a row has as JSON text in `serialized_runtime_env`."""
    try:
        value = json.loads(text(row, "serialized_runtime_env") or "{}")
    except (ValueError, RecursionError):
        return RuntimeEnv()
    return runtime_env(value) if isinstance(value, dict) else RuntimeEnv()


def runtime_env(value: Row) -> RuntimeEnv:
    modules = value.get("py_modules")
    return RuntimeEnv(
        working_dir=text(value, "working_dir"),
        py_modules=tuple(m for m in modules if isinstance(m, str))
        if isinstance(modules, list)
        else (),
        env={
            name: setting
            for name, setting in mapping(value, "env_vars").items()
            if isinstance(setting, str)
        },
        python=next((key for key in PYTHON_KEYS if value.get(key)), ""),
    )


def amounts(row: Row) -> dict[str, float]:
    """Resources by their names, such as `CPU`; those whose amount is none are left out."""
    return {
        name: float(value)
        for name, value in row.items()
        # Not a number is not between any numbers.
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _MOST
    }


def text(row: Row, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def number(row: Row, key: str) -> int:
    """A count, pid or time; 0 for what is missing, negative or beyond 2**53 (Ray's -1 as unsigned)."""
    value = row.get(key)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        return 0
    return value


def port(row: Row, key: str) -> int:
    value = number(row, key)
    return value if value < 2**16 else 0


def mapping(row: Row, key: str) -> dict[str, Any]:
    value = row.get(key)
    return value if isinstance(value, dict) else {}


@frozen
class RayVersion:
    """The version and session behind an address.

    `session` is Ray's session name, new with every start of the cluster; an old Ray doesn't report it;
    then it is `head-` and the id of the head node.
    """

    ray: str
    session: str
    commit: str


@frozen
class WorkerRow:
    """A live process that runs tasks or actors, or a driver; another list of Ray than `TaskRow`.

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
    """A task: `kind` as Ray names it (NORMAL_TASK, ACTOR_TASK, ACTOR_CREATION_TASK, DRIVER_TASK).

    `resources` are those that it needs; `pid` and `node_id` are 0 and "" before it runs.
    """

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
    resources: dict[str, float] = field(factory=dict)


@frozen
class PlacementGroupRow:
    """A placement group with the resources of its bundles, which it holds if it `is_placed`; `is_infeasible`: no nodes of
    the cluster ever have room for it.
    """

    group_id: str
    name: str
    job_id: str
    bundles: tuple[dict[str, float], ...]
    is_infeasible: bool
    is_placed: bool = False


_OUR_ACTORS = ("EaglerayInspector", "EaglerayNodeSampler")
# The actor with which Ray runs the program of a job (2.60, JOB_ACTOR_NAME_TEMPLATE).
_JOB_SUPERVISOR = "_ray_internal_job_actor_"


@frozen
class ActorRow:
    """An actor.  `name` is the one given with `options(name=…)`, often "".  `death`: why it is dead, in Ray's words.
    `holds`: the resources that it has for its life.
    """

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
    death: str = ""
    holds: dict[str, float] = field(factory=dict)

    @property
    def is_internal(self) -> bool:
        """Whether Ray or Eagleray has started it, and no program of the user."""
        return self.class_name in _OUR_ACTORS or self.name.startswith(_JOB_SUPERVISOR)


@frozen
class NodeRow:
    """A node of the cluster, with all the `resources` that it has, and those `available`, {} where Ray doesn't say it."""

    node_id: str
    ip: str
    name: str
    alive: bool
    head: bool
    resources: dict[str, float] = field(factory=dict)
    available: dict[str, float] = field(factory=dict)


@frozen
class AgentRow:
    """Ray's agent on a living node: `listen_port` is -1 if it couldn't open the port for jobs, None if Ray doesn't say."""

    node_id: str
    ip: str
    head: bool
    raylet_socket: str
    listen_port: int | None
    started_ms: int


@frozen
class JobRow:
    """A job: `kind` "driver" (a program that called ray.init) or "submission" (through the job API).

    `job_id` is "" for a submission whose driver has not called ray.init; `driver_pid` is 0 when unknown, as is `ended_at`,
    by the clock of the cluster.
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
    ended_at: float = 0.0
