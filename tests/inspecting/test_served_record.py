"""The record of a process from a server in it; tests/hangs has PyTorch's own, and here is one that answers as that does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eagleray.injected import record_server
from eagleray.injected.hooks.import_hook import ImportHook
from eagleray.inspecting import served_record

# Answers as PyTorch's worker server does: the names of its handlers, and what each of them says.
FAKE_WORKER_SERVER = """
import http.server, json, os, socketserver, sys
answers = json.loads(sys.argv[2])
class Handler(http.server.BaseHTTPRequestHandler):
    def address_string(self): return "local"
    def log_message(self, *_): pass
    def answer(self, text):
        content = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def do_GET(self): self.answer(json.dumps(list(answers)))
    def do_POST(self): self.answer(answers[self.path.rpartition("/")[2]])
server = socketserver.ThreadingUnixStreamServer(sys.argv[1], Handler)
print("ready", flush=True)
server.serve_forever()
"""
GLOO = {
    "version": "2.10",
    "entries": [{"record_id": number} for number in range(300)],
    "pg_status": {"0": {}},
}


@contextmanager
def serving(answers: dict[str, str], mode: int = 0o700, of: int = 0) -> Iterator[int]:
    """The pid of a process that answers; its folder is named as that of `of`, if given."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder) / "s"
        with subprocess.Popen(
            [sys.executable, "-c", FAKE_WORKER_SERVER, str(path), json.dumps(answers)],
            stdout=subprocess.PIPE,
        ) as process:
            named = Path("/tmp") / f"{served_record.START}{of or process.pid}-test"
            try:
                assert process.stdout and process.stdout.readline() == b"ready\n"
                named.mkdir()
                named.chmod(mode)
                path.rename(named / served_record.SOCKET)
                yield process.pid
            finally:
                process.kill()
                (named / served_record.SOCKET).unlink(missing_ok=True)
                named.rmdir()


def test_both_sides_mean_the_same_socket() -> None:
    for name in ("START", "SOCKET", "HANDLERS"):
        assert getattr(served_record, name) == getattr(record_server, name)


def test_record_has_the_newest_collectives() -> None:
    with serving({"ping": "pong", "fr_trace_json": json.dumps(GLOO)}) as pid:
        record = served_record.served_record(pid)
    assert record is not None
    assert [entry["record_id"] for entry in record["entries"]] == list(range(200, 300))
    assert (record["version"], record["pg_status"]) == ("2.10", {"0": {}})


def test_record_of_nccl_comes_first_where_it_has_collectives() -> None:
    empty = json.dumps({"version": "2.10"})
    nccl = json.dumps({"version": "nccl", "entries": [{}]})
    for first, version in ((nccl, "nccl"), (empty, "2.10")):
        answers = {"fr_trace_json": json.dumps(GLOO), "dump_nccl_trace_json": first}
        with serving(answers) as pid:
            record = served_record.served_record(pid)
        assert record is not None and record["version"] == version
        assert record["entries"]


@pytest.mark.parametrize(
    "answers",
    [
        {"ping": "pong"},
        {"fr_trace_json": "no JSON"},
        {"fr_trace_json": "[]"},
        {"fr_trace_json": json.dumps({"entries": 7})},
        {"fr_trace_json": "[" * 100_000},
    ],
    ids=str,
)
def test_answer_of_another_kind_is_no_record(answers: dict[str, str]) -> None:
    with serving(answers) as pid:
        assert served_record.served_record(pid) is None


def test_socket_of_another_process_or_folder_of_all_is_not_read() -> None:
    answers = {"fr_trace_json": json.dumps(GLOO)}
    with serving(answers, of=os.getpid()):
        assert served_record.served_record(os.getpid()) is None
    with serving(answers, mode=0o755) as pid:
        assert served_record.served_record(pid) is None


def test_picture_gets_records_of_processes_with_a_server_and_waits_for_no_silent_one() -> None:
    entry = {"pg_id": 0, "collective_seq_id": 4, "frames": [{"name": "fit"}], "retired": False}
    gloo = json.dumps({**GLOO, "entries": [entry, "no collective"]})
    with serving({"fr_trace_json": gloo}) as pid, silent() as other:
        records = served_record.served_records([pid, other, os.getpid()], limit_s=0.5)
        assert served_record.served_records([os.getpid()]) == {}
    [record] = records.values()
    assert (list(records), record["pg_status"]) == ([pid], {"0": {}})
    assert record["entries"] == [{"pg_id": 0, "collective_seq_id": 4, "retired": False}]


@contextmanager
def silent() -> Iterator[int]:
    """The pid of a process that listens and never answers."""
    code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(flush=True); sys.stdin.read()"
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        subprocess.Popen(
            [sys.executable, "-c", code, f"{folder}/s"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout and process.stdout.readline() == b"\n"
        named = Path("/tmp") / f"{served_record.START}{process.pid}-test"
        named.mkdir(mode=0o700)
        (Path(folder) / "s").rename(named / served_record.SOCKET)
        try:
            yield process.pid
        finally:
            process.kill()
            (named / served_record.SOCKET).unlink()
            named.rmdir()


def test_server_is_off_unless_asked_for() -> None:
    hook: Any = ImportHook()
    record_server.prepare(hook, {})
    assert hook._after == {}
    record_server.prepare(hook, {record_server.VARIABLE: "on"})
    assert list(hook._after) == ["torch.distributed.distributed_c10d"]
