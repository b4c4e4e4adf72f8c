"""The record of a process from a server in it; tests/observe/hangs has PyTorch's own, and here is one that answers as that does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected import flight_record_server, observer_thread
from eagleray.remote.injected.import_hook import ImportHook
from eagleray.remote.inspecting import flight_record_socket
from eagleray.remote.sampling.flight_record_client import ServedRecords
from eagleray.remote.sampling.processes import RANK, Described
from eagleray.remote.sampling.pyspy_dumps import Tools

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


# Answers as a rank does: a line for each recorder, and one with the groups.
FAKE_RANK = """
import functools, os, socket, sys, threading, types
from eagleray.remote.injected import observer_thread
socket.setdefaulttimeout(0.01)
def dump(whole, active, texts):
    return texts if isinstance(texts, str) else texts[0] if whole else texts.pop(1)
dumps = {name: functools.partial(dump, texts=texts) for name, texts in eval(sys.argv[2]).items()}
listener = observer_thread.start(sys.argv[1], types.SimpleNamespace(**dumps))
assert listener.fileno() >= 0 and threading.active_count() == 1
child = os.fork()
if child == 0:
    # One that stays would answer nobody.
    os._exit(listener.fileno() != -1)
assert os.waitpid(child, 0)[1] == 0
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in place of `/tmp`, whose path is as short as a socket's path has to be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        monkeypatch.setattr(flight_record_socket, "_ROOT", path)
        monkeypatch.setattr(flight_record_server, "_ROOT", path)
        yield Path(flight_record_server.folder())


@contextmanager
def listening(folder: Path, ending: str, code: str, *arguments: str, of: int = 0) -> Iterator[int]:
    """The pid of a process that listens; its socket is named as the socket of `of`, if given."""
    path = folder / "s"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            path.rename(folder / f"{of or process.pid}-test{ending}")
            yield process.pid
        finally:
            process.kill()


def serving(answers: dict[str, str], folder: Path, of: int = 0) -> AbstractContextManager[int]:
    """A process that answers as PyTorch."""
    texts = json.dumps(answers)
    return listening(folder, flight_record_server.OF_PYTORCH, FAKE_WORKER_SERVER, texts, of=of)


def test_both_sides_mean_the_same_socket() -> None:
    for name in ("START", "OF_THREAD", "OF_PYTORCH", "HANDLERS"):
        assert getattr(flight_record_socket, name) == getattr(flight_record_server, name)
    for name in ("WHOLE", "COUNTERS"):
        assert getattr(flight_record_socket, name) == getattr(observer_thread, name)


def test_record_has_the_newest_collectives(folder: Path) -> None:
    with serving({"ping": "pong", "fr_trace_json": json.dumps(GLOO)}, folder) as pid:
        record = flight_record_socket.served_record(pid)
    assert record is not None
    assert [entry["record_id"] for entry in record["entries"]] == list(range(200, 300))
    assert (record["version"], record["pg_status"]) == ("2.10", {"0": {}})


def test_record_of_nccl_comes_first_where_it_has_collectives(folder: Path) -> None:
    empty = json.dumps({"version": "2.10"})
    nccl = json.dumps({"version": "nccl", "entries": [{}]})
    for first, version in ((nccl, "nccl"), (empty, "2.10")):
        answers = {"fr_trace_json": json.dumps(GLOO), "dump_nccl_trace_json": first}
        with serving(answers, folder) as pid:
            record = flight_record_socket.served_record(pid)
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
def test_answer_of_another_kind_is_not_a_record(answers: dict[str, str], folder: Path) -> None:
    with serving(answers, folder) as pid:
        assert flight_record_socket.served_record(pid) is None


def test_socket_of_another_process_or_in_a_folder_of_all_is_not_read(folder: Path) -> None:
    answers = {"fr_trace_json": json.dumps(GLOO)}
    with serving(answers, folder, of=os.getpid()):
        assert flight_record_socket.served_record(os.getpid()) is None
    with serving(answers, folder) as pid:
        assert flight_record_socket.served_record(pid) is not None
        folder.chmod(0o755)
        assert flight_record_socket.served_record(pid) is None
    assert flight_record_server.folder() == ""


def rank(folder: Path, **dumps: str | list[str]) -> AbstractContextManager[int]:
    """A process in which our thread answers; `dumps` are what the functions of PyTorch return.

    A list has the whole record, and then the counters at each request.
    """
    return listening(folder, flight_record_server.OF_THREAD, FAKE_RANK, repr(dumps))


@pytest.mark.parametrize("count", [0, 1, 100, 101, 300])
def test_thread_of_a_rank_answers_with_its_newest_collectives(folder: Path, count: int) -> None:
    # A text in an entry may look like the start of the next.
    entries = [{"collective_seq_id": n, "note": '},{"collective_seq_id":'} for n in range(count)]
    gloo = json.dumps({**GLOO, "entries": entries}, separators=(",", ":"))
    nccl = json.dumps({"version": "nccl"})
    with rank(folder, _dump_fr_trace_json=gloo, _dump_nccl_trace_json=nccl) as pid:
        record = flight_record_socket.served_record(pid)
    assert record is not None
    assert (record["entries"], record["version"]) == (entries[-100:], "2.10")
    assert (record["pg_status"], record["groups"]) == ({"0": {}}, [])


def test_thread_of_a_rank_that_advances_answers_with_counters_alone(folder: Path) -> None:
    counters = [
        json.dumps({"pg_status": {"0": {"last_enqueued_collective": n}}}) for n in (4, 4, 5)
    ]
    whole = json.dumps({**GLOO, "pg_status": {}}, separators=(",", ":"))
    with rank(folder, _dump_fr_trace_json=[whole, *counters]) as pid:
        records = [flight_record_socket.served_record(pid) for _ in range(3)]
    assert [len(record["entries"]) for record in records if record] == [100, 100, 0]


def test_picture_waits_for_no_rank_whose_gil_is_held(folder: Path) -> None:
    entry = {"pg_id": 0, "collective_seq_id": 4, "frames": [{"name": "fit"}], "retired": False}
    gloo = json.dumps({**GLOO, "entries": [entry, "no collective"]})
    tools = Tools(read_records=flight_record_socket.served_records)
    with (
        serving({"fr_trace_json": gloo}, folder) as pytorch,
        rank(folder, _dump_fr_trace_json=gloo) as thread,
        silent(folder, flight_record_server.OF_THREAD) as other,
    ):
        pids = [pytorch, thread, other, os.getpid()]
        ranks = [Described(pid, 1, RANK, "w", n, "") for n, pid in enumerate(pids)]
        reading = ServedRecords(ranks, tools, is_whole=True)
        records = reading.result(holding=[other])
        assert reading._thread.is_alive()
    assert set(records) == {pytorch, thread}
    for record in records.values():
        assert record["entries"] == [{"pg_id": 0, "collective_seq_id": 4, "retired": False}]


def silent(folder: Path, ending: str) -> AbstractContextManager[int]:
    """A process that listens and never answers."""
    code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print('ready', flush=True); sys.stdin.read()"
    return listening(folder, ending, code)


def test_record_is_served_unless_that_is_off() -> None:
    for value, modules in ((None, 1), ("on", 1), ("off", 0)):
        hook: Any = ImportHook()
        flight_record_server.prepare(hook, {flight_record_server.VARIABLE: value} if value else {})
        assert list(hook._after) == ["torch.distributed.distributed_c10d"] * modules
