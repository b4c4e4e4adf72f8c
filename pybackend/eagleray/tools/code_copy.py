"""A copy of our code in the home, named by its content, from which detached processes are started.

An update of the extension removes its folder while debug adapters and supervisors of the old version still run, and they
read code later: modules that are imported when they are needed, text that is sent into a worker or to another host, the
helper that ssh asks questions with.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.common.paths import home, private_folder
from eagleray.remote_scripts import package_copies
from eagleray.tools.injected_package import delivered, package

ENTRY = "eagleray_start.py"
SOURCE = Path(__file__).resolve().parents[2]
# The folder of an installed extension's libraries; those of a copy stay where they are.
LIBRARIES = "_libs"
# Nothing that was started from an older copy still runs, or its cluster would be as old.
UNUSED_S = 90 * 24 * 3600.0

log = logging.getLogger(__name__)


def detached_command(*words: str, isolated: bool = False) -> list[str]:
    """`eagleray_start.py WORDS` for a process that outlives us; `isolated` without any library."""
    site = ["-S"] if isolated or sys.flags.no_site else []
    entry = code_copy() / ENTRY
    libraries = [] if isolated else [word for path in _libraries() for word in ("--libs", path)]
    return [sys.executable, "-I", *site, str(entry), *libraries, *words]


def code_copy(source: Path = SOURCE) -> Path:
    """The folder of the copy; our own folder where none can be made."""
    try:
        folder = private_folder(home() / "code")
        of = package(source, package_copies.CODE, ("*.py", "*.json"))
        copy = delivered(of, folder) / of.name
        package_copies.remove_unused(folder, time.time() - UNUSED_S)
    except (OSError, EaglerayError) as error:
        log.warning("our code can't be copied: %s", error)
        return source
    return copy


def _libraries() -> list[str]:
    """The folders of an installed extension's libraries, as they are on our path."""
    return [entry for entry in sys.path if Path(entry).parent.name == LIBRARIES]
