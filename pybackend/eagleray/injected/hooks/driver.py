"""A driver of a run: breakpoints in its main file, its entry in Ray's worker table, and its uncaught errors."""

from __future__ import annotations

import os
import sys

from .. import ray_worker, run_folder
from ..debuggable_process import DebuggableProcess
from ..guard import never_raise
from ..settings import PROCESS_NAME
from .program_stops import extend_debugpy_of_ray, stop_at_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..settings import RunSettings
    from .import_hook import ImportHook

_MODULE = "-m "


class Driver:
    """Opens a debug proxy when the driver has a file with breakpoints, has connected to Ray, or fails.

    Break on Failure stops only a driver that is the run's main program or has connected to Ray.  Each helper of the
    program, such as a probe `python -c "import x" || …`, counts as a driver until then.
    """

    def __init__(self, settings: RunSettings, kind: str, import_hook: ImportHook) -> None:
        self._settings = settings
        self._import_hook = import_hook
        self._main = ""
        self._name = os.environ.pop(PROCESS_NAME, "")
        self._has_connected = False
        process = self._process = DebuggableProcess(settings, kind, import_hook)
        process.matches = True
        process.describe = self._describe
        process.host = lambda: ray_worker.address(settings)
        process.file = lambda: run_folder.proxy_path(settings)
        process.announce = ray_worker.register_proxy
        # A driver on another machine can be found once it has joined a cluster, and doesn't wait before.
        process.is_findable = lambda: bool(process.file()) or ray_worker.global_worker() is not None

    def start(self) -> None:
        self._import_hook.after("ray.util.debugpy", self._stopping)
        self._import_hook.after("ray._private.worker", self._connecting)
        if self._process.kind == "child":
            self._import_hook.after("multiprocessing.spawn", self._spawning)
        if self._settings.post_mortem:
            self._catch_failures()
        self._main = main_file()
        if self._main:
            self._process.add_main_file(self._main)

    def _describe(self) -> dict[str, Any]:
        return {
            **ray_worker.facts(),
            "name": self._name or os.path.basename(self._main) or "driver",
        }

    def _stopping(self, module: ModuleType) -> None:
        extend_debugpy_of_ray(module, self._process)

    def _connecting(self, module: ModuleType) -> None:
        ray_worker.after_connecting(module, self._connected)

    def _connected(self) -> None:
        """The driver is in Ray's worker table now, where it can be found and paused."""
        self._has_connected = True
        if not self._process.has_proxy:
            # If one of its files has breakpoints, it could not be found until now.
            self._process.decide(True)
            return
        self._process.send_info()
        self._process.announce(self._process.open())

    def _spawning(self, module: Any) -> None:
        """Handles a child of multiprocessing, which runs its parent's main file without an import."""
        before = module._fixup_main_from_path

        def _fixup_main_from_path(main_path: str) -> None:
            never_raise(self._process.add_main_file)(main_path)
            before(main_path)

        module._fixup_main_from_path = _fixup_main_from_path

    def _catch_failures(self) -> None:
        before = sys.excepthook

        def excepthook(kind: Any, error: Any, traceback: Any) -> None:
            # The error is printed first, as without us.
            before(kind, error, traceback)
            if isinstance(error, Exception) and self._fails_the_run():
                never_raise(stop_at_failure)(self._process, (kind, error, traceback))

        sys.excepthook = excepthook

    def _fails_the_run(self) -> bool:
        return self._has_connected or is_main_program(self._settings.main)


def is_main_program(main: str) -> bool:
    """Whether this process runs the run's main program: `-m MODULE`, or the end of a file's path.

    A process that runs `-c` or standard input never does.
    """
    module = sys.modules.get("__main__")
    spec = getattr(module, "__spec__", None)
    if main.startswith(_MODULE):
        name = str(getattr(spec, "name", ""))
        return main[len(_MODULE) :] in (name, name.rpartition(".__main__")[0])
    file = str(getattr(module, "__file__", None) or "")
    if not main or not file or spec is not None:
        return False
    path = os.path.abspath(file)
    return path.endswith(f"/{main}") or os.path.realpath(path).endswith(f"/{main}")


def main_file() -> str:
    """The script of a command `python script …`, "" for a module, a command or standard input."""
    if "-m" in sys.argv[:1] or "-c" in sys.argv[:1]:
        return ""
    script = sys.argv[0] if sys.argv else ""
    path = os.path.abspath(script) if script and script != "-" else ""
    return path if os.path.isfile(path) else ""
