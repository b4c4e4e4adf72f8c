"""Failures between the adapter and a worker: the message, and that no stop is lost."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from tests.adapter.conversation import Conversation
from tests.adapter.harness import AdapterProcess, ControlClient, Program, attach_params, until
from tests.dap_client import DapClient, RequestFailed

Start = Callable[..., Program]


@contextmanager
def listener(answer: bytes | None) -> Iterator[int]:
    """A port that is not a debugger: sends `answer` and then nothing; None closes at once."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        accepted = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                if answer is None:
                    connection.close()
                else:
                    connection.sendall(answer)
                    accepted.append(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(20)
            for connection in accepted:
                connection.close()


def fake_params(port: int) -> dict[str, object]:
    return {
        "session": "session_1",
        "worker_id": "w1",
        "cluster": "",
        "name": "PolicyWorker r0",
        "host": "127.0.0.1",
        "port": port,
    }


def test_closed_port_is_refused(control: ControlClient) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    error = control.error("attach", **fake_params(port))
    assert error["code"] == "worker-unreachable"
    assert f"PolicyWorker r0 (127.0.0.1:{port})" in error["message"]
    assert control.worker() is None


@pytest.mark.parametrize(
    "answer", [None, b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n"]
)
def test_port_of_another_program_is_refused(control: ControlClient, answer: bytes | None) -> None:
    with listener(answer) as port:
        assert control.error("attach", **fake_params(port))["code"] == "not-a-debugger"
    assert control.worker() is None


def test_worker_of_another_debugger_is_refused(control: ControlClient, program: Start) -> None:
    worker = program("loop.py", "1")
    other = DapClient.tcp("127.0.0.1", worker.state()["port"])
    other.request("initialize", adapterID="other")
    attached = other.send("attach", justMyCode=False)
    other.wait_for("initialized")
    error = control.answer(control.send("attach", **attach_params(worker)))["error"]
    assert error["code"] == "worker-busy"
    assert "PolicyWorker r0 is already being debugged elsewhere" in error["message"]
    # The first one is unaffected.
    other.request("configurationDone")
    assert other.response(attached)["success"]
    other.wait_for("stopped")
    other.leave()
    worker.wait_done()


def test_worker_that_resumed_before_attaching_is_reported(
    control: ControlClient, program: Start
) -> None:
    worker = program("waiting.py")
    control.attach(worker)
    control.call("release", session="session_1", worker_id="w1")
    worker.wait_output("running")
    result = control.attach(worker)
    assert result["worker"]["state"] == "running"
    assert result["worker"]["stop"] is None
    control.call("release", session="session_1", worker_id="w1")
    assert "done" not in worker.output()


def test_killed_worker_ends_the_session_of_its_editor(
    control: ControlClient, program: Start
) -> None:
    golden = Conversation("worker_dies")
    worker = program("loop.py", "1")
    control.call("subscribe")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    worker.kill()
    editor.wait_for("output", lambda body: "exited" in body["output"])
    editor.wait_for("terminated")
    editor.request("disconnect", restart=False, terminateDebuggee=False)
    golden.hear(editor)
    golden.compare()
    control.wait_event(lambda workers: workers == [])
    assert control.worker() is None


def test_killed_held_worker_leaves_the_list(control: ControlClient, program: Start) -> None:
    worker = program("loop.py", "1")
    control.call("subscribe")
    control.attach(worker)
    worker.kill()
    control.wait_event(lambda workers: workers == [])
    assert control.worker() is None
    error = control.error("release", session="session_1", worker_id="w1")
    assert error["code"] == "unknown-worker"


def test_end_of_the_program_ends_the_session_of_its_editor(
    control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "1")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    editor.request("continue", threadId=1)
    editor.wait_for("terminated")
    assert "done" in worker.wait_done()


def test_failed_evaluation_is_reported(control: ControlClient, program: Start) -> None:
    editor = DapClient.unix(control.attach(program("loop.py", "1"))["socket"])
    editor.attach()
    editor.wait_for("stopped")
    frame = editor.stack()[0]["id"]
    with pytest.raises(RequestFailed, match="nothing_here"):
        editor.request("evaluate", expression="nothing_here", frameId=frame, context="watch")
    with pytest.raises(RequestFailed):
        editor.request("noSuchRequest")
    assert editor.evaluate("loss", frame) == "1.0"


def test_malformed_control_request_gets_a_response(adapter: AdapterProcess) -> None:
    client = adapter.connect()
    assert client.error("fly")["code"] == "internal"
    assert client.error("release", session="s")["code"] == "internal"
    assert client.call("hello")["protocol"] == 1


def test_simultaneous_attach_requests_share_one_session(
    adapter: AdapterProcess, control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "1")
    other = adapter.connect()
    first, second = (
        control.send("attach", **attach_params(worker)),
        other.send("attach", **attach_params(worker)),
    )
    assert control.answer(first)["result"]["socket"] == other.answer(second)["result"]["socket"]


def test_attaching_continues_when_its_client_disconnects(
    adapter: AdapterProcess, control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "1")
    impatient = adapter.connect()
    impatient.send("attach", **attach_params(worker))
    until(lambda: control.worker() is not None, "attaching")
    impatient.close()
    until(lambda: (control.worker() or {}).get("state") == "stopped", "attached all the same")


def test_several_workers_attach_at_once(control: ControlClient, program: Start) -> None:
    workers = [program("loop.py", "1") for _ in range(3)]
    requests = [control.send("attach", **attach_params(w, f"w{n}")) for n, w in enumerate(workers)]
    states = [control.answer(request)["result"]["worker"]["state"] for request in requests]
    assert states == ["stopped"] * 3
    for n, worker in enumerate(workers):
        control.call("release", session="session_1", worker_id=f"w{n}")
        assert "done" in worker.wait_done()
