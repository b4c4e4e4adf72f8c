"""`eagleray rollouts replay`: the script for AReaL, the command for verl."""

from __future__ import annotations

import ast
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from eagleray.cli.json_shapes import json_schema
from eagleray.features.rollouts.batches.replay import areal_script

from tests.cli.test_commands import eagleray


async def test_command_of_verl_has_its_overrides(tmp_path: Path, own_home: Path) -> None:
    done = await eagleray(
        "rollouts", "replay", str(tmp_path), "--framework", "verl", "--command", "bash 'my run.sh'"
    )
    assert done.out == (
        "eagleray run -- bash 'my run.sh' actor_rollout_ref.rollout.skip_rollout=True "
        f"actor_rollout_ref.rollout.skip_dump_dir={tmp_path}\n"
    )
    assert (await eagleray("rollouts", "replay", "a", "--framework", "verl")).code == 2


async def test_script_is_not_overwritten(tmp_path: Path, own_home: Path) -> None:
    script = tmp_path / "replay.py"
    script.write_text("mine")
    arguments = ("rollouts", "replay", "b.pt", "--script", str(script), "--json")
    done = await eagleray(*arguments)
    assert (done.code, script.read_text()) == (1, "mine")
    done = await eagleray(*arguments, "--force")
    jsonschema.validate(done.json, json_schema("replay"))
    assert "weights_only=True" in script.read_text()


@pytest.mark.parametrize(
    "name", ["a.pt", 'it"""s.pt', "back\\slash.pt", "{brace}.pt", "new\nline.pt"]
)
def test_script_of_any_name_is_python(name: str) -> None:
    made = areal_script(f"/w/{name}", "/w/replay.py", name, 2)
    names = [
        node.value.value
        for node in ast.walk(ast.parse(made.text))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    ]
    assert f"/w/{name}" in names
