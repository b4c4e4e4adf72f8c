"""The control connection to a debug proxy when its link is lost."""

from __future__ import annotations

import asyncio
import logging
import socket
from dataclasses import dataclass, field
from typing import Any

import pytest
from eagleray.adapter.runs import proxy as proxy_module
from eagleray.adapter.runs.proxy import Json, ProxyConnection, Streams
from eagleray.common.retry import Backoff
from eagleray.common.route_errors import link_lost
from eagleray.protocol.route_spec import DIRECT
from eagleray.routes.routes import Routes

from tests.adapter.no_routes import no_routes


@dataclass
class FakeProxy:
    """Answers all calls but the next `failing` ones."""

    failing: int = 0
    calls: int = 0
    host: str = "node-1"
    port: int = 4000
    specs: Any = (DIRECT,)
    ends: list[socket.socket] = field(default_factory=list)

    async def call(self, routes: Routes, want: str, **more: object) -> tuple[Streams, Json]:
        self.calls += 1
        if self.failing:
            self.failing -= 1
            raise link_lost("login")
        ours, theirs = socket.socketpair()
        self.ends.append(theirs)
        return await asyncio.open_connection(sock=ours), {"hello": {}}


async def test_lost_link_is_logged_once_for_many_attempts(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(proxy_module, "_BACKOFF", Backoff(0.0, 0.0))
    caplog.set_level(logging.INFO)
    proxy, hellos = FakeProxy(), asyncio.Queue[Json]()
    made: Any = proxy
    control = ProxyConnection(made, Routes(no_routes), hellos.put_nowait, print, lambda: None)
    await control.connect()
    await hellos.get()
    proxy.failing = 50
    proxy.ends[0].close()
    await hellos.get()
    assert proxy.calls == 52
    logged = [record.getMessage() for record in caplog.records if "proxy" in record.getMessage()]
    assert logged == [
        "the debug proxy node-1:4000 is out of reach",
        "the debug proxy node-1:4000 is back",
    ]
    control.close()
    proxy.ends[1].close()
