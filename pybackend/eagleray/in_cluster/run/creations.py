"""Actors and tasks as they are created: those that are meant get our runtime_env, the others stay as they are."""

from __future__ import annotations

from . import ray_worker
from .matching import meant, names_of
from .runtime_env import extended, needs_extending
from .settings import VARIABLE
from .trouble import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType
    from typing import Any

    from .settings import Settings

CREATES = {"remote", "_remote", "options"}


class Creations:
    """Extends `_remote` of Ray's actor classes and functions, in drivers and in workers of the run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._texts: dict[Any, str | None] = {}

    def extend_actors(self, module: ModuleType) -> None:
        kind = module.ActorClass
        kind._remote = self._creating(kind._remote, self._of_class)

    def extend_functions(self, module: ModuleType) -> None:
        kind = module.RemoteFunction
        kind._remote = self._creating(kind._remote, self._of_function)

    def _creating(self, create: Callable[..., Any], options_of: Callable[..., Any]) -> Any:
        def _remote(made: Any, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
            return create(made, args, kwargs, **(options_of(made, options) or options))

        return _remote

    @harmless
    def _of_class(self, made: Any, options: dict[str, Any]) -> dict[str, Any] | None:
        known = made.__ray_metadata__
        own = known.modified_class
        names = names_of(own.__module__, known.class_name, str(options.get("name") or ""))
        return self._options(own, names, options)

    @harmless
    def _of_function(self, made: Any, options: dict[str, Any]) -> dict[str, Any] | None:
        own = made._function
        chosen = self._options(own, names_of(own.__module__, own.__qualname__), options)
        if chosen is not None and "serialized_runtime_env_info" in options:
            # Ray has made its text of the runtime_env already; it is made again, once for each function.
            chosen["serialized_runtime_env_info"] = self._text(made, chosen["runtime_env"])
        return chosen

    def _options(
        self, made: object, names: list[str], options: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The options with our runtime_env, None if they stay as they are."""
        own = options.get("runtime_env") or {}
        if own and VARIABLE in (own.get("env_vars") or {}):
            return None
        if ray_worker.started_cluster() or self._is_inherited():
            wanted = bool(own) and needs_extending(own, self._settings)
        else:
            wanted = meant(self._settings.workers, names) or may_create(made)
        if not wanted:
            return None
        return {**options, "runtime_env": extended(own, self._settings)}

    def _is_inherited(self) -> bool:
        """Whether what is created here gets the runtime_env of this job or worker, and so ours, anyway."""
        worker = ray_worker.global_worker()
        if worker is None:
            return False
        text = worker.core_worker.get_current_runtime_env() or ""
        return VARIABLE in (text if isinstance(text, str) else str(text))

    def _text(self, made: Any, runtime_env: dict[str, Any]) -> str:
        from ray._private.utils import get_runtime_env_info, parse_runtime_env_for_task_or_actor

        return str(
            get_runtime_env_info(
                parse_runtime_env_for_task_or_actor(runtime_env),
                is_job_runtime_env=False,
                serialize=True,
            )
        )


def may_create(made: object) -> bool:
    """Whether a class or function may create others itself, as far as its own code says."""
    functions = list(vars(made).values()) if isinstance(made, type) else [made]
    codes = [getattr(getattr(one, "__func__", one), "__code__", None) for one in functions]
    return any(mentions(code) for code in codes if code is not None)


def mentions(code: CodeType) -> bool:
    if CREATES.intersection(code.co_names):
        return True
    inner = [one for one in code.co_consts if hasattr(one, "co_names")]
    return any(mentions(one) for one in inner)
