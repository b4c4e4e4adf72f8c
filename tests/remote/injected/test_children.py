"""Processes that a debugged process starts, and programs that it becomes by `exec`, run and stop like any other of the run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import debugpy
import psutil
import pytest
from eagleray.remote.injected.debugpy.attached_child import original_command

from tests.adapter.harness import PYTHONS
from tests.ray_cluster import wait_for
from tests.remote.injected.runs import ProxyTestClient, Run, RunDebugging, breakpoints, line_of

PROGRAMS = Path(__file__).parent / "programs"
FAMILY, STARTER, STARTED = (PROGRAMS / name for name in ("family.py", "starter.py", "started.py"))
PYDEVD = Path(debugpy.__file__).parent / "_vendored" / "pydevd"


@contextmanager
def started(
    run: Run, python: str, *words: str | Path, **env: str
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [python, *map(str, words)],
        env={**os.environ, **run.env(**env)},
        cwd=PROGRAMS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def proxy_of(file: dict[str, Any]) -> closing[ProxyTestClient]:
    return closing(ProxyTestClient(file["host"], file["port"]))


def adapter_of(pid: int) -> psutil.Process:
    """debugpy's adapter of the process, which isn't its child: it has the same run in its environment."""
    run = psutil.Process(pid).environ()["EAGLERAY_RUN"]
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_adapter = any("debugpy.adapter" in word for word in process.cmdline())
            if is_adapter and process.environ().get("EAGLERAY_RUN") == run:
                return process
    raise AssertionError("no adapter of debugpy")


def other_file(run: Run, first: dict[str, Any]) -> dict[str, Any]:
    def others() -> list[dict[str, Any]]:
        return [file for file in run.proxy_files() if file["image"] != first["image"]]

    found: dict[str, Any] = wait_for("another debug proxy", others)[0]
    return found


@pytest.mark.parametrize(
    ("method", "python"),
    [*(("spawn", python) for python in PYTHONS), ("forkserver", sys.executable)],
)
def test_child_of_multiprocessing_stops_and_continues(
    tmp_path: Path, method: str, python: str
) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(FAMILY, "work"), children=True)
    with started(run, python, FAMILY, method) as program:
        file = run.wait_proxy_file()
        with proxy_of(file) as proxy:
            RunDebugging(proxy, run)
            with proxy_of(other_file(run, file)) as of_child:
                debugging = RunDebugging(of_child, run)
                assert debugging.stop() == ("work", line_of(FAMILY, "work"))
                debugging.go_on()
                assert program.communicate(timeout=60)[0] == "child 5\n"


@pytest.mark.parametrize("how", ["execvpe", "spawnve", "posix_spawn"])
def test_program_that_a_debugged_one_starts_or_becomes_stops(tmp_path: Path, how: str) -> None:
    points = breakpoints(STARTER, "starts") + breakpoints(STARTED, "started")
    run = Run(tmp_path, breakpoints=points, children=True)
    with started(run, sys.executable, STARTER, how) as program:
        file = run.wait_proxy_file()
        with proxy_of(file) as proxy:
            debugging = RunDebugging(proxy, run)
            assert debugging.stop() == ("<module>", line_of(STARTER, "starts"))
            debugging.client.send("continue", threadId=debugging.thread)
            if how == "spawnve":
                # debugpy takes the fork, until it becomes another program.
                pid = debugging.client.wait_for("debugpyAttach")["body"]["subProcessId"]
                proxy.debug(pid).attach(subProcessId=pid)
            second = other_file(run, file)
            assert (second["pid"] == file["pid"]) == how.startswith("exec")
            with proxy_of(second) as of_second:
                debugging = RunDebugging(of_second, run)
                assert debugging.stop() == ("<module>", line_of(STARTED, "started"))
                debugging.go_on()
                assert program.communicate(timeout=60) == (f"['{how}']\n", "")
                assert program.returncode == 5


def test_child_on_a_node_without_the_folder_is_debugged_by_debugpy(tmp_path: Path) -> None:
    points = breakpoints(STARTER, "starts") + breakpoints(STARTED, "started")
    run = Run(tmp_path, breakpoints=points, children=True)
    with started(run, sys.executable, STARTER, "posix_spawn") as program:
        file = run.wait_proxy_file()
        run.proxies.rename(tmp_path / "away")
        with proxy_of(file) as proxy:
            debugging = RunDebugging(proxy, run)
            debugging.stop()
            debugging.client.send("continue", threadId=debugging.thread)
            pid = debugging.client.wait_for("debugpyAttach")["body"]["subProcessId"]
            child = proxy.debug(pid)
            child.attach(
                breakpoints={str(STARTED): [line_of(STARTED, "started")]}, subProcessId=pid
            )
            thread = child.wait_for("stopped")["body"]["threadId"]
            child.request("continue", threadId=thread)
            assert program.communicate(timeout=60)[0] == "['posix_spawn']\n"
            assert program.returncode == 5


def test_program_that_gets_nothing_of_the_run_runs_to_its_own_end(tmp_path: Path) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(STARTER, "starts"), children=True)
    with (
        started(run, sys.executable, STARTER, "clean") as program,
        proxy_of(run.wait_proxy_file()) as proxy,
    ):
        debugging = RunDebugging(proxy, run)
        debugging.stop()
        debugging.client.send("continue", threadId=debugging.thread)
        assert program.communicate(timeout=60) == ("['clean']\n", "")
        assert program.returncode == 5
        assert proxy.wait("ended")


def test_fork_after_the_end_of_the_debugger_runs_undebugged(tmp_path: Path) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(STARTER, "starts"), children=True)
    with (
        started(run, sys.executable, STARTER, "fork") as program,
        proxy_of(run.wait_proxy_file()) as proxy,
    ):
        debugging = RunDebugging(proxy, run)
        debugging.stop()
        debugging.go_on()
        adapter = adapter_of(program.pid)
        adapter.kill()
        gone, _ = psutil.wait_procs([adapter], 60)
        assert gone
        assert program.communicate("\n", timeout=60) == ("forked\n", "")
        assert program.returncode == 0


def test_child_of_a_selected_worker_is_selected(tmp_path: Path) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(STARTED, "started"), children=True)
    run.settings["workers"] = ["*Policy*"]
    with started(run, sys.executable, STARTED, EAGLERAY_RUN_INSIDE="worker selected"):
        assert run.wait_proxy_file()["kind"] == "child"


# How debugpy changes the commands of processes on a node where the run's folder isn't.
CODE = f"import sys; sys.path.insert(0, r'{PYDEVD}'); import pydevd; pydevd.config('http_json', 'debugpy-dap'); "
CODE += "pydevd.settrace(host='127.0.0.1', port={port}, suspend=False, trace_only_current_thread=False, "
CODE += "patch_multiprocessing=True, access_token='a', client_access_token=None, __setup_holder__={{'ppid': 7}}); "
CHANGED = [
    (
        ["-u", f"{PYDEVD}/pydevd.py", "--port", "{port}", "--client", "127.0.0.1", "--file"],
        [str(STARTED), "a"],
        ["-u", str(STARTED), "a"],
    ),
    (
        [f"{PYDEVD}/pydevd.py", "--module", "--port", "{port}", "--client", "127.0.0.1", "--file"],
        ["started", "b"],
        ["-m", "started", "b"],
    ),
    (
        ["-c", CODE + "import sys; print(sys.argv[1:]); sys.exit(5)"],
        ["c"],
        ["-c", "import sys; print(sys.argv[1:]); sys.exit(5)", "c"],
    ),
]


@pytest.mark.parametrize(("changed", "rest", "original"), CHANGED)
def test_child_whose_debugger_has_gone_runs_undebugged(
    tmp_path: Path, changed: list[str], rest: list[str], original: list[str]
) -> None:
    run = Run(tmp_path, breakpoints=[], children=True)
    words = [*(word.format(port=1) for word in changed), *rest]
    assert original_command(["python", *words]) == ["python", *original]
    assert original_command(["python", *original]) is None
    with started(
        run,
        sys.executable,
        *words,
        PYDEVD_DISABLE_FILE_VALIDATION="1",
        EAGLERAY_RUN_INSIDE="selected",
    ) as program:
        out, err = program.communicate(timeout=60)
        assert (program.returncode, out, err) == (5, f"{rest[-1:]}\n", "")
