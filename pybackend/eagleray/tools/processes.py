"""Processes and listening sockets of this machine, and their owners."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import psutil
from attrs import frozen

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.remote.injected.settings import VARIABLE

LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", ""})
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LISTEN = " 0A "
LINUX = sys.platform == "linux"
# Variables of a terminal or job with which we sign in to clusters (clusters/credentials.py).
ACCESS_VARIABLE = "EAGLERAY_ACCESS"
_EXIT_POLL_S = 0.1


@frozen
class Listener:
    """A TCP port with a listener: `host` as bound (`0.0.0.0` and `::` mean every address)."""

    host: str
    port: int
    uid: int


def is_own(pid: int) -> bool:
    """Whether a process of this machine exists and belongs to this user."""
    try:
        return psutil.Process(pid).uids().real == os.getuid()
    except (psutil.Error, ValueError):
        return False


def wait_for_exit(pid: int) -> None:
    """Returns when the child `pid` has ended, and leaves its status to `waitpid`.

    `waitpid` itself also returns stops of a child that another thread of this process traces, and takes them from that.
    """
    try:
        process = os.pidfd_open(pid)
    except (AttributeError, OSError):
        # Linux before 5.3, and macOS, where nothing is traced.
        while LINUX and _is_running(pid):
            time.sleep(_EXIT_POLL_S)
        return
    try:
        # Unlike `select`, it takes a descriptor of any number.
        exits = select.poll()
        exits.register(process, select.POLLIN)
        exits.poll()
    finally:
        os.close(process)


def _is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def local_addresses() -> frozenset[str]:
    """The IP addresses of this machine: a worker with another `node_ip` runs elsewhere."""
    families = (socket.AF_INET, socket.AF_INET6)
    interfaces = psutil.net_if_addrs().values()
    return frozenset(
        address.address.partition("%")[0]
        for addresses in interfaces
        for address in addresses
        if address.family in families
    )


def listener_uid(host: str, port: int) -> int | None:
    """Returns the user id of the listener on a TCP port of this machine; None without one, or if `host` is another machine.

    If several users listen on the port, at different addresses, the socket that `host` leads to counts; if that is
    uncertain, a listener of another user counts.
    """
    listener = listener_at(host, port)
    return listener.uid if listener else None


def listener_at(host: str, port: int) -> Listener | None:
    """Returns the listener to which `host` and `port` of this machine lead, as `listener_uid` chooses it."""
    address = _local_address(host)
    if address is None:
        return None
    fitting = [
        listener
        for listener in listeners()
        if listener.port == port and _leads_to(address, listener.host)
    ]
    foreign = [listener for listener in fitting if listener.uid != os.getuid()]
    return next(iter(foreign or fitting), None)


def listener_pid(listener: Listener) -> int | None:
    """Returns the process of this user that has the socket of a listener; None for another user's, or if it has ended."""
    owned = listeners_of(own_commands())
    return next((pid for pid, listening in owned.items() if listener in listening), None)


