"""Logs that are hard to read: very long lines, rotation, thousands of files, no permission; and the blind set."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
from eagleray.features.doctor import log_files
from eagleray.features.doctor.diagnosing import diagnose
from eagleray.features.doctor.log_files import list_logs
from eagleray.features.doctor.model import Diagnosis
from eagleray.features.doctor.rule_files import own_rules

from tests.doctor.blind.log_scores import NEWER_LOGS, log_scores
from tests.doctor.blind.scores import NEWER_LINES, scores

FILES = b"2026-11-21 01:25:07 OSError: [Errno 24] Too many open files: 'x'\n"
DOCUMENT = Path(__file__).parents[2] / "docs" / "doctor.md"


def diagnosed(folder: Path) -> Diagnosis:
    files, unchecked = list_logs([folder])
    return diagnose(files, own_rules(), unchecked)


def test_line_of_100_mb_is_read_in_little_memory(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with (tmp_path / "a.log").open("wb") as file:
        for _ in range(100):
            file.write(b"x" * 2**20)
        file.write(b"\n" + FILES)

    (cause,) = diagnosed(tmp_path).causes

    assert (cause.id, cause.evidence[0].line) == ("ulimit-nofile", 2)
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown_mib < 60


def test_log_that_is_rotated_while_it_is_read_does_no_harm(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"fine\n" * 1000 + FILES)
    (tmp_path / "b.log").write_bytes(FILES)
    files, unchecked = list_logs([tmp_path])
    log.rename(tmp_path / "a.log.1")
    log.write_bytes(b"new\n")

    found = diagnose(files, own_rules(), unchecked)

    assert [Path(item.path).name for item in found.causes[0].evidence] == ["b.log"]


def test_one_of_2000_logs_names_the_cause(tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / f"worker-{number}.out").write_bytes(b"step 1\n")
    (tmp_path / "worker-1234.out").write_bytes(b"step 1\n" + FILES)

    found = diagnosed(tmp_path)

    assert (found.checked.files, found.causes[0].files) == (2000, 1)
    assert found.causes[0].evidence[0].path.endswith("worker-1234.out")


def test_log_without_permission_is_listed_as_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.log").write_bytes(FILES)
    (tmp_path / "b.log").write_bytes(FILES)
    # The tests may run as root, which may read everything.
    monkeypatch.setattr(
        log_files.os, "access", lambda path, mode: not str(path).endswith("b.log") and os.R_OK
    )

    found = diagnosed(tmp_path)

    assert found.causes[0].files == 1
    assert [(Path(item.path).name, item.reason) for item in found.checked.unchecked] == [
        ("b.log", "no permission")
    ]


def test_document_has_the_scores_of_the_blind_sets() -> None:
    document = " ".join(DOCUMENT.read_text("utf-8").split())

    assert scores().sentence() in document
    assert scores(NEWER_LINES).sentence() in document
    assert log_scores().sentence() in document
    assert log_scores(NEWER_LOGS).sentence() in document


def test_cancelled_list_of_a_large_folder_is_cut(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"worker-{number:02}.err").write_bytes(FILES)
    asked = iter([False] * 3 + [True] * 100)

    files, _ = list_logs([tmp_path], lambda: next(asked))

    assert len(files) == 3
