"""Pictures of hangs: what sampling costs against the guide's shell loop, and how merging scales with ranks."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from eagleray.observe.hangs.collecting import ras as collecting_ras
from eagleray.observe.hangs.collecting.cluster import answer_of
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import evidence
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.picture import picture, tree_of
from eagleray.observe.hangs.verdict import Kind
from eagleray.remote.inspecting.inspected_process import Inspected
from eagleray.remote.sampling import proc, ray_job_main, sample_codec
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.merging import Member, ThreadStack, merged, tree, united
from eagleray.remote.sampling.node_job import AnsweringJob
from eagleray.remote.sampling.node_sampler import NodeSamples, Round, Sampler
from eagleray.remote.sampling.processes import RANK, described
from eagleray.remote.sampling.pyspy_dumps import Tools, dump, dump_with_variables
from eagleray.tools.pyspy import find_program

from tests.bench import recorded_nodes
from tests.bench.fake_ray import FakeRay
from tests.bench.rows import (
    Row,
    at_most,
    at_most_times,
    least_at_most_times,
    printed,
    printed_median,
)
from tests.fakes.fake_ras import communicator, fake_ras, status
from tests.fakes.fake_ras import rank as launched

SLEEPER = Path(__file__).with_name("sleeper.py")
PROCESSES = 64
DEPTH = 40
CLASSES = 300
NODES, RANKS_PER_NODE = 1250, 8
# How long a node takes for a dump of eight processes, as measured on a machine with two cores.
CALL_S = 0.3
BLOCKING = "py-spy blocking"


def rows(samples: int) -> Iterator[Row]:
    yield from sampling(min(samples, 10))
    yield from pauses(samples)
    yield from merging(samples)
    yield from answers()
    yield from gathering()
    yield launches()


def sampling(samples: int) -> Iterator[Row]:
    """All processes of a node once, in turn with the loop of the guide."""
    with sleepers(PROCESSES) as pids:
        processes = described(pids, proc.all_processes())
        stacks, variables, loop, on_one_core = [], [], [], []
        for _ in range(samples):
            loop.append(took(lambda: shell_loop(pids)))
            sampler = Sampler(processes, Tools(find_program()))
            sampled(sampler, is_last=False)
            stacks.append(took(lambda sampler=sampler: sampled(sampler, is_last=False)))
            variables.append(took(lambda sampler=sampler: sampled(sampler, is_last=True)))
            with one_core():
                sampled(sampler, is_last=False)
                on_one_core.append(took(lambda sampler=sampler: sampled(sampler, is_last=False)))
    name = f"stacks of {PROCESSES} processes on a node"
    yield least_at_most_times(f"{name} (s)", stacks, loop, 0.6)
    yield printed(f"{name}, with variables in the last sample (s)", variables, loop)
    yield printed(f"{name}, on all cores against one (s)", stacks, on_one_core)


def pauses(samples: int) -> Iterator[Row]:
    """The longest time for which a process that computes is stopped while it is sampled, or inspected, once."""
    program = find_program()
    tools = Tools(program)
    methods: dict[str, Callable[[int], bool]] = {
        "plain": lambda pid: dumped(program, pid),
        "a sample": lambda pid: dump(pid, tools).how == BLOCKING,
        "the last sample": lambda pid: is_last_sampled(pid, tools),
        "a first look inside": is_asked,
    }
    times: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(samples):
        for name, look in methods.items():
            times[name].append(1000 * longest_gap(look))
    # It is the same program that stops the process; the rest is what both measurements vary by.
    plain = times.pop("plain")
    name = "longest pause of a process in a sample (ms)"
    yield least_at_most_times(name, times.pop("a sample"), plain, 1.1)
    name = "longest pause of a process in the last sample, with variables (ms)"
    yield least_at_most_times(name, times.pop("the last sample"), plain, 1.1)
    name = "longest pause of a process in a first look inside (ms)"
    yield printed_median(name, times.pop("a first look inside"), plain)


def merging(samples: int) -> Iterator[Row]:
    for ranks, limit_ms in ((10_000, 60), (100_000, 600)):
        listed = list(stacks_of(ranks))
        times = [1000 * took(lambda listed=listed: merged(listed)) for _ in range(samples)]
        yield at_most(f"merge of {ranks:,} ranks x {DEPTH} frames (ms)", times, limit_ms)
        tables = [merged(listed[at : at + 8]) for at in range(0, ranks, 8)]
        times = [1000 * took(lambda tables=tables: tree(united(tables))) for _ in range(samples)]
        yield at_most(
            f"merge of the tables of {ranks // 8:,} nodes, and the tree (ms)", times, limit_ms
        )


def answers() -> Iterator[Row]:
    """How the size of what travels depends on ranks and on classes."""
    few, many = stacks_size(1_000, 30), stacks_size(10_000, 30)
    name = "size of the merged stacks in 30 classes: 10,000 ranks against 1,000 (kB)"
    yield at_most_times(name, [many], [few], 1.5)
    name = "size of the merged stacks of 10,000 ranks: 300 classes against 30 (kB)"
    yield printed(name, [stacks_size(10_000, 300)], [many])
    nodes = recorded_nodes.worlds(["mismatch"], NODES, RANKS_PER_NODE)
    size = len(compact(sample_codec.dump(nodes)))
    yield at_most(
        "size of the table of ranks, for each rank (bytes)",
        [size / len(nodes) / RANKS_PER_NODE],
        500,
    )


def gathering() -> Iterator[Row]:
    """Recorded hangs on many nodes: one of a single world, and all of them as worlds of the same size."""
    ranks = NODES * RANKS_PER_NODE
    of_all = recorded_nodes.scenarios()
    one, many = "one world", f"{len(of_all)} worlds"
    for names, what, kind in (
        (["mismatch"], one, Kind.COLLECTIVE_MISMATCH),
        (of_all, many, Kind.DEBUGGER),
    ):
        nodes = recorded_nodes.worlds(names, NODES, RANKS_PER_NODE)
        start = time.perf_counter()
        taken = gathered(nodes)
        seconds = time.perf_counter() - start
        sampled = sum(row.role == RANK for row in taken.ranks)
        if (sampled, taken.verdict.kind) != (ranks, kind.value):
            raise ValueError(f"{sampled} ranks were sampled, and hang by {taken.verdict.kind}")
        name = f"picture of {NODES:,} nodes with {ranks:,} ranks of recorded hangs, {what} (s)"
        yield at_most(name, [seconds], 15)


def launches() -> Row:
    """Measures the answers of NCCL's RAS about as many ranks, from two answers on TCP to the verdict."""
    ranks = NODES * RANKS_PER_NODE
    listed = [launched(at, AllReduce=40, AllGather=7 - (at == 9)) for at in range(ranks)]
    with fake_ras(status(communicator(listed))) as server:
        start = time.perf_counter()
        plan = SamplingPlan(rounds=2, pause_s=0.0)
        taken = asyncio.run(collecting_ras.take(f"localhost:{server.port}", plan))
        seconds = time.perf_counter() - start
    if taken.verdict.culprits != "9":
        raise ValueError(f"rank 9 is behind, not {taken.verdict.culprits}")
    return at_most(f"verdict on {ranks:,} ranks from NCCL RAS alone (s)", [seconds], 2)


