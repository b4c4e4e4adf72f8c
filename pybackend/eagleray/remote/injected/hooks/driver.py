"""A driver of a run: breakpoints in its main file, its entry in Ray's worker table, and its uncaught errors."""

from __future__ import annotations

import atexit
import functools
import os
import sys

from .. import ray_worker, run_folder
from ..debuggable_process import DebuggableProcess
from ..guard import never_raise, write_line
from ..process_identity import main_file, name_of, rank_in
from ..settings import PROCESS_NAME
from ..worker_patterns import is_driver_selected
from .program_stops import extend_debugpy_of_ray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..import_hook import ImportHook
    from ..settings import RunSettings

_MODULE = "-m "


class Driver:
    """Opens a debug proxy when the driver has a file with breakpoints, has connected to Ray, or fails.

    Break on Failure stops only a driver that is the run's main program or has connected to Ray.  Each helper of the
    program, such as a probe `python -c "import x" || …`, counts as a driver until then.

    Where it depends on the rank of the process whether the run selects it, the process is asked for its rank until that is
    known: by its environment, or once torch.distributed has started.  A driver of Ray has none.
    """

    def __init__(
        self,
        settings: RunSettings,
        kind: str,
        import_hook: ImportHook,
        is_selected: bool | None = True,
    ) -> None:
        self.rank: int | None = None
        self._settings = settings
        self._import_hook = import_hook
        self._main = ""
        self._name = os.environ.pop(PROCESS_NAME, "")
        self._has_connected = False
        process = self.process = DebuggableProcess(settings, kind, import_hook)
        process.matches = is_selected
        process.reconsider = self._decide_by_rank
        process.describe = self._describe
        process.host = lambda: ray_worker.address(settings)
        process.file = lambda: run_folder.proxy_path(settings)
        process.announce = ray_worker.register_proxy
        # A driver on another machine can be found once it has joined a cluster, and doesn't wait before.
        process.is_findable = lambda: bool(process.file()) or ray_worker.global_worker() is not None

    def start(self) -> None:
        self._import_hook.after("ray.util.debugpy", self._stopping)
        self._import_hook.after("ray._private.worker", self._connecting)
        if self._settings.children:
            self._import_hook.after("multiprocessing.spawn", self._spawning)
        if self.process.matches is None:
            self._import_hook.after("torch.distributed.distributed_c10d", self._joining)
            atexit.register(self._ends)
        if self._settings.post_mortem:
            from .failures import FailureHook

            failures = FailureHook(self.process, self._import_hook, self._fails_the_run)
            failures.watch_reports()
            failures.watch_main()
        self._main = main_file()
        if self._main:
            self.process.add_code(self._main)

    def _describe(self) -> dict[str, Any]:
        return {
            **ray_worker.facts(),
            **({} if self.rank is None else {"rank": str(self.rank)}),
            "name": self._name or name_of(self._main),
        }

    def _decide_by_rank(self) -> bool | None:
        self.rank = rank_in(os.environ)
        return is_driver_selected(self._settings.workers, self._settings.ranks, self.rank)

    def _joining(self, module: Any) -> None:
        """Asks for the rank once the process has joined the others, if it was unknown until then."""
        before = module.init_process_group

        @functools.wraps(before)
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            result = before(*args, **kwargs)
            never_raise(self._joined)(module)
            return result

        module.init_process_group = init_process_group

    def _joined(self, module: Any) -> None:
        if self.process.matches is None:
            self.rank = int(module.get_rank())
            self.process.decide(
                is_driver_selected(self._settings.workers, self._settings.ranks, self.rank)
            )

    def _ends(self) -> None:
        """Tells that breakpoints stopped nothing, since the rank stayed unknown."""
        if self.process.matches is None and self.process.files:
            name = self._describe()["name"]
            write_line(f"eagleray: {name} has no rank, so breakpoints of ranks don't stop it")

    def _stopping(self, module: ModuleType) -> None:
        extend_debugpy_of_ray(module, self.process)

    def _connecting(self, module: ModuleType) -> None:
        ray_worker.after_connecting(module, self._connected)

    def _connected(self) -> None:
        """The driver is in Ray's worker table now, where it can be found and paused."""
        self._has_connected = True
        if self.process.matches is None:
            self.process.decide(False)
            run_folder.write_driver_file(self._settings)
            return
        if not self.process.has_proxy:
            # If one of its files has breakpoints, it could not be found until now.
            self.process.decide(True)
            return
        self.process.send_info()
        self.process.announce(self.process.open().port)

    def _spawning(self, module: Any) -> None:
        """Handles a child of multiprocessing, which runs its parent's main file without an import."""
        before = module._fixup_main_from_path

        def _fixup_main_from_path(main_path: str) -> None:
            self._main = main_path
            never_raise(self.process.add_code)(main_path)
            before(main_path)

        module._fixup_main_from_path = _fixup_main_from_path

    def _fails_the_run(self) -> bool:
        return self._has_connected or is_main_program(self._settings.main, self._main)


def is_main_program(main: str, started: str = "") -> bool:
    """Whether this process runs the run's main program: `-m MODULE`, or the end of a file's path.

    `started` is the file with which it was started, which Python forgets once that has ended.  A process that runs `-c` or standard input never does.
    """
    module = sys.modules.get("__main__")
    spec = getattr(module, "__spec__", None)
    if main.startswith(_MODULE):
        name = str(getattr(spec, "name", ""))
        return main[len(_MODULE) :] in (name, name.rpartition(".__main__")[0])
    file = str(getattr(module, "__file__", None) or started)
    if not main or not file or spec is not None:
        return False
    path = os.path.abspath(file)
    return path.endswith(f"/{main}") or os.path.realpath(path).endswith(f"/{main}")
