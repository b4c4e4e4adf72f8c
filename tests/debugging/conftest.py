"""Each of these tests has a state and a run folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def alone(own_home: Path) -> None:
    """No adapter of this user is reached."""
