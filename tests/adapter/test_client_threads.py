"""The threads of a worker as a client gets them by events, the only source of nvim-dap."""

from __future__ import annotations

from collections.abc import Callable

from tests.adapter.harness import ControlClient, Program
from tests.dap_client import DapClient

Start = Callable[..., Program]


def test_client_gets_one_stop_of_several_threads(control: ControlClient, program: Start) -> None:
    """nvim-dap answers a second one with `continue`, which resumes the worker."""
    worker = program("threaded.py", threads=3)
    client = DapClient.unix(control.attach(worker)["socket"])
    client.attach()
    thread = client.wait_for("stopped")["body"]["threadId"]
    rollouts = [
        row["id"] for row in client.request("threads")["threads"] if "rollout" in row["name"]
    ]
    assert thread in rollouts
    assert [client.stack(each)[0]["name"] for each in rollouts] == ["rollout"] * 3
    assert len(client.events("stopped")) == 1
    assert client.events("thread") == []
    client.close()


def test_client_of_a_running_worker_gets_its_threads(
    control: ControlClient, program: Start
) -> None:
    worker = program("busy.py")
    path = control.attach(worker)["socket"]
    first = DapClient.unix(path)
    first.attach()
    first.wait_for("stopped")
    first.request("continue", threadId=1)
    for _ in range(2):
        first.wait_for("thread", lambda body: body["reason"] == "started")
    first.close()
    client = DapClient.unix(path)
    client.attach()
    threads = [client.wait_for("thread")["body"] for _ in range(3)]
    assert {thread["reason"] for thread in threads} == {"started"}
    listed = client.request("threads")["threads"]
    assert [thread["threadId"] for thread in threads] == [row["id"] for row in listed]
    client.request("pause", threadId=threads[0]["threadId"])
    client.wait_for("stopped")
    client.leave()
    assert "done" in worker.wait_done()
