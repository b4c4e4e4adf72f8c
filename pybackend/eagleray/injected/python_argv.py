"""The command of a process that runs a module of this package, in the Python of this process and nothing else of it."""

from __future__ import annotations

import sys
from pathlib import Path

_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from importlib import import_module; import_module(sys.argv[2]).main()"
)


def python_argv(module: str, *flags: str) -> list[str]:
    """Without -I and -S it would also run what the program's environment has for all its processes."""
    package = __package__ or ""
    root = str(Path(__file__).resolve().parents[package.count(".") + 1])
    return [sys.executable, "-I", "-S", *flags, "-c", _START, root, f"{package}.{module}"]
