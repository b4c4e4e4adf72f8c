"""Flight recorders that processes serve: which processes are asked for theirs, and what travels of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Collection
from typing import Any

from eagleray.remote.sampling import flight_record_client, proc
from eagleray.remote.sampling.flight_record_client import LONGEST_RECORD, ServedRecords, record_text
from eagleray.remote.sampling.processes import ACTOR, DATA_LOADER, RANK, Described
from eagleray.remote.sampling.pyspy_dumps import Tools

from tests.ray_cluster import wait_for

RECORD = {"version": "2.10", "pg_status": {"0": {}}, "entries": [{"pg_id": 0}]}


def described(pid: int, role: str) -> Described:
    return Described(pid, 1, role, "train.py", 0, "train.py")


def test_only_ranks_and_actors_that_run_are_asked() -> None:
    asked: list[int] = []

    def read(pids: Collection[int], records: dict[int, Any], *, is_whole: bool) -> None:
        asked.extend(pids)
        records.update(dict.fromkeys(pids, RECORD if is_whole else {}))

    own, parent = os.getpid(), os.getppid()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stopped:
        stopped.send_signal(signal.SIGSTOP)
        wait_for("the stop", lambda: (found := proc.stat(stopped.pid)) and found.state == "T")
        processes = [
            described(own, RANK),
            described(stopped.pid, RANK),
            described(parent, ACTOR),
            described(os.getpgid(0), DATA_LOADER),
        ]
        tools = Tools(read_records=read)
        records = [
            ServedRecords(processes, tools, is_whole=is_whole).result(())
            for is_whole in (True, False)
        ]
        stopped.kill()
    assert asked == [own, parent] * 2
    assert records == [{own: RECORD, parent: RECORD}, {}]
    assert ServedRecords(processes, Tools(), is_whole=True).result(()) == {}


def test_picture_does_not_wait_for_records_that_never_come(monkeypatch: Any) -> None:
    monkeypatch.setattr(flight_record_client, "LIMIT_S", 0.05)
    ended = threading.Event()

    def read(pids: Collection[int], records: dict[int, Any], *, is_whole: bool) -> None:
        ended.wait()

    rank = described(os.getpid(), RANK)
    assert ServedRecords([rank], Tools(read_records=read), is_whole=True).result(()) == {}
    ended.set()


def test_first_record_of_a_picture_is_its_counters_and_a_long_one_is_left_out() -> None:
    assert json.loads(record_text(RECORD, is_whole=True)) == RECORD
    assert json.loads(record_text(RECORD, is_whole=False)) == {**RECORD, "entries": []}
    assert record_text({**RECORD, "entries": ["x" * LONGEST_RECORD]}, is_whole=True) == ""