def gathered(nodes: Sequence[NodeSamples]) -> Picture:
    """The nodes through the driver of the job, the answer's file, and the verdict, with the usual pauses."""
    fake = FakeRay([(node.processes, node.rounds) for node in nodes], CALL_S)
    request = {"rounds": 3, "pause_s": 2.0, "nodes": {}}
    with contextlib.redirect_stdout(io.StringIO()):
        job = ray_job_main.Sampling(AnsweringJob(fake, {"mark": "mark"}), request)
        job.run()
        content = compact(job.answer())
    answer = answer_of("http://head:8265", content)
    found = evidence(answer.nodes, 2.0, is_whole=True)
    taken = picture(found, diagnosis(found), time.time(), answer.silent)
    tree_of(taken)
    return taken


@contextlib.contextmanager
def sleepers(count: int) -> Iterator[list[int]]:
    """Processes that wait."""
    with contextlib.ExitStack() as stack:
        processes = []
        for _ in range(count):
            process = started()
            stack.callback(process.communicate)
            stack.callback(process.kill)
            processes.append(process)
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        yield [process.pid for process in processes]


def started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SLEEPER), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Binds this thread, and what it starts, to one core, as a step of SLURM may be."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def shell_loop(pids: Sequence[int]) -> None:
    """The loop of the guides: a file for each process, to be compared by eye."""
    script = 'for pid in "$@"; do "$PY_SPY" dump --pid $pid > "$FOLDER/$pid.txt"; done'
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["bash", "-c", script, "bash", *map(str, pids)],
            env={"PY_SPY": find_program(), "FOLDER": folder, "PATH": "/usr/bin:/bin"},
            check=True,
        )


