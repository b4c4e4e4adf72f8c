"""Debug runs are requested by the panel and by `eagleray run --preset`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eagleray.cli.main import main
from eagleray.common.errors import EaglerayError
from eagleray.runs.model import RunPlan, RunRequest
from eagleray.runs.planner import RunPreparation
from eagleray.runs.presets import messages as wire
from eagleray.runs.presets.debug_runs import DebugRuns
from eagleray.runs.presets.handlers import PresetHandlers
from eagleray.runs.presets.user_presets import OwnPresets

from tests.runs.presets.checkouts import NOW, SCRIPTS, checkout, with_script


async def nothing(path: str) -> str:
    return path


@pytest.fixture
def handlers(tmp_path: Path) -> PresetHandlers:
    presets = DebugRuns(OwnPresets(tmp_path / "home" / "presets"), lambda: NOW)
    return PresetHandlers(RunPreparation(nothing, nothing, nothing), presets)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = checkout(tmp_path / "code", "verl", "0.7.0")
    with_script(made, "verl_plain.sh")
    with_script(made, "verl_quoted.sh")
    return made


def prepare(folder: Path, path: str, preset: str, **answers: str) -> RunRequest:
    return RunRequest(
        path=path, args=(), cwd=str(folder), preset=preset, workspace="/w", answers=answers
    )


def plan_in(handlers: PresetHandlers, proposal: wire.Proposal) -> RunPlan:
    return handlers._preparing.plans.get(proposal.plan)


async def test_form_answers_change_the_plan(handlers: PresetHandlers, folder: Path) -> None:
    proposal = await handlers.prepare(prepare(folder, "verl_quoted.sh", "", steps="4", name="off"))
    assert (proposal.title, proposal.framework, proposal.framework_version) == (
        *("Debug run of verl 0.7.0", "verl", "0.7.0"),
    )
    answers = {question.id: question.value for question in proposal.questions}
    assert (answers["steps"], answers["name"], answers["no_resume"]) == ("4", "off", "on")
    assert plan_in(handlers, proposal).overrides[0] == "++trainer.total_training_steps=4"
    assert plan_in(handlers, proposal).preset == "verl" and plan_in(handlers, proposal).post_mortem
    assert plan_in(handlers, proposal).command[:2] == ("bash", "verl_quoted.sh")
    assert proposal.before != proposal.after
    assert {change.outcome for change in proposal.changes} == {"will apply", "no such option"}


async def test_plan_has_the_copy(handlers: PresetHandlers, folder: Path) -> None:
    proposal = await handlers.prepare(prepare(folder, "verl_plain.sh", "debug"))
    assert (
        plan_in(handlers, proposal).copy_of == "verl_plain.sh"
        and plan_in(handlers, proposal).overrides == ()
    )
    assert "++trainer.experiment_name=debug-1121-183000" in plan_in(handlers, proposal).copy_text
    assert (folder / "verl_plain.sh").read_text() == (SCRIPTS / "verl_plain.sh").read_text()


async def test_without_a_preset_nothing_changes(handlers: PresetHandlers, folder: Path) -> None:
    proposal = await handlers.prepare(prepare(folder, "verl_plain.sh", "none"))
    assert (
        proposal.before == proposal.after
        and plan_in(handlers, proposal).overrides == ()
        and plan_in(handlers, proposal).copy_text == ""
    )
    assert proposal.changes == [] and proposal.questions == ()


async def test_presets_are_saved_and_deleted(handlers: PresetHandlers, folder: Path) -> None:
    text = json.dumps({"format": 1, "name": "short", "answers": {"steps": "1"}})
    saved = await handlers.save(wire.SavePreset("/w", "", text))
    assert [(preset.name, preset.own) for preset in saved.presets][-1] == ("short", True)
    assert (await handlers.list_presets(wire.PresetsOf("/w"))) == saved
    proposal = await handlers.prepare(prepare(folder, "verl_quoted.sh", "short"))
    assert plan_in(handlers, proposal).overrides[0] == "++trainer.total_training_steps=1"
    left = await handlers.delete(wire.PresetRef("/w", "short"))
    assert not [preset for preset in left.presets if preset.own]
    with pytest.raises(EaglerayError, match="doesn't exist"):
        await handlers.prepare(prepare(folder, "verl_quoted.sh", "short"))


@pytest.fixture
def command(folder: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Path:
    monkeypatch.chdir(folder)
    return folder


def test_command_shows_table_and_difference(
    command: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--preset", "debug", "--set", "steps=5", "--set", "name=x y", "--dry-run"]
    assert main(["run", *arguments, "--", "bash", "verl_quoted.sh"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == "bash verl_quoted.sh"
    assert lines[2].startswith(
        "This debug run of verl 0.7.0 will stop after 5 steps, be named x y,"
    )
    assert "\nWill apply\n  Few steps                     trainer.total_training_steps = 5\n" in out
    assert "\nNo such option\n  NCCL_TIMEOUT, which you set" in out
    assert "\n+    \"++trainer.experiment_name='x y'\"\n" in out
    assert not list((command.parent / "home").glob("runs/*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "other"], "The preset “other” doesn't exist."),
        (["--preset", "debug", "--set", "steps=x"], "whole number"),
    ],
)
def test_command_reports_a_wrong_argument(
    command: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["run", *arguments, "--dry-run", "--", "bash", "verl_quoted.sh"]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--set", "steps=2"], ["--preset", "debug", "--set", "x=2"], ["--set", "steps"]]
)
def test_wrong_command_line_exits(
    command: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", *arguments, "--dry-run", "--", "bash", "verl_quoted.sh"])
    assert ended.value.code == 2
