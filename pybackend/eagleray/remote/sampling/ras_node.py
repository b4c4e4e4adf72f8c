"""The answers of NCCL's RAS about the processes of this node: a record for each that is read like one of the flight
recorder, and a note.

Only addresses at which a sampled process listens are contacted: a socket of its user and of its network, on the port of
its NCCL_RAS_ADDR.  All processes of a user share the port (SO_REUSEPORT in `src/ras/client_support.cc` of NCCL 2.30), and the kernel
chooses which of them answers.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import threading
import time
from pathlib import Path
from typing import NamedTuple

from . import proc, ras
from .flight_record_client import LONGEST_RECORD
from .processes import DATA_LOADER, LAUNCHER
from .ras_records import Launches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .processes import Described

# New connections are made for so long; an answer that is under way may come later.
LIMIT_S = 3.0
# So long does a round wait: a node has a deadline, and answers of the first round are used in the last one.
FIRST_S = 1.0
LAST_S = 5.0
_LISTENS = "0A"
_ANY = ("0.0.0.0", "::", "::ffff:0.0.0.0")  # noqa: S104 (compared, not bound)


class RasAddress(NamedTuple):
    """An address at which processes of a user listen: `sockets` is how many of them do, and `pids` are sampled."""

    host: str
    port: int
    sockets: int
    pids: tuple[int, ...]


class _Socket(NamedTuple):
    host: str
    port: int
    user: str
    inode: str


def addresses_of(processes: Iterable[Described]) -> list[RasAddress]:
    """The addresses at which RAS of these processes may be reached."""
    own = set(_sockets("self"))
    by_place: dict[tuple[int, str], list[int]] = {}
    for process in processes if own else ():
        environment = proc.environment(process.pid)
        written = environment.get("NCCL_RAS_ADDR", "").rpartition(":")[2] or str(ras.PORT)
        # A process that is forked from a rank has its sockets and no thread of NCCL.
        if (
            process.role not in (DATA_LOADER, LAUNCHER)
            and environment.get("NCCL_RAS_ENABLE", "1") != "0"
            and re.fullmatch("[0-9]{1,5}", written)
        ):
            user = proc.status(process.pid).get("Uid", "").split("\t")[0]
            by_place.setdefault((int(written), user), []).append(process.pid)
    result = []
    for (port, user), pids in by_place.items():
        sockets = {each for each in own if (each.port, each.user) == (port, user)}
        listening = tuple(pid for pid in pids if sockets and _listens(pid, sockets))
        if listening:
            host = min(each.host for each in sockets)
            result.append(RasAddress(host, port, len(sockets), listening))
    return result


def _listens(pid: int, sockets: set[_Socket]) -> bool:
    """Whether the process is in the network of these sockets and has one of them, or may not be asked for that."""
    if sockets.isdisjoint(_sockets(str(pid))):
        return False
    links = {f"socket:[{each.inode}]" for each in sockets}
    with contextlib.suppress(OSError):
        return any(proc.link(str(file)) in links for file in Path(f"/proc/{pid}/fd").iterdir())
    return True


def sockets_at(port: int) -> int:
    """How many sockets of this machine listen at `port`."""
    return sum(each.port == port for each in set(_sockets("self")))


def _sockets(process: str) -> Iterator[_Socket]:
    """The sockets that listen in the network of a process."""
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{process}/net/{table}").read_text("ascii").splitlines()[1:]
        except (OSError, ValueError):
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTENS:
                address, _, port = fields[1].rpartition(":")
                yield _Socket(_host(address), int(port, 16), fields[7], fields[9])


def _host(address: str) -> str:
    """The host of the hexadecimal numbers of /proc/net/tcp; what listens everywhere is reached at home."""
    parts = [int(address[at : at + 8], 16) for at in range(0, len(address), 8)]
    is_ipv4 = len(parts) == 1
    family = socket.AF_INET if is_ipv4 else socket.AF_INET6
    host = socket.inet_ntop(family, struct.pack(f"={len(parts)}I", *parts))
    if host in _ANY:
        return "127.0.0.1" if is_ipv4 else "::1"
    return host


class RasQuestions:
    """Begins to ask RAS of the sampled processes; `before` are the questions of an earlier round."""

    def __init__(self, processes: Iterable[Described], before: RasQuestions | None = None) -> None:
        self._before = before
        self._addresses: list[RasAddress] = before._addresses if before else addresses_of(processes)
        self._answers: list[ras.RasAnswer] = []
        self._reasons: list[str] = []
        self._is_over = threading.Event()
        self._start = time.monotonic()
        if self._addresses:
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        for address in self._addresses:
            waiting = set(map(_inner, address.pids))

            def is_whole(answer: ras.RasAnswer, waiting: set[int] = waiting) -> bool:
                waiting -= {rank.pid for each in answer.communicators for rank in each.ranks}
                return not waiting

            answers, reasons = ras.ask_all(
                address.host, address.port, address.sockets, self._start + LIMIT_S, is_whole
            )
            self._answers += answers
            self._reasons += reasons
        self._is_over.set()

    def result(self, *, is_last: bool) -> tuple[dict[int, str], str]:
        """The record of each process by its pid and, in the last round, the note on the node in JSON."""
        if not self._addresses:
            return {}, ""
        before = self._before
        # An answer that is late in the first round may still be there in the last one.
        limit = self._start + (LAST_S if is_last else FIRST_S)
        self._is_over.wait(max(0.0, limit - time.monotonic()))
        launches = Launches([*self._answers], [*before._answers] if before else None)
        hosts = own_addresses()
        places = {
            pid: [(host, _inner(pid)) for host in hosts]
            for address in self._addresses
            for pid in address.pids
        }
        records = {pid: launches.record(here) for pid, here in places.items()}
        note = {
            "version": next((each.version for each in self._answers), ""),
            "reasons": sorted({*self._reasons, *(() if self._answers else (ras.TIMEOUT,))}),
            **launches.note({place for here in places.values() for place in here}),
        }
        if len(text := json.dumps(note)) > LONGEST_RECORD:
            text = json.dumps({**note, "reasons": [ras.UNREADABLE], "notable": []})
        fitting = {pid: each for pid, each in records.items() if 0 < len(each) <= LONGEST_RECORD}
        return fitting, text if is_last else ""


def _inner(pid: int) -> int:
    """The PID of a process in its own container, with which it answers."""
    return int(proc.status(pid).get("NSpid", str(pid)).split()[-1])


def own_addresses() -> set[str]:
    """The addresses of this machine, as its kernel lists them."""
    addresses: set[str] = set()
    with contextlib.suppress(OSError):
        lines = Path("/proc/net/fib_trie").read_text("ascii").splitlines()
        addresses = {
            lines[at - 1].split()[-1] for at, line in enumerate(lines) if "host LOCAL" in line
        }
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/if_inet6").read_text("ascii").splitlines():
            addresses.add(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(line.split()[0])))
    return addresses
