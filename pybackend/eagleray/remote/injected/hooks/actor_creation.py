"""Hooks into the creation of actors and tasks: those that the run selects get our runtime_env, the others stay as they are."""

from __future__ import annotations

from .. import ray_worker
from ..guard import never_raise
from ..nsys.created_classes import CreatedClasses
from ..nsys.profile_requests import ProfileRequests, with_profile_request
from ..settings import VARIABLE
from ..worker_patterns import matchable_names, matches_any
from .runtime_env import extended, needs_extending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, ModuleType
    from typing import Any

    from ..settings import RunSettings

CREATES = {"remote", "_remote", "options"}


class CreationHook:
    """Extends `_remote` of Ray's actor classes and functions, in drivers and in workers of the run."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._profile_requests = ProfileRequests(settings)
        self._created_classes = CreatedClasses(settings)
        self._plain: tuple[Any, str] | None = None
        self._wanted: dict[Any, bool] = {}

    def extend_actors(self, module: ModuleType) -> None:
        kind = module.ActorClass
        kind._remote = self._creating(kind._remote, self._of_class, self._note)

    def extend_functions(self, module: ModuleType) -> None:
        kind = module.RemoteFunction
        kind._remote = self._creating(kind._remote, self._of_function)

    def _creating(
        self,
        create: Callable[..., Any],
        options_of: Callable[..., Any],
        created: Callable[[Any], object] = lambda made: None,
    ) -> Any:
        def _remote(made: Any, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
            handle = create(made, args, kwargs, **(options_of(made, options) or options))
            created(made)
            return handle

        return _remote

    @never_raise
    def _note(self, made: Any) -> None:
        metadata = made.__ray_metadata__
        self._created_classes.note(metadata.modified_class.__module__, metadata.class_name)

    @never_raise
    def _of_class(self, made: Any, options: dict[str, Any]) -> dict[str, Any] | None:
        metadata = made.__ray_metadata__
        actor = str(options.get("name") or "")
        own, name = metadata.modified_class, metadata.class_name
        chosen = self._chosen(own, name, actor, options)
        given = chosen[0] if chosen else options.get("runtime_env")
        request = self._profile_requests.for_actor(own.__module__, name, actor, given)
        if request is not None:
            return {**options, "runtime_env": parsed(with_profile_request(given, request))}
        return chosen and {**options, "runtime_env": chosen[0]}

    @never_raise
    def _of_function(self, made: Any, options: dict[str, Any]) -> dict[str, Any] | None:
        own = made._function
        chosen = self._chosen(own, own.__qualname__, "", options)
        request = self._profile_requests.for_task()
        if request is not None:
            given = chosen[0] if chosen else options.get("runtime_env")
            chosen = serialized(parsed(with_profile_request(given, request)))
        if chosen is None:
            return None
        extended_options = {**options, "runtime_env": chosen[0]}
        if "serialized_runtime_env_info" in options:
            # Ray has made its text of the runtime_env already.
            extended_options["serialized_runtime_env_info"] = chosen[1]
        return extended_options

    def _chosen(
        self, own: Any, name: str, actor: str, options: dict[str, Any]
    ) -> tuple[Any, str] | None:
        """The extended runtime_env and Ray's text of it; None to leave it as it is."""
        given = options.get("runtime_env") or {}
        if VARIABLE in (given.get("env_vars") or {}):
            return None
        if ray_worker.started_cluster() or self._is_inherited():
            wanted = bool(given) and needs_extending(given, self._settings)
        else:
            wanted = self._is_wanted(own, name, actor) or self._profile_requests.is_by_framework(
                given
            )
        if not wanted:
            return None
        if given:
            return serialized(parsed(extended(given, self._settings)))
        # A program may create thousands of tasks.
        if self._plain is None:
            self._plain = serialized(parsed(extended({}, self._settings)))
        return self._plain

    def _is_wanted(self, own: Any, name: str, actor: str) -> bool:
        key = (own, actor)
        if key not in self._wanted:
            names = matchable_names(own.__module__, name, actor)
            everybody = self._settings.everywhere or matches_any(self._settings.workers, names)
            self._wanted[key] = (
                everybody or self._profile_requests.matches(names) or may_create(own)
            )
        return self._wanted[key]

    def _is_inherited(self) -> bool:
        """Whether what is created here inherits our runtime_env from this job or worker anyway."""
        worker = ray_worker.global_worker()
        if worker is None:
            return False
        text = worker.core_worker.get_current_runtime_env() or ""
        return VARIABLE in (text if isinstance(text, str) else str(text))


def parsed(runtime_env: dict[str, Any]) -> Any:
    """Ray's own kind of runtime_env, as `options()` makes it; an older Ray (2.9.1) has the function by a shorter name."""
    from ray._private import utils

    name = "parse_runtime_env_for_task_or_actor"
    return getattr(utils, name if hasattr(utils, name) else "parse_runtime_env")(runtime_env)


def serialized(runtime_env: Any) -> tuple[Any, str]:
    from ray._private.utils import get_runtime_env_info

    info = get_runtime_env_info(runtime_env, is_job_runtime_env=False, serialize=True)
    return runtime_env, str(info)


def may_create(made: object) -> bool:
    """Whether a class or function may create others itself, judged by its own code."""
    codes = [getattr(function, "__code__", None) for function in functions_of(made)]
    return any(mentions(code) for code in codes if code is not None and is_of_program(code))


def is_of_program(code: CodeType) -> bool:
    """False for the methods that Ray adds to an actor's class."""
    return "/ray/" not in code.co_filename


def mentions(code: CodeType) -> bool:
    """Whether the code, or a function inside it, uses one of Ray's names for creating actors and tasks."""
    if CREATES.intersection(code.co_names):
        return True
    inner = [constant for constant in code.co_consts if hasattr(constant, "co_names")]
    return any(mentions(code) for code in inner)


def functions_of(thing: object) -> Iterator[object]:
    if not isinstance(thing, type):
        yield from wrapped(thing)
        return
    for kind in thing.__mro__[:-1]:
        for value in list(vars(kind).values()):
            value = getattr(value, "fget", None) or getattr(value, "__func__", value)
            if callable(value) and not isinstance(value, type):
                yield from wrapped(value)


def wrapped(function: object) -> Iterator[object]:
    """A function and those that it decorates, at most 20."""
    for _ in range(20):
        yield function
        function = getattr(function, "__wrapped__", None)
        if function is None:
            return
