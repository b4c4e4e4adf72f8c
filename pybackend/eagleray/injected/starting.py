"""What a Python process of the run is, a worker, a driver, a child or none of them, and what it gets for it."""

from __future__ import annotations

import os
import sys

from .guard import never_raise, set_purpose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from .hooks.creations import CreationHook
    from .hooks.import_hook import ImportHook
    from .settings import RunSettings

# Processes of Ray and of debugpy themselves, and helpers of multiprocessing: nothing of the person runs there.
SERVICES = (
    "/ray/_private/",
    "/ray/dashboard/",
    "/ray/autoscaler/",
    "/debugpy/",
    "multiprocessing.resource_tracker",
    "multiprocessing.semaphore_tracker",
)
# What tells a worker that nsys is to record it, and that it does.
PROFILED = ("EAGLERAY_PROFILE", "EAGLERAY_NSYS_SOCKET")
WORKER = "/ray/_private/workers/default_worker.py"
# Ray's modules of the actor that starts the driver of a submitted job; the second one is that of older versions.
JOB_SUPERVISORS = (
    "ray.dashboard.modules.job.job_supervisor",
    "ray.dashboard.modules.job.job_manager",
)


def start(site: str) -> None:
    """Called once, before the program's first line."""
    words = list(getattr(sys, "orig_argv", sys.argv))
    kind = kind_of(words, os.environ)
    tidy_path(site)
    if kind == "service":
        return
    from .compiling import keep_compiled
    from .hooks.import_hook import ImportHook
    from .settings import INSIDE, read

    keep_compiled()
    settings = read(os.environ)
    if settings is None:
        return
    set_purpose(settings.purpose)
    if kind == "worker" and any(os.environ.get(name) for name in PROFILED):
        from .nsys.launch import begin

        begin(settings)
    arrivals = ImportHook()
    arrivals.install()
    create(settings, arrivals)
    if kind == "worker":
        start_worker(settings, arrivals)
    elif kind == "driver":
        start_driver(settings, arrivals)
    elif settings.children and os.environ.get(INSIDE) != "debugged":
        start_driver(settings, arrivals, "child")


def kind_of(words: list[str], environ: Mapping[str, str]) -> str:
    """Decided by the command line, in this order: a worker that runs tasks, a service, a child, else a driver."""
    script = next((place for place, word in enumerate(words) if word.endswith(".py")), 4)
    command = words[: script + 1]
    if any(word.endswith(WORKER) for word in command):
        return "worker" if "--worker-type=WORKER" in words or not _has_type(words) else "service"
    if any(service in word for word in command for service in SERVICES):
        return "service"
    if environ.get("EAGLERAY_RUN_INSIDE") or "--multiprocessing-fork" in words:
        return "child"
    return "driver"


def _has_type(words: list[str]) -> bool:
    return any(word.startswith("--worker-type=") for word in words)


def create(settings: RunSettings, arrivals: ImportHook) -> None:
    """What every process gets that may create actors, tasks and jobs."""
    arrivals.after(
        "ray.remote_function", lambda module: _creations(settings).extend_functions(module)
    )
    arrivals.after("ray.actor", lambda module: _creations(settings).extend_actors(module))
    arrivals.after("ray.job_config", lambda module: _job_config(module, settings))
    arrivals.after("ray.dashboard.modules.job.sdk", lambda module: _submissions(module, settings))


def _creations(settings: RunSettings) -> CreationHook:
    from .hooks.creations import CreationHook

    return CreationHook(settings)


def _job_config(module: ModuleType, settings: RunSettings) -> None:
    from .hooks.job_config import extend_job_config

    extend_job_config(module, settings)


def _submissions(module: ModuleType, settings: RunSettings) -> None:
    from .hooks.submissions import extend_submissions

    extend_submissions(module, settings)


def start_worker(settings: RunSettings, arrivals: ImportHook) -> None:
    """A worker of Ray: it is meant or not once it knows what it is to run."""
    from . import ray_worker
    from .hooks.loading import LoadingHook
    from .hooks.stopping import extend_debugpy_of_ray
    from .process import DebuggableProcess
    from .settings import INSIDE

    os.environ[INSIDE] = "worker"
    for supervisor in JOB_SUPERVISORS:
        # The process that it starts is a driver of the run, not a child of a worker.
        arrivals.after(supervisor, lambda module: os.environ.pop(INSIDE, None))
    if settings.post_mortem and os.environ.get("RAY_DEBUG") != "legacy":
        # The second one is what Ray before 2.39 reads.
        os.environ["RAY_DEBUG_POST_MORTEM"] = os.environ["RAY_DEBUG"] = "1"
    process = DebuggableProcess(settings, "worker", arrivals)
    process.host = lambda: ray_worker.address(settings)
    process.announce = ray_worker.register_proxy
    loading = LoadingHook(process)
    arrivals.after("ray._private.function_manager", loading.extend)
    arrivals.after("ray.util.debugpy", lambda module: extend_debugpy_of_ray(module, process))


def start_driver(settings: RunSettings, arrivals: ImportHook, kind: str = "driver") -> None:
    """A program that the person started; its main file may have lines to stop at before it runs at all."""
    from .hooks.driver import Driver
    from .hooks.joining import after_joining, tell_cluster
    from .matching import is_driver_selected

    if is_driver_selected(settings):
        Driver(settings, kind, arrivals).start()
    else:
        arrivals.after(
            "ray._private.worker",
            lambda module: after_joining(module, lambda: tell_cluster(settings)),
        )


@never_raise
def tidy_path(site: str) -> None:
    """Takes our folder out of `sys.path`, and with it an empty entry that stands for a PYTHONPATH which is not set."""
    entries = os.environ.get("PYTHONPATH", "").split(":")
    if entries[-2:] == [site, ""]:
        os.environ["PYTHONPATH"] = ":".join(entries[:-1])
        place = sys.path.index(site) + 1 if site in sys.path else 0
        if place and sys.path[place : place + 1] == [os.getcwd()]:
            del sys.path[place]
