"""A worker in a mount namespace of its own, as in a container: its file is mapped to the local one."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.adapter_client.client import AdapterClient
from eagleray.debug.source_mapping.source_mapping import SourceMapping

from tests.adapter.harness import PROGRAMS, AdapterProcess, Program

CLUSTER = "http://127.0.0.1:8265"


@pytest.fixture
def code(short_home: Path) -> Path:
    """The user's folder, which has another name in the worker."""
    folder = short_home / "my code"
    folder.mkdir()
    (folder / "train.py").write_text((PROGRAMS / "loop.py").read_text())
    return folder


@pytest.fixture
def worker(short_home: Path, code: Path) -> Iterator[Program]:
    workspace = short_home / "workspace"
    workspace.mkdir()
    python = short_home / "python"
    bind = f'mount --bind {shlex.quote(str(code))} {workspace} && exec {sys.executable} "$@"'
    # Without root, a user namespace gives it, as in containers without root.
    unshare = "unshare -m" if os.getuid() == 0 else "unshare -r -m"
    python.write_text(f'#!/bin/sh\nexec {unshare} sh -c {shlex.quote(bind)} sh "$@"\n')
    python.chmod(0o700)
    with Program(workspace / "train.py", "2", python=str(python)) as program:
        program.wait_paused()
        yield program


async def test_file_of_a_container_is_mapped_to_the_local_file(
    short_home: Path,
    code: Path,
    worker: Program,
    adapter: AdapterProcess,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = f"{short_home}/workspace/train.py"
    assert adapter.control.attach(worker)["worker"]["stop"]["path"] == path
    assert not Path(path).exists()
    monkeypatch.setenv("EAGLERAY_HOME", str(short_home))
    adapters = AdapterClient(start=False)
    try:
        mapping = SourceMapping(adapters.sessions, short_home)
        decision = await mapping.resolve(CLUSTER, "w1", path, [])
        assert (decision.how, decision.local) == ("mounts", f"{code}/train.py")
        await mapping.find_local_files([(CLUSTER, path)])
        assert mapping.local(CLUSTER, path) == f"{code}/train.py"
        assert await mapping.compare(CLUSTER, "w1", path, decision.local) == "same"
    finally:
        await adapters.close()
