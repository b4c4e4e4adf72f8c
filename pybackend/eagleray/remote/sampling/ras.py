"""NCCL's RAS: what its thread in each process answers on TCP of the collectives that the ranks of its job have launched.

Read in NVIDIA/nccl 2.24.3 to 2.30.7, `src/ras/client_support.cc`.  Commands and answers are lines; the server closes the
connection after a status.  JSON exists since 2.28.7, `monitor` since 2.29.2.  Counts are launches: a collective that all ranks
have launched may still hang (NVIDIA/nccl#1730), and send and recv aren't counted.  A status can crash NCCL before 2.29.2
(NVIDIA/nccl#1762, #1718, #1669); other commands only answer.  Of later ones the text can, too (#2346), which JSON goes around.
An answer isn't trusted: its size, its time and each of its values are bounded.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections import Counter
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

PORT = 28028
# For peers that don't answer the server; its own default is five seconds.
_PEERS_S = 2
# A server answers other commands at once, and a status after its peers.
HELLO_S = 1.5
ANSWER_S = 6.0
LARGEST = 128 * 2**20
# Wrong on purpose: only a server that knows the command calls the group invalid.
_HELLO = f"client protocol 2\ntimeout {_PEERS_S}\nset format json\nmonitor none\n".encode()
_LONGEST_HELLO = 4096
# So many connections, times the number of listeners, may bring nothing new: with eight listeners, one job of 40 is missed.
_QUIET = 3
_MOST_RANKS = 2_000_000
_MOST_HEALTHY = 10_000
_NAME = re.compile(r"[0-9A-Za-z.:%_+-]{1,64}")
_OF_TEXT = re.compile(rb"Ranks +Ranks +Ranks +Status +Errors|#\d+-\d+ \([0-9a-f]{16}\) [A-Z]")
# NCCL 2.28.9 leaves out the comma between `nvml_dev` and `status` of a missing rank.
_NO_COMMA = re.compile(rb'("nvml_dev": -?\d{1,9})(\s{1,99}"status")')

LEFT, UNRESPONSIVE, DEAD = "left", "unresponsive", "dead"
# Reasons for a missing answer; OLD: this version may crash.
TIMEOUT, REFUSED, OLD, UNREADABLE = "timeout", "refused", "old", "unreadable"


class Launched(NamedTuple):
    """A rank of a communicator, its process (0 if the text of a status doesn't name it) and GPU; `counts` are by operation."""

    rank: int
    host: str
    pid: int
    device: int
    counts: tuple[int, ...]


class Absent(NamedTuple):
    """A rank that says nothing of the communicator: it has LEFT it, its process is UNRESPONSIVE, or considered DEAD."""

    rank: int
    host: str
    pid: int
    kind: str


class Communicator(NamedTuple):
    """A communicator by its hash; `ranks` is () where the text of a status doesn't name them."""

    name: str
    size: int
    operations: tuple[str, ...]
    ranks: tuple[Launched, ...]
    absent: tuple[Absent, ...]


class RasAnswer(NamedTuple):
    """The answer of one process for its whole job."""

    version: str
    communicators: tuple[Communicator, ...]


class RasError(Exception):
    """RAS has not answered; `args[0]` is one of the reasons above."""


def ask(host: str, port: int, *, is_old_allowed: bool = False) -> RasAnswer:
    """The status of the job of a process at this address, of which the kernel may choose one of several; raises RasError.

    1. Only harmless commands are sent first.  What doesn't answer them as RAS does is UNREADABLE.
    2. A version that a status may crash is OLD, unless that `is_old_allowed`.
    3. The status comes as JSON, from versions without it as text.
    """
    until = time.monotonic() + HELLO_S
    try:
        with socket.create_connection((host, port), HELLO_S) as connection:
            connection.sendall(_HELLO)
            hello = bytearray()
            while hello.count(b"\n") < 4:
                if not (part := _received(connection, until)) or len(hello) > _LONGEST_HELLO:
                    raise RasError(UNREADABLE)
                hello += part
            protocol, _, has_format, has_monitor = hello.split(b"\n")[:4]
            if not protocol.startswith(b"SERVER PROTOCOL "):
                raise RasError(UNREADABLE)
            if not has_monitor.startswith(b"ERROR: Invalid event group") and not is_old_allowed:
                raise RasError(OLD)
            connection.sendall(b"status\n" if has_format == b"OK" else b"verbose status\n")
            content = bytearray()
            while part := _received(connection, until + ANSWER_S):
                content += part
                if len(content) > LARGEST:
                    raise RasError(UNREADABLE)
            return parse(bytes(content))
    except (TimeoutError, socket.timeout) as error:  # noqa: UP041 (Python 3.9)
        raise RasError(TIMEOUT) from error
    except OSError as error:
        raise RasError(REFUSED) from error
    except (ValueError, RecursionError) as error:
        raise RasError(UNREADABLE) from error


def ask_all(
    host: str,
    port: int,
    sockets: int,
    until: float,
    is_whole: Callable[[RasAnswer], bool],
    *,
    is_old_allowed: bool = False,
) -> tuple[list[RasAnswer], list[str]]:
    """An answer of each job at an address where `sockets` listen, and why others are missing.

    1. Once `is_whole` says so, there is nothing to add.
    2. After many connections without anything new, the rest of the jobs doesn't answer.
    3. Any other failure than a time-out ends it; a process that is stopped may be one of several.
    """
    answers: list[RasAnswer] = []
    reasons: list[str] = []
    jobs: set[str] = set()
    quiet = 0
    while quiet <= _QUIET * sockets and time.monotonic() < until:
        quiet += 1
        try:
            answer = ask(host, port, is_old_allowed=is_old_allowed)
        except RasError as error:
            reasons.append(str(error))
            if str(error) != TIMEOUT:
                break
            continue
        names = {each.name for each in answer.communicators}
        if not answers or not names <= jobs:
            jobs |= names
            answers.append(answer)
            quiet = 0
        if is_whole(answer):
            break
    return answers, reasons


def _received(connection: socket.socket, until: float) -> bytes:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)
    return connection.recv(2**20)


