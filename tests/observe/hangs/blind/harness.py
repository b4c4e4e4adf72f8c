"""Starts one program of `programs/`, waits until it is where `expected.json` says, and ends it.

    python tests/observe/hangs/blind/harness.py NAME [--seconds N] [--dump] [--env KEY=VALUE ...]

One JSON line is printed when the program is ready; it ends on SIGTERM, at the end of stdin or after
`--seconds`. The ranks are processes of their own with torchrun's environment, in one process group;
their output goes to files. All processes of a run carry a mark in their environment, and are ended by pid.

Fields of the table:
    kind, culprits  the verdict; a kind of null is a program that works. `culprits` "" names no rank.
    accept          other texts of culprits that are right too
    also            kinds that a reader could call right too; a strict score does not count them
    world, started  how many ranks the environment says, and which are started, if not all
    needs           torch or ray
    ready           what these ranks (with Ray: the driver) print, and how long to wait after that
    outside         what is done to the program then: stop, kill, drop (packets), unplug (a node), gdb
    terminal        the ranks are background jobs of a terminal
    observed        what py-spy showed: processes, state, the newest calls of a thread
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
TABLE: dict[str, dict[str, Any]] = json.loads((HERE / "expected.json").read_text())
MARK = "BLIND_RUN"
PIDFD_GETFD = 438
SO_ATTACH_FILTER = 26
START_S = 240
# An idle worker is `ray::IDLE`, one with a task `ray::name`.
ACTOR = re.compile(r"ray::[A-Z]\w*[a-z]")


def default_python() -> str:
    """An interpreter with torch and Ray: the one in `BLIND_PYTHON`, or the environment of the proofs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return os.environ.get("BLIND_PYTHON") or str(cache / "eagleray-dev/proofs/bin/python")


def ranks_of(text: str) -> list[int]:
    """The ranks of `0-2,5`."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def environment_of(pid: int) -> dict[str, str]:
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (entry.partition(b"=") for entry in raw.split(b"\0") if entry)
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, _, value in pairs}


def stat_of(pid: int) -> tuple[str, int]:
    """The state letter and the parent."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "X", 0
    return fields[0], int(fields[1])


def title_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""


def marked(mark: str) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and environment_of(pid).get(MARK) == mark]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Network:
    """A network namespace for each rank, joined by a bridge, as if each ran on a node of its own."""

    def __init__(self, mark: str, ranks: list[int]):
        self.names = {rank: f"bl{mark[:6]}r{rank}" for rank in ranks}
        self.hub = f"bl{mark[:6]}hub"
        self._ip("netns", "add", self.hub)
        self._ip("-n", self.hub, "link", "add", "name", "br0", "type", "bridge")
        self._ip("-n", self.hub, "link", "set", "br0", "up")
        for rank, name in self.names.items():
            self._ip("netns", "add", name)
            self._ip("-n", name, "link", "set", "lo", "up")
            veth = ("name", f"port{rank}", "type", "veth", "peer", "name", "eth0", "netns", name)
            self._ip("-n", self.hub, "link", "add", *veth)
            self._ip("-n", self.hub, "link", "set", f"port{rank}", "master", "br0", "up")
            self._ip("-n", name, "address", "add", f"{self.address(rank)}/24", "dev", "eth0")
            self._ip("-n", name, "link", "set", "eth0", "up")

    def address(self, rank: int) -> str:
        return f"10.77.15.{rank + 1}"

    def enter(self, rank: int) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.names[rank]}"]

    def unplug(self, rank: int) -> None:
        self._ip("-n", self.hub, "link", "set", f"port{rank}", "down")

    def remove(self) -> None:
        for name in [*self.names.values(), self.hub]:
            with contextlib.suppress(subprocess.CalledProcessError):
                self._ip("netns", "delete", name)

    def _ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)


