"""The start of our code in a Python process of the run: classifies the process and installs what its kind needs.

A process is a worker of Ray, a driver, a child of one of them, a child that debugpy of its parent debugs, or a service,
which gets nothing.  Its own command line decides the kind of a process wherever possible: its environment comes from
the process that started it, or of the program that `exec` has replaced with it.
"""

from __future__ import annotations

import contextlib
import os
import sys

from . import flight_record_server, stack_signal
from .guard import never_raise, set_purpose
from .process_identity import command_line
from .settings import is_inside_selected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from types import ModuleType

    from .debuggable_process import DebuggableProcess
    from .hooks.actor_creation import CreationHook
    from .import_hook import ImportHook
    from .settings import RunSettings

# Processes of Ray and of debugpy, and helpers of multiprocessing: no code of the user runs in them.
SERVICES = (
    "/ray/_private/",
    "/ray/dashboard/",
    "/ray/autoscaler/",
    "/debugpy/",
    "multiprocessing.resource_tracker",
    "multiprocessing.semaphore_tracker",
)
# Set for a worker that nsys is to record, and once nsys records it.
PROFILED = ("EAGLERAY_PROFILE", "EAGLERAY_NSYS_SOCKET")
# The size of the recorder in collectives: its name, its earlier name, and a number that PyTorch's documents advise.
FLIGHT_RECORDER = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
RECORDED_COLLECTIVES = "2000"
# Code that debugpy inserts before the code of `python -c` (1.8.22, `pydev_monkey.py`).
CHANGED_CODE = "; import pydevd; pydevd.config("
WORKER = "/ray/_private/workers/default_worker.py"
# Ray's modules of the actor that starts the driver of a submitted job; the second one is in older versions.
JOB_SUPERVISORS = (
    "ray.dashboard.modules.job.job_supervisor",
    "ray.dashboard.modules.job.job_manager",
)


def start(site: str) -> None:
    """Called once, before the program's first line."""
    kind = kind_of(command_line(), os.environ)
    tidy_path(site)
    if kind == "service":
        return
    if kind == "attached":
        from .debugpy.attached_child import prepare

        prepare()
        return
    from .import_hook import ImportHook
    from .settings import read

    save_compiled()
    settings = read(os.environ)
    if settings is None:
        return
    set_purpose(settings.purpose)
    if settings.profile is None:
        record_collectives(os.environ)
    if kind == "worker" and any(os.environ.get(name) for name in PROFILED):
        from .nsys.launch import begin

        begin(settings)
    import_hook = ImportHook()
    import_hook.install()
    stack_signal.prepare(import_hook, os.environ)
    if settings.profile is None:
        flight_record_server.prepare(import_hook, os.environ)
    extend_creations(settings, import_hook)
    if kind == "worker":
        start_worker(settings, import_hook)
    elif kind == "driver":
        start_driver(settings, import_hook)
    elif settings.children:
        start_driver(settings, import_hook, "child")


def record_collectives(environ: MutableMapping[str, str]) -> None:
    """Switches PyTorch's flight recorder on, unless the user has set its size: its counters tell who is late.

    It is read when torch is imported.  A profiled run goes without, since it would be measured.
    """
    if not any(name in environ for name in FLIGHT_RECORDER):
        environ[FLIGHT_RECORDER[0]] = RECORDED_COLLECTIVES


def kind_of(argv: list[str], environ: Mapping[str, str]) -> str:
    """Decided by the command line, in this order: a worker that runs tasks, attached to debugpy, a service,
    a child, else a driver.
    """
    script = next((index for index, argument in enumerate(argv) if argument.endswith(".py")), 4)
    command = argv[: script + 1]
    if any(argument.endswith(WORKER) for argument in command):
        return "worker" if "--worker-type=WORKER" in argv or not _has_type(argv) else "service"
    is_script = any(argument.endswith("/pydevd.py") for argument in command[-1:])
    is_changed = is_script or any(CHANGED_CODE in argument for argument in argv)
    # By debugpy of its parent, as the run's debugger or as the program's own.
    if is_changed and is_inside_selected(environ):
        return "attached"
    if any(service in argument for argument in command for service in SERVICES):
        return "service"
    if "worker" in environ.get("EAGLERAY_RUN_INSIDE", "") or "--multiprocessing-fork" in argv:
        return "child"
    return "driver"


def _has_type(argv: list[str]) -> bool:
    return any(argument.startswith("--worker-type=") for argument in argv)


def extend_creations(settings: RunSettings, import_hook: ImportHook) -> None:
    """Installs what every process gets, since every one may create actors, tasks and jobs, and send functions to others."""
    import_hook.after(
        "ray.remote_function", lambda module: _creations(settings).extend_functions(module)
    )
    import_hook.after("ray.actor", lambda module: _creations(settings).extend_actors(module))
    import_hook.after("ray.job_config", lambda module: _job_config(module, settings))
    import_hook.after(
        "ray.dashboard.modules.job.sdk", lambda module: _submissions(module, settings)
    )
    if settings.stops:
        from .hooks.pickling import keep_file_names

        keep_file_names(import_hook)
        import_hook.after("ray.util.client_connect", lambda module: _client(module, settings))


def _creations(settings: RunSettings) -> CreationHook:
    from .hooks.actor_creation import CreationHook

    return CreationHook(settings)


