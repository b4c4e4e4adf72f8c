"""Files about processes in the run's folder: files of equal pids in several containers don't collide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from eagleray.remote.injected import ray_worker, run_folder
from eagleray.remote.injected.settings import RunSettings
from eagleray.runs.model import RunState
from eagleray.runs.records import RunRecord
from eagleray.runs.run_discovery import JoinedCluster, in_folder, joined_in

from tests.ray_cluster import wait_for
from tests.remote.injected.runs import PACKAGE, RUN, Run, breakpoints

# Each of two processes runs this as pid 1 of its own, with the same host name.
PROGRAM = """\
import os, sys
print(os.getpid(), flush=True)  # stop: here
sys.stdin.read()
"""


def in_container(run: Run, *words: str) -> subprocess.Popen[bytes]:
    """A program that has pid 1, as in a container."""
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    return subprocess.Popen(
        ["unshare", *user, "--pid", "--fork", "--kill-child", sys.executable, *words],
        env={**os.environ, **run.env()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_equal_pids_in_two_containers_have_proxies_of_their_own(tmp_path: Path) -> None:
    main = tmp_path / "main.py"
    main.write_text(PROGRAM)
    run = Run(tmp_path, breakpoints=breakpoints(main, "here"), wait_s=60)
    programs = [in_container(run, str(main))]
    try:
        wait_for("the first proxy", lambda: len(run.proxy_files()) == 1)
        programs.append(in_container(run, str(main)))
        files = wait_for(
            "both debug proxies", lambda: len(files := run.proxy_files()) == 2 and files
        )
        assert [file["pid"] for file in files] == [1, 1]
        assert len({file["port"] for file in files}) == 2
    finally:
        for program in programs:
            program.kill()
            program.communicate()


def test_process_that_starts_after_the_end_of_its_run_waits_for_no_debugger(tmp_path: Path) -> None:
    main = tmp_path / "main.py"
    main.write_text(PROGRAM)
    run = Run(tmp_path, breakpoints=breakpoints(main, "here"), children=True, wait_s=600)
    record = RunRecord(RUN, run.proxies)
    record.write_state(RunState("exited", 1.0, ended=2.0))
    for inside in ("", "worker selected"):
        words = [sys.executable, str(main)]
        env = {**os.environ, **run.env(EAGLERAY_RUN_INSIDE=inside)}
        subprocess.run(words, env=env, check=True, stdin=subprocess.DEVNULL, timeout=300)
    assert run.proxy_files() == []


def test_file_of_a_program_is_not_a_state_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the folder of the run isn't shared, as in a batch job."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state.json").write_text('{"ended": 2.0}')
    assert not run_folder.is_over(RunSettings({"run": RUN, "folder": ""}))
    assert run_folder.is_over(RunSettings({"run": RUN, "folder": str(tmp_path)}))


def test_name_belongs_to_the_process_and_not_to_its_forked_child() -> None:
    mine = run_folder.file_name("proxy")
    assert mine == run_folder.file_name("proxy")
    assert mine.startswith(f"proxy-{os.uname().nodename}-{os.getpid()}-")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, run_folder.file_name("proxy").encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reading, 1000).decode()
    assert theirs.split("-")[-2] == str(child) and theirs.split("-")[-1] != mine.split("-")[-1]


def test_drivers_of_equal_pids_each_name_their_cluster(tmp_path: Path) -> None:
    code = (
        f"from {PACKAGE} import ray_worker\n"
        f"from {PACKAGE} import run_folder\n"
        f"from {PACKAGE}.settings import RunSettings\n"
        "import os, sys\n"
        "os.getpid = lambda: 1\n"
        "ray_worker.facts = lambda: {'gcs': sys.argv[1]}\n"
        "for _ in range(2):\n"
        "    run_folder.write_driver_file(RunSettings({'folder': sys.argv[2]}))\n"
    )
    run = Run(tmp_path)
    for gcs in ("first", "second"):
        subprocess.run(
            [sys.executable, "-c", code, gcs, str(run.proxies)],
            env={**os.environ, "PYTHONPATH": str(run.path)},
            check=True,
        )
    found = [json.loads(file.read_text())["gcs"] for file in run.proxies.iterdir()]
    assert sorted(found) == ["first", "second"]


def test_driver_writes_its_cluster_after_each_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("ray._private.worker")
    vars(module)["connect"] = lambda node, mode=0: (node, mode)
    monkeypatch.setattr(ray_worker, "facts", lambda: {"gcs": "192.0.2.1:6379"})
    settings = RunSettings({"folder": str(tmp_path)})
    ray_worker.after_connecting(module, lambda: run_folder.write_driver_file(settings))
    assert module.connect("node", mode=1) == ("node", 1)
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text()) == {"gcs": "192.0.2.1:6379"}
    assert file.stat().st_mode & 0o777 == 0o600
    assert joined_in(tmp_path) == [JoinedCluster("192.0.2.1:6379")]
    assert list(in_folder(tmp_path)) == []


def test_failure_of_our_code_does_not_reach_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = types.ModuleType("ray._private.worker")
    vars(module)["connect"] = lambda: "connected"
    monkeypatch.setattr(ray_worker, "facts", lambda: {"gcs": object()})
    settings = RunSettings({"folder": str(tmp_path)})
    ray_worker.after_connecting(module, lambda: run_folder.write_driver_file(settings))
    assert module.connect() == "connected"
    assert joined_in(tmp_path) == []
    assert "breakpoints may not work here" in capsys.readouterr().err


def test_folder_of_another_machine_is_not_created(tmp_path: Path) -> None:
    run_folder.write_driver_file(RunSettings({"folder": str(tmp_path / "elsewhere")}))
    assert list(tmp_path.iterdir()) == []
