"""The Python of workers that a command, a file or the program names: what is compared, and what is listed as not checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray.cli.main import main
from eagleray.doctor.node_checks import NodeFacts, node_diagnosis
from eagleray.doctor.worker_python import (
    WorkerPython,
    path_of_workers,
    worker_pythons,
)

from tests.doctor.test_node_checks import facts
from tests.shared_clusters import CACHE

UV = "uv run --locked --extra vllm"
LOCK = """version = 1
requires-python = ">=3.12"

[[package]]
name = "debugpy"
version = "1.8.22"
source = { registry = "https://pypi.org/simple" }

[[package]]
name = "ray"
version = "2.54.0"
source = { registry = "https://pypi.org/simple" }
"""


def project(folder: Path, lock: str = LOCK, python: str = "3.12\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text("[project]\n")
    (folder / "uv.lock").write_text(lock)
    if python:
        (folder / ".python-version").write_text(python)
    return folder


def of_json(folder: Path, runtime_env: Any) -> tuple[WorkerPython, ...]:
    text = runtime_env if isinstance(runtime_env, str) else json.dumps(runtime_env)
    return worker_pythons(["ray", "job", "submit", "--runtime-env-json", text], folder)


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (
            ["--runtime-env-json", '{"py_executable": "/opt/venv/bin/python"}'],
            "/opt/venv/bin/python",
        ),
        (['--runtime-env-json={"py_executable": "/opt/p -u"}'], "/opt/p"),
        (["--runtime-env-json", '{"py_executable": 3}'], ""),
        (["--runtime-env-json", "[]"], ""),
        (["--runtime-env-json", "{"], ""),
        (["--runtime-env-json"], ""),
        (["--runtime-env="], ""),
        ([], ""),
    ],
)
def test_path_of_a_python_is_read_from_an_option(
    tmp_path: Path, words: list[str], path: str
) -> None:
    pythons = worker_pythons(["ray", "job", "submit", *words], tmp_path)

    assert path_of_workers(pythons) == path
    assert [python.unknown for python in pythons] == ([""] if path else [])


@pytest.mark.parametrize(
    "content", ["py_executable: /opt/p  # ours\n", '{"py_executable": "/opt/p"}']
)
def test_file_of_a_runtime_env_is_read(tmp_path: Path, content: str) -> None:
    (tmp_path / "env.yaml").write_text(f"{content}\n")

    (python,) = worker_pythons(["ray", "job", "submit", "--runtime-env=env.yaml"], tmp_path)

    assert (python.place, python.path) == ("env.yaml", "/opt/p")


def test_missing_file_of_a_runtime_env_is_named(tmp_path: Path) -> None:
    (python,) = worker_pythons(["ray", "job", "submit", "--runtime-env", "no.yaml"], tmp_path)

    assert (python.place, python.unknown) == ("--runtime-env no.yaml", "the file can't be read")


@pytest.mark.parametrize(
    ("options", "python"),
    [("", "3.12"), (" --python 3.11", "3.11"), (" -p cpython-3.13.1", "3.13"), (" -p pypy", "")],
)
def test_versions_of_uv_come_from_its_lock_file(tmp_path: Path, options: str, python: str) -> None:
    project(tmp_path)

    (worker,) = of_json(tmp_path, {"py_executable": UV + options})

    assert worker.lock == str(tmp_path / "uv.lock")
    assert worker.versions.get("python", "") == python
    assert (worker.versions["ray"], worker.versions["debugpy"]) == ("2.54.0", "1.8.22")
    assert worker.unknown == ("" if python else "its Python isn't pinned")


def test_project_of_uv_is_in_its_option_of_a_working_dir_or_above(tmp_path: Path) -> None:
    project(tmp_path / "a")
    (tmp_path / "a" / "b").mkdir()

    for folder, text, working_dir in (
        (tmp_path, "uv run --project a", ""),
        (tmp_path, "/opt/uv run --directory=a", ""),
        (tmp_path, UV, "a"),
        (tmp_path / "a" / "b", UV, ""),
    ):
        runtime_env = {"py_executable": text, "working_dir": working_dir}
        (worker,) = of_json(folder, runtime_env)
        assert Path(worker.lock).resolve() == tmp_path / "a" / "uv.lock"


@pytest.mark.parametrize(
    ("runtime_env", "unknown"),
    [
        ({"py_executable": "uv run --with ray==2.9"}, "--with gives it other packages"),
        ({"py_executable": UV, "working_dir": "s3://b/x.zip"}, "its project is s3://b/x.zip"),
        ({"py_executable": "conda run -n rl python"}, "it isn't the path of a Python"),
        ({"py_executable": "'"}, "it isn't the path of a Python"),
        ({"pip": ["ray==2.9"]}, "workers have an environment that Ray makes for them"),
    ],
)
def test_what_is_not_known_before_is_said(
    tmp_path: Path, runtime_env: dict[str, Any], unknown: str
) -> None:
    project(tmp_path)

    (worker,) = of_json(tmp_path, runtime_env)

    assert worker.unknown == unknown
    assert "ray" not in worker.versions


@pytest.mark.parametrize(
    ("lock", "python", "unknown"),
    [
        ("", "", "its project has no uv.lock"),
        (LOCK.replace('"ray"', '"rayon"'), "", "uv.lock doesn't name one version of Ray"),
        (
            LOCK + '\n[[package]]\nname = "ray"\nversion = "2.50.0"\n',
            "",
            "uv.lock doesn't name one version of Ray",
        ),
        (LOCK, "", "its Python isn't pinned"),
        (LOCK.replace(">=3.12", "==3.12.*"), "", ""),
    ],
)
def test_lock_file_that_decides_nothing_is_named(
    tmp_path: Path, lock: str, python: str, unknown: str
) -> None:
    (worker,) = of_json(project(tmp_path, lock, python), {"py_executable": UV})

    assert worker.unknown == unknown


def test_program_names_the_pythons_of_its_workers_by_their_lines(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "train.py").write_text(
        "import ray\n"
        f'ray.init(runtime_env={{"py_executable": "{UV}"}})\n'
        'A.options(runtime_env={"py_executable": PY.VLLM, "working_dir": "."})\n'
        'env["py_executable"] = "/opt/p"\n'
        'RuntimeEnv(py_executable="/opt/q")\n'
        'ray.init(runtime_env={"conda": "rl"})\n'
    )

    pythons = worker_pythons(["python", "train.py", "other.py"], tmp_path)

    assert [(python.place, python.text, python.unknown) for python in pythons] == [
        ("train.py:2", UV, ""),
        ("train.py:3", "PY.VLLM", "the program decides it when it runs"),
        ("train.py:4", "/opt/p", "only that of a runtime_env option is compared"),
        ("train.py:5", "/opt/q", "only that of a runtime_env option is compared"),
        ("train.py:6", "conda", "workers have an environment that Ray makes for them"),
    ]
    assert path_of_workers(pythons) == ""


@pytest.mark.parametrize("text", ["def", "x = " + "(" * 1000, "\0"])
def test_program_that_is_not_python_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text)

    (python,) = worker_pythons(["python", "a.py"], tmp_path)

    assert python.unknown == "the program can't be parsed"


def test_locked_versions_that_differ_from_the_versions_of_the_driver_are_named(
    tmp_path: Path,
) -> None:
    workers = of_json(project(tmp_path), {"py_executable": UV})
    node = facts(host="n1", packages={"ray": "2.60.0", "debugpy": "1.8.22"}, python="3.11.7")

    found = node_diagnosis(NodeFacts((node,), driver=node, workers=workers))

    assert [(cause.id, cause.sentence) for cause in found.causes] == [
        ("worker-ray", f"The driver has Ray 2.60.0, workers of {UV} get 2.54.0."),
        ("worker-python", f"The driver has Python 3.11, workers of {UV} get 3.12."),
    ]
    assert found.causes[0].evidence[0].path == str(tmp_path / "uv.lock")
    same = facts(host="n1", packages={"ray": "2.54.0", "debugpy": "1.8.22"}, python="3.12.1")
    assert node_diagnosis(NodeFacts((same,), driver=same, workers=workers)).causes == ()


def test_command_line_lists_what_it_could_not_compare_and_shows_no_secret(
    own_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    secret = "hf_" + "abcdefghijklmnopqrstuvwxyz012345"
    runtime_env = json.dumps({"py_executable": f"wrap --token {secret}"})
    command = [sys.executable, "a.py", "--runtime-env-json", runtime_env]

    assert main(["doctor", "--before", "--json", "--", *command]) == 0

    printed = capsys.readouterr().out
    (item,) = json.loads(printed)["checked"]["unchecked"]
    assert item["path"].startswith("Python of workers in --runtime-env-json wrap --token")
    assert item["reason"] == "it isn't the path of a Python"
    assert secret not in printed


def test_lock_file_is_read_as_a_real_uv_writes_it(tmp_path: Path) -> None:
    """`uv lock` without a network: the project depends on a package in its own folder."""
    uv = next(iter(sorted(CACHE.glob("uv-*/bin/uv"))), None)
    assert uv is not None, "npm run setup keeps a uv in its cache"
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "rl"\nversion = "1"\nrequires-python = "==3.11.*"\n'
        'dependencies = ["ray"]\n[tool.uv.sources]\nray = { path = "ray" }\n'
    )
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "pyproject.toml").write_text(
        '[project]\nname = "ray"\nversion = "2.54.0"\nrequires-python = ">=3.9"\n'
    )
    environ = {**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache")}
    command = [str(uv), "lock", "--offline", "--python", sys.executable]
    subprocess.run(command, cwd=tmp_path, env=environ, check=True, capture_output=True)

    (worker,) = of_json(tmp_path, {"py_executable": "uv run --locked"})

    assert dict(worker.versions) == {"ray": "2.54.0", "python": "3.11"}
    assert worker.unknown == ""