def _job_config(module: ModuleType, settings: RunSettings) -> None:
    from .hooks.runtime_env import extend_job_config

    extend_job_config(module, settings)


def _client(module: ModuleType, settings: RunSettings) -> None:
    from .hooks.runtime_env import extend_client

    extend_client(module, settings)


def _submissions(module: ModuleType, settings: RunSettings) -> None:
    from .hooks.runtime_env import extend_submissions

    extend_submissions(module, settings)


def start_worker(settings: RunSettings, import_hook: ImportHook) -> None:
    """Prepares a worker of Ray; whether the run selects it is known once it knows what it is to run."""
    from . import ray_worker, run_folder
    from .debuggable_process import DebuggableProcess
    from .hooks import actor_loops
    from .hooks.class_loading import LoadingHook
    from .hooks.program_stops import extend_debugpy_of_ray
    from .settings import INSIDE

    os.environ[INSIDE] = "worker"
    for supervisor in JOB_SUPERVISORS:
        # The process that it starts is a driver of the run, not a child of a worker.
        import_hook.after(supervisor, lambda module: os.environ.pop(INSIDE, None))
    if settings.post_mortem and os.environ.get("RAY_DEBUG") != "legacy":
        # The second one is what Ray before 2.39 reads.
        os.environ["RAY_DEBUG_POST_MORTEM"] = os.environ["RAY_DEBUG"] = "1"
    process = DebuggableProcess(settings, "worker", import_hook)
    process.host = lambda: ray_worker.address(settings)
    process.announce = ray_worker.register_proxy
    process.is_findable = lambda: not run_folder.is_over(settings)
    loading = LoadingHook(process)
    import_hook.after("ray._raylet", actor_loops.extend)
    import_hook.after("ray._private.function_manager", loading.extend)
    import_hook.after("ray.util.debugpy", lambda module: extend_debugpy_of_ray(module, process))
    if settings.stops:
        own_debugpy(process, import_hook)
    if settings.post_mortem:
        from .hooks.failures import FailureHook

        FailureHook(process, import_hook).watch_reports()


def start_driver(settings: RunSettings, import_hook: ImportHook, kind: str = "driver") -> None:
    """Prepares a program that the user started; its main file may have breakpoints."""
    from .process_identity import is_launcher, rank_in
    from .ray_worker import after_connecting
    from .run_folder import write_driver_file
    from .settings import is_inside_selected
    from .worker_patterns import is_driver_selected

    # A launcher has no rank, whatever started it.
    launches = kind == "driver" and is_launcher(command_line())
    rank = None if launches else rank_in(os.environ)
    is_selected = is_driver_selected(settings.workers, settings.ranks, rank)
    if settings.children and is_inside_selected(os.environ):
        is_selected = True
    if is_selected is False or (launches and is_selected is None):
        watch_input(settings, import_hook, None)
        import_hook.after(
            "ray._private.worker",
            lambda module: after_connecting(module, lambda: write_driver_file(settings)),
        )
        return
    from .hooks.driver import Driver

    driver = Driver(settings, kind, import_hook, is_selected)
    driver.rank = rank
    if settings.stops:
        own_debugpy(driver.process, import_hook)
    if kind == "driver":
        watch_input(settings, import_hook, driver.process)
    driver.start()


def watch_input(
    settings: RunSettings, import_hook: ImportHook, process: DebuggableProcess | None
) -> None:
    if not settings.has_input:
        from .hooks.empty_input import EmptyInput, is_empty

        if is_empty():
            EmptyInput(process).watch(import_hook)


def own_debugpy(process: DebuggableProcess, import_hook: ImportHook) -> None:
    """Keeps the program's own use of debugpy away from the run's."""

    def extend(module: ModuleType) -> None:
        # Most processes never import debugpy.
        from .hooks.program_debugpy import ProgramDebugpy

        ProgramDebugpy(process).extend(module)

    import_hook.after("debugpy.server.api", extend)


@never_raise
def tidy_path(site: str) -> None:
    """Removes our folder from `sys.path`, and the empty entry after it that comes from a PYTHONPATH which was not set."""
    entries = os.environ.get("PYTHONPATH", "").split(":")
    if entries[-2:] == [site, ""]:
        os.environ["PYTHONPATH"] = ":".join(entries[:-1])
        index = sys.path.index(site) + 1 if site in sys.path else 0
        if index and sys.path[index : index + 1] == [os.getcwd()]:
            del sys.path[index]


@never_raise
def save_compiled() -> None:
    """Saves the compiled files of this package in its own folder, even if Python is configured to write none.

    Otherwise each of thousands of processes would compile the package again.  The folder belongs to us alone.
    """
    if not sys.dont_write_bytecode or sys.pycache_prefix:
        return
    cached = getattr(__spec__, "cached", None)
    own = os.path.abspath(__file__)
    folder = os.path.dirname(own)
    if not cached or os.path.exists(cached) or not os.access(folder, os.W_OK):
        return
    import py_compile

    # This file comes last: if its compiled file exists, so do all others.
    for path in (*(path for path in _sources(folder) if path != own), own):
        # The disk may be full, and this Python may be unable to compile a file that it never needs.
        with contextlib.suppress(OSError):
            py_compile.compile(path, quiet=2)


def _sources(folder: str) -> list[str]:
    return [
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder)
        for name in sorted(names)
        if name.endswith(".py")
    ]
