"""A runtime_env of Ray, extended so that the workers of it belong to the run; nothing of the person's is replaced."""

from __future__ import annotations

from ..settings import VARIABLE, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..settings import RunSettings

PATH = "PYTHONPATH"


def extended(runtime_env: Mapping[str, Any] | None, settings: RunSettings) -> dict[str, Any]:
    """A copy with our variables and our package; once is enough."""
    known = dict(runtime_env or {})
    variables = {str(name): value for name, value in dict(known.get("env_vars") or {}).items()}
    variables[VARIABLE] = text(settings.values)
    if settings.site:
        # Ray puts the node's own value in for the braces.
        before = str(variables.get(PATH, "${PYTHONPATH}"))
        if settings.site not in before.split(":"):
            before = f"{settings.site}:{before}" if before else settings.site
        variables[PATH] = before
    elif settings.uri:
        modules = list(known.get("py_modules") or [])
        if settings.uri not in modules:
            known["py_modules"] = [*modules, settings.uri]
    known["env_vars"] = variables
    return known


def is_extended(runtime_env: Mapping[str, Any] | None, settings: RunSettings) -> bool:
    """Whether the workers of it belong to the run already."""
    known = runtime_env or {}
    variables = known.get("env_vars") or {}
    if settings.site:
        has_package = settings.site in str(variables.get(PATH, "")).split(":")
    else:
        has_package = not settings.uri or settings.uri in (known.get("py_modules") or [])
    return has_package and variables.get(VARIABLE) == text(settings.values)


def needs_extending(runtime_env: Mapping[str, Any], settings: RunSettings) -> bool:
    """Whether the runtime_env of one actor would hide what its job has from us."""
    variables = runtime_env.get("env_vars") or {}
    hides_path = bool(settings.site) and PATH in variables
    hides_package = bool(settings.uri) and "py_modules" in runtime_env
    return hides_path or hides_package
