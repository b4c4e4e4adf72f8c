"""`eagleray doctor`: text, JSON, exit codes, and the test of rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eagleray.cli.doctor.shapes import DIAGNOSIS
from eagleray.cli.main import main

FILES = "2026-11-21 01:25:07 E\nOSError: [Errno 24] Too many open files: 'x'\n"


def test_cause_is_printed_with_its_line_and_fix(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "worker.err"
    log.write_text(FILES)

    assert main(["doctor", str(tmp_path)]) == 0

    printed = capsys.readouterr().out
    assert printed.startswith("A process ran out of file descriptors")
    assert f"{log}:2  2026-11-21 01:25:07" in printed
    assert "Fix: Raise the soft limit of open files before Ray starts" in printed
    assert "    $ ulimit -Sn 65535\n" in printed


def test_json_has_the_documented_fields(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "worker.err").write_text(FILES)

    assert main(["doctor", str(tmp_path), "--json", "--exit-code"]) == 3

    value = json.loads(capsys.readouterr().out)
    assert list(value) == list(DIAGNOSIS)
    for field in ("causes", "unknown", "checked"):
        rows = value[field] if isinstance(value[field], list) else [value[field]]
        assert all(list(row) == list(DIAGNOSIS[field].fields) for row in rows)


def test_clean_log_has_no_cause(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "worker.out").write_text("step 1 loss 0.3\n")

    assert main(["doctor", str(tmp_path), "--exit-code"]) == 0
    assert capsys.readouterr().out.startswith("No errors in 1 file.")


def test_rules_of_a_file_are_used(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    log.write_text("E reward model returned nothing for p-12\n")

    assert main(["doctor", str(log), "--rules", str(_rules(tmp_path))]) == 0
    assert capsys.readouterr().out.startswith("The reward model has no answer for p-12.")


def test_wrong_example_fails_the_test_of_rules(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = _rules(tmp_path), _rules(tmp_path / "wrong", example="another line")

    assert main(["doctor", "--test", str(right)]) == 0
    assert capsys.readouterr().out == "1 example, 0 wrong\n"
    assert main(["doctor", "--test", str(wrong)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "reward-empty doesn't match: another line",
        "1 example, 1 wrong",
    ]


def test_check_of_a_rule_file_is_tested_and_done_before_a_run(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.json"
    rule = {
        "id": "few-cpus",
        "check": {"fact": "cpus", "below": 4096},
        "meaning": "This node has too few CPUs for our jobs.",
        "fix": "Use the large queue.",
        "source": "our wiki",
        "examples": [64, 5000],
        "counterexamples": [4096],
    }
    file.write_text(json.dumps({"format": 1, "rules": [rule]}))

    assert main(["doctor", "--test", str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "few-cpus doesn't match: 5000",
        "3 examples, 1 wrong",
    ]
    assert main(["doctor", "--before", "--rules", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "✗ This node has too few CPUs for our jobs." in printed
    assert "rules: cpus: " in printed


def test_wrong_check_of_a_rule_file_is_named(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.json"
    rule = {"id": "few-cpus", "check": {"fact": "cpu", "below": 8}}
    file.write_text(json.dumps({"format": 1, "rules": [rule]}))

    assert main(["doctor", "--test", str(file)]) == 1
    assert "has no valid rules: rule few-cpus: cpu isn't a fact" in capsys.readouterr().err


def test_messages_of_a_chinese_shell_name_the_cause(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    for line, sentence in (
        ("run.sh: 行 3:  4711 已杀死               python train.py", "A process was killed"),
        ("段错误 (核心已转储)", "A process was ended by a segmentation fault."),
        ("总线错误(吐核)", "A process got a bus error"),
        ("start.sh: 行 7: ray: 未找到命令", "The shell has found no command ray."),
    ):
        log.write_text(f"2026-09-10 15:07:35 INFO utils.py:977] Found nccl\n{line}\n")
        assert main(["doctor", str(log), "--exit-code"]) == 3
        printed = capsys.readouterr().out
        assert printed.startswith(sentence)
        assert f"{log}:2  2026-09-10 15:07:35  {line}" in printed


@pytest.mark.parametrize("arguments", [[], ["x", "--run", "y"], ["x", "--test", "y"]])
def test_wrong_arguments_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["doctor", *arguments])

    assert refused.value.code == 2


def _rules(folder: Path, example: str = "reward model returned nothing for p-1") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "rules.json"
    rule = {
        "id": "reward-empty",
        "pattern": r"reward model returned nothing for (?P<prompt>\S{1,40})",
        "meaning": "The reward model has no answer for {prompt}.",
        "fix": "Restart it.",
        "source": "our wiki",
        "examples": [example],
    }
    file.write_text(json.dumps({"format": 1, "rules": [rule]}))
    return file
