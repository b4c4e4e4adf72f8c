"""Functions that cloudpickle 3.1.3 sends keep the name of their file, in which breakpoints are found."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import ray.cloudpickle
from eagleray.remote.injected.hooks import pickling

from tests.remote.injected.runs import Run

CLOUDPICKLE = ray.cloudpickle.cloudpickle
# A package named like PyPI's, with what matters of it.
PACKAGE = """\
from types import CodeType
def _code_reduce(code):
    return CodeType, (1, b"", "<dynamic-code>", code.co_name)
class CloudPickler:
    _dispatch_table = {CodeType: _code_reduce}
def _function_setstate(function, state):
    pass
"""
PRINTS = """\
from types import CodeType
from cloudpickle import cloudpickle
def work():
    pass
print(cloudpickle.CloudPickler._dispatch_table[CodeType](work.__code__)[1][2] == __file__)
print(cloudpickle._function_setstate.__code__.co_filename == cloudpickle.__file__)
"""


def nested() -> Callable[[], Any]:
    secret = 1

    def outer() -> Any:
        return lambda: secret

    return outer


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ray's cloudpickle with the names of files that version 3.1.3 of the package writes."""
    table = CLOUDPICKLE.CloudPickler._dispatch_table
    before = table[CodeType]

    def _code_reduce(code: CodeType) -> Any:
        make, arguments = before(code)
        name = code.co_filename
        return make, tuple("<dynamic-code>" if part == name else part for part in arguments)

    monkeypatch.setitem(table, CodeType, _code_reduce)
    yield


def files() -> set[str]:
    made = pickle.loads(ray.cloudpickle.dumps(nested()))
    return {made.__code__.co_filename, made().__code__.co_filename}


def test_functions_keep_their_file_and_so_do_functions_within_them(newer: None) -> None:
    assert files() == {"<dynamic-code>"}
    pickling._extend(CLOUDPICKLE)
    assert files() == {__file__}


def test_pickles_of_older_versions_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = CLOUDPICKLE.CloudPickler._dispatch_table
    monkeypatch.setitem(table, CodeType, table[CodeType])
    made = nested()
    before = ray.cloudpickle.dumps(made)
    pickling._extend(CLOUDPICKLE)
    assert ray.cloudpickle.dumps(made) == before


@pytest.mark.parametrize("workers", [[], ["Policy*"]])
def test_process_that_the_run_does_not_select_keeps_the_names_too(
    tmp_path: Path, workers: list[str]
) -> None:
    package = tmp_path / "cloudpickle"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "cloudpickle.py").write_text(PACKAGE)
    program = tmp_path / "prints.py"
    program.write_text(PRINTS)
    points = [{"path": "/elsewhere/x.py", "lines": [{"line": 9}]}]
    run = Run(tmp_path, breakpoints=points, workers=workers)
    command = [sys.executable, str(program)]
    done = subprocess.run(command, env={**run.env()}, capture_output=True, text=True, check=False)
    # A driver that isn't selected receives no code to stop in.
    assert done.stdout.splitlines() == ["True", str(bool(workers))]
