"""Break on Failure stops the run's main program; Python helpers of it that fail end at once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected import starting
from eagleray.remote.injected.hooks import failures
from eagleray.remote.injected.hooks.driver import Driver
from eagleray.remote.injected.hooks.failures import FailureHook
from eagleray.remote.injected.import_hook import ImportHook
from eagleray.remote.injected.settings import INSIDE, RunSettings

from tests.remote.injected.fake_ray import install_fake_ray
from tests.remote.injected.runs import ProxyTestClient, Run, RunDebugging

PROGRAMS = Path(__file__).parent / "programs"
PROCESSES: list[subprocess.Popen[str]] = []
FAILS = "raise ValueError('of a helper')\n"
SCRIPT = """\
python -c "raise ValueError('of a probe')" || echo none
python check.py || echo none
python -m checks.gpu || echo none
python train.py
"""
TRAIN = """\
import subprocess, sys
for words in (["-c", "raise ValueError"], ["check.py"], ["-m", "checks.gpu"]):
    print(subprocess.call([sys.executable, *words]), flush=True)
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A run whose processes would wait for their debuggers for ever; they have ended when the test ends."""
    (tmp_path / "checks").mkdir()
    for name in ("check.py", "checks/gpu.py"):
        (tmp_path / name).write_text(FAILS)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "run.sh").write_text(SCRIPT)
    yield Run(tmp_path, breakpoints=[], post_mortem=True, main="train.py", wait_s=10_000)
    for program in PROCESSES:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
    PROCESSES.clear()


def started(run: Run, *words: str, **env: str) -> subprocess.Popen[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    program = subprocess.Popen(
        words,
        env={**os.environ, **run.env(PATH=path, **env)},
        cwd=run.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    PROCESSES.append(program)
    return program


@pytest.mark.parametrize("children", [False, True])
def test_helpers_of_a_script_and_of_the_program_are_left_alone(run: Run, children: bool) -> None:
    run.settings["children"] = children
    program = started(run, "bash", "run.sh")
    out, err = program.communicate(timeout=90)
    assert out.split() == ["none"] * 3 + ["1"] * 3
    assert err.count("\nValueError") == 6 and "eagleray" not in err


def test_run_whose_main_program_is_unknown_stops_nothing_before_it_has_joined(run: Run) -> None:
    run.settings["main"] = ""
    program = started(run, "python", "check.py")
    assert "of a helper" in program.communicate(timeout=90)[1]


@pytest.mark.parametrize("words", [["bash", "main.sh"], ["python", "-m", "train"]])
def test_main_program_stops_before_it_has_joined(run: Run, words: list[str]) -> None:
    (run.folder / "train.py").write_text("import no_such_module\n")
    (run.folder / "main.sh").write_text("python check.py\npython train.py\n")
    run.settings["main"] = "-m train" if "-m" in words else "train.py"
    program = started(run, *words)
    assert stops(run) == ("<module>", 1)
    assert "no_such_module" in program.communicate(timeout=90)[1]


def test_helper_that_has_joined_stops(run: Run) -> None:
    install_fake_ray(run.folder)
    code = "from ray._private import worker; worker.connect(); raise ValueError('joined')"
    program = started(run, "python", "-c", code, PORT_FILE=str(run.folder / "port"))
    assert stops(run) == ("<module>", 1)
    assert "joined" in program.communicate(timeout=90)[1]


def stops(run: Run) -> tuple[str, int]:
    """Returns the place where the process with a debug proxy is stopped; it continues from there."""
    file = run.wait_proxy_file()
    proxy = ProxyTestClient(file["host"], file["port"])
    debugging = RunDebugging(proxy, run)
    name, line = debugging.stop()
    debugging.go_on()
    proxy.close()
    return name.partition(" ")[0], line


def test_failure_of_a_helper_enters_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[Any] = []
    monkeypatch.setattr(failures, "stop_at_failure", lambda process, error: entered.append(error))
    monkeypatch.setattr(sys, "excepthook", lambda *error: None)
    one = Driver(RunSettings({"post_mortem": True, "main": "train.py"}), "driver", ImportHook())
    FailureHook(one.process, ImportHook(), one._fails_the_run)._watch_excepthook()
    error = ValueError("a failure")
    sys.excepthook(ValueError, error, None)
    assert entered == []
    one._has_connected = True
    sys.excepthook(ValueError, error, None)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert entered == [error]


@pytest.mark.parametrize("supervisor", starting.JOB_SUPERVISORS)
def test_driver_of_a_submitted_job_is_not_a_child_of_a_worker(
    monkeypatch: pytest.MonkeyPatch, supervisor: str
) -> None:
    monkeypatch.setenv(INSIDE, "")
    arrivals = ImportHook()
    starting.start_worker(RunSettings({}), arrivals)
    assert os.environ[INSIDE] == "worker"
    monkeypatch.setitem(sys.modules, supervisor, types.ModuleType(supervisor))
    arrivals._extend(supervisor, sys.modules[supervisor])
    assert starting.kind_of(["python", "train.py"], os.environ) == "driver"
