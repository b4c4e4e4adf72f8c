"""Each of these tests has a state and a run folder of its own, and a faked adapter if it wants one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eagleray.adapter_client.adapters import Adapters

from tests.fakes.adapter import FakeAdapter, running


@pytest.fixture(autouse=True)
def alone(own_home: Path) -> None:
    """No adapter of this user is reached."""


@pytest.fixture
async def adapter() -> AsyncIterator[FakeAdapter]:
    async with running() as adapter:
        yield adapter


@pytest.fixture
async def adapters(adapter: FakeAdapter) -> AsyncIterator[Adapters]:
    """The client, which finds the faked adapter."""
    adapters = Adapters()
    yield adapters
    await adapters.close()
