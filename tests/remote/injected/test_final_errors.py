"""Post-mortem stops at the program's line wherever an error is final, and at no error that is expected."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eagleray.remote.injected.hooks.failures import handled
from eagleray.remote.injected.hooks.program_stops import is_echo
from eagleray.remote.injected.settings import RunSettings

from tests.remote.injected.runs import Run, RunDebugging, line_of
from tests.remote.injected.test_plain_programs import Programs, driver_proxy, said

FAILS = """\
import sys


def fail():
    raise ValueError("of the program")  # stop: fails

"""
PROGRAMS = {
    "hydra": """
import hydra
# It would write into the current folder.
sys.argv += ["hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=none"]
@hydra.main(version_base=None)
def main(config):
    fail()
main()
""",
    "click": """
import click
@click.command()
def main():
    fail()
main()
""",
    "own excepthook, as typer has": """
sys.excepthook = lambda kind, error, trace: print("pretty", file=sys.stderr)
fail()
""",
    "exit of the program itself": """
try:
    fail()
except Exception as error:
    print(error)
    sys.exit(3)
""",
    "exit without clean-up, as launchers of training have": """
import os, traceback
try:
    fail()
except Exception:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(3)
""",
    "class that a library creates": """
import hydra.utils
hydra.utils.instantiate({"_target_": "__main__.fail"})
""",
    "thread": """
import threading
thread = threading.Thread(target=fail)
thread.start()
thread.join()
""",
    "future": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor() as pool:
    pool.submit(fail).result()
""",
    "task group": """
import asyncio
async def work():
    fail()
async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(60))
        group.create_task(work())
asyncio.run(main())
""",
    "pytest": """
import pytest
def test_that_is_expected_to_fail():
    with pytest.raises(ValueError):
        fail()
    pytest.raises(ValueError, fail)
@pytest.mark.xfail
def test_marked():
    fail()
def test_skipped():
    pytest.skip("not here")
def test_it():
    fail()
""",
    "unittest": """
import unittest
class Test(unittest.TestCase):
    @unittest.expectedFailure
    def test_expected(self):
        fail()
    def test_it(self):
        self.assertRaises(ValueError, fail)
        fail()
unittest.main()
""",
}
FREED = """
import gc, threading, weakref
class Tensor:
    pass
class OwnError(Exception):
    pass
def work(kind):
    tensor = Tensor()
    held.append(weakref.ref(tensor))
    raise kind("final")  # stop: raises
for kind in (ValueError, OwnError):
    held = []
    thread = threading.Thread(target=work, args=(kind,), name="work")
    thread.start()
    thread.join()
    gc.collect()
    print(held[0]() is None)
"""
CONTROL_FLOW = """
import argparse, os, threading
class Items:
    def __getattr__(self, name):
        raise AttributeError(name)
    def __getitem__(self, at):
        raise IndexError(at)
assert not hasattr(Items(), "x") and list(Items()) == []
def retried(times=[1, 2]):
    if times.pop():
        fail()
try:
    fail()
except ValueError:
    pass
threading.Thread(target=sys.exit, args=(1,)).start()
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int)
try:
    parser.parse_args(["--steps", "many"])
except SystemExit:
    pass
# Ray's own threads, such as one of Ray Train that watches placement groups, may fail without harm.
ray = {"__name__": "ray.train.v2._internal.watching"}
exec("def watch(): raise ConnectionError", ray)
thread = threading.Thread(target=ray["watch"])
thread.start()
thread.join()
sys.stderr.flush()
try:
    fail()
except ValueError:
    os._exit(0)
"""


@pytest.fixture
def start() -> Iterator[Programs]:
    programs = Programs(sys.executable)
    yield programs
    programs.end()


def written(folder: Path, text: str) -> Path:
    file = folder / "program.py"
    file.write_text(FAILS + text)
    return file


@pytest.mark.parametrize("name", PROGRAMS)
def test_final_error_stops_at_the_line_of_the_program(
    start: Programs, tmp_path: Path, name: str
) -> None:
    file = written(tmp_path, PROGRAMS[name])
    run = Run(tmp_path, breakpoints=[], post_mortem=True, main="program.py")
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if name == "pytest" else []
    # Plugins of pytest cost more than the test.
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    program = start(run, *command, file, **env)
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        assert debugging.stop() == ("fail", line_of(file, "fails"))
        # A program that ends by `os._exit` may do so before the debugger answers.
        debugging.client.send("continue", threadId=debugging.thread)
        with_us = said(program)
    without_us = said(start(None, *command, file, **env))
    assert with_us[0] == without_us[0]
    if name != "pytest" and name != "unittest":
        # These programs print durations.
        assert with_us == without_us


def test_handled_error_is_the_one_whatever_the_arguments() -> None:
    error = ValueError("in a cell")
    try:
        raise error
    except ValueError:
        # As IPython calls `showtraceback`.
        assert handled(object(), running_compiled_code=True) is error
    assert handled() is None


@pytest.mark.parametrize(("module", "stops"), [("__main__", False), ("ray.train.v2", True)])
def test_driver_of_ray_train_stops_only_where_no_worker_has(module: str, stops: bool) -> None:
    # As ray.train.WorkerGroupError of Ray 2.60: without a cause, with the errors of ranks; Ray's own for one that died.
    failure = type("Failure", (Exception,), {"__module__": module})()
    error = type("WorkerGroupError", (Exception,), {"__module__": "ray.train"})()
    error.worker_failures = {1: failure}
    settings = RunSettings({"post_mortem": True})
    process: Any = SimpleNamespace(settings=settings, last_failure=None)
    assert is_echo(process, error) is not stops


def test_errors_that_are_handled_or_refuse_arguments_stop_nothing(
    start: Programs, tmp_path: Path
) -> None:
    file = written(tmp_path, CONTROL_FLOW)
    run = Run(tmp_path, breakpoints=[], post_mortem=True, main="program.py", wait_s=100)
    # A stop would wait for a debugger, which doesn't come.
    assert said(start(run, file)) == said(start(None, file))
    assert not run.proxy_files()


@pytest.mark.parametrize("has_debugger", [False, True])
def test_objects_of_a_failed_call_are_freed(
    start: Programs, tmp_path: Path, has_debugger: bool
) -> None:
    file = written(tmp_path, FREED)
    run = Run(tmp_path, breakpoints=[], post_mortem=True, main="program.py")
    run.settings["wait_s"] = 30 if has_debugger else 0.1
    program = start(run, file)
    if has_debugger:
        with driver_proxy(run) as proxy:
            debugging = RunDebugging(proxy, run)
            for _ in range(2):
                assert debugging.stop() == ("work", line_of(file, "raises"))
                debugging.go_on()
    # Without the run, the errors of the threads are printed, too.
    assert said(program) == said(start(None, file))