def is_status(content: bytes) -> bool:
    """Whether this may be a saved status, in JSON or in text."""
    return b'"collective_counts"' in content or _OF_TEXT.search(content) is not None


def parse(content: bytes) -> RasAnswer:
    """The answer in JSON or in text; raises ValueError or RecursionError for anything else."""
    start = content.find(b"{")
    # Lines that acknowledge commands may come before.
    if start >= 0 and not re.search(
        rb"\S", re.sub(rb"(?m)^(OK|SERVER PROTOCOL \d+)\s*$", b"", content[:start])
    ):
        return _of_json(content[start:])
    return _of_text(content.decode("utf-8", "replace"))


def _of_json(content: bytes) -> RasAnswer:
    try:
        value = json.loads(content)
    except json.JSONDecodeError:
        value = json.loads(_NO_COMMA.sub(rb"\1,\2", content))
    try:
        communicators = tuple(_communicator(each) for each in value["communicators"])
        version = _name(value["nccl_version"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a status of RAS") from error
    # One that is being initialized may be all zeros (NVIDIA/nccl#2346).
    return RasAnswer(version, tuple(each for each in communicators if each.size))


def _communicator(value: Any) -> Communicator:
    first = value["ranks"][0]["collective_counts"] if value["ranks"] else {}
    operations = tuple(map(_name, first))
    ranks = tuple(
        Launched(
            _number(each["rank"]),
            _name(each["host"]),
            max(0, _number(each["pid"], -1)),
            _number(each["cuda_dev"]),
            _numbers(each["collective_counts"][name] for name in operations),
        )
        for each in value["ranks"]
    )
    absent = tuple(_absent(each) for each in value.get("missing_ranks", ()))
    name = _name(value["hash"])
    return Communicator(name.removeprefix("0x"), _number(value["size"]), operations, ranks, absent)


def _absent(value: Any) -> Absent:
    status = value["status"]
    kind = UNRESPONSIVE if status["unresponsive"] is True else LEFT
    return Absent(
        _number(value["rank"]),
        _name(value["host"]),
        max(0, _number(value["pid"], -1)),
        DEAD if status["considered_dead"] is True else kind,
    )


def _numbers(values: Iterable[Any]) -> tuple[int, ...]:
    numbers = tuple(values)
    if any(type(each) is not int for each in numbers) or min(numbers, default=0) < 0:
        raise ValueError("not numbers")
    return numbers


def _number(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 2**64:
        raise ValueError("not a number, or one that is too large")
    return value


def _name(value: Any) -> str:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else "?"


_VERSION = re.compile(r"NCCL version (\S{1,40})")
_GROUP = re.compile(r"(\d{1,6}) +(\d{1,6}) +\d+ +\d+(?:-\d+)? +(\d{1,7}) +\d+ +[A-Z]+ +[A-Z,]+$")
_HEAD = re.compile(r"#(\d{1,6})-\d+ \(([0-9a-f]{1,16})\) ([A-Z,]+)")
_PROBLEM = re.compile(r"Communicator ranks have different (?:(\w+) operation counts|status)")
_SEVERAL = re.compile(
    r"(\d{1,7}) ranks have (?:launched up to operation (\d{1,19})|not launched any)"
)
_RANK = re.compile(
    r"Rank (\d{1,7}) (?:has (?:launched up to operation (\d{1,19})|(not) launched any operations) )?--"
)
_PLACE = re.compile(r"managed by process (\d{1,9}) on node (\S{1,64})")
_MISSING = re.compile(r"The missing ranks?: (\d[\d, ]*)$")


class _TextCommunicator:
    """The facts of a communicator in the text: it lists the ranks of small groups only."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        # By operation, the launches of ranks, and how many ranks have launched how many.
        self.counts: dict[str, dict[int, int]] = {}
        self.several: dict[str, list[tuple[int, int]]] = {}
        self.places: dict[int, tuple[str, int]] = {}
        self.missing: set[int] = set()

    def communicator(self) -> Communicator:
        operations = tuple(self.counts)
        answering = [rank for rank in range(self.size) if rank not in self.missing]
        columns = [self._column(name, answering) for name in operations]
        return Communicator(
            self.name,
            self.size,
            operations,
            tuple(
                Launched(
                    rank,
                    *self.places.get(rank, ("", 0)),
                    0,
                    tuple(column[rank] for column in columns),
                )
                for rank in (answering if operations else ())
                if all(rank in column for column in columns)
            ),
            tuple(
                Absent(rank, *self.places.get(rank, ("", 0)), UNRESPONSIVE)
                for rank in sorted(self.missing)
            ),
        )

    def _column(self, operation: str, answering: list[int]) -> dict[int, int]:
        """The launches of all ranks of which they are certain: those that aren't listed are the rest of one group."""
        listed = self.counts[operation]
        numbers = Counter(listed.values())
        unlisted = {value for value, count in self.several[operation] if numbers[value] < count}
        if len(unlisted) == 1:
            return dict.fromkeys(answering, unlisted.pop()) | listed
        return listed


class _Text:
    """Reads the text of a status line by line; it names ranks only where communicators have problems."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.healthy: list[Communicator] = []
        self.named: dict[str, _TextCommunicator] = {}
        self._ranks = 0
        self._block = _TextCommunicator("", 0)
        self._problem = self._operation = ""
        self._value = 0

    def read(self, line: str) -> None:
        if group := _GROUP.match(line):
            self.sizes[group[1]] = int(group[3])
            if line.endswith(" OK"):
                equal = Communicator("", int(group[3]), (), (), ())
                self.healthy += [equal] * min(int(group[2]), _MOST_HEALTHY)
        elif head := _HEAD.match(line):
            self._problem, self._operation = head[3], ""
            size = self.sizes.get(head[1], 0)
            self._ranks += size
            if self._ranks > _MOST_RANKS:
                raise ValueError("too many ranks")
            self._block = self.named.setdefault(head[2], _TextCommunicator(head[2], size))
        elif problem := _PROBLEM.match(line):
            self._operation = problem[1] or ""
            if self._operation:
                self._block.counts[self._operation] = {}
                self._block.several[self._operation] = []
        elif self._operation and (several := _SEVERAL.match(line)):
            self._value = int(several[2] or 0)
            self._block.several[self._operation].append((self._value, int(several[1])))
        elif rank := _RANK.match(line):
            self._rank(line, int(rank[1]), int(rank[2] or 0) if rank[2] or rank[3] else self._value)
        elif missing := _MISSING.match(line):
            self._block.missing.update(int(each) for each in re.findall(r"\d{1,7}", missing[1]))

    def _rank(self, line: str, number: int, value: int) -> None:
        if place := _PLACE.search(line):
            self._block.places[number] = (_name(place[2]), int(place[1]))
        if self._operation:
            self._block.counts[self._operation][number] = value
        elif "INCOMPLETE" in self._problem:
            self._block.missing.add(number)


def _of_text(text: str) -> RasAnswer:
    reader = _Text()
    for line in text.splitlines():
        reader.read(line.strip())
    if not reader.sizes and not reader.named:
        raise ValueError("not a status of RAS")
    version = _VERSION.search(text)
    named = (each.communicator() for each in reader.named.values())
    return RasAnswer(_name(version[1]) if version else "?", (*named, *reader.healthy))
