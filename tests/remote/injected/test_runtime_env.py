"""The runtime_env of jobs and actors is extended, also by Ray's own functions in a driver without a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected.hooks import runtime_env
from eagleray.remote.injected.settings import RunSettings

from tests.adapter.harness import CACHE
from tests.remote.injected.runs import PACKAGE, Run

ASKING = """
import json, sys
from ray._private.worker import _maybe_modify_runtime_env
from ray.job_config import JobConfig
# As ray.init does it.
runtime_env = _maybe_modify_runtime_env(json.loads(sys.argv[1]), False)
config = JobConfig()
if runtime_env:
    config.set_runtime_env(runtime_env)
uploads = "working_dir" in config.runtime_env
config.set_runtime_env(config.runtime_env, validate=not uploads)
print(json.dumps(dict(config.runtime_env)))
"""
SUBMITTING = """
import json
from ray.dashboard.modules.job import sdk
class Client(sdk.JobSubmissionClient):
    def __init__(self):
        self._default_metadata = {}
    _upload_working_dir_if_needed = _upload_py_modules_if_needed = lambda self, runtime_env: None
    def _do_request(self, method, path, json_data=None):
        raise SystemExit(json.dumps(json_data["runtime_env"]))
sdk.logger.setLevel("ERROR")
Client().submit_job(entrypoint="true", runtime_env={"env_vars": {"A": "1"}})
"""
CONNECTING = """
import json, sys
from ray.job_config import JobConfig
from ray.util import client_connect
class Server:
    def is_connected(self):
        return False
    def connect(self, server, *, job_config, **options):
        print(json.dumps(dict(job_config.runtime_env)))
client_connect.ray = Server()
client_connect.connect(sys.argv[1], job_config=JobConfig())
"""

REFUSING = """
import json, sys
from ray.job_config import JobConfig
from ray.util import client_connect
class Server:
    attempts = 0
    def is_connected(self):
        return False
    def connect(self, server, *, job_config, ray_init_kwargs, **options):
        # What Ray 2.60 does here.
        runtime_env = ray_init_kwargs.get("runtime_env") or job_config.runtime_env
        ray_init_kwargs["runtime_env"] = runtime_env
        job_config.set_runtime_env(runtime_env)
        self.attempts += 1
        if job_config.runtime_env:
            reason = sys.argv[1]
            raise ConnectionAbortedError(f"Initialization failure from server: {reason}")
        print(json.dumps([self.attempts, ray_init_kwargs]))
client_connect.ray = Server()
config = JobConfig(runtime_env=json.loads(sys.argv[2]))
client_connect.connect("127.0.0.1:10001", job_config=config, ray_init_kwargs={"log_to_driver": True})
"""
WITHOUT_AGENT = "in _create_runtime_env: object of type 'NoneType' has no len()"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path, breakpoints=[])


def asked(run: Run, runtime_env: Any, command: list[str], **env: str) -> Any:
    """The runtime_env that Ray gives the job of a driver."""
    done = subprocess.run(
        [*command, "-c", ASKING, json.dumps(runtime_env)],
        env={**os.environ, **run.env(**env)},
        cwd=run.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def is_of_the_run(run: Run, runtime_env: Any) -> bool:
    variables = (runtime_env or {}).get("env_vars") or {}
    has_path = f"{run.path}/{PACKAGE}/site" in variables.get("PYTHONPATH", "").split(":")
    return has_path and json.loads(variables["EAGLERAY_RUN"]) == run.settings


def test_job_runtime_env_is_extended_and_none_stays_none(run: Run) -> None:
    extended = asked(run, {"env_vars": {"A": "1"}}, [sys.executable])
    assert is_of_the_run(run, extended) and extended["env_vars"]["A"] == "1"
    assert asked(run, None, [sys.executable]) == {}


def test_whole_job_is_extended_on_request(run: Run) -> None:
    run.settings["everywhere"] = True
    assert is_of_the_run(run, asked(run, None, [sys.executable]))


def test_hook_of_the_user_is_called_first(run: Run) -> None:
    (run.folder / "theirs.py").write_text(
        "def hook(env):\n    return {'env_vars': {'MINE': '2'}}\n"
    )
    path = f"{run.env()['PYTHONPATH']}:{run.folder}"
    extended = asked(
        run, None, [sys.executable], PYTHONPATH=path, RAY_RUNTIME_ENV_HOOK="theirs.hook"
    )
    assert is_of_the_run(run, extended) and extended["env_vars"]["MINE"] == "2"


def test_child_process_inherits_nothing_that_makes_it_fail(run: Run) -> None:
    code = "import ray, os; print([name for name in os.environ if 'HOOK' in name])"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **run.env()}, capture_output=True, text=True)  # fmt: skip
    assert done.stdout == "[]\n"


def test_exception_of_the_users_hook_is_raised(run: Run) -> None:
    (run.folder / "theirs.py").write_text("def hook(env):\n    raise ValueError('theirs')\n")
    path = f"{run.env()['PYTHONPATH']}:{run.folder}"
    with pytest.raises(AssertionError, match="ValueError: theirs"):
        asked(run, {}, [sys.executable], PYTHONPATH=path, RAY_RUNTIME_ENV_HOOK="theirs.hook")


def test_job_is_extended_under_uv_run(run: Run) -> None:
    """There Ray calls a hook of its own and not the variable's."""
    uv = next(iter(sorted(CACHE.glob("uv-*/bin/uv"))), None)
    assert uv is not None, "npm run setup keeps a uv in its cache"
    command = [str(uv), "run", "--no-project", "--offline", "python"]
    environment = str(Path(sys.executable).parent.parent)
    extended = asked(run, None, command, VIRTUAL_ENV=environment, UV_PYTHON_DOWNLOADS="never")
    assert is_of_the_run(run, extended)
    assert extended["py_executable"].startswith(f"{uv} run") and extended["working_dir"]


