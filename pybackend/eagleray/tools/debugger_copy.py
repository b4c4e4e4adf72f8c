"""A copy of debugpy for programs whose environment has none: found by its folder alone, installed nowhere."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

from eagleray.common.paths import injected
from eagleray.remote_scripts import package_copies
from eagleray.tools.code_copy import LIBRARIES, SOURCE

# That of an installed extension, which is on no path of ours, beside libraries that are; we may run from a copy.
_EXTENSION = next((one.parent for one in map(Path, sys.path) if one.parent.name == LIBRARIES), None)
PACKAGED = (_EXTENSION or SOURCE.parent / LIBRARIES) / "debugpy"
# Half of it is for Windows, or what was compiled.
UNUSED = ("*.pdb", "*.dll", "*.exe", "*.pyd", "*.c", "*.pyx")


def debugger_copy(into: Path | None = None, packaged: Path = PACKAGED) -> str:
    """A folder with nothing but debugpy in it, beside the code of runs, since nodes see that; "" if we have none."""
    source = _source(packaged)
    if source is None:
        return ""
    version = next((one.name for one in source.parent.glob("debugpy-*.dist-info")), "debugpy")
    ignored = shutil.ignore_patterns("__pycache__", *UNUSED)

    def fill(made: Path) -> None:
        shutil.copytree(source, made / "debugpy", ignore=ignored)

    try:
        name = version.removesuffix(".dist-info")
        return str(package_copies.deliver(into or injected(), name, fill))
    except OSError:
        # There is no room; the run works like one without a copy.
        return ""


def _source(packaged: Path) -> Path | None:
    if (packaged / "debugpy").is_dir():
        return packaged / "debugpy"
    found = importlib.util.find_spec("debugpy")
    return Path(found.origin).parent if found is not None and found.origin else None
