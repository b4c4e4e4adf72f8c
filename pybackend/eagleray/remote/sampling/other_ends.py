"""The processes of this machine at the other end of a pipe or a connection, or with the lock or memory that a thread waits for."""

from __future__ import annotations

import os
import socket
import struct
import time
from pathlib import Path
from typing import NamedTuple

from . import file_locks, proc
from .wait_records import FILE_LOCK, MOST_PIDS, READ, KernelWait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from .wait_records import ThreadPlace

_SYN_SENT = 2
_LISTENS, _ESTABLISHED = 10, 1
# A connection that waits for `accept` has no socket of a process yet, so its inode is 0 in proc_pid_net(5).
_UNACCEPTED = "unaccepted "


class OtherEnd(NamedTuple):
    """The processes at the other end of a pipe or socket, and its address if it is a connection, which `is_open` if it isn't made yet.

    `is_whole`: it is known what the other end is.  `is_own`: only the process itself has it.
    """

    pids: tuple[int, ...]
    address: str = ""
    is_open: bool = False
    is_whole: bool = True
    is_own: bool = False


class OtherEnds:
    """The holders of pipes and sockets, and the connections between sockets.

    `is_whole`: the files of all processes were read.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.is_whole = True
        self._lock_owners = _lock_owners()
        self._lock_files: dict[ThreadPlace, dict[str, file_locks.LockFile]] = {}
        self._locks: dict[file_locks.LockFile, file_locks.Holders] = {}
        self._holders: dict[str, dict[int, int]] = {}
        self._sharing: dict[str, list[int]] = {}
        self._connections: dict[str, dict[str, _TcpRow]] = {}
        wanted = {name for name in names if name.startswith(("pipe:", "socket:"))}
        self._unix_peers = _unix_peers() if any(map(_is_socket, wanted)) else {}
        peers = {self._unix_peers[name] for name in wanted if name in self._unix_peers}
        self._search(wanted | peers)

    def lock_owner(self, place: ThreadPlace) -> int:
        """The living owner of the file lock for which a call of `place` waits, 0 if none is known."""
        owner = self._lock_owners.get(place.tid) or self._lock_owners.get(place.pid, 0)
        return owner if owner and proc.is_alive(owner) else 0

    def add_locks(self, places: Iterable[ThreadPlace]) -> None:
        """Adds the holders of the lock files for which `places` wait."""
        self._lock_files = {
            place: file_locks.files_of(place.pid, place.polled or file_locks.PolledLock())
            for place in places
        }
        files = {file for listed in self._lock_files.values() for file in listed.values()}
        self._locks = file_locks.holders(files) if files else {}

    def lock_wait(self, place: ThreadPlace) -> KernelWait | None:
        """The wait of `place` for a lock file that another process holds, or that no process deletes; None if that
        isn't known.
        """
        polled = place.polled or file_locks.PolledLock()
        for path, file in self._lock_files.get(place, {}).items():
            holders = self._locks[file]
            pids = holders.locked_by or (holders.open_in if polled.is_until_deleted else ())
            if (
                not pids
                and polled.is_until_deleted
                and (maker := file_locks.maker_of(place.pid, path))
            ):
                pids = (maker,)
            if place.pid in pids and not polled.path:
                # Its own lock: it waits for the lock of another file, or has it twice.
                continue
            if pids or (polled.is_until_deleted and holders.is_whole):
                # Nothing tells which of several open files it polls, and any process may delete a file.
                is_sure = bool(polled.path) and not polled.is_until_deleted
                return KernelWait(place.name, FILE_LOCK, pids, path, is_sure and holders.is_whole)
        return None

    def sharing(self, pid: int, memory: str) -> tuple[int, ...]:
        """The processes besides `pid` that have this shared memory.

        Locks of `multiprocessing` are in files without a name and of mode 0600, which processes of other users can't share.
        """
        if memory not in self._sharing:
            end = time.monotonic() + proc.SEARCH_S
            listed = self._sharing[memory] = []
            for path in Path("/proc").iterdir():
                if time.monotonic() > end:
                    self.is_whole = False
                    break
                if path.name.isdigit() and any(
                    each.name == memory for each in proc.shared_areas(int(path.name))
                ):
                    listed.append(int(path.name))
        return _without(pid, self._sharing[memory])[:MOST_PIDS]

    def is_listening(self, pid: int, name: str) -> bool:
        """Whether this is the socket of a server that waits for clients."""
        connection = self._tcp(pid).get(name) if _is_socket(name) else None
        return connection is not None and connection.state == _LISTENS

    def other_end(self, pid: int, name: str, kind: str) -> OtherEnd:
        """The other end of a pipe or socket of `pid`."""
        if not _is_socket(name):
            needed = os.O_WRONLY if kind == READ else os.O_RDONLY
            modes = self._holders.get(name, {})
            return _end_of(pid, [each for each in modes if needed in _modes(modes[each])])
        if name in self._unix_peers:
            return _end_of(pid, self._holders.get(self._unix_peers[name], ()))
        connections = self._tcp(pid)
        connection = connections.get(name)
        if connection is None:
            return OtherEnd((), is_whole=False)
        ends = (connection.remote, connection.local)
        other = next((each for each, row in connections.items() if row[:2] == ends), "")
        if other.startswith(_UNACCEPTED):
            other = _listener(connections, connection.remote)
        self._search({other} if other else set())
        holders = self._holders.get(other, {})
        is_open = connection.state == _SYN_SENT
        return OtherEnd(
            _without(pid, holders),
            connection.remote,
            is_open,
            is_whole=not is_open,
            is_own=self.is_whole and [*holders] == [pid],
        )

    def _tcp(self, pid: int) -> dict[str, _TcpRow]:
        namespace = proc.link(f"/proc/{pid}/ns/net") or str(pid)
        if namespace not in self._connections:
            self._connections[namespace] = {**_tcp(pid, "tcp"), **_tcp(pid, "tcp6")}
        return self._connections[namespace]

    def _search(self, wanted: set[str]) -> None:
        """Adds the processes that have one of `wanted` open, with how they may use it."""
        missing = wanted - self._holders.keys()
        if not missing:
            return
        self._holders.update({name: {} for name in missing})
        files = proc.OpenFiles()
        for pid, descriptor, name in files:
            if name in missing:
                by_pid = self._holders[name]
                by_pid[pid] = by_pid.get(pid, 0) | 1 << _mode(pid, descriptor)
        self.is_whole &= files.is_whole


def _end_of(pid: int, holders: Collection[int]) -> OtherEnd:
    """Without any holder, the process itself included, a wait would have ended: then there is one that can't be seen."""
    return OtherEnd(_without(pid, holders), is_whole=bool(holders))