class Sockets:
    """The established TCP connections of some processes."""

    def __init__(self, pids: dict[int, int]):
        self.pids = pids
        self.ends = {rank: self._ends(pid) for rank, pid in pids.items()}

    def drop(self, left: int, right: int) -> int:
        """Drops every packet that arrives on connections between two ranks; how many ends."""
        count = 0
        for rank, other in ((left, right), (right, left)):
            theirs = {(remote, local) for local, remote in self.ends[other]}
            for end in self.ends[rank].keys() & theirs:
                self._refuse(self.pids[rank], self.ends[rank][end])
                count += 1
        return count

    def _ends(self, pid: int) -> dict[tuple[str, str], int]:
        inodes = {}
        for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "01":
                inodes[f"socket:[{fields[9]}]"] = (fields[1], fields[2])
        ends = {}
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                target = str(entry.readlink())
                if target in inodes:
                    ends[inodes[target]] = int(entry.name)
        return ends

    def _refuse(self, pid: int, number: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        process = os.pidfd_open(pid)
        taken = libc.syscall(PIDFD_GETFD, process, number, 0)
        os.close(process)
        if taken < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
        with socket.socket(fileno=taken) as connection:
            packed = struct.pack("HL", 1, ctypes.addressof(program))
            connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, packed)


