"""Tracebacks whose lines begin with something else: what is before the first of them is learned from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import all_rules

LINES = (
    "Traceback (most recent call last):",
    '  File "/work/train.py", line 88, in step',
    "    self.sync(batch)",
    '  File "/work/sync.py", line 7, in sync',
    '    raise WeightSyncError("version 12 is gone")',
    "rl.WeightSyncError: version 12 is gone",
)

# Prefixes of Kubernetes, compose, journald, GitHub's actions, SageMaker and others; {n} counts lines.
PREFIXES = (
    "[2026-11-03 10:00:0{n}] worker-0 >> ",
    "2026-11-03T10:00:0{n}.123456789Z ",
    "2026-11-03 10:00:0{n}.123 ",
    "[pod/trainer-0/main] ",
    "[pod/trainer-0/main] 2026-11-03T10:00:0{n}.1Z ",
    "trainer-1  | ",
    "Nov  3 10:00:0{n} node7 train[812]: ",
    "176216400{n}23 algo-1 ",
    "[1,mpirank:0,algo-1]<stderr>:",
    "train\tRun tests\t2026-11-03T10:00:0{n}.1234567Z ",
    "2026-11-03 10:00:0{n},123 ERROR rl.trainer: ",
    "[ERROR 10:00:0{n}] ",
    "wandb: ",
    "> ",
    "    ",
    "- ",
    "   {n}\t",
    "  {n} | ",
)


def diagnosed(tmp_path: Path, lines: list[str]) -> Diagnosis:
    (tmp_path / "a.log").write_text("\n".join(lines) + "\n")
    return diagnose(list_logs([tmp_path])[0], all_rules([], ()))


def assert_named(diagnosis: Diagnosis) -> None:
    assert diagnosis.sentence.endswith("rl.WeightSyncError: version 12 is gone")
    assert diagnosis.raised == "Raised in sync (sync.py:7)."
    texts = [item.text for item in diagnosis.unknown]
    assert texts.count("rl.WeightSyncError: version 12 is gone") == 1
    assert not any("File" in text or "sync(" in text for text in texts)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefix_is_learned_from_the_first_line(prefix: str, tmp_path: Path) -> None:
    lines = ["step 3 loss 0.2", *LINES, "step 4 loss 0.1"]
    assert_named(diagnosed(tmp_path, [prefix.format(n=n) + line for n, line in enumerate(lines)]))


def test_lines_of_another_worker_between_them_are_none_of_the_traceback(tmp_path: Path) -> None:
    lines = [text for line in LINES for text in (f"worker-0 >> {line}", "worker-1 >> Loss: 0.3")]
    assert_named(diagnosed(tmp_path, lines))


def test_console_writes_the_time_and_the_pod_after_each_line(tmp_path: Path) -> None:
    between = ["2026-03-18 05:25:02", "", "2855e530…trainer-0"]
    lines = [text for line in ["step 3", *LINES] for text in (line, *between)]
    assert_named(diagnosed(tmp_path, lines))


def test_exception_group_has_bars(tmp_path: Path) -> None:
    first, *rest = LINES
    assert_named(
        diagnosed(tmp_path, [f"  + Exception Group {first}", *(f"  | {line}" for line in rest)])
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda: [json.dumps({"level": "error", "message": "\n".join(LINES), "step": 3})],
        lambda: [
            json.dumps({"log": f"{line}\n", "stream": "stderr", "time": f"2026-11-03T10:00:0{n}Z"})
            for n, line in enumerate(LINES)
        ],
    ],
)
def test_lines_of_json_are_read(write: Callable[[], list[str]], tmp_path: Path) -> None:
    assert_named(diagnosed(tmp_path, write()))


def test_first_line_alone_may_have_a_prefix(tmp_path: Path) -> None:
    first, *rest = LINES
    assert_named(diagnosed(tmp_path, [f"2026-11-03 10:00:01,123 ERROR trainer: {first}", *rest]))


def test_logger_writes_more_before_the_first_line_than_before_the_others(tmp_path: Path) -> None:
    first, *rest = LINES
    pod = "[pod/decode-0-3/sglang] "
    assert_named(
        diagnosed(
            tmp_path,
            [
                f"{pod}[2026-05-16 03:10:01 DP5 TP5] loop of rank 5: {first}",
                *(pod + line for line in rest),
            ],
        )
    )
