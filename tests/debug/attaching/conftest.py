"""Each of these tests has a state and a run folder of its own, and a faked adapter if it wants one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eagleray.adapter_client.client import AdapterClient
from eagleray.adapter_client.sessions import AdapterSessions

from tests.fakes.adapter import FakeAdapter, running


@pytest.fixture(autouse=True)
def alone(own_home: Path) -> None:
    """No adapter of this user is reached."""


@pytest.fixture
async def adapter() -> AsyncIterator[FakeAdapter]:
    async with running() as adapter:
        yield adapter


@pytest.fixture
async def sessions(adapter: FakeAdapter) -> AsyncIterator[AdapterSessions]:
    """The client, which finds the faked adapter."""
    client = AdapterClient()
    yield client.sessions
    await client.close()
