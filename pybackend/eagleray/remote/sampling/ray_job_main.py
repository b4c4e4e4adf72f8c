"""The driver of a job of Ray that samples all nodes: one actor a node, a deadline for each, and one file as the answer.

The same actors then read native frames of the process that Ray's store names and, with a function that asks processes
for more than stacks, do that for those that it names; a second file has their answers.

It ends by SIGTERM, which Ray sends to a job that is stopped: when its answer was read, or when no client wants it any
more. Before it ends it lets the dumps finish that are under way, since a py-spy that is killed may leave a process
stopped.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import node_actor, proc, sample_codec
from .node_sampler import NodeSamples, interval
from .processes import Named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .node_sampler import ReadProcesses, Round
    from .processes import Described
    from .pyspy_dumps import ReadRecords

VARIABLE = "EAGLERAY_ASKED"
# A node first starts a worker and unpacks our code.
COLD_S = 20.0
WARM_S = 12.0
# Longer than a process may take for its answers, and then for its native frames.
READ_S = 25.0
# Until then the client has read the answer, or it never will.
UNREAD_S = 60.0
# Ray kills a job three seconds after it has told it to end (2.60, `job_supervisor.py`).
GRACE_S = 2.0
TICK_S = 0.25
POLL_S = 0.05


class Ended(Exception):
    """SIGTERM came."""


@dataclass
class Node:
    """A node and how far it is: `pending` is the call under way, `due` the time of the next, and `until` the deadline."""

    node_id: str
    host: str
    actor: Any
    until: float
    pending: Any = None
    due: float = 0.0
    processes: tuple[Described, ...] | None = None
    rounds: list[Round] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    reason: str = ""
    detail: str = ""


def main(read: ReadProcesses | None = None, read_records: ReadRecords | None = None) -> None:
    """Takes what it is asked for from the variable and from Ray's store, and never returns."""
    order = json.loads(os.environ.pop(VARIABLE))
    ended = [False]
    written: list[Path] = []

    def give(name: str, answer: dict[str, Any]) -> None:
        written.append(logs_folder() / name)
        content = json.dumps(answer, separators=(",", ":")).encode()
        write(written[-1], content)
        digest = hashlib.sha256(content).hexdigest()
        _print(order["mark"], {"file": name, "size": len(content), "sha256": digest})

    def end(_signal: int, _frame: object) -> None:
        ended[0] = True

    code = 1
    try:
        import ray

        ray.init(log_to_driver=False)
        # After `ray.init`, which has a handler of its own (2.60, `_private/worker.py`).
        signal.signal(signal.SIGTERM, end)
        request = taken(order["key"])
        if request is None:
            raise ValueError("Ray lost what was asked for")
        job = Sampling(ray, json.loads(request), order["mark"], ended, read, read_records)
        job.run()
        give(order["answer"], job.answer())
        if question := _question(order["question"], ended):
            give(order["readings"], job.answers(question))
        _wait(ended, UNREAD_S)
        code = 0
    except Ended:
        code = 0
    except Exception as error:  # The log of the job has the error, and this is the last line of it.
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
    finally:
        for path in written:
            with contextlib.suppress(OSError):
                path.unlink()
        sys.stdout.flush()
        sys.stderr.flush()
        # Python's own way out waits 0.7 s for threads of Ray.
        os._exit(code)


