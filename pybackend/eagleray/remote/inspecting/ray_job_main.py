"""The driver of a job of Ray that asks a process of one node: questions come through Ray's store, answers are files.

It ends when it is stopped, or when no question has come for long; it leaves no file and no key.
"""

from __future__ import annotations

import contextlib
import json
import time

from ..sampling import node_job
from ..sampling.node_job import AnsweringJob, Ended
from .node_actor import EaglerayInspector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The node first starts a worker and unpacks our code; the process may then keep the GIL for a while.
COLD_S = 45.0
# Longer than the process and py-spy may take.
ANSWER_S = 25.0
POLL_S = 0.02
# A key that rarely comes is looked for less often.
IDLE_AFTER_S, IDLE_POLL_S = 5.0, 0.2


def main() -> None:
    """Takes what it is asked for from the variable and from Ray's store, and never returns."""
    node_job.run(lambda job: Asking(job).run())


class Asking:
    """Passes questions on to the actor on the node of the process, one after the other."""

    def __init__(self, job: AnsweringJob) -> None:
        self._job = job
        self._ray = job.ray
        self._number = 0

    def run(self) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        order = self._job.order
        actor = (
            self._ray.remote(EaglerayInspector)
            .options(
                num_cpus=0,
                max_restarts=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(order["node"], soft=False),
            )
            .remote(order["pid"])
        )
        try:
            opened = self._result(actor.open.remote(), COLD_S)
            self._job.announce({"opened": opened})
            while "failed" not in opened:
                self._number += 1
                question = self._next_question()
                # Its reader has asked again, so it has read the last answer.
                self._job.remove_files()
                op = question.pop("op")
                alive = op == "alive"
                answer = {} if alive else self._result(actor.ask.remote(op, question), ANSWER_S)
                name = f"{order['answer']}-{self._number}.json"
                self._job.give(name, answer, {"answer": self._number})
        finally:
            with contextlib.suppress(Exception):
                self._job.taken(self._key())

    def _result(self, pending: Any, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._job.has_ended:
                raise Ended
            ready, _ = self._ray.wait([pending], timeout=0.25)
            if ready:
                result: dict[str, Any] = self._ray.get(pending)
                return result
        return {"failed": "unanswered", "text": "the node gave no answer"}

    def _next_question(self) -> dict[str, Any]:
        since = time.monotonic()
        while (waited := time.monotonic() - since) < self._job.order["unasked_s"]:
            if self._job.has_ended:
                raise Ended
            if value := self._job.taken(self._key()):
                question: dict[str, Any] = json.loads(value)
                return question
            time.sleep(POLL_S if waited < IDLE_AFTER_S else IDLE_POLL_S)
        raise Ended

    def _key(self) -> str:
        return f"{self._job.order['key']}_{self._number}.zip"
