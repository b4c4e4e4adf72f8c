"""A key that must be touched: the real ssh says so, and the notice goes away when it was."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes.security_key import SecurityKey
from tests.routes.ssh_fixtures import Masters, until
from tests.routes.ssh_server import PATIENCE_S, SshServer, Wire

pytestmark = pytest.mark.lab


async def test_touch_of_a_security_key_is_requested(
    sshd: SshServer, wire: Wire, masters: Masters
) -> None:
    key = SecurityKey(sshd.folder)
    (sshd.folder / "authorized_keys").write_text(key.public)
    master = masters.make(sshd.configure(script=key.environment))
    connecting = asyncio.ensure_future(master.argv(["true"], PATIENCE_S))
    await until(lambda: masters.person.asked, "the person is told")
    [(prompt, kind)] = masters.person.asked
    assert kind == "notice"
    assert prompt.startswith("Confirm user presence for key ED25519-SK SHA256:")
    assert masters.person.withdrawn == []
    await asyncio.to_thread(key.touch)
    await connecting
    await until(lambda: masters.person.withdrawn == [prompt], "the notice goes away")
    assert master.health.state == "ready"
