"""Schedulers of the fake: only what they were made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class LocalScheduler:
    exp_config: Any


@dataclass
class SlurmScheduler:
    exp_config: Any
