"""The doctor: 1 GB of logs against `grep -E` with all patterns, its memory, and the checks of a node and of many."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.node_checks import SCRIPT, NodeFacts, node_diagnosis
from eagleray.doctor.rule_files import own_rules
from eagleray.remote.scripts.cluster_facts import collected

from tests.bench.rows import Row, at_most, at_most_times

GIGABYTE = 10**9
FILES = 16
NODES = 1000
# As long as a node may take for its facts.
_CALL_S = 0.5
# Syntax of Python's regular expressions that `grep -E` writes otherwise or hasn't.
_AS_GREP = (
    (r"\(\?P<\w+>", "("),
    (r"\(\?:", "("),
    (r"\(\?<?!(?:[^()]|\([^()]*\))*\)", ""),
    (r"\\d", "[0-9]"),
    (r"\\s", "[[:space:]]"),
    (r"\\S", "[^[:space:]]"),
    (r"\}\?", "}"),
)


def rows(samples: int) -> Iterator[Row]:
    samples = min(samples, 5)
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name), GIGABYTE)
        measured = [_in_process(folder) for _ in range(samples)]
        grep = [_grep(folder) for _ in range(samples)]
    with tempfile.TemporaryDirectory() as name:
        write_errors(Path(name) / "errors.out", GIGABYTE)
        errors = [_in_process(Path(name)) for _ in range(samples)]
    seconds = [sample["seconds"] for sample in measured]
    # 200 MB a second.
    yield at_most("doctor, 1 GB of logs (s)", seconds, 5.0)
    yield at_most_times("doctor, 1 GB of logs, as grep -E (s)", seconds, grep, 3)
    yield at_most("doctor, 1 GB with 5 % errors (s)", [sample["seconds"] for sample in errors], 5.0)
    yield at_most("doctor, memory (MB)", [sample["memory"] for sample in measured], 150)
    yield at_most("doctor, checks of a node (s)", [_node() for _ in range(samples)], 0.5)
    facts = json.loads(
        subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, check=True).stdout
    )
    name = f"doctor, checks of {NODES:,} simulated nodes (s)"
    yield at_most(name, [_nodes(facts) for _ in range(samples)], 10.0)


def write(folder: Path, size: int) -> Path:
    """Logs as trainers and engines write them, with an error now and then."""
    rand = random.Random(7)
    plain = [
        f"(WorkerDict pid={rand.randrange(10**5)}, ip=10.0.0.{rand.randrange(255)}) INFO 11-21 01:25:{rand.randrange(60):02} "
        f"[metrics.py:{rand.randrange(999)}] Avg prompt throughput: {rand.random() * 1e4:.1f} tokens/s, "
        f"GPU KV cache usage: {rand.random() * 100:.1f}%\n"
        for _ in range(5000)
    ]
    rules = own_rules()
    for number in range(FILES):
        written = 0
        with (folder / f"worker-{number}.out").open("w") as file:
            while written < size // FILES:
                written += file.write("".join(rand.choices(plain, k=5000)))
                written += file.write(f"{rand.choice(rules).examples[0]}\n")
    return folder


def write_errors(path: Path, size: int) -> None:
    """A log of which 5 % of the lines have a rule's literal, mostly without a match."""
    rand = random.Random(7)
    written = 0
    with path.open("w") as file:
        while written < size:
            lines = [_line_of_rollout(rand) for _ in range(20_000)]
            for _ in range(5):
                written += file.write("".join(rand.sample(lines, len(lines))))


def _line_of_rollout(rand: random.Random) -> str:
    start = f"(RolloutWorker pid={rand.randrange(10**5)}, ip=10.0.0.{rand.randrange(255)})"
    number = rand.getrandbits(64)
    if rand.random() > 0.05:
        return f"{start} INFO 11-21 01:25:07 [metrics.py:88] Avg prompt throughput: {number} tokens/s\n"
    return rand.choice(
        (
            f"{start} ERROR 11-21 01:25:07 [client.py:31] request {number:x} timed out after {number} ms\n",
            f"{start} ERROR 11-21 01:25:07 [tools.py:7] Failed to run the tool call {number:x}: exitcode={number}\n",
            f"{start} WARNING 11-21 01:25:07 [math.py:3] answer not found in response {number}, reward 0\n",
        )
    )


def measure(folder: str) -> dict[str, float]:
    """A diagnosis in seconds, and the memory of the process in MB."""
    begin = time.perf_counter()
    files, unchecked = list_logs([Path(folder)])
    diagnosis = diagnose(files, own_rules(), unchecked)
    seconds = time.perf_counter() - begin
    assert diagnosis.causes or diagnosis.unknown
    return {"seconds": seconds, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _in_process(folder: Path) -> dict[str, float]:
    program = "import json, sys; from tests.bench.doctor import measure; print(json.dumps(measure(sys.argv[1])))"
    ran = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    measured: dict[str, float] = json.loads(ran.stdout)
    return measured


def _grep(folder: Path) -> float:
    patterns = "\n".join(_as_grep(rule.pattern) for rule in own_rules())
    begin = time.perf_counter()
    subprocess.run(
        ["grep", "-racE", "-e", patterns, str(folder)],
        env={**os.environ, "LC_ALL": "C"},
        # To /dev/null, grep would end with its first line.
        stdout=subprocess.PIPE,
        check=True,
    )
    return time.perf_counter() - begin


def _as_grep(pattern: str) -> str:
    for python, grep in _AS_GREP:
        pattern = re.sub(python, grep, pattern)
    return pattern


def _node() -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, str(SCRIPT)], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


class _SimulatedRay:
    """Calls that all answer with the same facts, after as long as a real node may take."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        self._ready = time.monotonic() + _CALL_S

    def wait(self, calls: list[int], timeout: float) -> tuple[list[int], list[int]]:
        """As Ray's: returns once one call has answered."""
        time.sleep(max(0.0, min(timeout, self._ready - time.monotonic())))
        return calls[:1], calls[1:]

    def get(self, call: int) -> dict[str, Any]:
        return {**self._facts, "host": f"node-{call}", "time": time.time()}


def _nodes(facts: dict[str, Any]) -> float:
    """The driver of the job, its answer as JSON, and the rules on all nodes."""
    begin = time.perf_counter()
    hosts = {call: f"10.0.{call // 250}.{call % 250}" for call in range(NODES)}
    answer = json.loads(json.dumps(collected(_SimulatedRay(facts), hosts, 20.0)))
    assert len(answer["facts"]) == NODES
    node_diagnosis(NodeFacts(tuple(answer["facts"])))
    return time.perf_counter() - begin
