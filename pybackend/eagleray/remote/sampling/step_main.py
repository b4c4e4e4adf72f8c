"""Samples a node without Ray, and prints its answer in lines that survive a job step with many tasks.

`remote/scripts/sample_node.py` starts it, through srun or ssh.  SLURM passes lines of up to 1,024 bytes on as a whole,
and mixes longer ones of different tasks.  It ends when its input ends, after the dumps under way, since a py-spy that is
killed may leave a process stopped.  With a function that asks processes for more than stacks, it does so for those that a
further line of its input names; the native frames of a process are read without it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import queue
import signal
import socket
import sys
import threading
import zlib

from . import proc, sample_codec
from .job_processes import of_slurm_job, of_user
from .node_sampler import answers_of, sample_processes
from .pyspy_dumps import Tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .node_sampler import ReadProcesses
    from .pyspy_dumps import ReadRecords

# The mark and the name of the node need up to 300 of the 1,024 bytes.
PIECE = 640


class SamplingEnded(Exception):
    """The input has ended, or SIGTERM came."""


def main(
    order: dict[str, Any],
    py_spy: str,
    read: ReadProcesses | None = None,
    read_records: ReadRecords | None = None,
) -> None:
    """Never returns."""
    caller = Caller()
    node = order.get("node") or os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    lines = Lines(str(order["mark"]), node)
    code = 0
    try:
        lines.write("begun")
        processes = proc.all_processes()
        job = str(order["job"])
        wanted = (
            of_slurm_job(job, processes, node)
            if job
            else of_user(processes, node, str(order["matching"]))
        )

        def on_round(done: int) -> None:
            lines.write("round", str(done))
            caller.wait(0)

        tools = Tools(py_spy, read_records)
        samples = sample_processes(
            wanted,
            tools,
            rounds=int(order["rounds"]),
            pause_s=float(order["pause_s"]),
            host=node,
            on_round=on_round,
            wait=caller.wait,
        )
        lines.answer(sample_codec.dump([samples]))
        stay_s = float(order["stay_s"])
        if question := caller.question(stay_s).get(node):
            lines.answer(answers_of(samples.processes, question, tools, read, caller.wait))
        # Its end tells the caller nothing; it only must not cut off the output.
        caller.wait(stay_s)
    except SamplingEnded:
        pass
    except Exception as error:  # The caller shows what it is beside the name of the node.
        lines.write("failed", f"{type(error).__name__}: {error}".replace("\n", " ")[:300])
        code = 1
    sys.stdout.flush()
    # A thread still waits for the end of the input.
    os._exit(code)


class Lines:
    """Writes lines `MARK NODE KIND TEXT`, each with one call."""

    def __init__(self, mark: str, node: str) -> None:
        self._start = f"{mark} {node}"

    def write(self, kind: str, text: str = "") -> None:
        os.write(1, f"{self._start} {kind} {text}\n".encode("utf-8", "replace"))

    def answer(self, value: Any) -> None:
        content = zlib.compress(json.dumps(value, separators=(",", ":")).encode())
        text = base64.b64encode(content).decode()
        for at in range(0, len(text), PIECE):
            self.write("part", text[at : at + PIECE])
        self.write("end", hashlib.sha256(content).hexdigest())


class Caller:
    """The caller at the other end of the input, which may end at any time; SIGTERM may also arrive."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: self._end())
        threading.Thread(target=self._read, daemon=True).start()

    def wait(self, seconds: float) -> None:
        """Raises SamplingEnded when the caller is gone."""
        if self._ended.wait(seconds):
            raise SamplingEnded

    def question(self, seconds: float) -> dict[str, list[list[int]]]:
        """The processes of `ReadProcesses` by node; raises SamplingEnded if none comes in this time."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise SamplingEnded from None
        self.wait(0)
        question: dict[str, list[list[int]]] = json.loads(line)
        return question

    def _read(self) -> None:
        rest = b""
        while part := os.read(0, 4096):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                self._lines.put(line)
        self._end()

    def _end(self) -> None:
        self._ended.set()
        # No process waits for a question any more.
        self._lines.put(b"")
