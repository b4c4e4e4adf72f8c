"""The script that looks for false alarms counts what is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.rule_files import own_rules

from tests.doctor.clean_logs import PROGRAMS, false_alarms
from tests.ray_cluster import PROGRAMS as FOLDER

RECORDED = Path(__file__).parent / "recorded"
# Lines of runs that succeed, in the shape of public ones.
HARMLESS = json.loads((RECORDED / "harmless.json").read_text("utf-8"))


def test_causes_and_unknown_errors_are_false_alarms(tmp_path: Path) -> None:
    log = tmp_path / "a.err"
    log.write_text(
        "OSError: [Errno 24] Too many open files: 'x'\nERROR 11-27 01:02:03 [a.py:1] b\nfine\n"
    )
    files, unchecked = list_logs([log])
    assert [
        alarm.partition(":")[0] for alarm in false_alarms(diagnose(files, own_rules(), unchecked))
    ] == [
        "ulimit-nofile",
        "unknown",
    ]


def test_note_and_clean_log_raise_no_false_alarms(tmp_path: Path) -> None:
    rules = [rule for rule in own_rules() if rule.severity == "info" and rule.examples]
    log = tmp_path / "a.err"
    log.write_text(f"{rules[0].examples[0]}\nstep 3\n")
    files, unchecked = list_logs([log])
    found = diagnose(files, rules[:1], unchecked)
    assert len(found.causes) == 1
    assert false_alarms(found) == []


def test_start_of_a_real_server_has_no_cause() -> None:
    """Recorded from vLLM 0.32.0, which quotes an error that there may be later."""
    files, unchecked = list_logs([RECORDED / "vllm-0.32.0-start.log"])
    assert false_alarms(diagnose(files, own_rules(), unchecked)) == []


@pytest.mark.parametrize("name", HARMLESS)
def test_frightening_lines_of_a_run_that_succeeds_have_no_cause(tmp_path: Path, name: str) -> None:
    log = tmp_path / "a.log"
    log.write_text("\n".join(HARMLESS[name]) + "\n")
    files, unchecked = list_logs([log])
    assert false_alarms(diagnose(files, own_rules(), unchecked)) == []


def test_programs_exist() -> None:
    assert all((FOLDER / program.path).is_file() for program in PROGRAMS)
