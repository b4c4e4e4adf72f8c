"""Errors of exported pages."""

from __future__ import annotations

from pathlib import Path

from eagleray.common.errors import EaglerayError, error


# fmt: off
@error("page-not-saved", "Can't write {path}: {why}.", "Save it in another folder.")
def not_saved(path: Path, why: str) -> EaglerayError: ...
