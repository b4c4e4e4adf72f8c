"""How debugpy is made to listen: silent, soon, and without what it changes for the program."""

from __future__ import annotations

import builtins
import os
import socket
import sys
import threading
import time
import types
from contextlib import ExitStack, contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .debugpy_adapter import EarlyAdapter


def listen(debugpy: Any, early: EarlyAdapter | None, children: bool) -> int:
    """Lets debugpy listen on this machine only; returns the port."""
    with ExitStack() as stack:
        for part in (quiet(), own_breakpoint(), no_description(), silent_adapter(early)):
            stack.enter_context(part)
        debugpy.configure(subProcess=children)
        stack.enter_context(no_delay())
        return int(debugpy.listen(("127.0.0.1", 0))[1])


@contextmanager
def quiet() -> Iterator[None]:
    """debugpy reads this variable when it is imported, and else writes a warning into the person's output."""
    name = "PYDEVD_DISABLE_FILE_VALIDATION"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


@contextmanager
def own_breakpoint() -> Iterator[None]:
    """debugpy takes `breakpoint()` for itself; what the program has there stays."""
    before = builtins.breakpoint, sys.breakpointhook, sys.__breakpointhook__
    try:
        yield
    finally:
        builtins.breakpoint, sys.breakpointhook, sys.__breakpointhook__ = before


@contextmanager
def no_description() -> Iterator[None]:
    """Without a log debugpy need not look for all installed packages to write them there: a tenth of a second."""
    from debugpy.common import log

    if getattr(log, "log_dir", "") is None:
        with replaced(log, describe_environment=lambda header: None):
            yield
    else:
        yield


@contextmanager
def silent_adapter(early: EarlyAdapter | None) -> Iterator[None]:
    """debugpy's own adapter is the `early` one; it outlives this process, and must not keep its output open.

    debugpy imports `subprocess` just before it starts it, so that it is enough to hand it another one then; who
    else imports it meanwhile gets what does the same.
    """
    import subprocess

    class Popen(subprocess.Popen[bytes]):
        def __new__(cls, args: Any, *more: Any, **options: Any) -> Any:
            if early is not None and is_adapter(args):
                begun = early.go_on(args[2:])
                if begun is not None:
                    return begun
            return super().__new__(cls)

        def __init__(self, args: Any, *more: Any, **options: Any) -> None:
            if is_adapter(args):
                null = subprocess.DEVNULL
                options.update(stdin=null, stdout=null, stderr=null)
            super().__init__(args, *more, **options)

    class Handed(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            return getattr(subprocess, name)

    handed: Any = Handed("subprocess")
    handed.__spec__ = subprocess.__spec__
    handed.Popen = Popen
    sys.modules["subprocess"] = handed
    try:
        yield
    finally:
        sys.modules["subprocess"] = subprocess


def is_adapter(args: Any) -> bool:
    """Whether this is the command by which debugpy starts its adapter."""
    return isinstance(args, list) and "--for-server" in args


@contextmanager
def no_delay() -> Iterator[None]:
    """pydevd sends small messages at once, and does not sleep for threads that have started already."""
    import pydevd

    own = threading.get_ident()
    connect: Any = getattr(pydevd, "start_client", None)

    def start_client(*args: Any, **kwargs: Any) -> Any:
        made = connect(*args, **kwargs)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    class Time(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            return getattr(time, name)

        def sleep(self, seconds: float) -> None:
            time.sleep(min(seconds, 0.001) if threading.get_ident() == own else seconds)

    with replaced(pydevd, start_client=start_client, time=Time("time")):
        yield


@contextmanager
def replaced(module: types.ModuleType, **values: Any) -> Iterator[None]:
    """Gives a module other values, of those that it has."""
    before = {name: getattr(module, name) for name in values if hasattr(module, name)}
    for name in before:
        setattr(module, name, values[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)
