"""The user's own presets: stored for each workspace, shared as JSON, refused where they are hostile."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.runs.presets.debug_runs import DebugRuns
from eagleray.runs.presets.user_presets import OwnPresets, Preset, of_text, to_text
from hypothesis import given
from hypothesis import strategies as st

from tests.runs.presets.checkouts import NOW, checkout, plan_of, with_script

MINE = Preset("mine", "verl", {"steps": "3", "no_resume": "off"}, ("a.b=c d",), {"FOO": "x=y"})


def preset_text(**changes: Any) -> str:
    return json.dumps({**json.loads(to_text(MINE)), **changes})


def runs(home: Path, now: datetime = NOW) -> DebugRuns:
    return DebugRuns(OwnPresets(home / "presets"), lambda: now)


PRINTABLE = st.text(st.characters(exclude_categories=["C", "Z"], codec="utf-8"), max_size=20)


@given(words=st.lists(PRINTABLE, max_size=5), value=PRINTABLE)
def test_shared_preset_round_trips(words: list[str], value: str) -> None:
    preset = Preset("n", "", {"name": value}, tuple(words), {"A_b1": value})
    assert of_text(to_text(preset)) == preset


HOSTILE = [
    ("", "not JSON"),
    ("{", "not JSON"),
    ("[" * 60_000, "not JSON"),
    ("[]", "JSON object"),
    ("null", "JSON object"),
    ("x" * 70_000, "larger than 64 kB"),
    (preset_text(format=2), "newer Eagleray"),
    (preset_text(format=None), "newer Eagleray"),
    (preset_text(more=1), "“more”"),
    (preset_text(name=""), "no name"),
    (preset_text(name=" none "), "no name"),
    (preset_text(name="--help"), "no name"),
    (preset_text(name="x" * 81), "at most 80"),
    (preset_text(name="a\x1b[31mb"), "control character"),
    (preset_text(name=3), "no text"),
    (preset_text(framework=["verl"]), "no text"),
    (preset_text(answers=[]), "“answers” is no object"),
    (preset_text(answers={"steps": 3}), "no text"),
    (preset_text(answers={"run": "rm"}), "no option “run”"),
    (preset_text(words="a=b"), "“words” is no list"),
    (preset_text(words=["a\nb"]), "control character"),
    (preset_text(words=["x"] * 201), "at most 200"),
    (preset_text(env={"A B": "1"}), "no name of a variable"),
    (preset_text(env={"LD_PRELOAD=x;": "1"}), "no name of a variable"),
    (preset_text(env={"WANDB_API_KEY": "abc"}), "secret"),
    (preset_text(env={"A": "x\0"}), "control character"),
]


@pytest.mark.parametrize(("text", "why"), HOSTILE)
def test_hostile_json_is_refused_with_the_reason(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(EaglerayError, match=why) as caught:
        runs(tmp_path).save("/w", "", text)
    assert caught.value.code == "bad-preset" and len(caught.value.message) < 400
    assert not (tmp_path / "presets").exists()


def test_name_of_a_built_in_preset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EaglerayError, match="one of ours"):
        runs(tmp_path).save("/w", "", preset_text(name="verl"))


def test_presets_are_stored_for_each_workspace(tmp_path: Path) -> None:
    stored = runs(tmp_path)
    stored.save("/w", "", to_text(MINE))
    stored.save("/w", "from the file's name", to_text(MINE))
    stored.save("/w", "", preset_text(words=[]))
    assert [(row.name, row.own) for row in runs(tmp_path).rows("/w") if row.own] == [
        ("from the file's name", True),
        ("mine", True),
    ]
    assert not [row for row in stored.rows("/other") if row.own]
    assert of_text(stored.rows("/w")[-1].text).arguments == ()
    stored.delete("/w", "mine")
    assert [row.name for row in stored.rows("/w") if row.own] == ["from the file's name"]
    with pytest.raises(EaglerayError, match="“mine” doesn't exist"):
        stored.delete("/w", "mine")
    (file,) = (tmp_path / "presets").glob("*.json")
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", ["", "{", "[]", '{"presets": 3}', '{"presets": [1, {}]}'])
def test_broken_file_counts_as_empty(tmp_path: Path, content: str) -> None:
    stored = OwnPresets(tmp_path)
    stored.save("/w", MINE)
    (file,) = tmp_path.glob("*.json")
    file.write_text(content)
    assert stored.of("/w") == []
    assert file.read_text() == content


def test_broken_preset_does_not_hide_the_others(tmp_path: Path) -> None:
    stored = OwnPresets(tmp_path)
    stored.save("/w", MINE)
    (file,) = tmp_path.glob("*.json")
    value = json.loads(file.read_text())
    value["presets"].insert(0, {"format": 7, "name": "newer"})
    file.write_text(json.dumps(value))
    assert stored.of("/w") == [MINE]


def test_presets_saved_by_two_windows_at_once_are_all_stored(tmp_path: Path) -> None:
    names = [f"mine {number}" for number in range(40)]
    with ThreadPoolExecutor(8) as windows:
        list(windows.map(lambda name: OwnPresets(tmp_path).save("/w", Preset(name)), names))
    assert {preset.name for preset in OwnPresets(tmp_path).of("/w")} == set(names)


def test_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "presets").write_text("a file")
    with pytest.raises(EaglerayError, match="Can't save"):
        runs(tmp_path).save("/w", "", to_text(MINE))


def test_ours_are_there_with_a_text_to_begin_with(tmp_path: Path) -> None:
    rows = runs(tmp_path).rows("/w")
    assert [row.name for row in rows] == [
        *("areal", "miles", "nemo_rl", "openrlhf", "rlinf", "skyrl", "slime", "verl", "debug")
    ]
    for row in rows:
        assert not row.own
        assert of_text(row.text).answers["post_mortem"] == "on"
        runs(tmp_path).save("/w", "", row.text)


def test_which_preset_is_meant(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "verl", "0.7.0")
    with_script(folder, "verl_quoted.sh")
    (folder / "plain.py").write_text("import ray\n")
    run_plan = plan_of(folder, "bash", "verl_quoted.sh", workspace="/w")
    plain = plan_of(folder, "python3", "plain.py", kind="program", workspace="/w")
    stored = runs(tmp_path)
    stored.save("/w", "", to_text(MINE))

    assert stored.proposal(run_plan, "none", {}).plan == run_plan
    assert stored.proposal(plain, "", {}).plan == plain
    assert stored.proposal(run_plan, "", {}).plan.preset == "verl"
    assert stored.proposal(run_plan, "debug", {}).plan.preset == "verl"
    assert stored.proposal(plain, "debug", {}).plan.preset == "debug"
    made = stored.proposal(run_plan, "mine", {"no_checkpoint": "off"}).plan
    assert (made.preset, made.overrides[0]) == ("mine", "++trainer.total_training_steps=3")
    assert made.overrides[-1] == "a.b=c d"
    assert "++trainer.resume_mode=disable" not in made.overrides
    for plan, name in ((run_plan, "nemo_rl"), (run_plan, "other"), (plain, "verl")):
        with pytest.raises(EaglerayError, match="doesn't exist"):
            stored.proposal(plan, name, {})
