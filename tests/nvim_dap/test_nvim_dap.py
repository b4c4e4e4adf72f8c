"""nvim-dap on the socket of a held worker: run by `npm run nvim-dap -- --plugin DIR`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapter.harness import LIMIT, PROGRAMS, ControlClient, Program, until
from tests.dap_client import DapClient
from tests.nvim_dap.nvim import Nvim
from tests.nvim_dap.relay import Message, Relay
from tests.ray_cluster import PROGRAMS as RAY_PROGRAMS
from tests.ray_cluster import REPOSITORY, RayCluster, temporary_home
from tests.real_ray.command import Command

pytestmark = pytest.mark.nvim_dap

LOOP = PROGRAMS / "loop.py"

Start = Callable[..., Program]
Attach = Callable[[Program], Relay]


@pytest.fixture
def attach(nvim: Nvim, control: ControlClient, short_home: Path) -> Iterator[Attach]:
    """Attaches to a program; its relay has the socket that `eagleray attach` prints to the editor."""
    relays: list[Relay] = []

    def start(program: Program) -> Relay:
        socket = control.attach(program)["socket"]
        relays.append(Relay(short_home / "relay.sock", socket))
        worker = {"worker_id": "w1", "name": "PolicyWorker r0", "state": "paused"}
        nvim.command_prints(paused=[worker], attach={"socket": relays[-1].path})
        return relays[-1]

    yield start
    for relay in relays:
        relay.close()
        assert problems(relay.from_adapter()) == []


def problems(messages: list[Message]) -> list[str]:
    """Returns the messages that don't agree with the protocol's types, but for the one property that debugpy adds."""
    for message in messages:
        if message.get("event") == "module":
            message["body"]["module"].pop("package", None)
    done = subprocess.run(
        ["node", str(Path(__file__).parent / "problems.mjs")],
        input=json.dumps(messages),
        capture_output=True,
        text=True,
        timeout=2 * LIMIT,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


def next_client(control: ControlClient) -> DapClient:
    """A client that gets the stop of the held worker."""
    until(lambda: not (control.worker() or {})["editor"], "the end of the editor's connection")
    held = control.worker() or {}
    assert held["state"] == "stopped"
    client = DapClient.unix(held["socket"])
    client.attach()
    client.wait_for("stopped")
    return client


def test_a_session(nvim: Nvim, control: ControlClient, program: Start, attach: Attach) -> None:
    worker = program(LOOP, "4")
    relay = attach(worker)
    seen = nvim.session("session", LOOP)
    assert seen["choices"] == ["PolicyWorker r0 (paused)"]
    assert seen["notifications"] == []
    assert seen["stops"] == [
        [name, "loop.py", line]
        for name, line in [
            ("attach", 10),
            ("continue", 12),
            ("step_over", 13),
            ("goto 11", 11),
            ("goto cursor", 12),
            ("run_to_cursor", 13),
            ("step_out", 18),
            ("step_into", 17),
            ("step_into target", 8),
            ("up", 18),
            ("down", 8),
            ("restart", 8),
        ]
    ]
    assert seen["signs"] == {
        "11": "DapLogPoint",
        "12": "DapBreakpointCondition",
        "13": "DapBreakpointRejected",
    }
    assert seen["evaluated"][:2] == ["1.0", "41"]
    assert "NameError" in seen["evaluated"][2]
    assert "step: 0" in seen["scopes"]
    assert "train:10" in seen["frames"]
    assert "loss" in [target["label"] for target in seen["completions"]]
    assert "loss is 8.0" in seen["repl"]
    assert relay.requests("disconnect") == [
        {"restart": False, "terminateDebuggee": True},
        {"restart": False},
    ]
    client = next_client(control)
    client.leave()
    assert "total 8.0" in worker.wait_output("step 0")


@pytest.mark.parametrize("how", ["disconnect", "terminate", "close", "quit", "kill"])
def test_leaving_holds_the_worker(
    nvim: Nvim, control: ControlClient, program: Start, attach: Attach, how: str
) -> None:
    worker = program(LOOP, "2")
    attach(worker)
    done = nvim.start(f"leave {how}", LOOP)
    assert (done.returncode == 0) == (how != "kill"), done.stderr
    client = next_client(control)
    assert client.variables(client.stack()[0]["id"]) == {"loss": "1.0", "step": "0"}
    assert worker.output() == ""
    client.close()


def test_disconnect_with_both_flags_false_releases_the_worker(
    nvim: Nvim, control: ControlClient, program: Start, attach: Attach
) -> None:
    worker = program(LOOP, "1")
    attach(worker)
    nvim.session("leave release", LOOP)
    assert control.worker() is None
    assert "done" in worker.wait_done()


def test_a_second_session_takes_over(
    nvim: Nvim, control: ControlClient, program: Start, attach: Attach
) -> None:
    worker = program(LOOP, "2")
    attach(worker)
    assert nvim.session("takeover", LOOP)["evaluated"] == ["0"]
    next_client(control).close()


def test_several_stopped_threads_stay_stopped(
    nvim: Nvim, control: ControlClient, program: Start, attach: Attach
) -> None:
    worker = program("threaded.py", threads=3)
    relay = attach(worker)
    seen = nvim.session("threads", PROGRAMS / "threaded.py")
    assert seen["evaluated"] == ["True"]
    assert all(f"rollout_{number}" in seen["threads"] for number in range(3))
    assert relay.requests("continue") == []
    assert worker.output() == ""
    next_client(control).close()


def test_a_running_worker_is_paused(
    nvim: Nvim, control: ControlClient, program: Start, attach: Attach
) -> None:
    attach(program("busy.py"))
    seen = nvim.session("pause", PROGRAMS / "busy.py")
    assert [stop[0] for stop in seen["stops"]] == ["attach", "pause", "pause"]
    next_client(control).close()


def test_a_failure_is_shown_and_the_end_of_the_worker_ends_the_session(
    nvim: Nvim, control: ControlClient, program: Start, attach: Attach
) -> None:
    worker = program("failing.py")
    attach(worker)
    seen = nvim.session("failure", PROGRAMS / "failing.py")
    assert seen["stops"] == [["attach", "failing.py", 8]]
    assert "float division by zero" in seen["diagnostic"]
    assert "done" in worker.wait_done()
    assert control.worker() is None


def test_a_worker_of_a_cluster(nvim: Nvim, cluster: RayCluster) -> None:
    """With the real command, of which the other tests only know what it prints."""
    file = RAY_PROGRAMS / "cases" / "shapes.py"
    program = cluster.run(file, "looping")
    try:
        cluster.wait_paused(1)
        with temporary_home() as home:
            eagleray = Command(cluster.eagleray_env(home))
            eagleray.wait_row("looping")
            start = REPOSITORY / "pybackend" / "eagleray_start.py"
            nvim.command_is(sys.executable, str(start), "cli")
            seen: dict[str, Any] = nvim.session("leave disconnect", file, eagleray.env)
            assert [stop[1] for stop in seen["stops"]] == ["shapes.py"]
            held = eagleray.wait_row("looping", held=True)
            assert seen["choices"][0].startswith("looping")
            assert eagleray.run("release", held["worker_id"]).returncode == 0
    finally:
        program.end()
