"""Hooks into how a Ray worker loads classes and functions: decides at each whether the run selects it."""

from __future__ import annotations

import os

from .. import ray_worker
from ..guard import never_raise
from ..worker_patterns import is_selected, matchable_names, rank_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from ..debuggable_process import DebuggableProcess

# The private functions of Ray that are extended, with the arguments that they must have.
EXTENDED = {
    "load_actor_class": ("self", "job_id", "actor_creation_function_descriptor"),
    "get_execution_info": ("self", "job_id", "function_descriptor"),
}


class LoadingHook:
    """Follows what one worker loads.  An actor has one class; a worker of tasks runs one function after another."""

    def __init__(self, process: DebuggableProcess) -> None:
        self._process = process
        self._definition: dict[str, Any] = {}
        self._is_actor = False
        process.describe = self._describe
        if not process.settings.filters:
            # Every worker is selected: modules that are imported before the first class stop, too.
            process.matches = True

    def extend(self, module: ModuleType) -> None:
        """Extends Ray's `function_manager`; raises LookupError for a Ray with other functions."""
        manager = module.FunctionActorManager
        for name, arguments in EXTENDED.items():
            code = getattr(manager, name).__code__
            if code.co_varnames[: code.co_argcount] != arguments:
                raise LookupError(f"this Ray has another {name}")
        watched = watched_kind(module.FunctionExecutionInfo)
        manager.load_actor_class = self._loading_class(manager.load_actor_class)
        manager.get_execution_info = self._loading_function(manager.get_execution_info, watched)

    def _loading_class(self, load: Callable[..., Any]) -> Callable[..., Any]:
        def load_actor_class(
            manager: Any, job_id: Any, actor_creation_function_descriptor: Any
        ) -> Any:
            self._class_named(actor_creation_function_descriptor)
            return load(manager, job_id, actor_creation_function_descriptor)

        return load_actor_class

    def _loading_function(self, get: Callable[..., Any], watched: type) -> Callable[..., Any]:
        def get_execution_info(manager: Any, job_id: Any, function_descriptor: Any) -> Any:
            self._function_named(function_descriptor)
            info = get(manager, job_id, function_descriptor)
            return self._watched(watched, info, function_descriptor) or info

        return get_execution_info

    # --- the worker -----------------------------------------------------------------------------

    @never_raise
    def _class_named(self, descriptor: Any) -> None:
        """Called before a class is loaded, since its code may have breakpoints."""
        if self._is_actor or not ray_worker.becomes_actor():
            return
        self._is_actor = True
        self._definition = {
            "class": descriptor.class_name,
            "module": descriptor.module_name,
            "name": ray_worker.actor_name(),
        }
        self._decide()

    @never_raise
    def _function_named(self, descriptor: Any) -> None:
        if self._is_actor:
            return
        self._definition = {"function": descriptor.function_name, "module": descriptor.module_name}
        self._decide()

    def _decide(self) -> None:
        definition = self._definition
        matches = self._verdict(definition)
        self._process.matches = matches
        self._process.send_info()
        self._process.decide(matches)
        if ray_worker.profiling():
            # Recordings are requested through the proxy, also if the worker isn't debugged.
            self._process.open_soon()

    def _verdict(self, definition: dict[str, Any]) -> bool | None:
        name = definition.get("name", "")
        names = matchable_names(
            definition["module"], definition.get("class") or definition.get("function") or "", name
        )
        rank = rank_of(os.environ, name)
        if rank is not None:
            definition["rank"] = str(rank)
        settings = self._process.settings
        return is_selected(settings.workers, settings.ranks, names, rank)

    def _describe(self) -> dict[str, Any]:
        return {**ray_worker.facts(), **ray_worker.profiling(), **self._definition}

    # --- each call -------------------------------------------------------------------------------

    @never_raise
    def _watched(self, watched: type, info: Any, descriptor: Any) -> Any:
        definition = self._definition if self._is_actor else dict(self._definition)
        called = watched(*info)
        called.before = lambda: self._before_call(definition)
        return called

    @never_raise
    def _before_call(self, definition: dict[str, Any]) -> None:
        """Called in the thread that is about to run a method or function."""
        process = self._process
        # A worker of tasks may now run another function than the last one, and the rank of an actor may become known
        # only after it has run for a while.
        if definition is not self._definition or process.matches is None:
            self._definition = definition
            self._decide()
        process.debugger.trace_this_thread(process.matches is True)


def watched_kind(kind: Any) -> Any:
    """Ray's tuple of a function and its name; Ray reads `function` once for each call.

    A wrapper around the function itself would appear in the tracebacks of the program.
    """
    original = kind.function

    def function(self: Any) -> Any:
        self.before()
        return original.__get__(self, kind)

    return type("Watched", (kind,), {"function": property(function)})
