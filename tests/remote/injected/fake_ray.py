"""A `ray` package with as much as a driver needs that joins a cluster."""

from __future__ import annotations

import shutil
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def install_fake_ray(folder: Path) -> None:
    package = folder / "ray" / "_private"
    package.mkdir(parents=True)
    for each in (package, package.parent):
        (each / "__init__.py").write_text("")
    for name in ("worker", "state"):
        shutil.copy(PROGRAMS / f"fake_ray_{name}.py", package / f"{name}.py")
