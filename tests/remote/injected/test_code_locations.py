"""The user's code on a stack is told from other code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from eagleray.remote.injected.agents import code_locations


def test_own_code_in_a_linked_folder_is_not_the_users(tmp_path: Path) -> None:
    package = tmp_path / "home"
    package.symlink_to(Path(code_locations.__file__).parents[1])
    file = package / "agents" / "code_locations.py"
    spec = importlib.util.spec_from_file_location("linked_code_locations", file)
    assert spec and spec.loader
    linked = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(linked)
    assert not linked.is_users(str(package / "agents" / "runner.py"))
    assert linked.is_users(str(tmp_path / "agent.py"))
