"""Our command, sidecar and adapter on a host of the site, as alice uses them there."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.dap_client import DapClient
from tests.lab.site import Site
from tests.ray_cluster import REPOSITORY, code_copies, end_processes, wait_for
from tests.sidecar.stdio_client import StdioClient, running

START = str(REPOSITORY / "pybackend" / "eagleray_start.py")
Row = dict[str, Any]


@dataclass(frozen=True)
class Eagleray:
    """One state folder on one host, hence one adapter.  `home` "" is the person's own, which login nodes share."""

    site: Site
    host: str
    home: str = ""
    more: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        home = {"EAGLERAY_HOME": self.home} if self.home else {}
        return {"EAGLERAY_DISCOVERY": "off", **home, **self.more}

    def run(self, *arguments: str, typed: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        command, env = ["python", START, "cli", *arguments], {**self.env, **env}
        return self.site.run_as(self.host, "alice", command, env, check=False, stdin=typed)

    def json(self, *arguments: str, **env: str) -> Any:
        done = self.run(*arguments, "--json", **env)
        assert done.returncode == 0, f"eagleray {arguments}: {done.stderr}\n{done.stdout}"
        return json.loads(done.stdout)

    def cluster(self, address: str) -> Row:
        """Returns what `eagleray clusters` says of one cluster; the exit code says whether it is connected."""
        done = self.run("clusters", "--cluster", address, "--json")
        assert done.stdout.startswith("["), f"{done.stderr}\n{done.stdout}"
        row: Row = json.loads(done.stdout)[0]
        assert (done.returncode == 0) == (row["state"] == "connected"), done.stdout
        return row

    def refusal(self, *arguments: str, **env: str) -> str:
        """Returns the error of a command that cannot be carried out."""
        done = self.run(*arguments, **env)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def paused(self, cluster: str) -> list[Row]:
        rows: list[Row] = self.json("paused", "--cluster", cluster)
        return rows

    def wait_row(self, cluster: str, **wanted: Any) -> Row:
        """A row that has the values which are wanted, once it is there."""

        def found() -> Row | None:
            rows = self.paused(cluster)
            return next((r for r in rows if all(r.get(k) == v for k, v in wanted.items())), None)

        row = wait_for(f"a row {wanted}", found)
        assert row is not None
        return row

    @contextlib.contextmanager
    def editor(self, cluster: str, worker: str) -> Iterator[DapClient]:
        """A DAP client on the socket that `eagleray attach` names, past configurationDone."""
        attached = self.json("attach", worker, "--cluster", cluster)
        client = self.dap(attached["socket"])
        try:
            client.attach()
            yield client
        finally:
            client.close()

    def dap(self, path: str) -> DapClient:
        return DapClient(self.site.connect_unix(self.host, "alice", path))

    def sidecar(self, **env: str) -> contextlib.AbstractAsyncContextManager[StdioClient]:
        command = ["python", START, "sidecar"]
        return running(self.site.argv(self.host, "alice", command, {**self.env, **env}))

    def end(self) -> None:
        """The adapter and the routes that it owns."""
        if self.home:
            end_processes("EAGLERAY_HOME", self.home)
            return
        for folder in self.site.processes(self.host):
            with contextlib.suppress(OSError):
                if b"adapter" in (folder / "cmdline").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)


def made_home(site: Site, host: str) -> str:
    """A home of alice's with a short path, whose processes run from the compiled copy of our code."""
    home = f"/tmp/er-{secrets.token_hex(4)}"
    copy, _ = code_copies()
    command = 'mkdir -m 700 "$1" "$1/code" && ln -s "$2" "$1/code/"'
    site.run_as(host, "alice", ["sh", "-c", command, "sh", home, str(copy)])
    return home


@contextlib.contextmanager
def eagleray_on(site: Site, host: str, **env: str) -> Iterator[Eagleray]:
    """With a state of its own; what runs of it ends with the `with`."""
    eagleray = Eagleray(site, host, made_home(site, host), env)
    try:
        yield eagleray
    finally:
        eagleray.end()
