"""The runtime_env of a driver's job, on its last step before Ray takes it: past all hooks, `uv run` and Ray Client.

`RAY_RUNTIME_ENV_HOOK` stays the person's own: under `uv run` Ray does not call it, and a child process that inherits
the variable without our folder in its path would fail for it.
"""

from __future__ import annotations

from ..guard import report_once
from .runtime_env import extended, is_extended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..settings import RunSettings


def extend_job_config(module: ModuleType, settings: RunSettings) -> None:
    """Extends Ray's `JobConfig`, which the driver fills in `ray.init`."""
    kind = module.JobConfig
    before = kind.set_runtime_env

    def set_runtime_env(config: Any, runtime_env: Any, *more: Any, **options: Any) -> Any:
        # One that is only being made is read from the job of the driver, and is still to be merged.
        if hasattr(config, "_cached_pb"):
            runtime_env = of_the_run(runtime_env, settings)
        return before(config, runtime_env, *more, **options)

    kind.set_runtime_env = set_runtime_env


def of_the_run(runtime_env: Any, settings: RunSettings) -> Any:
    """What the workers of the whole job get.

    A program without a runtime_env keeps Ray's prestarted workers, since only single actors get one (`creations`).
    """
    try:
        if not (runtime_env or settings.everywhere) or is_extended(runtime_env, settings):
            return runtime_env
        ours = extended(runtime_env, settings)
        # A person may have given Ray's own kind of mapping.
        plain = runtime_env is None or type(runtime_env) is dict
        return ours if plain else type(runtime_env)(**ours)
    # Whatever goes wrong with ours, Ray gets what the program said.
    except Exception as error:
        report_once("runtime_env", error)
        return runtime_env
