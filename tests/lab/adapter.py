"""An adapter of its own on a host of the site, and its control protocol."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from tests.adapter.harness import LIMIT, ControlClient
from tests.dap_client import DapClient
from tests.lab.eagleray import made_home
from tests.lab.site import Site
from tests.ray_cluster import REPOSITORY, end_processes, wait_for

START = str(REPOSITORY / "pybackend" / "eagleray_start.py")
Json = dict[str, Any]


def ssh(destination: str) -> Json:
    return {"ssh": destination, "job": "", "node": ""}


def srun(job: str, node: str, through: str = "") -> Json:
    return {"ssh": through, "job": job, "node": node}


class LabControl(ControlClient):
    """A control client that waits for whatever event it likes."""

    def wait(self, event: str, fits: Callable[[Json], bool] = lambda said: True) -> Json:
        """The first event of that name that fits, among those that came or will come."""

        def found() -> Json | None:
            return next((e for e in self.events if e["event"] == event and fits(e)), None)

        with self._changed:
            assert self._changed.wait_for(lambda: found() is not None, LIMIT), self.events
            result = found()
        assert result is not None
        return result

    def route(self, destination: str) -> Json | None:
        """The state of the route through that destination, None when it is not there."""
        found: list[Json] = self.call("routes")["routes"]
        return next((item for item in found if item["route"]["ssh"] == destination), None)

    def wait_route(self, destination: str, *states: str) -> Json:
        def there() -> Json | None:
            found = self.route(destination)
            return found if found and found["state"] in states else None

        route = wait_for(f"the route through {destination} {states}", there)
        assert route is not None
        return route

    def open(self, host: str, port: int, *routes: Json) -> str:
        """The path of a socket that leads there."""
        opened = self.call("open_socket", routes=list(routes), host=host, port=port)
        return str(opened["socket"])

    def refused(self, host: str, port: int, *routes: Json) -> Json:
        """The error of a socket that cannot be had."""
        return self.error("open_socket", routes=list(routes), host=host, port=port)


class LabAdapter:
    """Owns the process; `control` is its first client."""

    def __init__(self, site: Site, host: str, home: str, env: dict[str, str]) -> None:
        self.site, self.host, self.home = site, host, home
        self._log = (site.folder / "run" / f"adapter-{host}.log").open("a+")
        self._begin = self._log.tell()
        self._controls: list[LabControl] = []
        self.process = site.popen(
            host,
            "alice",
            ["python", START, "adapter"],
            {"EAGLERAY_HOME": home, **env},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        wait_for("the adapter's socket", self._listens)
        self.control = self.connect()

    def connect(self) -> LabControl:
        self._controls.append(LabControl(self._connect()))
        return self._controls[-1]

    def open(self, path: str) -> socket.socket:
        """A connection to one of its sockets."""
        sock = self.site.connect_unix(self.host, "alice", path)
        sock.settimeout(LIMIT)
        return sock

    def dap(self, path: str) -> DapClient:
        return DapClient(self.site.connect_unix(self.host, "alice", path))

    def log(self) -> str:
        self._log.seek(self._begin)
        return self._log.read()

    def masters(self) -> list[int]:
        """The ssh processes of this adapter, as this machine numbers them."""
        found = []
        for pid in self.site.processes(self.host):
            with contextlib.suppress(OSError):
                words = pid.joinpath("cmdline").read_bytes().split(b"\0")
                environ = pid.joinpath("environ").read_bytes()
                if words[0].endswith(b"ssh") and self.home.encode() in environ:
                    found.append(int(pid.name))
        return found

    def end(self) -> None:
        for control in self._controls:
            control.close()
        end_processes("EAGLERAY_HOME", self.home)
        self.process.wait(LIMIT)
        self._log.close()

    def _listens(self) -> bool:
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(OSError):
            self._connect().close()
            return True
        return False

    def _connect(self) -> socket.socket:
        folder = f"{self.home}/run/{self.host}"
        names = [
            path.name for path in self.site.path(self.host, folder).glob("adapter-[0-9]*.sock")
        ]
        if not names:
            raise FileNotFoundError(folder)
        return self.site.connect_unix(self.host, "alice", f"{folder}/{names[0]}")


@contextlib.contextmanager
def adapter_on(site: Site, host: str, **env: str) -> Iterator[LabAdapter]:
    """With a state of its own; all of it ends with the `with`."""
    adapter = LabAdapter(site, host, made_home(site, host), env)
    try:
        yield adapter
    finally:
        # Its log is shown with a failure; it never contains values of the user.
        print(adapter.log())
        adapter.end()


def greeting(sock: socket.socket) -> bytes:
    """Returns the first line of an sshd: proof that a stream has arrived."""
    return sock.recv(8)
