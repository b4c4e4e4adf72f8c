"""The .vsix: what is in it, and that its sidecar and command work offline with every Python that is here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path
from typing import IO, Any

import pytest

pytestmark = pytest.mark.packaging

# e_machine of ELF files.
MACHINES = {"linux-x64": 0x3E, "linux-arm64": 0xB7}
PYTHONS = {"cp310", "cp311", "cp312", "cp313", "cp314"}
# Another file at once; `import()` is by now a `require()` behind an arrow, which this does not match.
READ_WITH_IT = re.compile(r'(?:[\w$]+=(?:[\w$]+\()?|;)require\("\./[^"]+"\)')


@pytest.mark.parametrize("target", MACHINES)
def test_compiled_libraries_are_of_the_target(vsix_files: dict[str, Path], target: str) -> None:
    with zipfile.ZipFile(vsix_files[target]) as vsix:
        machines = {
            name: int.from_bytes(head[18:20], "little")
            for name in vsix.namelist()
            if (head := vsix.read(name)[:20]).startswith(b"\x7fELF")
        }
    folders = {name.split("/")[2] for name in machines}
    # debugpy has a helper for threads, which it brings for this machine alone.
    assert folders == {"any"} | PYTHONS | ({"debugpy"} if target == "linux-x64" else set())
    assert set(machines.values()) == {MACHINES[target]}


@pytest.mark.parametrize("target", MACHINES)
def test_only_what_is_needed_is_packed(vsix_files: dict[str, Path], target: str) -> None:
    file = vsix_files[target]
    with zipfile.ZipFile(file) as vsix:
        names = {name.removeprefix("extension/") for name in vsix.namelist()}
    assert {
        "LICENSE.txt",
        "bin/eagleray",
        "samples/policy-0.sqlite",
        "samples/rl_training/train.py",
        "_libs/any/bin/py-spy",
        "_libs/debugpy/debugpy/__init__.py",
    } <= names
    tops = {name.split("/")[0] for name in names}
    assert not tops & {"tests", "scripts", "extension", "node_modules", "requirements", "src"}
    assert not [name for name in names if name.endswith((".pyc", ".map", ".ts"))]
    assert file.stat().st_size < 25_000_000


@pytest.mark.parametrize("target", MACHINES)
def test_little_is_read_at_activation(vsix_files: dict[str, Path], target: str) -> None:
    """The sidecar and the commands are files of their own, read at their first use."""
    with zipfile.ZipFile(vsix_files[target]) as vsix:
        texts = {
            name.removeprefix("extension/dist/"): vsix.read(name).decode()
            for name in vsix.namelist()
            if name.startswith("extension/dist/")
        }
    first = texts["extension.js"]
    assert len(first.encode()) < 90_000
    assert not READ_WITH_IT.findall(first)
    assert sum(len(text.encode()) for text in texts.values()) < 850_000


def test_programs_may_be_executed(extension: Path) -> None:
    for program in ("bin/eagleray", "_libs/any/bin/py-spy"):
        assert os.access(extension / program, os.X_OK), program
    spy = extension / "_libs/any/bin/py-spy"
    assert b"py-spy" in subprocess.run([spy, "--version"], capture_output=True, check=True).stdout


def test_the_command_works(extension: Path, python: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [extension / "bin/eagleray", "clusters", "--json"],
        env=lonely(tmp_path, EAGLERAY_PYTHON=python),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def test_the_command_finds_a_python_by_itself(extension: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [extension / "bin/eagleray", "--help"],
        env=lonely(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "paused" in done.stdout


def test_the_sidecar_works(extension: Path, python: str, tmp_path: Path) -> None:
    start = [python, "-I", "-S", str(extension / "pybackend/eagleray_start.py"), "sidecar"]
    with subprocess.Popen(
        start, env=lonely(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as sidecar:
        assert sidecar.stdin and sidecar.stdout
        send(sidecar.stdin, {"id": 1, "method": "initialize", "params": initialize()})
        assert "capabilities" in answer(sidecar.stdout, 1)["result"]
        send(sidecar.stdin, {"method": "initialized", "params": {}})
        send(sidecar.stdin, {"id": 2, "method": "eagleray/clusters/list", "params": {}})
        assert "result" in answer(sidecar.stdout, 2)
        send(sidecar.stdin, {"id": 3, "method": "shutdown"})
        answer(sidecar.stdout, 3)
        send(sidecar.stdin, {"method": "exit"})
        assert sidecar.wait(timeout=60) == 0


def lonely(folder: Path, **more: str) -> dict[str, str]:
    """An environment with a home of its own, no cluster and nothing of this checkout."""
    kept = {name: os.environ[name] for name in ("PATH", "PYENV_ROOT") if name in os.environ}
    own = {"HOME": str(folder), "EAGLERAY_HOME": str(folder / "e"), "EAGLERAY_DISCOVERY": "off"}
    return kept | own | more


def initialize() -> dict[str, Any]:
    return {"processId": None, "rootUri": None, "capabilities": {}}


def send(pipe: IO[bytes], message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    pipe.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    pipe.flush()


def answer(pipe: IO[bytes], number: int) -> dict[str, Any]:
    """The answer to request `number`; what the sidecar says in between is passed over."""
    while True:
        length = 0
        while (line := pipe.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert line, "the sidecar ended"
        message: dict[str, Any] = json.loads(pipe.read(length))
        if message.get("id") == number and "method" not in message:
            return message
