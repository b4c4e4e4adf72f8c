"""What begins and ends recordings, as it is asked here: the adapter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Recorders(Protocol):
    """Both say how many workers of the run were asked; no workers are all of them."""

    async def record(self, run: str, workers: Sequence[str], seconds: float) -> int: ...

    async def stop_recording(self, run: str, workers: Sequence[str]) -> int: ...
