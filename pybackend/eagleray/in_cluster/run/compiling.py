"""Compiled files of this package: kept in its own folder also where Python is told to write none."""

from __future__ import annotations

import contextlib
import os
import sys

from .trouble import harmless


@harmless
def keep_compiled() -> None:
    """Where nobody keeps them each of thousands of processes compiles all of it anew; the folder is ours alone."""
    if not sys.dont_write_bytecode or sys.pycache_prefix:
        return
    cached = getattr(__spec__, "cached", None)
    folder = os.path.dirname(os.path.abspath(__file__))
    if not cached or os.path.exists(cached) or not os.access(folder, os.W_OK):
        return
    import py_compile

    # This file comes last, since the others are looked for by it.
    others = [name for name in sorted(os.listdir(folder)) if name != os.path.basename(__file__)]
    for name in (*others, os.path.basename(__file__)):
        if name.endswith(".py"):
            # A disk that is full, or a Python that cannot compile a file which it never comes to need.
            with contextlib.suppress(OSError):
                py_compile.compile(os.path.join(folder, name), quiet=2)
