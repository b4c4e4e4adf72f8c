"""The runtime_env of a driver's job, of single actors and of submitted jobs, extended so that their workers join the run.

Nothing that the user has set is replaced.  A driver's runtime_env is extended on its last step before Ray takes it, past
all hooks, `uv run` and Ray Client.  `RAY_RUNTIME_ENV_HOOK` stays the user's own: under `uv run` Ray does not call it (2.60,
`_maybe_modify_runtime_env` in `_private/worker.py`), and a child process that inherits the variable without our folder
in its path would fail for it.
"""

from __future__ import annotations

import os

from ..guard import never_raise, report_once, write_line
from ..settings import VARIABLE, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    from ..settings import RunSettings

PATH = "PYTHONPATH"

# Configurations of jobs whose server takes no runtime_env.
_refused: list[object] = []


def extended(runtime_env: Mapping[str, Any] | None, settings: RunSettings) -> dict[str, Any]:
    """A copy with our variables and our package; extending it again changes nothing."""
    result = dict(runtime_env or {})
    variables = {str(name): value for name, value in dict(result.get("env_vars") or {}).items()}
    variables[VARIABLE] = text(settings.values)
    if settings.site:
        # Ray puts the node's own value in for the braces (2.60, `update_envs` in `_private/utils.py`).
        path = str(variables.get(PATH, "${PYTHONPATH}"))
        if settings.site not in path.split(":"):
            path = f"{settings.site}:{path}" if path else settings.site
        variables[PATH] = path
    elif settings.uri:
        modules = list(result.get("py_modules") or [])
        if settings.uri not in modules:
            result["py_modules"] = [*modules, settings.uri]
    result["env_vars"] = variables
    return result


def is_extended(runtime_env: Mapping[str, Any] | None, settings: RunSettings) -> bool:
    """Whether workers with this runtime_env belong to the run already."""
    given = runtime_env or {}
    variables = given.get("env_vars") or {}
    if settings.site:
        has_package = settings.site in str(variables.get(PATH, "")).split(":")
    else:
        has_package = not settings.uri or settings.uri in (given.get("py_modules") or [])
    return has_package and variables.get(VARIABLE) == text(settings.values)


def needs_extending(runtime_env: Mapping[str, Any], settings: RunSettings) -> bool:
    """Whether the runtime_env of one actor would hide what its job has from us."""
    variables = runtime_env.get("env_vars") or {}
    hides_path = bool(settings.site) and PATH in variables
    hides_package = bool(settings.uri) and "py_modules" in runtime_env
    return hides_path or hides_package


def extend_job_config(module: ModuleType, settings: RunSettings) -> None:
    """Extends Ray's `JobConfig`, which the driver fills in `ray.init`."""
    kind = module.JobConfig
    before = kind.set_runtime_env

    def set_runtime_env(config: Any, runtime_env: Any, *more: Any, **options: Any) -> Any:
        # One that is only being made is read from the job of the driver, and is still to be merged.
        if hasattr(config, "_cached_pb") and not any(config is refused for refused in _refused):
            runtime_env = job_runtime_env(runtime_env, settings)
        return before(config, runtime_env, *more, **options)

    kind.set_runtime_env = set_runtime_env


def job_runtime_env(runtime_env: Any, settings: RunSettings) -> Any:
    """The runtime_env of the whole job.

    A program without a runtime_env keeps Ray's prestarted workers, since only single actors get one (`actor_creation`).
    """
    try:
        if not (runtime_env or settings.everywhere) or is_extended(runtime_env, settings):
            return runtime_env
        ours = extended(runtime_env, settings)
        # A user may have given Ray's own kind of mapping.
        is_plain = runtime_env is None or type(runtime_env) is dict
        return ours if is_plain else type(runtime_env)(**ours)
    # If our code fails, Ray still gets the program's runtime_env.
    except Exception as error:
        report_once("runtime_env", error)
        return runtime_env


def extend_client(module: Any, settings: RunSettings) -> None:
    """Extends the job that Ray Client starts for `ray.init("ray://…")`.

    Its tasks and actors are created by a process of the cluster, in which `actor_creation` isn't installed.  A server that was
    started without its agent's address refuses each runtime_env (Ray 2.60, `proxier.py`, `_create_runtime_env`): a program
    that has none connects again without ours.
    """
    before = module.connect

    def connect(conn_str: str, *more: Any, **options: Any) -> Any:
        config = options.get("job_config")
        own = getattr(config, "runtime_env", None)
        # Ray writes into it.
        init_options = dict(options.get("ray_init_kwargs") or {})
        never_raise(_join)(conn_str, config, settings)
        try:
            return before(conn_str, *more, **options)
        except ConnectionAbortedError as error:
            if own or config is None or "_create_runtime_env" not in str(error):
                raise
            write_line(
                "eagleray: this Ray Client server was started without --runtime-env-agent-address and takes no runtime_env:"
                " breakpoints stop only this process."
            )
            config.runtime_env = own
            _refused.append(config)
            return before(conn_str, *more, **{**options, "ray_init_kwargs": init_options})

    module.connect = connect


def _join(server: str, config: Any, settings: RunSettings) -> None:
    if config is not None:
        config.set_runtime_env(extended(config.runtime_env, settings))
    if server.rpartition(":")[0] not in ("127.0.0.1", "localhost", "[::1]", os.uname().nodename):
        write_line(
            "eagleray: breakpoints stop tasks and actors of Ray Client only on nodes with the files of this machine."
            " Start the program as a job: `eagleray run --cluster URL -- …`."
        )


def extend_submissions(module: ModuleType, settings: RunSettings) -> None:
    """Extends the client of `ray job submit`, so that the driver of the job belongs to the run as well."""
    kind = module.JobSubmissionClient
    before = kind.submit_job

    def submit_job(client: Any, **arguments: Any) -> Any:
        chosen = never_raise(extended)(arguments.get("runtime_env"), settings)
        return before(client, **({**arguments, "runtime_env": chosen} if chosen else arguments))

    kind.submit_job = submit_job
