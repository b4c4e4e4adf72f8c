"""Describes a Python of this machine: its version and its Ray, without importing any package.

An answer is cached until the program or one of its folders of packages changes, so that a page can request it with each
key that is typed.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from attrs import frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.runs.errors import missing_python, not_a_python, silent_python
from eagleray.runs.model import InterpreterFacts
from eagleray.runs.program_kind import python_here
from eagleray.runs.program_python import (
    activated_environment,
    changed_at,
    files_on_path,
    printed_json,
)

# A Python on a network file system may take long to start.
LIMIT_S = 10.0
_MOST_CACHED = 50
# The folder in which it runs has the files of the program, not the files of an environment.
_PROBE = """\
import sys
sys.path.pop(0)
import importlib.metadata, importlib.util, json, os
try:
    ray = importlib.metadata.version("ray")
except Exception:
    spec = importlib.util.find_spec("ray")
    ray = "?" if spec is not None and spec.origin is not None else ""
print(json.dumps([sys.version.split()[0], ray, [path for path in sys.path if os.path.isdir(path)]]))
"""

# The parts that decide the answer: the program, its PYTHONPATH, and when the program was changed.
_Key = tuple[str, str, float]


@frozen
class _Cached:
    facts: InterpreterFacts
    # The folders of packages, with the time of their last change.
    folders: Mapping[str, float]


class Interpreters:
    """Lives on one event loop."""

    def __init__(self) -> None:
        self._cache: dict[_Key, _Cached] = {}

    async def facts(self, python: str, cwd: str, env: Mapping[str, str]) -> InterpreterFacts:
        """Returns the facts of a path or a name on the PATH, "" for the first one there, in the environment of a run;
        raises an error of the catalogue.
        """
        return await off_loop(partial(self._facts, python, cwd, env))

    def _facts(self, python: str, cwd: str, env: Mapping[str, str]) -> InterpreterFacts:
        environ = {**activated_environment(os.environ, python), **env}
        python = python or python_here(environ)
        files = files_on_path(python, cwd, environ.get("PATH"))
        program = next((file for file in files if os.access(file, os.X_OK)), None)
        if program is None or not program.is_file():
            raise missing_python(python)
        key = (str(program), environ.get("PYTHONPATH", ""), changed_at(program))
        cached = self._cache.get(key)
        if cached is not None and all(
            changed_at(Path(p)) == at for p, at in cached.folders.items()
        ):
            return cached.facts
        facts, folders = _probed(str(program), cwd, environ)
        while len(self._cache) >= _MOST_CACHED:
            self._cache.pop(next(iter(self._cache)), None)
        self._cache[key] = _Cached(facts, {folder: changed_at(Path(folder)) for folder in folders})
        return facts


def _probed(
    python: str, cwd: str, environ: Mapping[str, str]
) -> tuple[InterpreterFacts, list[str]]:
    try:
        folder = cwd if Path(cwd).is_dir() else None
        version, ray, folders = printed_json([python, "-c", _PROBE], folder, environ, LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise silent_python(python, LIMIT_S) from error
    except OSError as error:
        raise not_a_python(python, error.strerror or str(error)) from error
    except (ValueError, TypeError) as error:
        raise not_a_python(python, str(error)) from error
    facts = InterpreterFacts(python, printable(str(version), 40), printable(str(ray), 40))
    return facts, [str(folder) for folder in folders]