class Run:
    """One started program."""

    def __init__(self, name: str, python: str | None = None, env: dict[str, str] | None = None):
        self.name = name
        self.entry = TABLE[name]
        self.python = python or default_python()
        self.extra = env or {}
        self.mark = uuid.uuid4().hex
        self.folder = Path(tempfile.mkdtemp(prefix="bl"))
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.others: list[subprocess.Popen[bytes]] = []
        self.pids: dict[int, int] = {}
        self.driver: int | None = None
        self.network: Network | None = None
        self.terminal: int | None = None

    def __enter__(self) -> Run:
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    @property
    def started(self) -> list[int]:
        return ranks_of(self.entry.get("started") or f"0-{self.entry['world'] - 1}")

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(PROGRAMS),
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": "1",
            "TMPDIR": str(self.folder),
            "RAY_TMPDIR": str(self.folder),
            "RAY_DISABLE_IMPORT_WARNING": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DEDUP_LOGS": "0",
            MARK: self.mark,
            **self.extra,
        }

    def command(self) -> list[str]:
        return [self.python, str(PROGRAMS / f"{self.name}.py")]

    def start(self) -> None:
        if self.entry["needs"] == "ray":
            process = self._popen(self.command(), self.environment(), "driver")
            self.others.append(process)
            self.driver = process.pid
            return
        if self.entry.get("outside", {}).get("do") == "unplug":
            self.network = Network(self.mark, self.started)
        port = str(free_port())
        if self.entry.get("terminal"):
            self._start_in_terminal(port)
            return
        group = 0
        for rank in self.started:
            process = self._popen(*self._rank(rank, port), f"rank{rank}", group)
            group = group or process.pid
            self.processes[rank] = process
            self.pids[rank] = process.pid

    def _rank(self, rank: int, port: str) -> tuple[list[str], dict[str, str]]:
        env = self.environment() | {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(self.entry["world"]),
            "LOCAL_WORLD_SIZE": str(self.entry["world"]),
            "MASTER_ADDR": self.network.address(0) if self.network else "127.0.0.1",
            "MASTER_PORT": port,
            "GLOO_SOCKET_IFNAME": "eth0" if self.network else "lo",
        }
        enter = self.network.enter(rank) if self.network else []
        return enter + self.command(), env

    def _popen(
        self, command: list[str], env: dict[str, str], log: str, group: int = 0
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{log}.log").open("wb") as output:
            return subprocess.Popen(
                command,
                env=env,
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=group,
            )

    def _start_in_terminal(self, port: str) -> None:
        """The ranks as background jobs of a terminal, whose session leader is a process between."""
        self.terminal, slave = pty.openpty()
        plan = {
            "terminal": os.ttyname(slave),
            "folder": str(self.folder),
            "ranks": {rank: self._rank(rank, port) for rank in self.started},
        }
        leader = subprocess.Popen(
            [sys.executable, str(HERE / "terminal_jobs.py")],
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.others.append(leader)
        assert leader.stdin and leader.stdout
        leader.stdin.write(json.dumps(plan).encode() + b"\n")
        leader.stdin.flush()
        answer = json.loads(leader.stdout.readline())
        os.close(slave)
        self.pids = {int(rank): pid for rank, pid in answer.items()}

    def log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_ready(self) -> None:
        ready = self.entry["ready"]
        names = ["driver"] if self.driver else [f"rank{rank}" for rank in ranks_of(ready["ranks"])]
        end = time.monotonic() + START_S
        texts = [ready["text"]] if isinstance(ready["text"], str) else ready["text"]
        while missing := [
            (name, text) for name in names for text in texts if text not in self.log(name)
        ]:
            if time.monotonic() > end or (self.driver and self.others[0].poll() is not None):
                raise TimeoutError(f"{self.name}: not printed {missing}: {self.tails()}")
            time.sleep(0.1)
        self._act(self.entry.get("outside"))
        time.sleep(ready["settle_s"])
        if self.driver:
            self._find_actors()

    def _act(self, outside: dict[str, Any] | None) -> None:
        if not outside:
            return
        ranks = ranks_of(outside["ranks"])
        match outside["do"]:
            case "stop":
                for rank in ranks:
                    os.kill(self.pids[rank], signal.SIGSTOP)
            case "kill":
                for rank in ranks:
                    os.kill(self.pids[rank], signal.SIGKILL)
            case "unplug":
                assert self.network
                for rank in ranks:
                    self.network.unplug(rank)
            case "drop":
                sockets = Sockets(self.pids)
                pairs = outside.get("pairs") or [
                    [rank, other] for rank in ranks for other in self.pids if other != rank
                ]
                if not sum(sockets.drop(*pair) for pair in pairs):
                    raise RuntimeError(f"no connection between {pairs}")
            case "gdb":
                for rank in ranks:
                    command = ["gdb", "-q", "-nx", "-p", str(self.pids[rank])]
                    self.others.append(self._popen(command, self.environment(), f"gdb{rank}"))

    def _find_actors(self) -> None:
        for pid in marked(self.mark):
            rank = environment_of(pid).get("RANK")
            # A task of an actor inherits the actor's environment, and so its rank.
            if rank is not None and ACTOR.match(title_of(pid)):
                self.pids[int(rank)] = pid

    def children(self, pid: int) -> list[int]:
        return [child for child in marked(self.mark) if stat_of(child)[1] == pid]

    def workers(self) -> dict[int, str]:
        """The other worker processes of Ray, with their titles."""
        titles = {pid: title_of(pid) for pid in marked(self.mark) if pid not in self.pids.values()}
        return {
            pid: title
            for pid, title in titles.items()
            if title.startswith("ray::") and not title.endswith("Agent")
        }

    def exited(self) -> dict[int, int]:
        codes = {rank: process.poll() for rank, process in self.processes.items()}
        return {rank: code for rank, code in codes.items() if code is not None}

    def dashboard(self) -> str | None:
        for line in self.log("driver").splitlines():
            if line.startswith("[rank 0] dashboard "):
                return f"http://{line.split()[-1]}"
        return None

    def report(self) -> dict[str, Any]:
        exited = self.exited()
        alive = {rank: pid for rank, pid in self.pids.items() if rank not in exited}
        return {
            "program": self.name,
            "pids": alive,
            "driver": self.driver,
            "children": {rank: self.children(pid) for rank, pid in alive.items()},
            "exited": exited,
            "pids_of_exited": {rank: self.pids[rank] for rank in exited},
            "dashboard": self.dashboard(),
            "others": self.workers() if self.driver else {},
            "logs": str(self.folder),
        }

    def tails(self) -> dict[str, str]:
        return {
            path.stem: path.read_text(errors="replace")[-800:] for path in self.folder.glob("*.log")
        }

    def end(self) -> None:
        # A debugger goes first: what it traces is then free to die.
        end = time.monotonic() + 20
        while pids := [pid for pid in marked(self.mark) if stat_of(pid)[0] != "Z"]:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > end:
                print(f"left over: {pids}", file=sys.stderr)
                break
            for process in [*self.processes.values(), *self.others]:
                process.poll()
            time.sleep(0.1)
        for process in [*self.processes.values(), *self.others]:
            for stream in (process.stdin, process.stdout):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()
            process.wait(5)
        if self.terminal is not None:
            os.close(self.terminal)
        if self.network:
            self.network.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


def dump(python: str, pid: int) -> list[dict[str, Any]] | str:
    """The dump of py-spy: threads with their frames, the newest call first."""
    program = str(Path(python).parent / "py-spy")
    error = ""
    for options in ([], ["--nonblocking"]):
        command = [program, "dump", "--json", *options, "--pid", str(pid)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        if done.returncode == 0:
            threads: list[dict[str, Any]] = json.loads(done.stdout)
            return threads
        error = done.stderr.strip().splitlines()[0][:200] if done.stderr else "no answer"
    return f"{error} (state {stat_of(pid)[0]})"


def text_of(seen: list[dict[str, Any]] | str) -> list[str]:
    if isinstance(seen, str):
        return [seen]
    lines = []
    for thread in seen:
        frames = [
            f"{frame['name']}@{Path(frame['filename']).name}:{frame['line']}"
            for frame in thread["frames"]
            if "_exception_logger" not in frame["name"]
        ]
        flags = ("A" if thread["active"] else "-") + ("G" if thread["owns_gil"] else "-")
        lines.append(f"{flags} {thread['thread_name']}: {' < '.join(frames[:14])}")
    return lines


def show(run: Run) -> None:
    """Prints what py-spy sees of every process, and three seconds later what has changed."""
    before: dict[int, list[str]] = {}
    sizes: dict[str, int] = {}
    for sample in range(2):
        time.sleep(sample * 3)
        named = {str(rank): pid for rank, pid in sorted(run.report()["pids"].items())}
        if run.driver:
            named |= {title: pid for pid, title in run.workers().items() if "IDLE" not in title}
            named["driver"] = run.driver
        for name, pid in list(named.items()):
            children = [] if run.driver else run.children(pid)
            named |= {f"{name} child {number}": child for number, child in enumerate(children)}
        classes: dict[tuple[str, ...], list[str]] = {}
        for name, pid in sorted(named.items()):
            lines = [stat_of(pid)[0], *text_of(dump(run.python, pid))]
            # Whether a thread is active for an instant says nothing.
            frames = [line.partition(": ")[2] for line in lines]
            if before.get(pid) != frames:
                classes.setdefault(tuple(lines), []).append(name)
            before[pid] = frames
        for group, names in classes.items():
            print(f"#{sample} {', '.join(names)}", *group, sep="\n    ")
        logs = {path.stem: path.stat().st_size for path in run.folder.glob("*.log")}
        sizes = sizes or logs
    print(f"printing: {sorted(name for name in logs if logs[name] != sizes.get(name))}")
    print(f"exited {run.exited()}")
    for name, tail in sorted(run.tails().items()):
        print(f"log {name}:", *tail.splitlines()[-3:], sep="\n    ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", choices=sorted(TABLE))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--dump", action="store_true")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--python")
    options = parser.parse_args()
    # An exception ends the program too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    env = dict(pair.split("=", 1) for pair in options.env)
    with Run(options.name, options.python, env) as run:
        print(json.dumps(run.report()), flush=True)
        if options.dump:
            show(run)
            return
        end = time.monotonic() + options.seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([sys.stdin], [], [], left)[0] and not os.read(0, 4096):
                break


if __name__ == "__main__":
    main()
