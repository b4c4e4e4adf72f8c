"""How often a lost ssh connection is tried: often at first, once a minute in the end, at once after a change."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from eagleray.routes.ssh import attempts
from eagleray.routes.ssh import master as ssh_master
from eagleray.routes.ssh.attempts import AttemptFailed, ConnectAttempts, SshTarget
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.errors import ssh_lost
from eagleray.routes.ssh.master import SshMaster
from eagleray.routes.ssh.system_watch import NetworkWatch

from tests.routes.ssh_fixtures import until

HOUR = 3600.0


class Site:
    """A host that refuses each attempt, and a clock that is moved."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.attempts: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def run(self) -> NoReturn:
        self.attempts.append(self.now)
        raise AttemptFailed(ssh_lost("login"), final=False)

    def within(self, begin: float, end: float) -> int:
        return sum(begin <= at - 1000.0 < end for at in self.attempts)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site()
    attempt = SimpleNamespace(asks=False, is_asking=False, run=made.run, took_s=0.0)
    monkeypatch.setattr(attempts, "time", SimpleNamespace(monotonic=made.monotonic))
    monkeypatch.setattr(attempts, "ConnectAttempt", lambda *_: attempt)
    return made


async def tried(trying: ConnectAttempts, site: Site, seconds: float) -> None:
    end = site.now + seconds
    while site.now < end:
        trying.start_next()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        trying.take_results()
        site.now += 0.25


async def test_attempts_become_rare_and_restart_after_a_change(site: Site) -> None:
    trying = ConnectAttempts(SshTarget("login", Path("/nowhere"), SshOptions), lambda: None)
    await tried(trying, site, 2 * HOUR)
    assert site.within(0, 30) >= 28
    assert site.within(0, HOUR) <= 300
    assert 45 <= site.within(HOUR, 2 * HOUR) <= 80
    pauses = [b - a for a, b in zip(site.attempts[-20:], site.attempts[-19:], strict=False)]
    assert len(set(pauses)) > 5, "the attempts of many machines must not come together"
    before = len(site.attempts)
    trying.hurry()
    await tried(trying, site, 10)
    assert len(site.attempts) - before >= 9


def test_changed_network_is_noticed_once(tmp_path: Path) -> None:
    routes = tmp_path / "route"
    watch = NetworkWatch((routes, tmp_path / "missing"))
    assert not watch.has_changed()
    routes.write_text("eth0 0")
    assert watch.has_changed()
    assert not watch.has_changed()


async def test_caller_that_waits_for_a_connection_sleeps_until_it_changes(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def waited(event: asyncio.Event, limit_s: float) -> bool:
        waits.append(limit_s)
        return await event.wait()

    monkeypatch.setattr(ssh_master, "wait_for_event", waited)
    master = SshMaster("login", short, ask_nobody, lambda: None)
    keeping = master._supervision = asyncio.create_task(asyncio.Event().wait())
    connecting = asyncio.create_task(master._connection(30.0))
    await until(lambda: bool(waits), "it waits")
    process: Any = SimpleNamespace(control_path=short / "m-1")
    master._current = process
    master._set_health("ready")
    assert (await connecting)[0] is process
    assert waits == [30.0]
    keeping.cancel()


async def ask_nobody(*_: object) -> None:
    return None
