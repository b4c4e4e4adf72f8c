"""Connects debugpy to its adapter: silently, quickly, and without the changes that it makes for the program."""

from __future__ import annotations

import builtins
import os
import sys
import threading
import time
import types
from contextlib import ExitStack, contextmanager

from .debugger import DebugpyInUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from typing import Any

    from .adapter import DebugpyAdapter


def listen(debugpy: Any, adapter: DebugpyAdapter, children: bool) -> None:
    """Like `debugpy.listen()`, with the `adapter` that has started; raises what debugpy raises."""
    with ExitStack() as stack:
        for part in (quiet(), own_breakpoint(), no_description()):
            stack.enter_context(part)
        debugpy.configure(subProcess=children)
        stack.enter_context(connected(adapter.server))
        begin(adapter)


def begin(adapter: DebugpyAdapter) -> None:
    """Makes pydevd trace, as `debugpy.listen()` does once its own adapter listens."""
    from _pydevd_bundle import pydevd_constants
    from debugpy.server import api

    of_debugpy: Any = api
    # The program or Ray's `breakpoint()` has started it.
    if pydevd_constants.get_global_debugger() is not None:
        raise DebugpyInUse("debugpy is already in use in this process")

    def start(address: tuple[str, int], settings: dict[str, Any]) -> None:
        host, port = address
        of_debugpy._settrace(
            host=host,
            port=port,
            wait_for_ready_to_run=False,
            block_until_connected=True,
            access_token=adapter.token,
            **settings,
        )

    of_debugpy._starts_debugging(start)(adapter.address())
    # A call of the program is refused from now on, as after a real `listen()`.
    of_debugpy.listen.called = True


@contextmanager
def quiet() -> Iterator[None]:
    """Sets a variable without which debugpy writes a warning to the user's output when it is imported."""
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
    """Restores `breakpoint()`, which debugpy replaces."""
    before = builtins.breakpoint, sys.breakpointhook, sys.__breakpointhook__
    try:
        yield
    finally:
        builtins.breakpoint, sys.breakpointhook, sys.__breakpointhook__ = before


@contextmanager
def no_description() -> Iterator[None]:
    """Without a log, debugpy needn't search for all installed packages to list them there, which takes 0.1 s."""
    from debugpy.common import log

    if getattr(log, "log_dir", "") is None:
        with replaced(log, describe_environment=lambda header: None):
            yield
    else:
        yield


@contextmanager
def connected(server: socket.socket) -> Iterator[None]:
    """Makes pydevd use this connection to the adapter, and not sleep for threads that have started already."""
    import pydevd

    own = threading.get_ident()

    class Time(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            return getattr(time, name)

        def sleep(self, seconds: float) -> None:
            time.sleep(min(seconds, 0.001) if threading.get_ident() == own else seconds)

    with replaced(pydevd, start_client=lambda *_, **__: server, time=Time("time")):
        yield


@contextmanager
def replaced(module: types.ModuleType, **values: Any) -> Iterator[None]:
    """Replaces values of a module for a while; names that it doesn't have are ignored."""
    before = {name: getattr(module, name) for name in values if hasattr(module, name)}
    for name in before:
        setattr(module, name, values[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)
