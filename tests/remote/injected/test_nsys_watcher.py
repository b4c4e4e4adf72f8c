"""The nsys watcher, with a fake nsys that fails without saying so."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from eagleray.remote.injected.nsys import launch, node_processes, node_reports, session
from eagleray.remote.injected.nsys.program import (
    NsysError,
    NsysProgram,
    error_line,
    generated_reports,
)

from tests.ray_cluster import wait_for
from tests.remote.injected.nsys_watcher import watched


def test_worker_is_recorded_as_often_as_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch) as one:
        one.begin()
        one.proxy.say(op="who", actor_id="a1", name="policy-3", rank="3", gpus=["0"], secret="x")
        for name in (".nsys-rep", ".2.nsys-rep"):
            one.proxy.say(op="record", seconds=0)
            one.proxy.until("recording")
            # An impatient user sends it twice.
            one.proxy.say(op="record", seconds=0)
            one.proxy.say(op="stop_recording")
            one.proxy.until("writing")
            assert one.proxy.until("armed")["reports"][-1] == f"{one.stem}{name}"
        one.end_worker()
        assert len(one.proxy.until("ended")["reports"]) == 2
    entry = one.written(".2.nsys-rep.json")
    content = (one.reports / f"{one.stem}.2.nsys-rep").read_bytes()
    assert (entry["size"], entry["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert (entry["actor_id"], entry["name"], entry["rank"]) == ("a1", "policy-3", "3")
    assert (
        entry["nsys_version"] == "2031.1.2.3" and entry["problem"] == "" and entry["gpus"] == ["0"]
    )
    assert "--force-overwrite=true" in entry["options"] and "secret" not in entry
    status = one.written(".worker.json")
    assert status["state"] == "ended" and status["pid"] == one.worker.pid


@pytest.mark.parametrize(
    ("way", "problem"),
    [
        ("nothing", "nsys ended without a report"),
        ("empty", "nsys ended without a report"),
        ("raw", "nsys ended before it had written the report"),
        ("truncated", "the report cannot be read: Exportation error: Section Table"),
        ("elsewhere", ""),
    ],
)
def test_exit_code_0_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, problem: str
) -> None:
    with watched(tmp_path, monkeypatch, way, when="always") as one:
        one.begin()
        one.proxy.until("recording")
        one.proxy.say(op="stop_recording")
        shown = one.proxy.until("armed")
    entry = one.written(".nsys-rep.json")
    assert entry["problem"].startswith(problem) and shown["problem"] == entry["problem"]
    assert bool(entry["problem"]) == bool(problem)
    is_there = way in ("truncated", "elsewhere")
    assert bool(entry["size"]) == is_there == bool(shown["reports"])


def test_recording_ends_after_its_seconds_from_the_start_of_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch, when="seconds", seconds=0.1) as one:
        one.begin()
        one.proxy.until("recording")
        one.proxy.until("writing")
        assert one.proxy.until("armed")["reports"] == [f"{one.stem}.nsys-rep"]


def test_seconds_requested_during_a_recording_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch, when="always") as one:
        one.begin()
        one.proxy.until("recording")
        one.proxy.say(op="record", seconds=0.1)
        one.proxy.until("writing")
        shown = one.proxy.until("armed")
    assert (shown["reports"], shown["problem"]) == ([f"{one.stem}.nsys-rep"], "")


def test_request_without_seconds_removes_the_limit_of_the_running_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch) as one:
        one.begin()
        one.proxy.say(op="record", seconds=60)
        one.proxy.until("recording")
        assert one.watcher._ends_at > 0
        one.proxy.say(op="record", seconds=0)
        one.proxy.until("recording")
        assert one.watcher._ends_at == 0


def test_seconds_do_not_end_a_recording_of_a_framework(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch, is_by_framework=True) as one:
        one.begun.say(op="worker", pid=one.worker.pid)
        assert one.begun.hear() == {"event": "go"}
        one.proxy.say(op="proxy")
        one.proxy.until("recording")
        one.proxy.say(op="record", seconds=0.1)
        assert "its framework records it" in one.proxy.until("recording")["problem"]
        assert one.watcher._ends_at == 0
        (tmp_path / "theirs.nsys-rep").write_bytes(b"a whole report")
        one.end_worker()
        assert one.proxy.until("ended")["reports"] == [f"{one.stem}.nsys-rep"]


def test_range_of_the_program_ends_when_its_report_stops_growing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch, when="steps") as one:
        one.begin()
        one.proxy.until("armed")
        report = one.reports / f"{one.stem}.nsys-rep"
        report.write_bytes(b"a whole")
        one.proxy.say(op="record", seconds=0)
        assert "program itself says so" in one.proxy.until("armed")["problem"]
        assert not Path(f"{report}.json").exists()
        report.write_bytes(b"a whole report")
        wait_for("the whole report", lambda: Path(f"{report}.json").exists())
    assert one.written(".nsys-rep.json")["problem"] == ""
    assert one.written(".worker.json")["reports"] == [report.name]


def test_unreadable_report_is_checked_at_growing_intervals_until_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try is a run of nsys on the node."""
    now = [100.0]
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    report, growing = tmp_path / "a.nsys-rep", session.GrowingReports()
    report.touch()
    assert [growing.may_be_whole(str(report)) for _ in range(2)] == [False, False]
    report.write_bytes(b"some")

    def tries(looks: int) -> list[int]:
        found = []
        for look in range(looks):
            now[0] += 0.25
            if growing.may_be_whole(str(report)):
                found.append(look)
        return found

    assert tries(40) == [1, 2, 4, 8, 16, 32]
    assert len(tries(4000)) < 40
    report.write_bytes(b"some more")
    assert tries(3) == [1, 2]


