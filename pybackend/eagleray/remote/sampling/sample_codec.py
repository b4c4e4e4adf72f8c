"""Samples of nodes as JSON that grows with the number of different stacks: each text, frame and stack is in it once.

What is read comes from a cluster and is not trusted: every value is checked, and nothing is larger than what it tells of.
"""

from __future__ import annotations

from .exits import Ending
from .flight_record_client import LONGEST_RECORD
from .frames import PythonFrame
from .gpus import UNKNOWN, GpuUse
from .merging import MergedStack, ThreadStack
from .node_sampler import NodeSamples, ProcessSample, Round
from .printed_exceptions import PrintedException
from .proc import ThreadUse
from .processes import Described
from .rank_sets import RankSet
from .wait_records import KINDS as WAIT_KINDS
from .wait_records import KernelWait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    T = TypeVar("T")

VERSION = 1
MOST_ROUNDS = 100
LONGEST_TEXT = 10_000
# Python itself gives up at a thousand frames, unless a program asks for more.
DEEPEST_STACK = 20_000
_LARGEST = 2**53


def dump(nodes: Iterable[NodeSamples]) -> dict[str, Any]:
    """The JSON value that `load` reads."""
    return _Writer().written(nodes)


def load(value: Any) -> list[NodeSamples]:
    """The nodes in a value of `dump`.  Raises ValueError for every other value."""
    table = _fields(value)
    if table.get("version") != VERSION:
        raise ValueError("the samples are of another version of Eagleray")
    return _Reader(table).nodes(table.get("nodes"))


class _Writer:
    """Numbers texts, frames and stacks in the order in which they come."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._frames: dict[tuple[int, int, int], int] = {}
        self._stacks: dict[ThreadStack, int] = {}
        self._stack_rows: list[list[Any]] = []

    def written(self, nodes: Iterable[NodeSamples]) -> dict[str, Any]:
        rows = [self._node(node) for node in nodes]
        return {
            "version": VERSION,
            "texts": list(self._texts),
            "frames": [list(frame) for frame in self._frames],
            "stacks": self._stack_rows,
            "nodes": rows,
        }

    def _node(self, node: NodeSamples) -> list[Any]:
        return [
            node.host,
            [self._process(process) for process in node.processes],
            [self._round(taken) for taken in node.rounds],
            node.interval_s,
            # Most nodes have none.
            *([[self._ending(ending) for ending in node.endings]] if node.endings else []),
        ]

    def _process(self, process: Described) -> list[Any]:
        return [
            process.pid,
            process.parent,
            self._text(process.role),
            self._text(process.group),
            process.number,
            self._text(process.title),
            process.world_size,
            self._text(process.rendezvous),
            process.is_world_here,
        ]

    def _round(self, taken: Round) -> list[Any]:
        return [
            [self._sample(sample) for sample in taken.processes],
            [self._merged(entry) for entry in taken.leading],
            [self._merged(entry) for entry in taken.others],
            *([taken.ras] if taken.ras else []),
        ]

    def _sample(self, sample: ProcessSample) -> list[Any]:
        return [
            self._text(sample.state),
            self._text(sample.waits_in),
            round(sample.cpu_s, 2),
            self._text(sample.reason),
            self._text(sample.how),
            sample.resumed,
            sample.io_bytes,
            list(sample.after),
            self._text(sample.gil_holder),
            sample.gil_holder_active,
            [[self._text(name), number] for name, number in sample.peers],
            [self._text(name) for name in sample.exceptions],
            list(sample.before),
            *self._further(sample),
        ]

    def _further(self, sample: ProcessSample) -> list[Any]:
        """Returns the values that most samples don't have, up to the last value that this one has."""
        has_values = (
            sample.gpus or sample.printed,
            sample.record,
            sample.variables_changed,
            sample.waits,
            sample.objects,
            sample.has_timer,
        )
        row: list[list[Any]] = [
            [[list(use) for use in sample.gpus], self._printed(sample.printed)],
            [sample.record],
            [sample.variables_changed],
            [[self._wait(wait) for wait in sample.waits]],
            [[self._text(text) for text in sample.objects]],
            [sample.has_timer],
        ]
        end = max((at + 1 for at, value in enumerate(has_values) if value), default=0)
        return [value for part in row[:end] for value in part]

    def _wait(self, wait: KernelWait) -> list[Any]:
        return [
            self._text(wait.thread),
            self._text(wait.kind),
            list(wait.pids),
            self._text(wait.address),
            wait.is_whole,
            self._text(wait.program),
        ]

    def _ending(self, ending: Ending) -> list[Any]:
        return [
            ending.beside,
            ending.rank,
            [] if ending.exit_code is None else [ending.exit_code],
            ending.oom_kills,
            self._printed(ending.printed),
        ]

    def _printed(self, printed: PrintedException | None) -> list[Any]:
        if printed is None:
            return []
        frames = [self._frame(printed.place)] if printed.place else []
        return [self._text(printed.text), frames]

    def _merged(self, entry: MergedStack) -> list[Any]:
        members = [[self._text(group), str(ranks)] for group, ranks in entry.members.items()]
        return [self._stack(entry.stack), members]

    def _stack(self, stack: ThreadStack) -> int:
        index = self._stacks.get(stack)
        if index is None:
            index = self._stacks[stack] = len(self._stack_rows)
            frames = [self._frame(frame) for frame in stack.frames[:DEEPEST_STACK]]
            self._stack_rows.append([self._text(stack.thread), frames])
        return index

    def _frame(self, frame: PythonFrame) -> int:
        key = self._text(frame.function), self._text(frame.file), frame.line
        return self._frames.setdefault(key, len(self._frames))

    def _text(self, text: str) -> int:
        # A name of a file may hold bytes that aren't text, which JSON can't carry.
        plain = text[:LONGEST_TEXT].encode("utf-8", "replace").decode()
        return self._texts.setdefault(plain, len(self._texts))


