"""Inspects two ranks for hours and tests that they are unharmed: `python -m tests.soak.inspected [--hours N]`.

Rank 0 hangs in all_reduce, rank 1 computes.  Every few seconds both are inspected, read, sampled and stopped, as by
*Look Inside* and *Why Is It Stuck?*.  Nothing of them may grow, no question may fail, and at the end both finish with
the right sum.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eagleray.remote.inspecting.inspected_process import INSIDE, Inspected, inspect
from eagleray.remote.inspecting.process_answers import raw_reading
from eagleray.remote.inspecting.ptrace_thread import NotStarted
from eagleray.remote.sampling.pyspy_dumps import Tools, dump
from eagleray.tools.pyspy import find_program

from tests.observe.hangs.ranks import two_ranks
from tests.soak import sampling, verdict
from tests.soak.sampling import Sample

PROGRAM = Path(__file__).parents[1] / "programs" / "inspecting" / "checked_ranks.py"
BETWEEN_S = 4.0
EXPECTED = {
    0: {"gradient.sum().item()": "6.0", "gradient.shape[0]": "4"},
    1: {"steps - right <= 1": "True"},
}
CYCLES_OF_A_SAMPLE = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="how long (default: 1)")
    parser.add_argument("--json", type=Path, help="where samples and verdicts are kept")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="er-soak-", dir="/tmp") as folder,
        two_ranks(str(PROGRAM)) as started,
    ):
        samples, failed, cycles = soak(started, options.hours, Path(folder))
        failed += outcome(started)
    rows = verdict.rows(samples)
    if options.json:
        said = {"verdicts": verdict.plain(rows), "failed": failed, "cycles": cycles}
        options.json.write_text(
            json.dumps({**said, "samples": [asdict(sample) for sample in samples]}, indent=1)
        )
    print(f"\n{cycles} cycles\n{verdict.table(rows)}\n")
    for what in failed:
        print(f"FAILED {what}")
    wrong = len(failed) + sum(not row.passed for row in rows)
    print(f"{cycles + len(rows) - wrong} passed, {wrong} failed")
    sys.exit(1 if wrong else 0)


def soak(
    started: list[subprocess.Popen[str]], hours: float, folder: Path
) -> tuple[list[Sample], list[str], int]:
    samples: list[Sample] = []
    failed: list[str] = []
    begun, cycle = time.monotonic(), 0
    while time.monotonic() - begun < hours * 3600:
        cycle += 1
        for rank, process in enumerate(started):
            failed += [
                f"cycle {cycle}, rank {rank}: {what}" for what in wrong_of(rank, process.pid)
            ]
        if cycle % CYCLES_OF_A_SAMPLE == 0:
            samples.append(sample(started, cycle, (time.monotonic() - begun) / 3600, folder))
            print(f"{samples[-1].hours:.2f} h, cycle {cycle}, {len(failed)} failed", flush=True)
        time.sleep(BETWEEN_S)
    return samples, failed, cycle


def wrong_of(rank: int, pid: int) -> Iterator[str]:
    """Returns the problems of one rank's answers."""
    tools = Tools(py_spy=find_program())
    inspection = inspect(pid, tuple(EXPECTED[rank]), tools)
    if inspection.how != INSIDE:
        yield f"was read from outside: {inspection.why_outside}"
    if not any(frame.path == str(PROGRAM) for frame in inspection.stack):
        yield f"has the stack {inspection.stack}"
    for value in inspection.values:
        if value.value != EXPECTED[rank][value.expression]:
            yield f"answers {value}"
    if reason := raw_reading(pid).get("reason", ""):
        yield f"could not be read: {reason}"
    if not dump(pid, tools).threads:
        yield "could not be sampled"
    try:
        state = stopped(pid)
    except (NotStarted, OSError) as error:
        yield f"could not be stopped: {error!r}"
    else:
        if state != {"stopped": rank == 1, "pending": True}:
            yield f"was to be stopped, and is {state}"


def stopped(pid: int) -> dict[str, Any]:
    """Requests a stop of the main thread, which rank 0 doesn't reach, and releases it."""
    inspected = Inspected(pid)
    try:
        state = inspected.ask("stop")
        for _ in range(3 if state.get("stopped") else 0):
            state = inspected.ask("step", kind="over")
        inspected.ask("release")
    finally:
        inspected.close()
    return state


def sample(started: list[subprocess.Popen[str]], cycle: int, hours: float, folder: Path) -> Sample:
    values: dict[str, float] = {}
    lives = {}
    for rank, process in enumerate(started):
        role = f"rank{rank}"
        lives[role] = str(process.pid)
        of_rank, _ = sampling.of_process(process.pid, folder)
        values |= {f"{role} {name}": value for name, value in of_rank.items()}
    return Sample(hours, cycle, lives, values, {})


def outcome(started: list[subprocess.Popen[str]]) -> list[str]:
    """Lets rank 1 arrive; what is wrong with how the two end."""
    wrong = []
    _, partner = started
    assert partner.stdin is not None
    partner.stdin.close()
    for rank, process in enumerate(started):
        assert process.stdout is not None
        output = process.stdout.read().strip()
        code = process.wait(timeout=60)
        print(f"rank {rank} ended with {code}: {output}", flush=True)
        finished = re.fullmatch(
            r"(\d+) of (\d+) steps right, reduced to \[0.0, 2.0, 4.0, 6.0\]", output
        )
        if code != 0 or finished is None or finished[1] != finished[2]:
            wrong.append(f"rank {rank} ended with {code}: {output}")
    return wrong


if __name__ == "__main__":
    main()
