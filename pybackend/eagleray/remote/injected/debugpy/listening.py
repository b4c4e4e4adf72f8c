"""Connects debugpy to its adapter: silently, quickly, and without the changes that it makes for the program."""

from __future__ import annotations

import builtins
import os
import sys
import threading
import time
import types
from contextlib import ExitStack, contextmanager

from .errors import DebugpyInUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from typing import Any

    from .adapter import DebugpyAdapter


def listen(debugpy: Any, adapter: DebugpyAdapter, children: bool, changed: bool) -> None:
    """Like `debugpy.listen()`, with the `adapter` that has started; raises what debugpy raises.

    `children`: pydevd debugs forked processes, and with `changed` those that it can reach by changing their commands.
    """
    with ExitStack() as stack:
        for part in (quiet(), own_breakpoint(), no_description()):
            stack.enter_context(part)
        debugpy.configure(subProcess=children)
        stack.enter_context(connected(adapter.server))
        begin(adapter, changed)


def begin(adapter: DebugpyAdapter, changed: bool) -> None:
    """Makes pydevd trace, as `debugpy.listen()` does once its own adapter listens."""
    from _pydev_bundle import pydev_monkey
    from _pydevd_bundle import pydevd_constants
    from debugpy.server import api

    of_debugpy: Any = api
    # The program or Ray's `breakpoint()` has started it.
    if pydevd_constants.get_global_debugger() is not None:
        raise DebugpyInUse("debugpy is already in use in this process")
    leave_commands(pydev_monkey, changed)

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


def leave_commands(pydev_monkey: Any, changed: bool) -> None:
    """Keeps pydevd from changing the commands of processes that the program starts, except, if `changed`, of new ones.

    A changed command connects to the debugger of this process: the new one would end with an error if that has gone.
    After `exec` it always has, and `os.spawn*` is a fork, which pydevd debugs, and an `exec`.  A forked process runs
    without the debugger if that has gone.
    """
    before, connect = pydev_monkey.monkey_patch_module, pydev_monkey._on_forked_process

    def monkey_patch_module(module: Any, name: str, make: Any) -> None:
        if name == "fork" or (changed and not name.startswith(("exec", "spawn"))):
            before(module, name, make)

    def on_forked_process(setup_tracing: bool = True) -> None:
        import pydevd
        from _pydevd_bundle import pydevd_comm

        with replaced(pydevd, start_client=silently(pydevd_comm, pydevd.start_client)):
            try:
                connect(setup_tracing)
            except OSError:
                stop_tracing()

    pydev_monkey.monkey_patch_module = monkey_patch_module
    pydev_monkey._on_forked_process = on_forked_process


def stop_tracing() -> None:
    """Switches pydevd off in a forked process, which doesn't have its threads."""
    import pydevd_tracing
    from _pydevd_bundle import pydevd_constants

    pydevd_constants.set_global_debugger(None)
    threading.settrace(None)
    if not hasattr(sys, "monitoring"):
        pydevd_tracing.SetTrace(None)
        return
    monitoring: Any = vars(sys)["monitoring"]
    for event in filter(None, vars(monitoring.events).values()):
        monitoring.register_callback(monitoring.DEBUGGER_ID, event, None)


def silently(pydevd_comm: Any, connect: Any) -> Any:
    """`connect`, which is pydevd's `start_client`, without its words about a failure in the program's output."""
    nothing = types.SimpleNamespace(info=lambda *_: None, exception=lambda *_: None)

    def start_client(host: str, port: int) -> Any:
        with replaced(pydevd_comm, pydev_log=nothing):
            return connect(host, port)

    return start_client


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
