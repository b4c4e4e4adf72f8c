"""A run as its processes see it: the copied package, the environment, and a hand-made client of their debug proxies."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eagleray.remote.injected.debug_proxy import request
from eagleray.remote.injected.ed25519 import SecretKey

from tests.dap_client import DapClient
from tests.ray_cluster import RayCluster, wait_for
from tests.remote.injected.debug_stream import DebugStream, first_line

SOURCE = Path(__file__).parents[3] / "pybackend" / "eagleray" / "remote" / "injected"
PACKAGE = "_eagleray_run_12345678"
KEY = SecretKey(b"a secret key of thirty-two bytes")
RUN = "0123456789ab"
WORKERS = (
    "/api/v0/workers?detail=1&limit=1000"
    "&filter_keys=is_alive&filter_predicates=%3D&filter_values=True"
)


class Run:
    """A run in `folder`; `lines` are the comments `stop: NAME` of `program` at which it stops."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.path = folder / "shared"
        if not self.path.exists():
            self.path.mkdir()
            copied = self.path / PACKAGE
            shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__"))
        self.proxies = folder / "run"
        self.proxies.mkdir(exist_ok=True)
        self.settings: dict[str, Any] = {
            "run": RUN,
            "verifier": KEY.public.hex(),
            "package": PACKAGE,
            "path": str(self.path),
            "folder": str(self.proxies),
            "host": socket.gethostname(),
            "wait_s": 30,
            **settings,
        }

    def env(self, **more: str) -> dict[str, str]:
        """Returns what the starter of a run adds to the environment."""
        site = f"{self.path}/{PACKAGE}/site"
        text = json.dumps(self.settings).replace("$", "\\u0024")
        before = os.environ.get("PYTHONPATH")
        path = f"{site}:{before}" if before else site
        return {"PYTHONPATH": path, "EAGLERAY_RUN": text, **more}

    def proxy_files(self) -> list[dict[str, Any]]:
        """Returns what drivers say of their debug proxies."""
        found = []
        for file in self.proxies.glob("proxy-*.json"):
            with contextlib.suppress(OSError, ValueError):
                found.append(json.loads(file.read_text()))
        return found

    def wait_proxy_file(self) -> dict[str, Any]:
        (file,) = wait_for("the debug proxy of the driver", self.proxy_files)
        return file


def breakpoints(program: Path, *names: str) -> list[dict[str, Any]]:
    """Breakpoints at the lines of `program` that say `# stop: NAME`."""
    return [{"path": str(program), "lines": [{"line": line_of(program, name)} for name in names]}]


def line_of(program: Path, name: str) -> int:
    for number, line in enumerate(program.read_text().splitlines(), 1):
        if re.search(rf"# stop: {name}\b", line):
            return number
    raise LookupError(f"{program} has no line “# stop: {name}”")


