"""Commands of submissions, environments of programs, and the states of SLURM and Ray jobs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.ray.jobs import JobState
from eagleray.ray.rows import WorkerRow
from eagleray.runs.injected_config import (
    InjectedConfig,
    encode_config,
    verifier,
    with_site,
)
from eagleray.runs.model import RunPlan, command_text, confirm_text
from eagleray.runs.program_python import activated_environment
from eagleray.runs.run_discovery import in_table
from eagleray.runs.sbatch_arguments import WITH_VARIABLES, submission, variables
from eagleray.slurm.job_output import fields
from eagleray.supervisor.launchers import factory
from eagleray.supervisor.launchers.ray_job import ending
from eagleray.tools.code_copies import Package

ENV = {"A": "1,2 'x'", "B": "="}
SUBMISSIONS = [
    (["sbatch", "run.sub"], ["--export=ALL,A,B", "run.sub"]),
    (["sbatch", "-N2", "run.sub", "--export=no"], ["--export=ALL,A,B", "-N2", "run.sub", "--export=no"]),
    (["sbatch", "-N", "2", "--time", "5", "--export", "A b", "run.sub"], ["--export=A b,A,B", "-N", "2", "--time", "5", "run.sub"]),
    (["sbatch", "--hold", "run.sub", "--time"], ["--export=ALL,A,B", "--hold", "run.sub", "--time"]),
    (["sbatch", "--wrap", "echo 1"], ["--export=ALL,A,B", "--wrap", "echo 1"]),
    (["sbatch", "--export=HOME", "run.sub"], ["--export=HOME,A,B", "run.sub"]),
    (["sbatch", "--export", "NONE", "run.sub"], ["--export=A,B", "run.sub"]),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "arguments"), SUBMISSIONS)
def test_variables_are_exported_by_name(typed: list[str], arguments: list[str]) -> None:
    assert submission(typed, ENV) == ["sbatch", *arguments]


def test_export_option_of_the_script_is_respected() -> None:
    arguments = submission(["sbatch", "run.sub"], {"A": ""}, "NONE")
    assert arguments == ["sbatch", "--export=A", "run.sub"]


def test_variable_values_are_sent_by_standard_input() -> None:
    odd = {
        "A": "two\nlines\n",
        "B": "\\n \\0101 \\c %s",
        "C": "$(touch pwned) `id` 'x' \"",
        "D": "",
        "PYTHONPATH": "/ours",
    }
    script = "import json, os, sys; json.dump([dict(os.environ), sys.argv[1:], sys.stdin.read()], sys.stdout)"
    command = ["sh", "-c", WITH_VARIABLES, "sh", sys.executable, "-I", "-c", script, "a b"]
    for is_remote, path in ((False, "/ours"), (True, "/ours:/theirs")):
        ran = subprocess.run(
            command,
            input=variables(odd, is_remote=is_remote),
            env={"PATH": os.environ["PATH"], "PYTHONPATH": "/theirs"},
            capture_output=True,
            text=True,
            check=True,
        )
        environ, arguments, stdin = json.loads(ran.stdout)
        assert {name: environ.get(name) for name in odd} == {**odd, "PYTHONPATH": path}
        assert (arguments, stdin) == (["a b"], "")


def test_fields_of_a_slurm_job_are_parsed() -> None:
    job = fields(
        "JobId=5 JobName=a b UserId=me(1) JobState=RUNNING Reason=None ExitCode=0:0 "
        "Command=/home/me/a b.sub WorkDir=/home/me StdOut=/home/me/slurm 5.out Power="
    )
    assert (job["JobName"], job["JobState"], job["StdOut"]) == (
        "a b",
        "RUNNING",
        "/home/me/slurm 5.out",
    )


def test_ray_job_status_becomes_an_exit_code() -> None:
    failed = JobState("FAILED", "runtime_env setup failed\nTraceback", "n", "01", None)
    assert ending(failed).code == 1
    assert ending(failed).note == "runtime_env setup failed"
    assert ending(evolve(failed, code=9)).code == 9
    assert ending(evolve(failed, status="SUCCEEDED")).code == 0


def test_environment_holds_no_secret_and_no_dollar() -> None:
    plan = RunPlan(kind="program", argv=("python", "x.py"), cwd="/w", name="x.py", workers=("$a*",))
    secret = 32 * "5e"
    config = InjectedConfig("r1", verifier(secret), Package("p", {}), path="/x")
    encoded = encode_config(plan, config)
    assert "$" not in encoded
    assert secret not in encoded
    assert json.loads(encoded)["workers"] == ["$a*"]


@pytest.mark.parametrize("is_attended", [True, False])
def test_program_learns_whether_it_has_the_input_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch, is_attended: bool
) -> None:
    monkeypatch.setattr(factory, "deliver", lambda package: Path("/x"))
    plan = RunPlan(kind="program", argv=("python", "x.py"), cwd="/w", name="x.py")
    config = InjectedConfig("r1", "", Package("p", {}))
    environ = factory.local_environment(plan, config, {}, is_attended=is_attended)
    assert json.loads(environ["EAGLERAY_RUN"])["input"] is is_attended
    # Jobs have none.
    assert json.loads(encode_config(plan, config))["input"] is False


def test_pythonpath_of_the_user_follows_the_package() -> None:
    assert with_site({}, "/x", "p") == "/x/p/site"
    assert with_site({"PYTHONPATH": "/mine:"}, "/x", "p") == "/x/p/site:/mine:"
    outer = {"PYTHONPATH": "/y/_eagleray_run_1/site:/mine"}
    assert with_site(outer, "/x", "_eagleray_run_2") == "/x/_eagleray_run_2/site:/mine"


def test_debug_port_of_a_paused_worker_is_not_used() -> None:
    row = WorkerRow("w1", "worker", "n", "10.0.0.1", 7, 4000, 0, 5000)
    rows = [
        row,
        evolve(row, worker_id="w2", paused_threads=1),
        evolve(row, worker_id="w3", started_ms=999),
        evolve(row, worker_id="w4", debug_port=0),
        evolve(row, worker_id="w5", started_ms=0),
        evolve(row, worker_id="d1", kind="driver", debug_port=4001),
    ]
    assert [proxy.key for proxy in in_table(rows, 1000, [4001])] == ["w1", "w5"]
    assert [proxy.key for proxy in in_table(rows, 1000)] == ["w1", "w5", "d1"]


def test_slurm_confirmation_shows_the_command() -> None:
    plan = RunPlan(
        kind="sbatch", argv=("sbatch", "a b.sub", "x"), cwd="/w", name="a b.sub", env={"N": "1 2"}
    )
    assert command_text(plan) == "N='1 2' sbatch 'a b.sub' x"
    assert command_text(evolve(plan, env={"MY_KEY": "abc"})) == "MY_KEY=… sbatch 'a b.sub' x"
    assert (
        confirm_text(evolve(plan, cluster="ssh://login")) == f"In /w on login: {command_text(plan)}"
    )
    assert confirm_text(evolve(plan, kind="command")) == ""


def test_environment_of_the_chosen_python_is_active(tmp_path: Path) -> None:
    """As in a terminal of the editor, which activates it, and not as in the editor itself."""
    venv, conda, plain = (tmp_path / name / "bin" / "python" for name in ("venv", "conda", "usr"))
    for python in (venv, conda, plain):
        python.parent.mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "conda" / "conda-meta").mkdir()
    environ = {"PATH": f"/usr/bin:{venv.parent}:/bin", "ELECTRON_RUN_AS_NODE": "1", "HOME": "/h"}
    activated = activated_environment(environ, str(venv))
    assert activated["PATH"] == f"{venv.parent}:/usr/bin:/bin"
    assert (activated["VIRTUAL_ENV"], activated["HOME"]) == (str(tmp_path / "venv"), "/h")
    assert activated_environment(environ, str(conda))["PATH"] == f"{conda.parent}:{environ['PATH']}"
    for python in (str(plain), "", "python", str(tmp_path / "gone" / "bin" / "python")):
        as_it_is = {"PATH": environ["PATH"], "HOME": "/h"}
        assert activated_environment(environ, python) == as_it_is
