"""The known clusters over a home and a machine of the test, which may be started again and again."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from eagleray.clusters import empty_list_reason
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.clusters import ClusterRegistry
from eagleray.clusters.connections import ConnectionStatus
from eagleray.clusters.credentials import TokenRules
from eagleray.clusters.discovery import DashboardProcess, Machine
from eagleray.clusters.job_head import ShowProgress
from eagleray.common.errors import EaglerayError
from eagleray.ray.endpoint import FindEndpoint
from eagleray.tools.processes import Listener

from tests.clusters.stops import stops_in
from tests.fakes.dashboard import FakeDashboard, dashboard, patient

SCRIPT = "/venv/ray/dashboard/dashboard.py"


class DirectConnections:
    """Connections to clusters that this machine reaches directly."""

    def __init__(self, tokens: TokenRules, watch: ClusterWatch) -> None:
        self._tokens = tokens
        self._count_stops = stops_in(watch)

    def find_endpoint(self, cluster: str) -> FindEndpoint:
        return self._tokens.find_endpoint(cluster)

    async def prepare(
        self, cluster: str, report: ShowProgress, *, wait: bool = True, clicked: bool = True
    ) -> None: ...

    async def forget(self, cluster: str) -> None: ...

    def status(self, cluster: str) -> ConnectionStatus:
        return ConnectionStatus(stops=self._count_stops(cluster))

    def is_job_over(self, cluster: str) -> bool:
        return False

    def is_local(self, cluster: str) -> bool:
        return True


class Here:
    """This machine as the test wants it: the ports of one's own dashboards, and other listeners.

    `run` is the run that has started them.  `is_far`: the dashboards count as another machine's, where the owner of a
    port is unknown.
    """

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.run = ""
        self.listeners: list[Listener] = []
        self.is_far = False

    def machine(self) -> Machine:
        return Machine(
            self._dashboards, lambda: self.listeners, os.getuid(), lambda run: run == "r1"
        )

    def _dashboards(self) -> list[DashboardProcess]:
        return [
            DashboardProcess(
                port,
                ("python", SCRIPT, f"--port={port}"),
                (Listener("127.0.0.1", port, 0),),
                self.run,
            )
            for port in self.ports
        ]


Make = Callable[..., ClusterRegistry]


@pytest.fixture
def here() -> Here:
    return Here()


@pytest.fixture
async def make(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Make]:
    """Makes the core over the same home and machine, as another start of Eagleray would."""
    # The recorded workers have addresses and process ids that this machine may have too.
    monkeypatch.setattr(empty_list_reason, "local_addresses", frozenset)
    async with AsyncExitStack() as ends:

        def made(which: Literal["own", "off"] = "own", **environ: str) -> ClusterRegistry:
            watch = ClusterWatch()
            ends.push_async_callback(watch.close)
            tokens = TokenRules(environ, folder=tmp_path)
            if here.is_far:
                tokens = TokenRules(environ, listener=lambda host, port: None)
            clusters = ClusterRegistry(
                watch,
                environ,
                which,
                folder=tmp_path,
                machine=here.machine(),
                make_dashboard=patient,
                tokens=tokens,
                connections=DirectConnections(tokens, watch),
            )
            ends.push_async_callback(clusters.close)
            return clusters

        yield made


@pytest.fixture
async def fake() -> AsyncIterator[FakeDashboard]:
    async with dashboard() as running:
        yield running


@asynccontextmanager
async def refused(code: str) -> AsyncIterator[None]:
    with pytest.raises(EaglerayError) as failed:
        yield
    assert failed.value.code == code