class _Reader:
    def __init__(self, table: dict[str, Any]) -> None:
        self._texts = [_text(text) for text in _rows(table.get("texts"))]
        self._frames = _each(table.get("frames"), self._frame)
        self._stacks = _each(table.get("stacks"), self._stack)

    def nodes(self, value: Any) -> list[NodeSamples]:
        return _each(value, self._node)

    def _node(self, row: Any) -> NodeSamples:
        has_endings = isinstance(row, list) and len(row) == 5
        host, process_rows, rounds, interval_s = _row(row, 5 if has_endings else 4)[:4]
        processes = tuple(_each(process_rows, self._process))
        members: dict[str, set[int]] = {}
        for process in processes:
            members.setdefault(process.group, set()).add(process.number)
        if len(_rows(rounds)) > MOST_ROUNDS:
            raise ValueError("more rounds than anybody takes")
        taken = _each(rounds, lambda row: self._round(row, len(processes), members))
        endings = tuple(_each(row[4], self._ending)) if has_endings else ()
        if not {ending.beside for ending in endings} <= {process.pid for process in processes}:
            raise ValueError("the end of a rank without a process of its world")
        return NodeSamples(_text(host), processes, tuple(taken), _seconds(interval_s), endings)

    def _process(self, row: Any) -> Described:
        pid, parent, role, group, number, title, world_size, rendezvous, is_here = _row(row, 9)
        return Described(
            _number(pid),
            _number(parent),
            self._shared_text(role),
            self._shared_text(group),
            _number(number),
            self._shared_text(title),
            _number(world_size, 10**7),
            self._shared_text(rendezvous),
            _flag(is_here),
        )

    def _round(self, row: Any, count: int, members: dict[str, set[int]]) -> Round:
        has_ras = isinstance(row, list) and len(row) == 4
        sample_rows, leading, others = _row(row, 4 if has_ras else 3)[:3]
        samples = tuple(_each(sample_rows, self._sample))
        if len(samples) != count:
            raise ValueError("a round without a sample of each process")
        return Round(
            samples,
            tuple(_each(leading, lambda entry: self._merged(entry, members))),
            tuple(_each(others, lambda entry: self._merged(entry, members))),
            _text(row[3], LONGEST_RECORD) if has_ras else "",
        )

    def _sample(self, row: Any) -> ProcessSample:
        length = len(row) if isinstance(row, list) and len(row) in range(15, 21) else 13
        has_more = length > 13
        (state, waits_in, cpu_s, reason, how, resumed) = _row(row, length)[:6]
        (io_bytes, after, holder, is_active, peers, exceptions, before) = row[6:13]
        return ProcessSample(
            self._shared_text(state),
            self._shared_text(waits_in),
            _seconds(cpu_s),
            self._shared_text(reason),
            self._shared_text(how),
            _flag(resumed),
            _number(io_bytes),
            _thread_use(after),
            self._shared_text(holder),
            _flag(is_active),
            tuple(_each(peers, self._peer)),
            tuple(_each(exceptions, self._shared_text)),
            _thread_use(before),
            tuple(_each(row[13], _gpu)) if has_more else (),
            self._printed(row[14]) if has_more else None,
            _text(row[15], LONGEST_RECORD) if length > 15 else "",
            length > 16 and _flag(row[16]),
            tuple(_each(row[17], self._wait)) if length > 17 else (),
            tuple(_each(row[18], self._shared_text)) if length > 18 else (),
            length > 19 and _flag(row[19]),
        )

    def _wait(self, row: Any) -> KernelWait:
        thread, kind, pids, address, is_whole, program = _row(row, 6)
        name = self._shared_text(kind)
        if name not in WAIT_KINDS:
            raise ValueError("a wait of another kind")
        return KernelWait(
            self._shared_text(thread),
            name,
            tuple(_each(pids, _number)),
            self._shared_text(address),
            _flag(is_whole),
            self._shared_text(program),
        )

    def _ending(self, row: Any) -> Ending:
        beside, rank, code, oom_kills, printed = _row(row, 5)
        codes = _each(code, _exit_code)
        return Ending(
            _number(beside),
            _number(rank),
            codes[0] if codes else None,
            _number(oom_kills),
            self._printed(printed),
        )

    def _printed(self, row: Any) -> PrintedException | None:
        if row == []:
            return None
        text, frames = _row(row, 2)
        places = _each(frames, lambda at: _at(self._frames, at))
        return PrintedException(self._shared_text(text), places[0] if places else None)

    def _peer(self, row: Any) -> tuple[str, int]:
        name, number = _row(row, 2)
        return self._shared_text(name), _number(number)

    def _merged(self, row: Any, members: dict[str, set[int]]) -> MergedStack:
        stack, groups = _row(row, 2)
        ranks: dict[str, RankSet] = {}
        for group_row in _rows(groups):
            group, text = _row(group_row, 2)
            name = self._shared_text(group)
            ranks[name] = _ranks(text, members.get(name, set()))
        return MergedStack(_at(self._stacks, stack), ranks)

    def _stack(self, row: Any) -> ThreadStack:
        thread, frames = _row(row, 2)
        if len(_rows(frames)) > DEEPEST_STACK:
            raise ValueError("a stack deeper than Python's")
        return ThreadStack(
            self._shared_text(thread), tuple(_each(frames, lambda at: _at(self._frames, at)))
        )

    def _frame(self, row: Any) -> PythonFrame:
        function, file, line = _row(row, 3)
        return PythonFrame(
            self._shared_text(function), self._shared_text(file), _number(line, 2**31)
        )

    def _shared_text(self, index: Any) -> str:
        return _at(self._texts, index)


