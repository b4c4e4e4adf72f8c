"""Settings of the recognised framework alone, by its logs or by the command of the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.frameworks import frameworks_in
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.rule_files import own_rules, read_rules

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has\n"
FRAME = '  File "/venv/lib/python3.11/site-packages/verl/workers/fsdp_workers.py", line 3, in f\n'


def settings_of(folder: Path, frameworks: tuple[str, ...] = ()) -> list[str]:
    files, unchecked = list_logs([folder])
    found = diagnose(files, own_rules(), unchecked, frameworks=frameworks)
    return [name for cause in found.causes for name in cause.settings]


def test_frames_before_the_error_tell_the_framework(tmp_path: Path) -> None:
    (tmp_path / "a.err").write_text(f"Traceback (most recent call last):\n{FRAME}{OOM}")
    assert settings_of(tmp_path) == ["verl"]


def test_another_log_tells_the_framework_at_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "a.err").write_text(OOM)
    (tmp_path / "driver.out").write_text("INFO nemo_rl.algorithms.grpo: step 1\n")
    assert settings_of(tmp_path) == ["NeMo RL"]


def test_lines_at_the_error_come_before_beginnings_of_logs(tmp_path: Path) -> None:
    filler = "x" * 99 + "\n"
    (tmp_path / "a.err").write_text(f"areal.api.cli_args loaded\n{filler * 2000}{FRAME}{OOM}")
    assert settings_of(tmp_path) == ["verl"]


def test_all_settings_remain_where_no_framework_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.err").write_text(OOM)
    assert settings_of(tmp_path) == ["verl", "AReaL", "NeMo RL"]


def test_framework_without_a_setting_leaves_none(tmp_path: Path) -> None:
    (tmp_path / "a.err").write_text(OOM)
    assert settings_of(tmp_path, ("OpenRLHF",)) == []


def test_setting_of_a_framework_that_only_the_rules_know_remains(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(
        """{"format": 1, "rules": [{"id": "mine", "pattern": "reward is missing", "meaning": "m",
        "fix": "f", "source": "s", "settings": {"ours": "a=1", "AReaL": "b=1"},
        "examples": ["reward is missing"], "counterexamples": ["x"]}]}"""
    )
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.err").write_text("reward is missing\n")
    files, unchecked = list_logs([logs])

    (cause,) = diagnose(files, read_rules(rules), unchecked, frameworks=["verl"]).causes

    assert cause.settings == {"ours": "a=1"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("python3 -m verl.trainer.main_ppo a=1", {"verl"}),
        ("python examples/areal/run.py", {"AReaL"}),
        ("import rlinf.workers.actor", {"RLinf"}),
        ("openrlhf/cli/train_ppo_ray.py", {"OpenRLHF"}),
        ("verl.trainer.main and areal.api.x", {"verl", "AReaL"}),
        ("overlverl.trainer.x my-verl/a.py verl is fine. See verl.", set()),
    ],
)
def test_framework_is_recognised_by_its_modules(text: str, names: set[str]) -> None:
    assert frameworks_in(text.encode()) == names
