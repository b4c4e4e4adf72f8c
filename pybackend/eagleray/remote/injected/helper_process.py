"""Starts modules of this package as processes beside the program."""

from __future__ import annotations

import os
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from importlib import import_module; import_module(sys.argv[2]).ignore(); "
    "import_module(sys.argv[3]).main()"
)


def spawn(
    module: str,
    arguments: list[str],
    descriptors: list[int],
    environ: Mapping[str, str],
    flags: Sequence[str] = (),
) -> None:
    """Runs `module` of this package in a process that isn't a child of the program; `flags` are Python's own.

    Signals for the program, which may be sent to all processes of its job step, don't end it.

    A shell starts it and ends at once: a program that waits for all its children must not wait for ours.
    """
    subprocess.run(
        ["/bin/sh", "-c", '"$@" &', "sh", *python_argv(module, *flags), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=descriptors,
        env=environ,
        cwd="/",
        start_new_session=True,
        check=False,
    )


def python_argv(module: str, *flags: str) -> list[str]:
    """Without -I and -S, Python would also run what the program's environment has for all its processes."""
    package = __package__ or ""
    root = os.path.realpath(__file__)
    for _ in range(package.count(".") + 2):
        root = os.path.dirname(root)
    modules = [f"{package}.{name}" for name in ("step_signals", module)]
    return [sys.executable, "-I", "-S", *flags, "-c", _START, root, *modules]