def _without(pid: int, pids: Iterable[int]) -> tuple[int, ...]:
    return tuple(each for each in pids if each != pid)


def _is_socket(name: str) -> bool:
    return name.startswith("socket:")


def _modes(bits: int) -> tuple[int, ...]:
    """Returns the modes of a process's descriptors of a pipe: O_RDONLY, O_WRONLY; one that is open for both does both."""
    both = bits >> os.O_RDWR & 1
    return tuple(mode for mode in (os.O_RDONLY, os.O_WRONLY) if bits >> mode & 1 or both)


def _mode(pid: int, descriptor: str) -> int:
    flags = next((row[1] for row in proc.file_rows(pid, descriptor, "flags")), "")
    return int(flags, 8) & os.O_ACCMODE if flags else os.O_RDWR


def _lock_owners() -> dict[int, int]:
    """The owner of the file lock for which a process waits, by that process (proc_locks(5))."""
    owners: dict[int, int] = {}
    owner = 0
    try:
        with Path("/proc/locks").open(encoding="ascii") as file:
            for line in file:
                fields = line.split()
                is_waiting = len(fields) > 5 and fields[1] == "->"
                pid = fields[5] if is_waiting else fields[4] if len(fields) > 4 else ""
                if not is_waiting:
                    owner = int(pid) if pid.isdigit() else 0
                elif pid.isdigit() and owner:
                    owners[int(pid)] = owner
    except (OSError, ValueError):
        pass
    return owners


