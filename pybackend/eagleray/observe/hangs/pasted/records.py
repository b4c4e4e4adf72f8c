"""Reads files of PyTorch's flight recorder and py-spy's JSON; of a pickle nothing is executed."""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from attrs import evolve, frozen

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.observe.hangs.pasted.dumps_in_text import DumpedProcess, Tags, full_name
from eagleray.observe.hangs.pasted.headings import Heading
from eagleray.remote.sampling import pyspy_dumps
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.pyspy_dumps import Thread

# The beginning of py-spy's JSON.
_LIST = re.compile(r"^[ \t]*\[\s*(?=\{\s*\"pid\":)", re.MULTILINE)
_DECODER = json.JSONDecoder()
# Each may be as long as the rest of the text.
_MOST_FAILURES = 64
_RANKS = re.compile(r"\d+")
_RANK_IN_NAME = re.compile(r"rank\D{0,2}(\d{1,6})", re.IGNORECASE)
_NUMBER_AT_END = re.compile(r"(\d{1,6})(?:\.(?:json|pkl|pickle|bin|txt))?$")
# A recorder with 20,000 collectives of 50 frames each has fewer.
_MOST_VALUES = 10_000_000
_DEEPEST = 50
_PICKLE = b"\x80"


@frozen
class DumpedRecord:
    """The flight recorder of a rank, as JSON; `world_size` is the number of ranks of its largest group, 0 if unknown.

    `threads` has the stack at which the newest collective was started that has not ended, none where all have.
    Records of a log have their `pid`, 0 if unknown, and the `world` of ranks that are numbered alike.
    """

    rank: int
    world_size: int
    text: str
    threads: tuple[Thread, ...] = ()
    world: str = ""
    pid: int = 0


class _PlainUnpickler(pickle._Unpickler):
    """Loads dictionaries, lists, texts and numbers, as PyTorch writes them, and nothing else.

    In Python: a few bytes make the unpickler in C reserve gigabytes (`LONG_BINPUT` with a large number, Python 3.11).
    """

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("a reference is not a plain value")


def record_in(name: str, content: bytes) -> DumpedRecord | None:
    """The flight recorder in a file; None for other files, and if neither name nor content has the rank."""
    value = _value(content)
    if not isinstance(value, dict) or not isinstance(value.get("entries"), list):
        return None
    number = value.get("rank")
    match = _RANK_IN_NAME.search(name) or _NUMBER_AT_END.search(name)
    if not isinstance(number, int):
        number = int(match[1]) if match else None
    if number is None:
        return None
    if not _is_bounded(value):
        return None
    text = json.dumps(value, default=str)
    return DumpedRecord(number, _world_size(value), text, _pending(value["entries"]))


def _is_bounded(value: Any) -> bool:
    """Whether its JSON is: what a pickle has once may be in it a billion times."""
    waiting, count = [(value, 0)], 0
    while waiting:
        each, depth = waiting.pop()
        count += 1
        if count > _MOST_VALUES or depth > _DEEPEST:
            return False
        parts = each.values() if isinstance(each, dict) else each
        if isinstance(parts, (list, tuple, set)) or isinstance(each, dict):
            waiting += [(part, depth + 1) for part in parts]
    return True


def stacks_in(text: str) -> tuple[list[DumpedProcess], str, bool]:
    """The processes in py-spy's JSON, the text without it, and whether some of it is damaged.

    A text may have several of its lists, with prompts and headings between them.
    """
    dumps: list[DumpedProcess] = []
    parts: list[str] = []
    heading = Heading()
    at = failures = 0
    while failures < _MOST_FAILURES and (begin := _LIST.search(text, at)):
        parts.append(text[at : begin.start()])
        try:
            value, at = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            failures += 1
            at = begin.end()
            continue
        for line in parts[-1].splitlines():
            heading = heading.above(line)
        dumps += (
            evolve(each, heading=heading.names, tags=Tags(heading.rank_of(each.pid)))
            for each in _processes(value)
        )
    return dumps, "".join([*parts, text[at:]]), failures > 0


def _processes(listed: Any) -> Iterator[DumpedProcess]:
    try:
        for pid in dict.fromkeys(thread["pid"] for thread in listed):
            threads = tuple(
                thread._replace(
                    frames=tuple(
                        frame._replace(file=full_name(frame.file)) for frame in thread.frames
                    )
                )
                for thread in pyspy_dumps.parse(pid, listed)
            )
            if threads and isinstance(pid, int):
                ids = (each.get("os_thread_id") for each in listed if each["pid"] == pid)
                marks = frozenset(each for each in ids if isinstance(each, int))
                yield DumpedProcess(Tags(), pid, "", threads, marks=marks)
    except (KeyError, TypeError, AttributeError, ValueError):
        return


def _pending(entries: Sequence[Any]) -> tuple[Thread, ...]:
    try:
        newest = next(
            entry
            for entry in reversed(entries)
            if not entry["retired"] and entry["state"] != "completed"
        )
        frames = tuple(
            PythonFrame(str(frame["name"]), full_name(str(frame["filename"])), int(frame["line"]))
            for frame in reversed(newest["frames"])
        )
    except (StopIteration, KeyError, TypeError, ValueError):
        return ()
    return (Thread("MainThread", True, False, False, frames),) if frames else ()


def _value(content: bytes) -> Any:
    try:
        if is_pickle(content):
            return _PlainUnpickler(io.BytesIO(content)).load()
        return json.loads(content)
    except (*UNREADABLE_JSON, pickle.UnpicklingError):
        return None
    # For damaged data `pickle` raises other errors, too, which its documentation (Python 3.11) doesn't list all.
    except Exception:
        return None


def is_pickle(content: bytes) -> bool:
    return content.startswith(_PICKLE)


def _world_size(value: Mapping[str, Any]) -> int:
    """`pg_config` has the ranks of each group, as a list or its text."""
    config = value.get("pg_config")
    groups = config.values() if isinstance(config, dict) else ()
    texts = (str(each.get("ranks", "")) for each in groups if isinstance(each, dict))
    return max((len(_RANKS.findall(text)) for text in texts), default=0)
