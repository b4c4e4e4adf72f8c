"""A miniature site on this machine: a laptop, two login nodes with one home, compute nodes with sshd, munge and SLURM.

Every host is a set of namespaces with a root of its own.  All of them belong to one process, which ends with
its stdin; then nothing of the site is left.  No host reaches anything but the others.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from tests.engine.fixtures import ENGINE_PYTHON
from tests.lab.files import outside_config, write_site
from tests.lab.hosts import UIDS, all_hosts
from tests.lab.namespaces import connected_as, in_network_of, why_not
from tests.ray_cluster import REPOSITORY, wait_for
from tests.remote.injected.real_nsys import FOLDER as NSYS

HERE = Path(__file__).parent
LIMIT_S = 120.0
# include/linux/sched.h
PF_EXITING = 0x4
PORTS = {"laptop": "laptop-eth1"}

Cut = Literal["silent", "down", "up"]


class NoSite(Exception):
    """Why there can be no site on this machine."""


class Site:
    """Lives from `start` to `end`; `folder` keeps its files, homes and logs until then."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
        self.pids: dict[str, int] = {}
        self._switch: subprocess.Popen[str] | None = None
        self._log: IO[str] | None = None

    @classmethod
    def of(cls, said: dict[str, Any]) -> Site:
        """The site that another process keeps, by its folder and pids."""
        site = cls(Path(said["folder"]))
        site.pids.update(said["pids"])
        return site

    def start(self) -> None:
        """Raises `NoSite` where there cannot be one."""
        if reason := why_not():
            self.end()
            raise NoSite(reason)
        hosts = all_hosts()
        write_site(self.folder, hosts, _binds())
        self._log = (self.folder / "run" / "switch.log").open("w+")
        command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=SIGKILL"]
        self._switch = subprocess.Popen(
            [*command, str(HERE / "switch.sh"), str(self.folder), *(host.plug for host in hosts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._switch.stdout
        if self._switch.stdout.readline() != "ready\n":
            said = self._said()
            self.end()
            raise RuntimeError(f"the site did not start: {said}")
        for name in ("switch", *(host.name for host in hosts)):
            self.pids[name] = int((self.folder / "run" / f"{name}.pid").read_text())

    def end(self) -> None:
        if self._switch is not None:
            begun = {pid: _begun(pid) for pid in self.pids.values()}
            self._switch.kill()
            self._switch.wait(LIMIT_S)
            # The last process may still be on its way out of its folders.
            wait_for(
                "the end of the site",
                lambda: not any(since and _begun(pid) == since for pid, since in begun.items()),
            )
            for pipe in (self._switch.stdin, self._switch.stdout, self._log):
                with contextlib.suppress(OSError):
                    pipe.close() if pipe else None
        shutil.rmtree(self.folder, ignore_errors=True)

    def argv(
        self, host: str, user: str, command: Sequence[str], env: Mapping[str, str] | None = None
    ) -> list[str]:
        """The command line which runs `command` on `host`; it is killed with the process that is started by it.

        Its environment is a plain one with our Python first on the PATH, and `env`.
        """
        enter = ["nsenter", "-t", str(self.pids[host]), "-m", "-u", "-i", "-n", "-p", "-r", "-w"]
        uid = str(UIDS[user])
        become = [
            "setpriv",
            "--reuid",
            uid,
            "--regid",
            uid,
            "--clear-groups",
            "--pdeathsig",
            "KILL",
        ]
        variables = {**_environment(user), **(env or {})}
        words = [f"{name}={value}" for name, value in variables.items()]
        there = ["sh", "-c", 'cd "$HOME" && exec "$@"', "sh"]
        return [*enter, *become, "env", "-i", *words, *there, *command]

    def run_as(
        self,
        host: str,
        user: str,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        check: bool = True,
        stdin: str = "",
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.argv(host, user, command, env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if check:
            assert done.returncode == 0, (
                f"{command} on {host}: {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done

    def popen(
        self,
        host: str,
        user: str,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        **more: Any,
    ) -> subprocess.Popen[Any]:
        """A running process there; `more` as of subprocess.Popen."""
        return subprocess.Popen(self.argv(host, user, command, env), **more)

    def cut(self, host: str, how: Cut) -> None:
        """Cuts the link of the laptop to the login nodes, or of any other host to the cluster's network.

        `silent`: packets vanish without notice, as with a closed lid; `down`: the cable is pulled.
        """
        port = PORTS.get(host, f"{host}-eth0")
        enter = ["nsenter", f"--net=/proc/{self.pids['switch']}/ns/net"]
        state = [*enter, "bridge", "link", "set", "dev", port, "state"]
        commands = {
            "silent": [[*state, "0"]],
            "down": [[*enter, "ip", "link", "set", port, "down"]],
            "up": [[*enter, "ip", "link", "set", port, "up"], [*state, "3"]],
        }
        for command in commands[how]:
            # A port that was plugged in a moment ago takes no state before its carrier is seen.
            wait_for(" ".join(command), partial(_succeeds, command))

    @contextlib.contextmanager
    def cut_off(self, host: str, how: Cut = "silent") -> Iterator[None]:
        self.cut(host, how)
        try:
            yield
        finally:
            self.cut(host, "up")

    def path(self, host: str, there: str) -> Path:
        """A file of `host` as this process reaches it (as root)."""
        return Path(f"/proc/{self.pids[host]}/root") / there.lstrip("/")

    def ssh_from_here(self) -> Path:
        """An `ssh` for programs of this machine (a real editor, say) which does all that from the laptop's network."""
        config, program = self.folder / "ssh_config", self.folder / "ssh"
        config.write_text(outside_config(self.folder))
        net = f"nsenter --net=/proc/{self.pids['laptop']}/ns/net"
        program.write_text(f'#!/bin/sh\nexec {net} ssh -F {config} "$@"\n')
        program.chmod(0o755)
        return program

    def processes(self, host: str) -> list[Path]:
        """The processes of `host`, as folders of this machine's /proc."""
        here = Path(f"/proc/{self.pids[host]}/ns/pid").readlink()
        found = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if folder.name.isdigit() and (folder / "ns" / "pid").readlink() == here:
                    found.append(folder)
        return found

    def connect(self, host: str, address: str, port: int) -> socket.socket:
        """A TCP connection that begins on `host`."""
        with self.network(host):
            return socket.create_connection((address, port), LIMIT_S)

    def network(self, host: str) -> contextlib.AbstractContextManager[None]:
        """Sockets that this thread makes within the `with` belong to `host`, and stay so."""
        return in_network_of(self.pids[host])

    def connect_unix(self, host: str, user: str, path: str) -> socket.socket:
        """A connection to a Unix socket on `host`, made as `user`, as its listener sees it."""
        return connected_as(UIDS[user], self.path(host, path))

    def _said(self) -> str:
        logs = sorted((self.folder / "run").glob("*.log"))
        return "\n".join(f"{log.name}: {text}" for log in logs if (text := log.read_text().strip()))


def _succeeds(argv: list[str]) -> bool:
    return subprocess.run(argv, capture_output=True, timeout=LIMIT_S, check=False).returncode == 0


def _begun(pid: int) -> str:
    """When that process began, since a pid is soon given anew; "" when it is over."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    # The first process of a namespace exits only after all others in it were reaped, which never happens where the
    # first process is not made for it, as in many containers.
    is_over = fields[0] == "Z" or int(fields[6]) & PF_EXITING
    return "" if is_over else fields[19]


def _binds() -> list[Path]:
    """The checkout, our Python, and what tests have of nsys and llama.cpp, read-only; /usr is there anyway."""
    engine = Path(ENGINE_PYTHON).parents[1]
    wanted = [REPOSITORY, Path(sys.prefix), Path(sys.base_prefix), NSYS, engine]
    folders: list[Path] = []
    for folder in sorted({path.resolve() for path in wanted if path.exists()}):
        if not any(folder.is_relative_to(over) for over in (Path("/usr"), Path("/opt"), *folders)):
            folders.append(folder)
    return folders


def _environment(user: str) -> dict[str, str]:
    home = "/root" if user == "root" else f"/home/{user}"
    return {
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "PYTHONPATH": f"{REPOSITORY}/pybackend",
        "PYTHONUNBUFFERED": "1",
    }
