"""Post-mortem stops at the program's line wherever an error is final, and at no error that is expected."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.injected.hooks.failures import handled

from tests.injected.runs import Run, RunDebugging, line_of
from tests.injected.test_plain_programs import Programs, driver_proxy, said

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
import argparse, threading
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
parser.parse_args(["--steps", "many"])
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
        debugging.go_on()
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


def test_errors_that_are_handled_or_refuse_arguments_stop_nothing(
    start: Programs, tmp_path: Path
) -> None:
    file = written(tmp_path, CONTROL_FLOW)
    run = Run(tmp_path, breakpoints=[], post_mortem=True, main="program.py", wait_s=60)
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
