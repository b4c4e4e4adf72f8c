"""The driver of a job of Ray that samples all nodes: one actor a node, a deadline for each, and one file as the answer.

The same actors then read native frames of the process that Ray's store names and, with a function that asks processes
for more than stacks, do that for those that it names; a second file has their answers.

It is stopped when its answer was read, or when no client wants it any more. Before it ends it lets the dumps finish that
are under way, since a py-spy that is killed may leave a process stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass, field

from . import node_actor, node_job, proc, sample_codec
from .node_job import AnsweringJob, Ended
from .node_sampler import NodeSamples, interval
from .processes import Named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .node_sampler import ReadProcesses, Round
    from .processes import Described
    from .pyspy_dumps import ReadRecords

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

    def sample(job: AnsweringJob) -> None:
        order, request = job.order, job.taken(job.order["key"])
        if request is None:
            raise ValueError("Ray lost what was asked for")
        sampling = Sampling(job, json.loads(request), read, read_records)
        sampling.run()
        job.give(order["answer"], sampling.answer(), {"file": order["answer"]})
        if question := _question(job):
            job.give(order["readings"], sampling.answers(question), {"file": order["readings"]})
        until = time.monotonic() + UNREAD_S
        while not job.has_ended and time.monotonic() < until:
            time.sleep(POLL_S)

    node_job.run(sample)


class Sampling:
    """Drives the actors of all nodes through their rounds."""

    def __init__(
        self,
        job: AnsweringJob,
        request: dict[str, Any],
        read: ReadProcesses | None = None,
        read_records: ReadRecords | None = None,
    ) -> None:
        self._job = job
        self._ray = job.ray
        self._read = read
        self._read_records = read_records
        self._rounds = int(request["rounds"])
        self._pause_s = float(request["pause_s"])
        self._names = request["nodes"]
        self._nodes: list[Node] = []
        self._reported = 0

    def run(self) -> None:
        self._nodes = list(self._started())
        while active := [node for node in self._nodes if self._is_active(node)]:
            if self._job.has_ended:
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
            if self._job.has_ended:
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
            self._job.announce({"round": done})

    def _let_finish(self, active: list[Node]) -> None:
        pending = [node.pending for node in active if node.pending is not None]
        if pending:
            self._ray.wait(pending, num_returns=len(pending), timeout=GRACE_S)


def _question(job: AnsweringJob) -> dict[str, list[list[int]]] | None:
    """The processes of `ReadProcesses` by the id of their node; None without a question."""
    until = time.monotonic() + UNREAD_S
    while not job.has_ended and time.monotonic() < until:
        if value := job.taken(job.order["question"]):
            question: dict[str, list[list[int]]] = json.loads(value)
            return question
        time.sleep(POLL_S)
    return None