def _ranks(text: Any, allowed: set[int]) -> RankSet:
    """The ranks of `text`; a small text may name more ranks than memory holds, so they are compared before they are listed."""
    ranks = RankSet.parse(_text(text))
    if len(ranks) > len(allowed) or not all(rank in allowed for rank in ranks):
        raise ValueError("a stack of a process that is not on the node")
    return ranks


def _each(value: Any, read: Callable[[Any], T]) -> list[T]:
    return [read(row) for row in _rows(value)]


def _fields(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _rows(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("not a list")
    return value


def _thread_use(row: Any) -> ThreadUse:
    return ThreadUse(*map(_number, _row(row, 2)))


def _row(value: Any, length: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != length:
        raise ValueError(f"not a list of {length}")
    return value


def _at(table: list[T], index: Any) -> T:
    if type(index) is not int or not 0 <= index < len(table):
        raise ValueError("no such entry of a table")
    return table[index]


def _text(value: Any, longest: int = LONGEST_TEXT) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError("not a text, or a very long one")
    return value


def _number(value: Any, end: int = _LARGEST) -> int:
    if type(value) is not int or not 0 <= value < end:
        raise ValueError("not a number, or one that is too large")
    return value


def _seconds(value: Any) -> float:
    # Not a number is not between any numbers.
    if type(value) not in (int, float) or not 0 <= value < _LARGEST:
        raise ValueError("not a number of seconds")
    return float(value)


def _gpu(row: Any) -> GpuUse:
    number, percent, memory_mib = _row(row, 3)
    return GpuUse(
        _number(number, 2**16), _number_or_unknown(percent), _number_or_unknown(memory_mib)
    )


def _exit_code(value: Any) -> int:
    if type(value) is not int or not -256 < value < 256:
        raise ValueError("not an exit code")
    return value


def _number_or_unknown(value: Any) -> int:
    return UNKNOWN if type(value) is int and value == UNKNOWN else _number(value)


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("neither true nor false")
    return value
