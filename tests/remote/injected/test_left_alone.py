"""Programs that would notice careless injected code: by child processes, imports, or a missing stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.remote.injected.runs import PACKAGE, Run

# Whoever runs into this time-out waits for ever.
LIMIT = 60

# All children have ended only when none is left.
WAITING = """
import os, subprocess
subprocess.Popen(["true"])
try:
    while True:
        os.wait()
except ChildProcessError:
    print("nobody left")
"""

# Runs our sitecustomize as a Python of that version would.
OLD = """
import sys, runpy
sys.version_info = (3, 6, 8, "final", 0)
runpy.run_path(sys.argv[1])
"""

# A module that a thread of ours is importing exists only by half in a process that is forked meanwhile.
OPENING = """
import os, sys, threading
from importlib import import_module
import_hook, process, settings = (
    import_module(f"{sys.argv[1]}.{name}") for name in ("import_hook", "debuggable_process", "settings")
)
threading.Thread.start = lambda thread: print(f"{sys.argv[1]}.debug_proxy.handle" in sys.modules)
process.DebuggableProcess(settings.read(os.environ), "driver", import_hook.ImportHook()).open_soon()
"""


def ran(run: Run, *words: str | Path, **more: Any) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a Python program of the run."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env={**os.environ, **run.env(), **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    return done.returncode, done.stdout, done.stderr


def program(folder: Path, text: str, name: str = "main.py") -> tuple[Path, list[dict[str, Any]]]:
    """A program and a breakpoint in it."""
    file = folder / name
    file.write_text(text)
    return file, [{"path": str(file), "lines": [{"line": 1}]}]


def test_program_that_waits_for_all_children_does_not_wait_for_a_proxy(tmp_path: Path) -> None:
    file, points = program(tmp_path, WAITING)
    assert ran(Run(tmp_path, breakpoints=points, wait_s=0.2), file) == (0, "nobody left\n", "")


def test_further_files_do_not_wait_after_a_wait_without_debugger(tmp_path: Path) -> None:
    """The limit of this test would be over if each of the files waited for a client."""
    names = [f"late_{number}" for number in range(LIMIT)]
    points = [point for name in names for point in program(tmp_path, "", f"{name}.py")[1]]
    text = "".join(f"import {name}\n" for name in names) + "print('ends')\n"
    file, _ = program(tmp_path, text)
    assert ran(Run(tmp_path, breakpoints=points, wait_s=1), file) == (0, "ends\n", "")


def test_program_without_stderr_runs_without_messages(tmp_path: Path) -> None:
    file, _ = program(tmp_path, "print('ends')\n")
    run = Run(tmp_path, breakpoints=[])
    closed = [
        "-c",
        f"import os; os.close(2); os.execv({sys.executable!r}, ['python', {str(file)!r}])",
    ]
    (run.path / PACKAGE / "starting.py").write_text("raise ValueError")
    assert ran(run, "-S", *closed) == (0, "ends\n", "")
    (run.path / PACKAGE / "starting.py").write_text(
        "from .trouble import say\ndef start(site): say('here', ValueError())\n"
    )
    assert ran(run, "-S", *closed) == (0, "ends\n", "")


def test_older_python_does_not_run_our_code(tmp_path: Path) -> None:
    run = Run(tmp_path, breakpoints=[])
    site = run.path / PACKAGE / "site" / "sitecustomize.py"
    (run.path / PACKAGE / "starting.py").write_text("raise ValueError")
    assert ran(run, "-S", "-c", OLD, site) == (0, "", "")


def test_no_module_is_imported_in_a_thread(tmp_path: Path) -> None:
    run = Run(tmp_path, breakpoints=[])
    assert ran(run, "-c", OPENING, PACKAGE) == (0, "True\n", "")


def test_compiled_files_are_written_only_into_our_own_folder(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("")
    file, points = program(tmp_path, "import beside, colorsys\nprint('done')\n")
    run = Run(tmp_path, breakpoints=points, wait_s=0.1)
    for _ in range(2):
        assert ran(run, file, PYTHONDONTWRITEBYTECODE="1") == (0, "done\n", "")
    compiled = list(tmp_path.rglob("*.pyc"))
    assert compiled and all(run.path / PACKAGE in file.parents for file in compiled)
    sources = (run.path / PACKAGE).rglob("*.py")
    assert len(compiled) == len(list(sources))