class ProxyTestClient:
    """The control channel of one debug proxy; `lines` keeps all that came."""

    def __init__(self, host: str, port: int, key: SecretKey = KEY) -> None:
        self._address = host, port
        self._key = key
        self.sock = self._called(want="control")
        self.lines: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._stream = self.sock.makefile("rb")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def say(self, **line: Any) -> None:
        self.sock.sendall(json.dumps(line).encode() + b"\n")

    def debug(self, child: int = 0) -> DapClient:
        """A conversation with debugpy of the worker, or of a process that it has started."""
        sock = self._called(want="debug", session="s", received=0, child=child)
        answer = json.loads(first_line(sock))
        assert answer.get("received") == 0, answer
        sock.settimeout(None)
        self._stream_of_debugger = DebugStream(sock)
        return DapClient(self._stream_of_debugger.plain)

    def cut(self) -> None:
        """Loses the connection of the newest conversation."""
        self._stream_of_debugger.cut()

    def wait(self, event: str, count: int = 1) -> dict[str, Any]:
        """The `count`-th line with this event."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.having(event)) >= count, 30)
            found = self.having(event)
            assert len(found) >= count, f"no {event}: {self.lines}"
            return found[count - 1]

    def having(self, event: str) -> list[dict[str, Any]]:
        # The first line, and only that, has no event: its one key is its name.
        return [line for line in self.lines if line.get("event", next(iter(line))) == event]

    @property
    def latest(self) -> dict[str, Any]:
        """Returns the identity of the worker by all that it has said of itself."""
        said = dict(self.hello)
        for line in self.having("who"):
            said.update(line)
        return said

    @property
    def hello(self) -> dict[str, Any]:
        hello: dict[str, Any] = self.wait("hello")["hello"]
        return hello

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()

    def _called(self, **wish: Any) -> socket.socket:
        sock = socket.create_connection(self._address, 30)
        nonce = bytes.fromhex(first_line(sock).split()[-1].decode())
        sock.sendall(request.signed(self._key, RUN, self._address, nonce, wish))
        return sock

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := self._stream.readline():
                with self._changed:
                    self.lines.append(json.loads(line))
                    self._changed.notify_all()


class RunDebugging:
    """Debugs one process: attaches through its debug proxy and sets the lines of the run in its files."""

    def __init__(self, proxy: ProxyTestClient, run: Run, waits: bool = True) -> None:
        self.proxy = proxy
        if waits and proxy.hello["state"] != "waiting":
            proxy.wait("waiting")
        proxy.say(op="debug")
        proxy.wait("listening")
        self.client = proxy.debug()
        files = (proxy.having("waiting") or [proxy.hello])[-1]["files"]
        lines = self._lines = {
            setting["path"]: [line["line"] for line in setting["lines"]]
            for setting in run.settings["breakpoints"]
        }
        self.client.attach(
            breakpoints={files[path]: lines[path] for path in files if path in lines},
            justMyCode=False,
        )

    def follow(self) -> None:
        """Sets the lines of the files that the process has found by now, and lets it continue."""
        said = self.proxy.wait("files")
        files = said["files"]
        # The event for having attached may come late; it isn't the answer to this question.
        self.proxy.say(op="go", asked=said["wait"] - 1)
        for path, lines in self._lines.items():
            if path in files:
                self.client.set_breakpoints(files[path], lines)
        self.proxy.say(op="go", asked=said["wait"])

    def stop(self) -> tuple[str, int]:
        """Where it stands next: name of the function and line."""
        stopped = self.client.wait_for("stopped")
        self.thread = stopped["body"]["threadId"]
        frame = self.client.request("stackTrace", threadId=self.thread)["stackFrames"][0]
        return frame["name"], frame["line"]

    def go_on(self) -> None:
        """Continues the process, which may end before it answers: Ray ends an actor without handles at once."""
        self.client.send("continue", threadId=self.thread)


@contextlib.contextmanager
def debugging(host: str, port: int, run: Run) -> Iterator[RunDebugging]:
    proxy = ProxyTestClient(host, port)
    try:
        yield RunDebugging(proxy, run)
    finally:
        proxy.close()


class ClusterProxies:
    """The debug proxies of a cluster's workers, found where everybody finds them: in Ray's own table."""

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster
        self._known: dict[str, ProxyTestClient] = {}
        self._seen: set[str] = set()

    def wait(self, name: str) -> ProxyTestClient:
        """The debug proxy of the worker whose class, function or name this is; it is handed out once."""

        def found() -> ProxyTestClient | None:
            self._look()
            for worker_id, client in self._known.items():
                hello = client.latest
                if name in (hello.get("class"), hello.get("function"), hello.get("name")):
                    return self._known.pop(worker_id)
            return None

        proxy = wait_for(f"the debug proxy of {name}", found, every_s=0.3)
        assert proxy is not None
        return proxy

    def close(self) -> None:
        for client in self._known.values():
            client.close()

    def _look(self) -> None:
        with contextlib.suppress(OSError):
            rows = self._cluster.get(WORKERS)["data"]["result"]["result"]
            for row in rows:
                if row["debugger_port"] and row["worker_id"] not in self._seen:
                    self._seen.add(row["worker_id"])
                    self._known[row["worker_id"]] = ProxyTestClient(row["ip"], row["debugger_port"])
