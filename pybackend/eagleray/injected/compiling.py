"""Compiled files of this package: kept in its own folder also where Python is told to write none."""

from __future__ import annotations

import contextlib
import os
import sys

from .guard import never_raise


@never_raise
def keep_compiled() -> None:
    """Saves each of thousands of processes from compiling the package again; the folder is ours alone."""
    if not sys.dont_write_bytecode or sys.pycache_prefix:
        return
    cached = getattr(__spec__, "cached", None)
    folder = os.path.dirname(os.path.abspath(__file__))
    if not cached or os.path.exists(cached) or not os.access(folder, os.W_OK):
        return
    import py_compile

    # This file comes last: its compiled form says that the others are compiled.
    own = os.path.abspath(__file__)
    for path in (*(path for path in _sources(folder) if path != own), own):
        # The disk may be full, and this Python may be unable to compile a file that it never needs.
        with contextlib.suppress(OSError):
            py_compile.compile(path, quiet=2)


def _sources(folder: str) -> list[str]:
    return [
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder)
        for name in sorted(names)
        if name.endswith(".py")
    ]
