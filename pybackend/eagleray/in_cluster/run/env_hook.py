"""Ray calls this with the runtime_env of a driver: `RAY_RUNTIME_ENV_HOOK`, and its own hook under `uv run`."""

from __future__ import annotations

import importlib
import os

from .runtime_env import extended
from .settings import read
from .trouble import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

VARIABLE = "RAY_RUNTIME_ENV_HOOK"
BEFORE = "EAGLERAY_RUN_HOOK_BEFORE"


def install() -> None:
    """Puts the hook in its variable; the person's own one is kept and called first."""
    ours = f"{__name__}.hook"
    before = os.environ.get(VARIABLE, "")
    if before != ours:
        os.environ[BEFORE] = before
        os.environ[VARIABLE] = ours


def hook(runtime_env: Any) -> Any:
    """The person's hook, with all that it raises, and then ours."""
    before = os.environ.get(BEFORE)
    if before:
        module, _, name = before.rpartition(".")
        runtime_env = getattr(importlib.import_module(module), name)(runtime_env)
    return of_the_run(runtime_env)


def of_the_run(runtime_env: Any) -> Any:
    """What the workers of the whole job get.

    A program without a runtime_env keeps Ray's prestarted workers, since only single actors get one (`creations`).
    """
    try:
        settings = read(os.environ)
        if settings is None or not (runtime_env or settings.everywhere):
            return runtime_env
        return extended(runtime_env, settings)
    except Exception as error:
        say("runtime_env", error)
        return runtime_env


def extend_uv(module: ModuleType) -> None:
    """Under `uv run` Ray calls its own hook in place of the one of the variable."""
    before: Callable[..., Any] = module.hook

    def extended_hook(runtime_env: Any) -> Any:
        return of_the_run(before(runtime_env))

    module.hook = extended_hook  # type: ignore[attr-defined]
