"""Logs that are hard to read: very long lines, rotation, thousands of files, no permission; and the blind set."""

from __future__ import annotations

import json
import os
import pwd
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules

from tests.doctor.blind.log_scores import LATEST_LOGS, NEWER_LOGS, log_scores
from tests.doctor.blind.scores import NEWER_LINES, scores
from tests.ray_cluster import wait_for

FILES = b"2026-11-21 01:25:07 OSError: [Errno 24] Too many open files: 'x'\n"
DOCUMENT = Path(__file__).parents[2] / "docs" / "doctor.md"


def diagnosed(*paths: Path) -> Diagnosis:
    files, unchecked = list_logs(paths)
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


def diagnosed_by_nobody(folder: Path) -> tuple[int, list[tuple[str, str]]]:
    """How many files have the cause, and what isn't checked, by a process of another user if this is one of root."""
    # Another user may not be able to read our Python: all modules and rules are loaded already.
    own_rules()
    result, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setuid(pwd.getpwnam("nobody").pw_uid)
            found = diagnosed(folder, folder / "private" / "c.log")
            rows = [(Path(item.path).name, item.reason) for item in found.checked.unchecked]
            os.write(writes, json.dumps([found.causes[0].files, rows]).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(result, "rb") as answer:
        files, rows = json.loads(answer.read())
    os.waitpid(child, 0)
    return files, [tuple(row) for row in rows]


def test_logs_and_folders_of_another_user_are_listed_as_not_checked() -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        (folder / "a.log").write_bytes(FILES)
        (folder / "b.log").write_bytes(FILES)
        (folder / "private").mkdir()
        (folder / "private" / "c.log").write_bytes(FILES)
        # Root may read everything, so another user reads; any other user may not read these.
        is_root = os.getuid() == 0
        (folder / "b.log").chmod(0o600 if is_root else 0)
        (folder / "private").chmod(0o700 if is_root else 0)
        files, unchecked = diagnosed_by_nobody(folder)
    finally:
        (folder / "private").chmod(0o700)
        shutil.rmtree(folder)

    assert files == 1
    assert sorted(unchecked) == [(name, "no permission") for name in ("b.log", "c.log", "private")]


@pytest.mark.parametrize("is_copied", [True, False], ids=["copytruncate", "rename"])
def test_log_of_a_living_writer_may_be_rotated_at_any_time(tmp_path: Path, is_copied: bool) -> None:
    log = tmp_path / "a.log"
    script = (
        "import sys, time\n"
        "while True:\n"
        "    with open(sys.argv[1], 'ab', buffering=0) as log:\n"
        "        for _ in range(20):\n"
        f"            log.write(b'step 1\\n' * 300 + {FILES!r})\n"
        "            time.sleep(0.002)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, log])
    is_done = threading.Event()

    def rotate() -> None:
        """As logrotate does, with `copytruncate` or without."""
        while not is_done.is_set():
            wait_for("lines", lambda: log.exists() and log.stat().st_size > 20_000, 60, 0.001)
            if is_copied:
                shutil.copyfile(log, tmp_path / "a.log.1")
                os.truncate(log, 0)
            else:
                log.rename(tmp_path / "a.log.1")

    rotation = threading.Thread(target=rotate)
    try:
        wait_for("the first line", lambda: log.exists() and log.stat().st_size > 0)
        rotation.start()
        diagnoses = [diagnosed(tmp_path) for _ in range(20)]
    finally:
        is_done.set()
        rotation.join()
        writer.kill()
        writer.wait()

    causes = [cause for found in diagnoses for cause in found.causes]
    assert {cause.id for cause in causes} == {"ulimit-nofile"}
    lines = {item.text for cause in causes for item in cause.evidence}
    assert lines == {FILES.decode().strip()}
    assert [error.text for found in diagnoses for error in found.unknown] == []


def test_logs_that_are_empty_at_this_moment_have_no_cause(tmp_path: Path) -> None:
    for name in ("a.log", "a.log.1"):
        (tmp_path / name).touch()

    empty = diagnosed(tmp_path)
    (tmp_path / "a.log.1").write_bytes(FILES)

    assert (empty.checked.files, empty.causes, empty.unknown) == (2, (), ())
    assert diagnosed(tmp_path).checked.files == 1


def test_document_has_the_scores_of_the_blind_sets() -> None:
    document = " ".join(DOCUMENT.read_text("utf-8").split())

    assert scores().sentence() in document
    assert scores(NEWER_LINES).sentence() in document
    assert log_scores().sentence() in document
    assert log_scores(NEWER_LOGS).sentence() in document
    assert log_scores(LATEST_LOGS).sentence() in document


def test_cancelled_list_of_a_large_folder_is_cut(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"worker-{number:02}.err").write_bytes(FILES)
    asked = iter([False] * 3 + [True] * 100)

    files, _ = list_logs([tmp_path], lambda: next(asked))

    assert len(files) == 3
