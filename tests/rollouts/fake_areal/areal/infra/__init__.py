"""The check of a trajectory's format, which raises as AReaL's does."""

from __future__ import annotations

from typing import Any


def check_trajectory_format(data: dict[str, Any]) -> bool:
    missing = {"input_ids", "attention_mask"} - set(data)
    if missing:
        raise ValueError(f"Missing required keys in tensor data: {missing}")
    return True