class Sampling:
    """Drives the actors of all nodes through their rounds."""

    def __init__(
        self,
        ray: Any,
        request: dict[str, Any],
        mark: str,
        ended: list[bool],
        read: ReadProcesses | None = None,
        read_records: ReadRecords | None = None,
    ) -> None:
        self._ray = ray
        self._read = read
        self._read_records = read_records
        self._rounds = int(request["rounds"])
        self._pause_s = float(request["pause_s"])
        self._names = request["nodes"]
        self._mark = mark
        self._ended = ended
        self._nodes: list[Node] = []
        self._reported = 0

    def run(self) -> None:
        self._nodes = list(self._started())
        while active := [node for node in self._nodes if self._is_active(node)]:
            if self._ended[0]:
                self._let_finish(active)
                raise Ended
            self._step(active)
            self._report()

    def answer(self) -> dict[str, Any]:
        answered = [node for node in self._nodes if node.rounds]
        silent = [node for node in self._nodes if not node.rounds]
        samples = [
            NodeSamples(
                node.host,
                node.processes or (),
                tuple(node.rounds),
                interval(node.times[: len(node.rounds)]),
            )
            for node in answered
        ]
        return {
            "samples": sample_codec.dump(samples),
            "nodes": [node.node_id for node in answered],
            "silent": [
                {
                    "node_id": node.node_id,
                    "host": node.host,
                    "reason": node.reason or "timeout",
                    "detail": node.detail,
                }
                for node in silent
            ],
        }

    def answers(self, wanted: dict[str, list[list[int]]]) -> dict[str, dict[str, list[Any]]]:
        """The answers of `answers_of` by the id of their node; without nodes that don't answer in time."""
        pending = {
            node.actor.answers.remote(wanted[node.node_id]): node.node_id
            for node in self._nodes
            if node.node_id in wanted and node.rounds
        }
        until = time.monotonic() + READ_S
        answers = {}
        while pending and time.monotonic() < until:
            if self._ended[0]:
                self._ray.wait(list(pending), num_returns=len(pending), timeout=GRACE_S)
                raise Ended
            ready, _ = self._ray.wait(list(pending), num_returns=1, timeout=TICK_S)
            for each in ready:
                node_id = pending.pop(each)
                # A node that is gone must not cost the answers of the others.
                with contextlib.suppress(Exception):
                    answers[node_id] = self._ray.get(each)
        return answers

    def _started(self) -> Iterator[Node]:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        sampler = self._ray.remote(node_actor.EaglerayNodeSampler)
        own_node = self._ray.get_runtime_context().get_node_id()
        ours = node_actor.lineage(os.getpid(), proc.all_processes())
        now = time.monotonic()
        for row in self._ray.nodes():
            node_id = row["NodeID"]
            if not row.get("Alive"):
                continue
            order = self._names.get(node_id, {})
            is_part = bool(order.get("is_part"))
            if is_part and not any(order.get(key) for key in ("named", "drivers", "workers")):
                continue
            host = order.get("host") or row.get("NodeManagerAddress", "")
            named = {int(pid): Named(*names) for pid, names in order.get("named", {}).items()}
            actor = sampler.options(
                num_cpus=0,
                max_restarts=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
            ).remote(
                host,
                named,
                order.get("drivers", []),
                ours if node_id == own_node else [],
                order.get("workers", []),
                order.get("jobs", []),
                is_part,
                self._read,
                self._read_records,
            )
            yield Node(node_id, host, actor, now + COLD_S, pending=actor.processes.remote())

    def _is_active(self, node: Node) -> bool:
        return not node.reason and len(node.rounds) < self._rounds

    def _step(self, active: list[Node]) -> None:
        """Starts the rounds that are due, and takes the answers that are there."""
        now = time.monotonic()
        for node in active:
            if node.pending is None and node.due <= now:
                is_last = len(node.rounds) == self._rounds - 1
                node.pending = node.actor.round.remote(is_last)
                node.times.append(now)
                node.until = now + WARM_S
            elif node.pending is not None and node.until <= now:
                node.reason = "timeout"
        waiting = {node.pending: node for node in active if node.pending is not None}
        if not waiting:
            time.sleep(min(TICK_S, max(0.0, min(node.due for node in active) - now)))
            return
        self._ray.wait(list(waiting), num_returns=1, timeout=TICK_S)
        ready, _ = self._ray.wait(list(waiting), num_returns=len(waiting), timeout=0)
        for pending in ready:
            self._take(waiting[pending])

    def _take(self, node: Node) -> None:
        try:
            value = self._ray.get(node.pending)
        except Exception as error:  # A node that is gone must not cost the answers of the others.
            node.reason = "failed"
            node.detail = str(error)[:500]
            return
        node.pending = None
        if node.processes is None:
            node.processes = value
        else:
            node.rounds.append(value)
            node.due = time.monotonic() + self._pause_s

    def _report(self) -> None:
        """Prints how many rounds all nodes have that are not given up."""
        done = min((len(node.rounds) for node in self._nodes if not node.reason), default=0)
        if done > self._reported:
            self._reported = done
            _print(self._mark, {"round": done})

    def _let_finish(self, active: list[Node]) -> None:
        pending = [node.pending for node in active if node.pending is not None]
        if pending:
            self._ray.wait(pending, num_returns=len(pending), timeout=GRACE_S)


def logs_folder() -> Path:
    """The folder whose files the dashboard serves."""
    from ray._private import worker

    node: Any = worker.global_worker.node
    return Path(node.get_session_dir_path()) / "logs"


def write(path: Path, content: bytes) -> None:
    """Writes the file for its owner alone; it is there as a whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    part.rename(path)


def taken(key: str) -> Any:
    """The value of a key of Ray's store of packages, where it is removed; None if there is none.

    An argument or a variable can't be as long.
    """
    from ray.experimental.internal_kv import _internal_kv_del, _internal_kv_get

    value = _internal_kv_get(key.encode())
    if value is not None:
        _internal_kv_del(key.encode())
    return value


def _question(key: str, ended: list[bool]) -> dict[str, list[list[int]]] | None:
    """The processes of `ReadProcesses` by the id of their node; None without a question."""
    until = time.monotonic() + UNREAD_S
    while not ended[0] and time.monotonic() < until:
        if value := taken(key):
            question: dict[str, list[list[int]]] = json.loads(value)
            return question
        time.sleep(POLL_S)
    return None


def _wait(ended: list[bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not ended[0] and time.monotonic() < until:
        time.sleep(0.05)


def _print(mark: str, value: dict[str, Any]) -> None:
    sys.stdout.write(f"{mark}{json.dumps(value)}\n")
    sys.stdout.flush()