def test_submitted_job_belongs_to_the_run(run: Run) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SUBMITTING],
        env={**os.environ, **run.env()},
        capture_output=True,
        text=True,
        check=False,
    )
    extended = json.loads(done.stderr.splitlines()[-1])
    assert is_of_the_run(run, extended) and extended["env_vars"]["A"] == "1"


VALUES = {"run": "r", "package": "_eagleray_run_1", "path": "/shared", "breakpoints": []}


@pytest.mark.parametrize(("server", "is_here"), [("127.0.0.1:10001", True), ("head:10001", False)])
def test_job_of_ray_client_belongs_to_the_run(tmp_path: Path, server: str, is_here: bool) -> None:
    run = Run(tmp_path, breakpoints=[{"path": "/elsewhere/x.py", "lines": [{"line": 9}]}])
    done = subprocess.run(
        [sys.executable, "-c", CONNECTING, server],
        env={**os.environ, **run.env()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert is_of_the_run(run, json.loads(done.stdout.splitlines()[-1]))
    assert ("only on nodes with the files of this machine" in done.stderr) is not is_here


@pytest.fixture
def stopping_run(tmp_path: Path) -> Run:
    return Run(tmp_path, breakpoints=[{"path": "/elsewhere/x.py", "lines": [{"line": 9}]}])


def connected(run: Run, reason: str, runtime_env: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", REFUSING, reason, json.dumps(runtime_env)],
        env={**os.environ, **run.env()},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("everywhere", [False, True])
def test_client_server_that_takes_no_runtime_env_gets_none(
    stopping_run: Run, everywhere: bool
) -> None:
    stopping_run.settings["everywhere"] = everywhere
    done = connected(stopping_run, WITHOUT_AGENT, None)
    second = [2, {"log_to_driver": True, "runtime_env": {}}]
    assert json.loads(done.stdout.splitlines()[-1]) == second, done.stderr
    assert "--runtime-env-agent-address" in done.stderr


@pytest.mark.parametrize(
    ("reason", "runtime_env"), [("no space left", None), (WITHOUT_AGENT, {"env_vars": {"A": "1"}})]
)
def test_other_refusals_of_a_client_server_are_the_programs_own(
    stopping_run: Run, reason: str, runtime_env: Any
) -> None:
    done = connected(stopping_run, reason, runtime_env)
    assert reason in done.stderr and done.returncode == 1 and not done.stdout


def test_runtime_env_is_extended_once() -> None:
    theirs = {"working_dir": "/w", "env_vars": {"A": "1", "PYTHONPATH": "/mine"}}
    ours = runtime_env.extended(theirs, RunSettings(VALUES))
    assert theirs == {"working_dir": "/w", "env_vars": {"A": "1", "PYTHONPATH": "/mine"}}
    assert ours["working_dir"] == "/w"
    assert ours["env_vars"]["A"] == "1"
    assert ours["env_vars"]["PYTHONPATH"] == "/shared/_eagleray_run_1/site:/mine"
    assert json.loads(ours["env_vars"]["EAGLERAY_RUN"]) == VALUES
    assert runtime_env.extended(ours, RunSettings(VALUES)) == ours


def test_pythonpath_of_the_node_stays() -> None:
    path = runtime_env.extended({}, RunSettings(VALUES))["env_vars"]["PYTHONPATH"]
    assert path == "/shared/_eagleray_run_1/site:${PYTHONPATH}"


def test_uploaded_package_is_added_to_the_packages_of_the_user() -> None:
    run = RunSettings({**VALUES, "path": "", "uri": "gcs://_ray_pkg_1.zip"})
    ours = runtime_env.extended({"py_modules": ["/mine"]}, run)
    assert ours["py_modules"] == ["/mine", "gcs://_ray_pkg_1.zip"]
    assert "PYTHONPATH" not in ours["env_vars"]
    assert runtime_env.extended(ours, run) == ours
