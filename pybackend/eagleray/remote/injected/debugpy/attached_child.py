"""A child process whose command debugpy has changed, so that it connects to the debugger of its parent.

It is on another node than the run's folder, so that its own debug proxy could not be found.  debugpy ends it with an
error if its parent's debugger has gone meanwhile, since the parent has ended or has run another program.
"""

from __future__ import annotations

import os
import re
import sys

from ..import_hook import ImportHook
from ..process_identity import command_line
from .listening import leave_commands, silently

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCRIPT = "/pydevd.py"
# Code that debugpy inserts before the code after `-c` (1.8.22, `pydev_monkey.py`).
_BEFORE_CODE = re.compile(
    r"import sys; sys\.path\.insert\(0, r'[^']*'\); import pydevd; .*?__setup_holder__=\{.*?\}\); ",
    re.S,
)


def prepare() -> None:
    """Extends pydevd once it is imported."""
    import_hook = ImportHook()
    import_hook.install()
    import_hook.after("_pydev_bundle.pydev_monkey", lambda module: leave_commands(module, True))
    import_hook.after("_pydevd_bundle.pydevd_comm", _extend)


def _extend(module: Any) -> None:
    before = module.start_client
    is_first = True

    def start_client(host: str, port: int) -> Any:
        nonlocal is_first
        # Its forks connect, too, and must not start the program again.
        if not is_first:
            return before(host, port)
        is_first = False
        try:
            return silently(module, before)(host, port)
        except OSError:
            if (command := original_command(command_line())) is None:
                raise
        return os.execv(sys.executable, command)  # noqa: S606 (what the program has started)

    module.start_client = start_client


def original_command(argv: list[str]) -> list[str] | None:
    """The command line as the program gave it; None if it isn't one that debugpy has changed."""
    script = next((at for at, argument in enumerate(argv) if argument.endswith(_SCRIPT)), None)
    if script is not None and "--file" in argv[script:]:
        file = argv.index("--file", script) + 1
        module = ["-m"] if "--module" in argv[script:file] else []
        return [*argv[:script], *module, *argv[file:]]
    command = [_BEFORE_CODE.sub("", argument, count=1) for argument in argv]
    return command if command != argv else None