def test_program_that_never_begins_its_range_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch, when="steps") as one:
        one.begin()
        one.end_worker()
        problem = one.proxy.until("ended")["problem"]
    assert problem.startswith("the program began no range in which to record")


def test_error_of_nsys_is_shown_at_the_worker_which_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch, "refuses", when="always") as one:
        one.begin()
        known = one.proxy.until("armed")
    assert known["problem"] == "nsys does not record: Illegal --sample argument 'x'."


def test_watcher_whose_worker_continues_without_nsys_lets_no_worker_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch) as one:
        one.starter.say(op="front", pid=one.front.pid)
        one.starter.close()
        one.thread.join(30)
        one.begun.say(op="worker", pid=one.worker.pid)
    assert list(one.reports.iterdir()) == []


def test_nsys_that_does_not_answer_is_killed_after_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, helper = tmp_path / "nsys", tmp_path / "helper"
    silent.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {helper}\nexec sleep 600\n")
    silent.chmod(0o755)
    with pytest.raises(NsysError, match="did not answer within"):
        NsysProgram(str(silent), os.environ).call(["stop"], 0.5)
    left = node_processes.NodeProcess(int(helper.read_text()))
    wait_for("the end of its helper", lambda: not left.is_alive)
    monkeypatch.setattr(launch, "BEGIN_S", 0.3)
    ours, theirs = socket.socketpair()
    with ours, theirs, subprocess.Popen(["sleep", "600"]) as front:
        assert launch._started(ours, front) == 0
        front.kill()


def test_process_with_the_pid_of_an_ended_one_is_a_different_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It isn't ended in place of the other, and no process waits for its end."""
    this = node_processes.NodeProcess(os.getpid())
    assert this.is_alive and not node_processes.NodeProcess().is_alive
    with subprocess.Popen(["true"]) as other:
        # It stays in the table of processes until it is waited for.
        wait_for("its end", lambda: not node_processes.NodeProcess(other.pid).is_alive)
    monkeypatch.setattr(node_processes, "began", lambda pid: "later")
    assert not this.is_alive


def test_process_without_permission_to_begin_is_not_the_worker(tmp_path: Path) -> None:
    address = tmp_path / "socket"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(address))
    listener.listen(1)

    def turn_away() -> None:
        with contextlib.suppress(OSError):
            listener.accept()[0].close()

    threading.Thread(target=turn_away, daemon=True).start()
    with listener:
        assert not launch._may_begin(str(address))


def test_several_stray_reports_are_left_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    recording = session.NsysRecording(str(tmp_path / "wanted.nsys-rep"), [], False)
    for name in ("nsys-report-aa01.nsys-rep", "nsys-report-aa02.nsys-rep"):
        (tmp_path / name).write_bytes(b"x")
    assert "at one of" in session.place_report(recording)
    assert node_reports.strays(recording.began + 3600, ".nsys-rep") == []


def test_stray_report_is_not_taken_for_a_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    other = tmp_path / "nsys-report-aa01.nsys-rep"
    other.write_bytes(b"x")
    wanted = tmp_path / "wanted.nsys-rep"
    in_ranges = session.NsysRecording(str(wanted), [], True)
    assert session.place_report(in_ranges) == "nsys ended without a report" and not wanted.exists()
    assert session.place_report(session.NsysRecording(str(wanted), [], False)) == ""
    assert wanted.read_bytes() == other.read_bytes() == b"x"


def test_output_of_nsys_is_parsed() -> None:
    said = "Generating '/tmp/nsys-report-c1.qdstrm'\r[1/1] [100%] a\r\nGenerated:\r\n\t/a/b c.nsys-rep\n"
    assert generated_reports(said) == ["/a/b c.nsys-rep"]
    assert error_line("\n[1/1]\nIllegal --trace argument 'x'.\n\nusage: nsys") == (
        "Illegal --trace argument 'x'."
    )
