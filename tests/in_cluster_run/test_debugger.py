"""debugpy made to listen soon: what that replaces for a moment, and what happens where it cannot be had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray.in_cluster.run.debugpy_adapter import EarlyAdapter, early_adapter

# Prints the port, then whatever is not as it was before.
LISTENING = """
import subprocess, sys, time
import debugpy.server.api, pydevd
from debugpy.common import log
from eagleray.in_cluster.run import debugpy_adapter
from eagleray.in_cluster.run.debugger import Debugger

def state():
    return [sys.modules["subprocess"], subprocess.Popen, pydevd.time, pydevd.start_client, log.describe_environment]

before = state()
if len(sys.argv) > 1:
    debugpy_adapter.early_adapter = lambda offered: debugpy_adapter.EarlyAdapter(sys.argv[1])
print(Debugger().listen() > 0, [one for one, was in zip(state(), before) if one is not was])
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder with a debugpy whose adapter fails."""
    adapter = tmp_path / "debugpy" / "adapter"
    adapter.mkdir(parents=True)
    (tmp_path / "debugpy" / "__init__.py").write_text("")
    (adapter / "__init__.py").write_text("")
    (adapter / "__main__.py").write_text("raise ImportError\n")
    return tmp_path


@pytest.mark.parametrize("fails", [False, True])
def test_debugpy_listens_and_all_is_as_before(broken: Path, fails: bool) -> None:
    words = [str(broken)] if fails else []
    done = subprocess.run(
        [sys.executable, "-c", LISTENING, *words],
        # This program imports debugpy by itself.
        env={**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True []\n", "")


def test_an_adapter_that_is_not_taken_leaves_no_process(broken: Path) -> None:
    for taken in (False, True):
        adapter = EarlyAdapter(str(broken))
        if taken:
            assert adapter.go_on([]) is None
        adapter.end()
        assert adapter._process.returncode is not None


def test_without_debugpy_there_is_no_adapter_either(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "debugpy", missing)
    assert early_adapter("") is None