def sampled(sampler: Sampler, *, is_last: bool) -> None:
    taken = sampler.round(is_last=is_last)
    unread = [sample.reason for sample in taken.processes if sample.reason]
    if unread:
        raise ValueError(f"processes were not read: {unread}")


def longest_gap(look: Callable[[int], bool]) -> float:
    """The longest pause of a process in a dump that succeeds; one in fifty dumps of a busy process fails."""
    while True:
        process = started("gaps")
        assert process.stdout is not None
        process.stdout.readline()
        has_succeeded = look(process.pid)
        output, _ = process.communicate("\n")
        if has_succeeded:
            return float(output)


def dumped(program: str, pid: int) -> bool:
    command = [program, "dump", "--json", "--pid", str(pid)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def is_last_sampled(pid: int, tools: Tools) -> bool:
    """As `Sampler` reads a process that moves: with its variables while it runs, and then its stack alone."""
    dump_with_variables(pid, tools)
    return dump(pid, tools).how == BLOCKING


def is_asked(pid: int) -> bool:
    """Borrows a thread of the process, whose new thread answers a question."""
    inspected = Inspected(pid)
    try:
        return bool(inspected.ask("threads")["threads"])
    finally:
        inspected.close()


def took(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def stacks_of(ranks: int, classes: int = CLASSES) -> Iterator[tuple[Member, ThreadStack]]:
    """A stack for each rank, of frames that they share as in a real answer; neighbours are in different classes."""
    shared = [
        PythonFrame(f"function_{depth}", f"/opt/project/module_{depth % 7}.py", 10 * depth)
        for depth in range(DEPTH - 2)
    ]
    branches = [
        PythonFrame(f"branch_{number}", "/opt/project/trainer.py", number) for number in range(20)
    ]
    leaves = [
        PythonFrame(f"leaf_{number}", "/opt/project/trainer.py", 100 + number)
        for number in range(classes)
    ]
    for rank in range(ranks):
        number = rank % classes
        frames = (*shared, branches[number % 20], leaves[number])
        yield Member("world", rank), ThreadStack("MainThread", frames)


def stacks_size(ranks: int, classes: int) -> float:
    """The kilobytes of what a node would send for the stacks of all these ranks."""
    table = merged(contiguous(ranks, classes))
    value = sample_codec.dump([NodeSamples("node", (), (Round((), tuple(table), ()),))])
    return len(compact(value)) / 1000


def contiguous(ranks: int, classes: int) -> Iterator[tuple[Member, ThreadStack]]:
    """Ranks whose neighbours are mostly in the same class, as in a pipeline stage or on a node."""
    stacks = [stack for _, stack in stacks_of(classes, classes)]
    for rank in range(ranks):
        yield Member("world", rank), stacks[rank * classes // ranks]


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