def _listener(connections: Mapping[str, _TcpRow], address: str) -> str:
    """The socket of the server at an address of this machine; "" if none listens there."""
    port = address.rpartition(":")[2]
    local = (address, f"0.0.0.0:{port}", f"[::]:{port}")
    listening = [
        (local.index(row.local), name)
        for name, row in connections.items()
        if row.state == _LISTENS and row.local in local
    ]
    return min(listening)[1] if listening else ""


class _TcpRow(NamedTuple):
    local: str
    remote: str
    state: int


def _tcp(pid: int, table: str) -> dict[str, _TcpRow]:
    """The connections in the network of `pid` by the name of their socket (proc_pid_net(5))."""
    connections = {}
    for fields in proc.connections(pid, table):
        if len(fields) <= 9:
            continue
        name = f"socket:[{fields[9]}]"
        if fields[9] == "0":
            name = f"{_UNACCEPTED}{fields[1]} {fields[2]}"
        row = _TcpRow(_address(fields[1]), _address(fields[2]), int(fields[3], 16))
        if fields[9] != "0" or row.state == _ESTABLISHED:
            connections[name] = row
    return connections


def _address(text: str) -> str:
    """`10.0.0.7:8000` of the kernel's hexadecimal numbers, which have the byte order of the machine."""
    host, _, port = text.partition(":")
    content = b"".join(
        struct.pack("=I", int(host[at : at + 8], 16)) for at in range(0, len(host), 8)
    )
    if len(content) == 16 and content.startswith(b"\0" * 10 + b"\xff\xff"):
        content = content[12:]
    name = socket.inet_ntop(socket.AF_INET if len(content) == 4 else socket.AF_INET6, content)
    return f"{name}:{int(port, 16)}" if len(content) == 4 else f"[{name}]:{int(port, 16)}"


# linux/sock_diag.h, linux/unix_diag.h.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_REQUEST_OF_ALL = 0x301
_SHOW_PEER, _PEER = 4, 2
_DONE, _FAILED = 3, 2


def _unix_peers() -> dict[str, str]:
    """The connected sockets of this machine's processes by their other ends; {} where the kernel doesn't tell."""
    if not hasattr(socket, "AF_NETLINK"):
        return {}
    peers: dict[str, str] = {}
    request = struct.pack(
        "=IHHIIBBHIIIII", 40, _SOCK_DIAG_BY_FAMILY, _REQUEST_OF_ALL, 1, 0,
        socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _SHOW_PEER, 0, 0,
    )  # fmt: skip
    end = time.monotonic() + proc.SEARCH_S
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as link:
            link.settimeout(proc.SEARCH_S)
            link.send(request)
            while time.monotonic() < end:
                if not _add_peers(link.recv(2**16), peers):
                    break
    except (OSError, struct.error):
        pass
    return peers


def _add_peers(content: bytes, peers: dict[str, str]) -> bool:
    """Adds the sockets of one answer; false if it is the last."""
    at = 0
    while at + 16 <= len(content):
        length, kind = struct.unpack_from("=IH", content, at)
        if kind in (_DONE, _FAILED) or length < 16:
            return False
        inode = struct.unpack_from("=I", content, at + 20)[0]
        option = at + 32
        while option + 4 <= at + length:
            size, name = struct.unpack_from("=HH", content, option)
            if size < 4:
                break
            if name == _PEER:
                peer = struct.unpack_from("=I", content, option + 4)[0]
                peers[f"socket:[{inode}]"] = f"socket:[{peer}]"
            option += (size + 3) & ~3
        at += (length + 3) & ~3
    return True
