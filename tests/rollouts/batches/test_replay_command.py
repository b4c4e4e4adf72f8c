"""`eagleray rollouts replay`: the script for AReaL, the command for verl."""

from __future__ import annotations

import ast
import shutil
import sys
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from eagleray.cli.json_schemas import json_schema
from eagleray.rollouts.batches.replay import areal_script

from tests.asked import Done, eagleray

FAKE = Path(__file__).parents[1] / "integration" / "fake_verl"
TRAINER = f"{sys.executable} -m verl.trainer.main_ppo trainer.save_freq=20"


@pytest.fixture
def checkout(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "checkout"
    shutil.copytree(FAKE, folder)
    monkeypatch.chdir(folder)
    return folder


async def replayed(command: str) -> Done:
    options = ("--framework", "verl", "--command", command, "--json")
    return await eagleray("rollouts", "replay", "/w/rollouts", *options)


@pytest.mark.parametrize(
    ("version", "more", "settings"),
    [
        ("0.6.1", "", ("actor_rollout_ref.rollout.skip_rollout", "skip_dump_dir")),
        ("0.7.1", "", ("actor_rollout_ref.rollout.skip_rollout", "skip_dump_dir")),
        ("0.8.0", "", ("actor_rollout_ref.rollout.skip.enable", "dump_dir")),
        ("0.9.1", "", ("skip.rollout_tq.enable", "dump_dir", "steps")),
        ("0.9.1", " trainer.use_v1=False", ("skip.rollout.enable", "dump_dir", "steps")),
    ],
)
async def test_verl_saves_its_rollouts_in_each_version(
    checkout: Path, version: str, more: str, settings: tuple[str, ...]
) -> None:
    """The keys have moved, and one of another version would end the training."""
    (checkout / "verl" / "version" / "version").write_text(f"{version}\n")
    command = TRAINER + more
    argv = (await replayed(command)).json["argv"]
    words = command.split()
    assert argv[: len(words)] == words
    added = dict(word.lstrip("+").split("=", 1) for word in argv[len(words) :])
    folder = settings[0].rpartition(".")[0]
    assert tuple(added) == (settings[0], *(f"{folder}.{name}" for name in settings[1:]))
    assert list(added.values())[:2] == ["true", "/w/rollouts"]


async def test_verls_script_gets_the_settings_where_it_passes_them_on(checkout: Path) -> None:
    (checkout / "run.sh").write_text('python3 -m verl.trainer.main_ppo "$@"\n')
    assert (await replayed("bash run.sh")).json["argv"][:2] == ["bash", "run.sh"]
    (checkout / "run.sh").write_text("python3 -m verl.trainer.main_ppo\n")
    assert (await replayed("bash run.sh")).code == 1


@pytest.mark.parametrize("command", ["python train.py", "bash 'my run.sh'"])
async def test_other_command_is_refused_for_verl(checkout: Path, command: str) -> None:
    done = await replayed(command)
    assert done.code == 1 and "can't train on saved rollouts of verl" in done.err


async def test_version_that_saves_and_does_not_load_is_refused(checkout: Path) -> None:
    (checkout / "verl" / "version" / "version").write_text("0.7.0\n")
    done = await replayed(TRAINER)
    assert done.code == 1 and "its trainer doesn't use them" in done.err


async def test_verl_needs_a_command(own_home: Path) -> None:
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
    # The logs of the training have its configuration, which AReaL writes at each start.
    assert done.json["argv"][-1] == "++trial_name=eagleray_replay"


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
