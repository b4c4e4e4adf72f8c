"""Trajectories: a dump of 1 GB as AReaL writes it: its first screen, a search, statistics, and the memory of all that."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from eagleray.rollouts.trajectories.model import TrajectoryQuery
from eagleray.rollouts.trajectories.trajectories import Trajectories

from tests.bench.rows import Row, at_most, at_most_times, printed
from tests.rollouts.trajectories.dumps import areal

GIGABYTE = 10**9
# Nothing has it, so that all of the file is searched.
NEEDLE = "Needle in no line"
# One line in so many has this text; all of them are on one page of results.
FOUND_EVERY = 1_000
FOUND = "Needle in some lines"
# Each line has this one: all of them are parsed where a filter needs all matches.
COMMON = "word"


def rows(samples: int) -> list[Row]:
    """Each sample in a process of its own, so that nothing is indexed and memory is for one dump."""
    samples = min(samples, 5)
    with tempfile.TemporaryDirectory() as folder:
        file = write(Path(folder) / "large.jsonl", GIGABYTE)
        measured = [_in_process(file) for _ in range(samples)]
        grep = [_grep(file) for _ in range(samples)]
        loads = [_loads(file) for _ in range(min(samples, 2))]
    values = {name: [sample[name] for sample in measured] for name in measured[0]}
    return [
        at_most("dump of 1 GB, first screen (s)", values["first"], 1.0),
        # 300 MB a second.
        at_most("search through 1 GB, the first (s)", values["search"], 3.3, grep),
        at_most("search through 1 GB, a later one (s)", values["again"], 3.3, grep),
        at_most("the same, every 1,000th line has the text (s)", values["found"], 3.3, grep),
        at_most("the same, every line has it, with a filter (s)", values["common"], 3.3, loads),
        printed("statistics of 1 GB, as json.loads of each line (s)", values["statistics"], loads),
        at_most("memory after all of that (MB)", values["memory"], 200),
        at_most_times(
            "a page of rows in the middle, as the first (s)", values["middle"], values["first"], 1
        ),
    ]


def write(file: Path, size: int) -> Path:
    """Lines of 12 kB: eight completions for each prompt."""
    rand = random.Random(7)
    names = [f"word{number}" for number in range(5000)]
    texts = [" ".join(rand.choices(names, k=1500)) for _ in range(64)]
    written = item = 0
    with file.open("w") as lines:
        while written < size:
            found = FOUND if item % FOUND_EVERY == 0 else ""
            prompt = texts[item // 8 % 64][:500]
            completion = f"{item} {texts[item % 61]}{found}<|im_end|>"
            record = areal(item // 8, item % 8, prompt=prompt, completion=completion)
            written += lines.write(json.dumps(record) + "\n")
            item += 1
    return file


async def measure(file: str) -> dict[str, float]:
    """Times a user's actions with a dump, in seconds, and the memory of the process in MB."""
    trajectories, result = Trajectories(), {}
    steps = {
        "first": TrajectoryQuery(file),
        "search": TrajectoryQuery(file, search=NEEDLE),
        "again": TrajectoryQuery(file, search=NEEDLE),
        "found": TrajectoryQuery(file, search=FOUND, limit=FOUND_EVERY),
        "middle": TrajectoryQuery(file, start=40_000),
    }
    for name, query in steps.items():
        begin = time.perf_counter()
        await trajectories.page(query)
        result[name] = time.perf_counter() - begin
    begin = time.perf_counter()
    await trajectories.statistics(file)
    result["statistics"] = time.perf_counter() - begin
    # After the statistics, which have read what the filter needs.
    begin = time.perf_counter()
    page = await trajectories.page(TrajectoryQuery(file, search=COMMON, least_reward=0.0))
    assert page.matches
    result["common"] = time.perf_counter() - begin
    return {**result, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _in_process(file: Path) -> dict[str, float]:
    argv = [sys.executable, "-m", "tests.bench.trajectories", str(file)]
    done = subprocess.run(argv, capture_output=True, check=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _grep(file: Path) -> float:
    begin = time.perf_counter()
    subprocess.run(["grep", "-ciF", NEEDLE, str(file)], stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begin


def _loads(file: Path) -> float:
    begin = time.perf_counter()
    with file.open() as lines:
        for line in lines:
            json.loads(line)
    return time.perf_counter() - begin


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(sys.argv[1]))))
