"""The rules by which a process of a run decides: who is meant, which file is which, what Ray is given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from eagleray.injected import settings, starting
from eagleray.injected.file_copies import BreakpointFiles, code_files
from eagleray.injected.hooks import runtime_env
from eagleray.injected.settings import RunSettings
from eagleray.injected.worker_patterns import (
    is_driver_selected,
    is_selected,
    matchable_names,
    rank_of,
)

NAMES = matchable_names("verl.workers.fsdp", "ActorRolloutRefWorker", "wg_actor_0:3")


@pytest.mark.parametrize(
    ("patterns", "ranks", "rank", "expected"),
    [
        ([], None, None, True),
        (["*Rollout*"], None, None, True),
        (["rollout*"], None, None, False),
        (["verl.workers.*"], None, None, True),
        ([" wg_actor_* ", ""], None, None, True),
        (["Critic, wg_actor_*,"], None, None, True),
        (["Critic", "ActorRolloutRefWorker"], None, None, True),
        (["wg_[!a]*"], None, None, False),
        ([], [0, 3], 3, True),
        ([], [0, 3], 2, False),
        ([], [0], None, None),
        (["Critic"], [0], None, False),
    ],
)
def test_who_is_meant(
    patterns: list[str], ranks: list[int] | None, rank: int | None, expected: bool | None
) -> None:
    assert is_selected(RunSettings({"workers": patterns, "ranks": ranks}), NAMES, rank) is expected


@pytest.mark.parametrize(
    ("environ", "actor", "rank"),
    [
        ({"RANK": "5"}, "policy-2", 5),
        ({}, "policy-2", 2),
        ({}, "wg_actor_0:3", 3),
        ({"RANK": "none"}, "trainer", None),
        ({}, "qwen3", None),
    ],
)
def test_the_rank_of_a_worker(environ: dict[str, str], actor: str, rank: int | None) -> None:
    assert rank_of(environ, actor) == rank


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, True),
        ({"workers": ["*Policy*"]}, False),
        ({"workers": ["*Policy*", "driver"]}, True),
        ({"ranks": [0]}, False),
    ],
)
def test_a_filter_leaves_the_driver_alone(values: dict[str, object], expected: bool) -> None:
    assert is_driver_selected(RunSettings(values)) is expected


UPLOADED = "/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_0a"
MODULE = "/tmp/ray/session_1/runtime_resources/py_modules_files/_ray_pkg_1b"


@pytest.mark.parametrize(
    ("path", "file", "module", "is_it"),
    [
        ("/home/me/app/steps.py", "/home/me/app/steps.py", "", True),
        ("/home/me/app/steps.py", f"{UPLOADED}/steps.py", "steps", True),
        ("/home/me/app/umod/steps.py", f"{UPLOADED}/umod/steps.py", "umod.steps", True),
        ("/home/me/app/steps.py", f"{UPLOADED}/umod/steps.py", "umod.steps", False),
        ("/home/me/src/losses/ppo.py", f"{MODULE}/losses/ppo.py", "losses.ppo", True),
        ("/mnt/verl/verl/trainer/ppo.py", "/opt/site-packages/verl/trainer/ppo.py", "verl.trainer.ppo", True),
        ("/mnt/verl/verl/__init__.py", "/opt/site-packages/verl/__init__.py", "verl", False),
        ("/mnt/v/verl/a/__init__.py", "/opt/site-packages/verl/a/__init__.py", "verl.a", True),
        ("/home/me/one/utils.py", "/home/me/two/utils.py", "utils", False),
        ("/home/me/one/a/utils.py", "/home/me/two/b/utils.py", "b.utils", False),
    ],
)  # fmt: skip
def test_the_same_file_elsewhere(path: str, file: str, module: str, is_it: bool) -> None:
    assert BreakpointFiles([path]).path_of(file, module) == (path if is_it else "")


def test_a_file_is_known_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "a b.py").touch()
    wanted = str(tmp_path / "link" / "a b.py")
    assert BreakpointFiles([wanted]).path_of(str(tmp_path / "real" / "a b.py")) == wanted


def test_another_text_is_no_copy(tmp_path: Path) -> None:
    mine, copy = tmp_path / "mine" / "pkg" / "a.py", tmp_path / "site" / "pkg" / "a.py"
    for file in (mine, copy):
        file.parent.mkdir(parents=True)
        file.write_text("x = 1\n")
    places = BreakpointFiles([str(mine)])
    assert places.path_of(str(copy), "pkg.a") == str(mine)
    copy.write_text("x = 2\n")
    assert places.path_of(str(copy), "pkg.a") == ""


def test_the_file_itself_goes_before_its_copy() -> None:
    copy = f"{UPLOADED}/steps.py"
    places = BreakpointFiles(["/home/me/steps.py"])
    for files in ([copy, "/home/me/steps.py"], ["/home/me/steps.py", copy]):
        found = places.matching((file, "steps") for file in files)
        assert found == {"/home/me/steps.py": "/home/me/steps.py"}


def test_files_of_a_class_are_those_of_its_code() -> None:
    class Base:
        @property
        def one(self) -> None: ...

    class Derived(Base):
        @staticmethod
        def two() -> None: ...

        @classmethod
        def three(cls) -> None: ...

    assert {file for file, _ in code_files(Derived)} == {__file__}
    assert not set(code_files(type("Empty", (), {})))


WORKER = "/env/lib/python3.11/site-packages/ray/_private/workers/default_worker.py"


@pytest.mark.parametrize(
    ("words", "environ", "kind"),
    [
        (["python", "train.py"], {}, "driver"),
        (["python", "-m", "verl.trainer.main_ppo"], {}, "driver"),
        (["python", "train.py", WORKER], {}, "driver"),
        (["python", "-u", WORKER, "--worker-type=WORKER"], {}, "worker"),
        (["python", WORKER, "--node-ip-address=1.2.3.4"], {}, "worker"),
        (["python", WORKER, "--worker-type=SPILL_WORKER"], {}, "service"),
        (["python", "/env/ray/_private/workers/setup_worker.py", WORKER], {}, "service"),
        (["python", "-u", "/env/ray/dashboard/agent.py"], {}, "service"),
        (["python", "/env/debugpy/adapter", "--for-server"], {}, "service"),
        (["python", "-c", "from multiprocessing.resource_tracker import main"], {}, "service"),
        (["python", "-c", "from multiprocessing.spawn import spawn_main", "--multiprocessing-fork"], {}, "child"),
        (["python", "helper.py"], {"EAGLERAY_RUN_INSIDE": "worker"}, "child"),
        (["python", WORKER], {"EAGLERAY_RUN_INSIDE": "worker"}, "worker"),
    ],
)  # fmt: skip
def test_what_a_process_is(words: list[str], environ: dict[str, str], kind: str) -> None:
    assert starting.kind_of(words, environ) == kind


RUN = {"run": "r", "package": "_eagleray_run_1", "path": "/shared", "breakpoints": []}


def test_a_runtime_env_is_extended() -> None:
    theirs = {"working_dir": "/w", "env_vars": {"A": "1", "PYTHONPATH": "/mine"}}
    ours = runtime_env.extended(theirs, RunSettings(RUN))
    assert theirs == {"working_dir": "/w", "env_vars": {"A": "1", "PYTHONPATH": "/mine"}}
    assert ours["working_dir"] == "/w"
    assert ours["env_vars"]["A"] == "1"
    assert ours["env_vars"]["PYTHONPATH"] == "/shared/_eagleray_run_1/site:/mine"
    assert json.loads(ours["env_vars"]["EAGLERAY_RUN"]) == RUN
    assert runtime_env.extended(ours, RunSettings(RUN)) == ours


def test_without_a_path_the_nodes_own_one_stays() -> None:
    path = runtime_env.extended({}, RunSettings(RUN))["env_vars"]["PYTHONPATH"]
    assert path == "/shared/_eagleray_run_1/site:${PYTHONPATH}"


def test_an_uploaded_package_stands_beside_the_persons_own() -> None:
    run = RunSettings({**RUN, "path": "", "uri": "gcs://_ray_pkg_1.zip"})
    ours = runtime_env.extended({"py_modules": ["/mine"]}, run)
    assert ours["py_modules"] == ["/mine", "gcs://_ray_pkg_1.zip"]
    assert "PYTHONPATH" not in ours["env_vars"]
    assert runtime_env.extended(ours, run) == ours


def test_ray_expands_nothing_in_the_settings() -> None:
    values = {
        "breakpoints": [
            {"path": "/a.py", "lines": [{"line": 1, "condition": "x == '${HOME}$PATH'"}]}
        ]
    }
    said = settings.text(values)
    assert os.path.expandvars(said) == said
    assert json.loads(said) == values
