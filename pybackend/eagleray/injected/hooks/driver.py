"""A driver of a run: breakpoints in its main file, its entry in Ray's table, and its uncaught errors."""

from __future__ import annotations

import os
import sys

from .. import ray_worker
from ..guard import never_raise
from ..main_program import is_main_program
from ..process import DebuggableProcess
from .joining import after_joining
from .stopping import extend_debugpy_of_ray, stop_at_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..settings import RunSettings
    from .import_hook import ImportHook


class Driver:
    """A driver opens a debug proxy when it has a file with breakpoints, has connected to Ray, or fails.

    Break on Failure stops it only if its failure is that of the run: it is the run's main program, or has connected.
    Each helper of the program, a probe like `python -c "import x" || …`, is a driver too until it shows what it is.
    """

    def __init__(self, settings: RunSettings, kind: str, arrivals: ImportHook) -> None:
        self._settings = settings
        self._arrivals = arrivals
        self._main = ""
        self._has_connected = False
        process = self._process = DebuggableProcess(settings, kind, arrivals)
        process.matches = True
        process.describe = self._describe
        process.host = lambda: ray_worker.address(settings)
        process.file = lambda: ray_worker.proxy_file(settings)
        process.announce = ray_worker.register_proxy
        # One that is elsewhere is seen once it has joined a cluster, and is not held up before.
        process.is_findable = lambda: bool(process.file()) or ray_worker.global_worker() is not None

    def start(self) -> None:
        self._arrivals.after("ray.util.debugpy", self._stopping)
        self._arrivals.after("ray._private.worker", self._connecting)
        if self._process.kind == "child":
            self._arrivals.after("multiprocessing.spawn", self._spawning)
        if self._settings.post_mortem:
            self._catch_failures()
        self._main = main_file()
        if self._main:
            self._process.add_main_file(self._main)

    def _describe(self) -> dict[str, Any]:
        return {**ray_worker.facts(), "name": os.path.basename(self._main) or "driver"}

    def _stopping(self, module: ModuleType) -> None:
        extend_debugpy_of_ray(module, self._process)

    def _connecting(self, module: ModuleType) -> None:
        after_joining(module, self._connected)

    def _connected(self) -> None:
        """The driver is in Ray's table now, where it can be found and paused."""
        self._has_connected = True
        if not self._process.has_proxy:
            # With lines in a file that it has, it could not be found until now.
            self._process.decide(True)
            return
        self._process.send_info()
        self._process.announce(self._process.open())

    def _spawning(self, module: Any) -> None:
        """A child of multiprocessing runs its parent's main file by itself, and no finder sees that."""
        before = module._fixup_main_from_path

        def _fixup_main_from_path(main_path: str) -> None:
            never_raise(self._process.add_main_file)(main_path)
            before(main_path)

        module._fixup_main_from_path = _fixup_main_from_path

    def _catch_failures(self) -> None:
        before = sys.excepthook

        def excepthook(kind: Any, error: Any, traceback: Any) -> None:
            # The user reads first what failed, as without us.
            before(kind, error, traceback)
            if isinstance(error, Exception) and self._fails_the_run():
                never_raise(stop_at_failure)(self._process, (kind, error, traceback))

        sys.excepthook = excepthook

    def _fails_the_run(self) -> bool:
        return self._has_connected or is_main_program(self._settings.main)


def main_file() -> str:
    """The script of a command `python script …`, "" for a module, a command or standard input."""
    if "-m" in sys.argv[:1] or "-c" in sys.argv[:1]:
        return ""
    script = sys.argv[0] if sys.argv else ""
    path = os.path.abspath(script) if script and script != "-" else ""
    return path if os.path.isfile(path) else ""