def command(pid: int) -> tuple[str, ...]:
    """Returns the arguments of a process of this user; () for one that can't be read."""
    try:
        return tuple(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ()


def children(pid: int) -> frozenset[int]:
    """Returns the processes that a process has started and that live."""
    try:
        return frozenset(child.pid for child in psutil.Process(pid).children())
    except psutil.Error:
        return frozenset()


def listeners() -> list[Listener]:
    """Returns all TCP listeners of this machine from the kernel's table, which has their users."""
    if LINUX:
        return list(_by_inode().values())
    own = (process.pid for process in psutil.process_iter() if is_own(process.pid))
    return [listener for pid in own for listener in _listeners_of(pid)]


def own_commands() -> dict[int, tuple[str, ...]]:
    """Returns the arguments of the processes of this user, by process id."""
    if not LINUX:
        return {process.pid: _arguments(process) for process in psutil.process_iter()}
    uid = os.getuid()
    commands = {}
    for entry in os.scandir("/proc"):
        try:
            # Login nodes run thousands of processes of other users; checking the owner of the folder is cheap.
            if entry.name.isdigit() and entry.stat().st_uid == uid:
                text = Path(entry.path, "cmdline").read_bytes().decode(errors="replace")
                commands[int(entry.name)] = tuple(text.rstrip("\0").split("\0"))
        except OSError:
            continue
    return commands


def listeners_of(pids: Iterable[int]) -> dict[int, tuple[Listener, ...]]:
    """Returns the TCP ports on which processes of this user listen."""
    if not LINUX:
        return {pid: tuple(_listeners_of(pid)) for pid in pids}
    by_inode = _by_inode()
    return {
        pid: tuple(by_inode[inode] for inode in sorted(_inodes(pid) & by_inode.keys()))
        for pid in pids
    }


def own_listener_inodes() -> frozenset[int]:
    """Returns the inodes of the listening sockets of this user: one read, so that a poll sees a new socket cheaply."""
    uid = os.getuid()
    return frozenset(inode for inode, listener in _by_inode().items() if listener.uid == uid)


def process_tree(program: int, birth: float) -> dict[int, float]:
    """Returns the processes of a program that began in a session or group of its own, with their start times.

    Its descendants, and those that its end has left in its session or group.
    """
    tree: dict[int, float] = {}
    if lives(program, birth):
        with contextlib.suppress(psutil.Error):
            for child in (leader := psutil.Process(program)).children(recursive=True):
                tree[child.pid] = born(child.pid)
            tree[leader.pid] = birth
    elif born(program):
        # The number now belongs to another process, perhaps with a session of its own.
        return tree
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if pid not in tree and program in (os.getsid(pid), os.getpgid(pid)):
                tree[pid] = born(pid)
    return {pid: birth for pid, birth in tree.items() if birth}


def run_of(pid: int) -> str:
    """Returns the id of the run that has started a process, "" for none: a daemon keeps the environment, as Ray's do."""
    try:
        config = json.loads(psutil.Process(pid).environ().get(VARIABLE, "{}"))
    except (psutil.Error, OSError, *UNREADABLE_JSON):
        return ""
    return str(config.get("run", "")) if isinstance(config, dict) else ""


def _by_inode() -> dict[int, Listener]:
    return {inode: listener for table in TABLES for inode, listener in of_table(_text(table))}


def _inodes(pid: int) -> set[int]:
    """Returns the inodes of the sockets of a process."""
    try:
        files = list(os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        # It has just ended.
        return set()
    targets = map(_target, files)
    return {int(target[8:-1]) for target in targets if target.startswith("socket:[")}


def _target(file: os.DirEntry[str]) -> str:
    """Returns the target of a descriptor, "" for one that has just been closed, as a program does all the time."""
    try:
        return str(Path(file.path).readlink())
    except OSError:
        return ""


def _listeners_of(pid: int) -> list[Listener]:
    try:
        process = psutil.Process(pid)
        uid = process.uids().real
        connections = process.net_connections(kind="tcp")
    except psutil.Error:
        return []
    listening = (c for c in connections if c.status == psutil.CONN_LISTEN and c.laddr)
    return [Listener(str(_ip(c.laddr.ip)), c.laddr.port, uid) for c in listening]


def _arguments(process: psutil.Process) -> tuple[str, ...]:
    try:
        return tuple(process.cmdline()) if is_own(process.pid) else ()
    except psutil.Error:
        return ()


def of_table(table: str) -> Iterator[tuple[int, Listener]]:
    """Yields the listeners in the text of /proc/net/tcp or tcp6, each with its inode."""
    for line in table.splitlines()[1:]:
        # A check before the split: there are many more connections than listeners.
        if LISTEN not in line:
            continue
        fields = line.split()
        # The table of a remote host may be mangled; its other lines are still useful.
        if len(fields) > 9 and fields[3] == LISTEN.strip() and _has_numbers(fields):
            with contextlib.suppress(ValueError, OverflowError):
                host, _, port = fields[1].partition(":")
                listener = Listener(_address_of_table(host), int(port, 16), int(fields[7]))
                yield int(fields[9]), listener


def _has_numbers(fields: list[str]) -> bool:
    """Whether its port, user and inode are numbers as the kernel writes them, not all that `int` takes."""
    return bool(
        re.fullmatch(r"[0-9A-F]+:[0-9A-F]{4}", fields[1])
        and re.fullmatch(r"[0-9]{1,10}", fields[7])
        and re.fullmatch(r"[0-9]{1,20}", fields[9])
    )


def _text(table: Path) -> str:
    try:
        return table.read_text()
    except OSError:
        # A kernel without IPv6 has no such table.
        return ""


def _address_of_table(text: str) -> str:
    """Parses an address of the kernel's table: groups of 32 bits in the byte order of the machine; raises ValueError."""
    if len(text) not in (8, 32):
        raise ValueError("not an address of IPv4 or IPv6")
    parts = [int(text[i : i + 8], 16).to_bytes(4, sys.byteorder) for i in range(0, len(text), 8)]
    return str(_ip(b"".join(parts)))


def _ip(address: str | bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parses an address; an IPv4 address in IPv6 notation (`::ffff:127.0.0.1`) becomes the IPv4 address."""
    ip = ipaddress.ip_address(address)
    return getattr(ip, "ipv4_mapped", None) or ip


def _local_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Returns `host` as an address of this machine, else None; resolves no name but localhost."""
    if host.lower() in LOOPBACK_NAMES:
        return ipaddress.ip_address("127.0.0.1")
    try:
        address = _ip(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    is_local = address.is_loopback or address.is_unspecified or str(address) in local_addresses()
    return address if is_local else None


def _leads_to(address: ipaddress.IPv4Address | ipaddress.IPv6Address, bound: str) -> bool:
    """Whether a connection to `address` may end at a socket that is bound to `bound`."""
    other = ipaddress.ip_address(bound)
    # Names like localhost lead to ::1 as well as to 127.0.0.1.
    both_loopback = address.is_loopback and other.is_loopback
    return other == address or other.is_unspecified or address.is_unspecified or both_loopback


def born(pid: int) -> float:
    """Returns the start time of a process, 0.0 if it is gone or a zombie."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return 0.0
        return float(process.create_time())
    except psutil.Error:
        return 0.0


def lives(pid: int, birth: float) -> bool:
    """Whether the process of that id is still the one that began then."""
    # The wall clock, which translates the kernel's own count, may be set between two calls.
    return pid > 0 and birth > 0 and abs(born(pid) - birth) < 2.0


def own_environment() -> dict[str, str]:
    """Returns the environment of this process for those that it starts: without the access that only we use.

    LC_CTYPE isn't in it where Python itself has set it in place of the C locale (PEP 538).
    """
    variables = {name: value for name, value in os.environ.items() if name != ACCESS_VARIABLE}
    if variables.get("LC_CTYPE") in ("C.UTF-8", "C.utf8", "UTF-8"):
        with contextlib.suppress(OSError):
            given = Path("/proc/self/environ").read_bytes().split(b"\0")
            if not any(entry.startswith(b"LC_CTYPE=") for entry in given):
                del variables["LC_CTYPE"]
    return variables


def start_detached(
    command: list[str],
    output: BinaryIO | int,
    stdin: int = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Starts a process that outlives us, in a session of its own, by default with our environment; raises OSError."""
    process = subprocess.Popen(
        command,
        stdin=stdin,
        stdout=output,
        stderr=output,
        cwd="/",
        env=own_environment() if env is None else env,
        start_new_session=True,
    )
    # Without a wait it would stay a zombie after its end.
    threading.Thread(target=process.wait, daemon=True, name="waits for a process").start()
    return process
