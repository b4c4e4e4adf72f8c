"""Fixtures of the adapter's tests, and a Neovim."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapter.conftest import control, program, python, shared_adapter, short_home
from tests.nvim_dap.nvim import Nvim

__all__ = ["control", "nvim", "program", "python", "shared_adapter", "short_home"]


@pytest.fixture
def nvim(short_home: Path) -> Iterator[Nvim]:
    return Nvim(short_home)
