"""Whether this process runs the main program of the run, as the run's command names it."""

from __future__ import annotations

import os
import sys

_MODULE = "-m "


def is_main_program(named: str) -> bool:
    """`named` is `-m MODULE` or the end of a file's path; a process that runs `-c` or standard input never is it."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if named.startswith(_MODULE):
        name = str(getattr(spec, "name", ""))
        return named[len(_MODULE) :] in (name, name.rpartition(".__main__")[0])
    file = str(getattr(main, "__file__", None) or "")
    return bool(named and file and spec is None) and _ends_with(os.path.abspath(file), named)


def _ends_with(path: str, end: str) -> bool:
    return path.endswith(f"/{end}") or os.path.realpath(path).endswith(f"/{end}")
