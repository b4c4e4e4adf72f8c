"""Answers of nodes without Ray: a process of srun or ssh passes on the lines of `remote/sampling/step_main.py`."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import secrets
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from attrs import define, field, frozen

from eagleray.common import tasks
from eagleray.common.errors import printable
from eagleray.observe.hangs.collecting.completed_picture import FurtherAnswers, answers_in, joined
from eagleray.observe.hangs.collecting.sampling_plan import OnProgress
from eagleray.observe.hangs.inside_questions import Question
from eagleray.observe.hangs.model import SilentNode
from eagleray.protocol import jsonlines
from eagleray.remote.sampling import sample_codec
from eagleray.remote.sampling.node_sampler import NodeSamples
from eagleray.routes.commands import kill
from eagleray.tools.code_copies import zipped_node_package
from eagleray.tools.pyspy import find_program

# Runs the text in the first line of its input.
START = (
    "import json, sys; sys.version_info >= (3, 6) or sys.exit('eagleray: Python ' + sys.version.split()[0]); "
    "exec(json.loads(sys.stdin.buffer.readline().decode()))"
)
PYTHON = ("python3", "-I", "-c", START)
# A node first starts a Python, and unpacks py-spy.
COLD_S = 30.0
WARM_S = 12.0
# A process that doesn't answer takes 14 seconds, and one without native frames five.
READ_S = 25.0
# A node ends when its input ends; without that, after this time.
STAY_S = 120.0
# A dump that is under way may finish: a py-spy that is killed may leave its process stopped (benfred/py-spy#390).
GRACE_S = 6.0
LARGEST_NODE = 64 * 2**20
_LONGEST_LINE = 1024
_LONGEST_STDERR = 2**16
_AT_ONCE = 2**16
_TICK_S = 0.2
# An ended process may still have its reason in the pipe.
_LAST_OUTPUT_S = 1.0


# Input of nodes after their samples, b"" for none.
Further = Callable[[], Awaitable[bytes]]


@frozen
class SamplingOrder:
    """The work of each node.

    `job` is the SLURM job whose processes are sampled; without one they are the ranks of this user, or those with the
    text `matching` in their command line.  With `inside`, a node may then ask its processes for more than stacks.
    """

    rounds: int
    pause_s: float
    job: str = ""
    matching: str = ""
    inside: bool = False
    mark: str = field(factory=lambda: secrets.token_hex(16))

    def input(self, node: str = "") -> bytes:
        """The input of `PYTHON`; `node` is what the node is called, "" for the name that it gives itself."""
        package, _, archive = zipped_node_package(find_program())
        text = _bootstrap()
        order = {
            "text": text,
            "package": package,
            "size": len(archive),
            "mark": self.mark,
            "node": node,
            "job": self.job,
            "matching": self.matching,
            "rounds": self.rounds,
            "pause_s": self.pause_s,
            "inside": self.inside,
            "stay_s": STAY_S,
        }
        return b"".join(
            (json.dumps(text).encode(), b"\n", json.dumps(order).encode(), b"\n", archive)
        )


@define
class RemoteNode:
    """How far a node is; `until` is its deadline, and `samples` its answer.

    `queried` are processes that it is to ask for more, and `further` their answers once they are there.
    """

    until: float
    rounds: int = 0
    parts: list[bytes] = field(factory=list)
    size: int = 0
    samples: NodeSamples | None = None
    reason: str = ""
    detail: str = ""
    queried: Question = field(factory=Question)
    is_queried: bool = False
    further: Any = None

    @property
    def is_over(self) -> bool:
        return bool(self.reason) or (self.samples is not None and not self.is_queried)

    def fail(self, reason: str, detail: str = "") -> None:
        """Gives it up; what it has sampled stays."""
        self.is_queried = False
        if self.samples is None:
            self.reason, self.detail = reason, printable(detail, 300)


class NodeAnswers:
    """The answers of all nodes of a picture, each with a deadline of its own.

    Lines come from the nodes and are not trusted: those without the mark, or of other nodes, are dropped.
    """

    def __init__(
        self,
        order: SamplingOrder,
        nodes: Sequence[str],
        on_progress: OnProgress,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._order = order
        self._on_progress = on_progress
        self._now = now
        self._reported = 0
        self._nodes = {node: RemoteNode(now() + COLD_S) for node in nodes}

    @property
    def is_over(self) -> bool:
        """Whether each node has answered, failed, or had its time."""
        are_over = [self.is_over_of(node) for node in self._nodes]
        return all(are_over)

    def is_over_of(self, node: str) -> bool:
        """Whether this node has answered, failed, or had its time."""
        answer = self._nodes[node]
        if not answer.is_over and answer.until <= self._now():
            answer.fail("timeout")
        self._report()
        return answer.is_over

    def begin(self, nodes: Sequence[str]) -> None:
        """Gives these nodes their time from now on."""
        for node in nodes:
            self._nodes[node].until = self._now() + COLD_S

    def ask(self, question: Question) -> bytes:
        """The further line of the input of the nodes that have these processes; each then has time for its answers."""
        by_node = question.by(lambda place: place[0])
        for name, part in by_node.items():
            node = self._nodes[name]
            node.queried = part
            node.is_queried, node.until, node.size = True, self._now() + READ_S, 0
        pids = {name: part.pids for name, part in by_node.items()}
        return jsonlines.encode(pids) if pids else b""

    def feed(self, line: bytes) -> None:
        fields = line.decode("utf-8", "replace").split(" ", 3)
        if len(fields) != 4 or fields[0] != self._order.mark:
            return
        _, node, kind, text = fields
        answer = self._nodes.get(node)
        if answer is None or answer.is_over:
            return
        if not answer.is_queried:
            answer.until = self._now() + WARM_S + self._order.pause_s
        if kind == "round" and text.isdecimal():
            answer.rounds = min(int(text[:6]), self._order.rounds)
            self._report()
        elif kind == "part":
            answer.size += len(text)
            if answer.size > LARGEST_NODE:
                answer.fail("failed", "too large")
            else:
                answer.parts.append(text.encode())
        elif kind == "failed":
            answer.fail("failed", text)
        elif kind == "end":
            try:
                value = _value(b"".join(answer.parts), text)
                if answer.is_queried:
                    answer.further, answer.is_queried = value, False
                else:
                    answer.samples = _samples(node, value)
            except ValueError as error:
                answer.fail("failed", str(error))
            answer.parts.clear()

    def lose(self, nodes: Sequence[str], detail: str) -> None:
        """The process that passed the lines of these nodes on has ended."""
        for node in nodes:
            if not self._nodes[node].is_over:
                self._nodes[node].fail("failed", detail)

    def samples(self) -> tuple[NodeSamples, ...]:
        return tuple(each.samples for each in self._nodes.values() if each.samples is not None)

    def silent(self) -> tuple[SilentNode, ...]:
        return tuple(
            SilentNode(node, answer.reason, answer.detail)
            for node, answer in self._nodes.items()
            if answer.samples is None
        )

    def further(self) -> FurtherAnswers:
        """Returns the answers of the processes that were asked, or why one is missing."""
        return joined(answers_in(each.queried, each.further) for each in self._nodes.values())

    def _report(self) -> None:
        """Reports how many rounds all nodes have that are not given up."""
        done = min((each.rounds for each in self._nodes.values() if not each.reason), default=0)
        if done > self._reported:
            self._reported = done
            self._on_progress(done, self._order.rounds)


async def follow(
    process: asyncio.subprocess.Process,
    content: bytes,
    answers: NodeAnswers,
    is_over: Callable[[], bool],
    further: Further | None = None,
) -> str:
    """Feeds the lines of a process to `answers` until `is_over` or its end, and ends it; returns what it wrote to stderr.

    `further` is what the process reads then, after which `answers` are fed again.  Each task of a job step reads the whole
    input, and ends with it: a cancellation leaves nothing behind.
    """
    errors = bytearray()
    reading = tasks.owned(_read_lines(process, answers), "lines of nodes", tasks.only_logged)
    reading_errors = tasks.owned(_read_errors(process, errors), "stderr", tasks.only_logged)
    writing = tasks.owned(_write(process, content), "order for nodes", tasks.only_logged)
    try:
        await _until(is_over, reading)
        if further is not None and (more := await further()):
            await _write(process, more)
            await _until(is_over, reading)
        if reading.done():
            await asyncio.wait([reading_errors], timeout=_LAST_OUTPUT_S)
    finally:
        writing.cancel()
        await _end(process)
        await tasks.end([reading, reading_errors, writing])
    return errors.decode("utf-8", "replace")


async def _until(is_over: Callable[[], bool], reading: asyncio.Task[None]) -> None:
    while not is_over() and not reading.done():
        await asyncio.wait([reading], timeout=_TICK_S)


async def _write(process: asyncio.subprocess.Process, content: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(content)
        await process.stdin.drain()


async def _read_errors(process: asyncio.subprocess.Process, errors: bytearray) -> None:
    assert process.stderr is not None
    while part := await process.stderr.read(_AT_ONCE):
        errors += part
        del errors[:-_LONGEST_STDERR]


async def _read_lines(process: asyncio.subprocess.Process, answers: NodeAnswers) -> None:
    assert process.stdout is not None
    rest = b""
    while part := await process.stdout.read(_AT_ONCE):
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if len(line) <= _LONGEST_LINE:
                answers.feed(line)
        # The output of a profile may be of any length.
        rest = rest[-_LONGEST_LINE - 1 :]


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE_S)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE_S)
    finally:
        await kill(process)


def _value(text: bytes, digest: str) -> Any:
    """The value in the parts of an answer; raises ValueError for anything else."""
    content = base64.b64decode(text, validate=True)
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError("the answer arrived damaged")
    return _json(_decompressed(content))


def _samples(node: str, value: Any) -> NodeSamples:
    """The samples in an answer; raises ValueError for anything else."""
    try:
        nodes = sample_codec.load(value)
    except RecursionError as error:
        raise ValueError("the answer is nested too deep") from error
    if len(nodes) != 1 or not nodes[0].rounds:
        raise ValueError("not the samples of one node")
    return replace(nodes[0], host=node)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("the answer is nested too deep") from error


def _decompressed(content: bytes) -> bytes:
    inflating = zlib.decompressobj()
    try:
        result = inflating.decompress(content, LARGEST_NODE)
    except zlib.error as error:
        raise ValueError("the answer arrived damaged") from error
    if inflating.unconsumed_tail or not inflating.eof:
        raise ValueError("too large")
    return result


@cache
def _bootstrap() -> str:
    return resources.files("eagleray.remote.scripts").joinpath("sample_node.py").read_text("utf-8")
