"""The driver of a job of Ray that asks a process of one node: questions come through Ray's store, answers are files.

It ends by SIGTERM, which Ray sends to a job that is stopped, or when no question has come for long; it leaves no file
and no key.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

from ..sampling.ray_job_main import Ended, logs_folder, taken, write
from .node_actor import EaglerayInspector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VARIABLE = "EAGLERAY_ASKED"
# The node first starts a worker and unpacks our code; the process may then keep the GIL for a while.
COLD_S = 45.0
# Longer than the process and py-spy may take.
ANSWER_S = 25.0
POLL_S = 0.02
# A key that rarely comes is looked for less often.
IDLE_AFTER_S, IDLE_POLL_S = 5.0, 0.2


def main() -> None:
    """Takes what it is asked for from the variable and from Ray's store, and never returns."""
    order = json.loads(os.environ.pop(VARIABLE))
    ended = [False]

    def end(_signal: int, _frame: object) -> None:
        ended[0] = True

    code = 1
    asking: Asking | None = None
    try:
        import ray

        ray.init(log_to_driver=False)
        # After `ray.init`, which has a handler of its own.
        signal.signal(signal.SIGTERM, end)
        asking = Asking(ray, order, ended)
        asking.run()
        code = 0
    except Ended:
        code = 0
    except Exception as error:  # The log of the job has the error, and this is the last line of it.
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
    finally:
        if asking is not None:
            asking.clean_up()
        sys.stdout.flush()
        sys.stderr.flush()
        # Python's own way out waits 0.7 s for threads of Ray.
        os._exit(code)


class Asking:
    """Passes questions on to the actor on the node of the process, one after the other."""

    def __init__(self, ray: Any, order: dict[str, Any], ended: list[bool]) -> None:
        self._ray = ray
        self._order = order
        self._ended = ended
        self._number = 0
        self._file: Path | None = None

    def run(self) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor = (
            self._ray.remote(EaglerayInspector)
            .options(
                num_cpus=0,
                max_restarts=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(self._order["node"], soft=False),
            )
            .remote(self._order["pid"])
        )
        opened = self._result(actor.open.remote(), COLD_S)
        self._print({"opened": opened})
        while "failed" not in opened:
            self._number += 1
            question = self._next_question()
            # Its reader has asked again, so it has read the last answer.
            self._remove_file()
            op = question.pop("op")
            answer = {} if op == "alive" else self._result(actor.ask.remote(op, question), ANSWER_S)
            self._give(answer)

    def clean_up(self) -> None:
        self._remove_file()
        with contextlib.suppress(Exception):
            taken(self._key())

    def _result(self, pending: Any, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._ended[0]:
                raise Ended
            ready, _ = self._ray.wait([pending], timeout=0.25)
            if ready:
                result: dict[str, Any] = self._ray.get(pending)
                return result
        return {"failed": "unanswered", "text": "the node gave no answer"}

    def _next_question(self) -> dict[str, Any]:
        since = time.monotonic()
        while (waited := time.monotonic() - since) < self._order["unasked_s"]:
            if self._ended[0]:
                raise Ended
            if value := taken(self._key()):
                question: dict[str, Any] = json.loads(value)
                return question
            time.sleep(POLL_S if waited < IDLE_AFTER_S else IDLE_POLL_S)
        raise Ended

    def _give(self, answer: dict[str, Any]) -> None:
        content = json.dumps(answer, separators=(",", ":")).encode()
        self._file = logs_folder() / f"{self._order['answer']}-{self._number}.json"
        write(self._file, content)
        digest = hashlib.sha256(content).hexdigest()
        self._print({"answer": self._number, "size": len(content), "sha256": digest})

    def _remove_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.unlink()
            self._file = None

    def _key(self) -> str:
        return f"gcs://{self._order['key']}_{self._number}.zip"

    def _print(self, value: dict[str, Any]) -> None:
        sys.stdout.write(f"{self._order['mark']}{json.dumps(value)}\n")
        sys.stdout.flush()
