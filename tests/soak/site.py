"""The cluster, the home, the windows and the links of one soak; everything that is started here ends with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from tests.adapter.cut_link import CutLink
from tests.ray_cluster import RayCluster, temporary_home
from tests.soak import sampling
from tests.soak.window import LIMIT_S, Window, environment, opened

PROGRAM = Path(__file__).with_name("program.py")
CLUSTERS = "eagleray/clusters/changed"


@dataclass
class Site:
    """`window` stays open during the whole soak; `address` is the dashboard behind `link`."""

    cluster: RayCluster
    home: Path
    link: CutLink
    env: dict[str, str]
    folder: Path
    window: Window

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.link.port}"

    @property
    def probes(self) -> Path:
        return self.folder / "probes"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    async def another_window(self) -> Window:
        return await opened(self.env, self.folder / "window.log")

    async def until_cluster(self, state: str) -> None:
        def fits(said: dict[str, list[dict[str, str]]]) -> bool:
            return [one["state"] for one in said["clusters"]] == [state]

        await self.window.until(f"cluster that is {state}", CLUSTERS, fits)

    def adapter_pid(self) -> int:
        return sampling.adapter_pid(self.home)

    def kill_adapter(self) -> int:
        """Ends it without notice; the answer is its process id."""
        pid = self.adapter_pid()
        os.kill(pid, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=30)
        return pid

    def cut_adapter(self) -> int:
        """Aborts every TCP connection of the adapter; the answer is how many."""
        connections = psutil.Process(self.adapter_pid()).net_connections("tcp")
        cut = [
            connection for connection in connections if connection.status == psutil.CONN_ESTABLISHED
        ]
        for one in cut:
            words = ["src", one.laddr.ip, "sport", "=", str(one.laddr.port)]
            words += ["dst", one.raddr.ip, "dport", "=", str(one.raddr.port)]
            subprocess.run(["ss", "-K", "-t", *words], check=True, capture_output=True)
        return len(cut)

    def debuggers(self) -> list[psutil.Process]:
        """Debug proxies, nsys watchers and debugpy adapters beside workers of the cluster."""
        marks = ("_eagleray_run", "debugpy")
        return sampling.processes(
            "EAGLERAY_RAY_CLUSTER", self.cluster.mark, lambda line: any(m in line for m in marks)
        )


@contextlib.asynccontextmanager
async def site(cluster: RayCluster, folder: Path) -> AsyncIterator[Site]:
    """A home and a window on a cluster; `folder` gets temporary files, probes and logs."""
    with temporary_home() as home, CutLink() as link:
        link.target_port = urlsplit(cluster.address).port or 0
        base = cluster.eagleray_env(
            home,
            RAY_API_SERVER_ADDRESS=f"http://127.0.0.1:{link.port}",
            RAY_ADDRESS=cluster.gcs_address,
            RAY_AUTH_MODE="disabled",
        )
        env = environment(base, folder)
        window = await opened(env, folder / "window.log")
        try:
            yield Site(cluster, home, link, env, folder, window)
        finally:
            await window.kill()


async def ended(window: Window) -> None:
    """Closes a window as an editor does."""
    code = await asyncio.wait_for(window.end(), LIMIT_S)
    await window.kill()
    assert code == 0, f"the sidecar ended with {code}"
