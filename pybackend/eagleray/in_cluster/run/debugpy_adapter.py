"""debugpy's own adapter: a process of its own, which begins while this one still imports debugpy."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

from .own_python import own_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_READY = b"."


class EarlyAdapter:
    """The process, which has imported what it needs when debugpy would start it; `end` gives it up."""

    def __init__(self, folder: str) -> None:
        """`folder` holds debugpy; raises OSError."""
        self._process = subprocess.Popen(
            [*own_python("debugpy_adapter", *_flags()), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # It outlives this process, and must not keep the program's output open for its readers.
            stderr=subprocess.DEVNULL,
        )

    def go_on(self, arguments: list[str]) -> subprocess.Popen[bytes] | None:
        """The process, now with the arguments that debugpy gives it; None if it has ended."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with process.stdout as ready, process.stdin as words:
                if ready.read(len(_READY)) != _READY:
                    return None
                words.write(json.dumps(arguments).encode())
        except OSError:
            return None
        return process

    def end(self) -> None:
        """Ends it unless debugpy has taken it: then it has left, and its own child lives on."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()


def early_adapter(offered: str) -> EarlyAdapter | None:
    """That of the debugpy which this process is about to import; None where there is none or it cannot start."""
    try:
        spec = find_spec("debugpy")
    except ValueError:
        # The program has put something of its own in the place of the module.
        return None
    folder = os.path.dirname(os.path.dirname(spec.origin)) if spec and spec.origin else offered
    if not os.path.isfile(os.path.join(folder, "debugpy", "adapter", "__main__.py")):
        return None
    try:
        return EarlyAdapter(folder)
    except OSError:
        return None


def _flags() -> list[str]:
    """Where the program's Python may write compiled files holds for this one, too."""
    flags = ["-B"] if sys.dont_write_bytecode else []
    return [*flags, f"-Xpycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else flags


def main() -> None:
    """In the process: all that debugpy's `python .../debugpy/adapter` does, in the folder of the last argument."""
    sys.path.insert(0, sys.argv[-1])
    from debugpy.adapter import __main__ as adapter

    del sys.path[0]
    # What it would import only when it is asked to begin.
    for name in ("clients", "servers", "sessions"):
        import_module(f"debugpy.adapter.{name}")
    from debugpy.common import log, sockets

    speed_up(log, sockets)
    sys.stdout.buffer.write(_READY)
    sys.stdout.flush()
    said = sys.stdin.read()
    if said:
        sys.argv[:] = [str(adapter.__file__), *json.loads(said)]
        begin: Any = adapter.main
        read: Any = adapter._parse_argv
        # An older debugpy wants to be told what the newer reads by itself.
        begin(*([read(sys.argv)] if begin.__code__.co_argcount else []))


def speed_up(log: Any, sockets: Any) -> None:
    """Leaves out the list of all installed packages when nobody keeps the log, and sends small messages at once."""
    if not os.environ.get("DEBUGPY_LOG_DIR"):
        log.describe_environment = lambda header: None
    make = getattr(sockets, "_new_sock", None)
    if make is None:
        return

    def _new_sock(*given: Any) -> Any:
        made = make(*given)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    sockets._new_sock = _new_sock
