"""Servers from start to stop, with a real engine and real supervisors."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from eagleray.app import App, Settings
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import host_name
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.rollouts.servers import messages as inference
from eagleray.rollouts.servers.health import ServerProbe
from eagleray.rollouts.servers.model import InferenceServer
from eagleray.rollouts.servers.servers import ServerRequest
from eagleray.runs import messages as runs
from eagleray.runs.adapter_gateway import AdapterRunGateway
from eagleray.runs.model import RunPlan, RunState, ServerPlan
from eagleray.runs.records import RunRecords
from eagleray.runs.runs import Runs

from tests.asked import ask
from tests.engine.fixtures import engine_command
from tests.ray_cluster import REPOSITORY, temporary_home, wait_for
from tests.runs.terminal import Terminal, eagleray
from tests.sidecar.stdio_client import sidecar

KEY_ENV = ("--key-env", "LLAMA_API_KEY")


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("EAGLERAY_HOME", str(home))
        patch.setenv("EAGLERAY_DISCOVERY", "off")
        patch.delenv("OPENAI_API_KEY", raising=False)
        yield home


@pytest.fixture(scope="module")
def started(home: Path, model: Path) -> dict[str, Any]:
    """A server that tests only look at."""
    return start("shared", free_port(), model)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, as that takes longer than the start of an engine."""
    folder = tmp_path_factory.mktemp("model")
    subprocess.run(engine_command("--make", str(folder)), cwd=REPOSITORY, check=True)
    return folder / "model.gguf"


def start(name: str, port: int, model: Path) -> dict[str, Any]:
    command = engine_command("--port", str(port), "--model", str(model))
    out = eagleray(REPOSITORY, "serve", "start", "--name", name, *KEY_ENV, "--json", "--", *command)
    server: dict[str, Any] = json.loads(out)
    return server


def answer(*arguments: str, **env: str) -> str:
    done = ask({**os.environ, **env}, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed(name: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = json.loads(answer("serve", "list", "--json"))
    return next(row for row in rows if row["name"] == name)


async def with_app(work: Any) -> Any:
    app: App = App(Settings.read({}, dict(os.environ)))
    try:
        return await work(app)
    finally:
        await app.close()


async def resolved(written: str) -> InferenceServer:
    server: InferenceServer = await with_app(lambda app: app.servers.resolve(written))
    return server


def test_start_returns_when_the_server_answers(started: dict[str, Any]) -> None:
    assert (started["state"], started["model"], started["name"]) == (
        "ready",
        "eagleray-tests",
        "shared",
    )
    assert started["api_key"].startswith("sk-eagleray-")
    assert started["warning"] == ""


def test_other_process_sees_the_server_without_its_key(started: dict[str, Any]) -> None:
    """A second terminal reads the same folders."""
    rows = json.loads(eagleray(REPOSITORY, "serve", "ls", "--json"))
    row = next(row for row in rows if row["name"] == "shared")
    assert {**row, "api_key": started["api_key"]} == started
    assert row["has_key"] is True


async def test_server_is_resolved_by_name_run_and_url(started: dict[str, Any]) -> None:
    for written in ("shared", started["run_id"][:6], started["url"], started["url"] + "/"):
        server = await resolved(written)
        assert (server.name, server.api_key) == ("shared", started["api_key"])
        assert started["api_key"] not in repr(server)


async def test_wrong_key_is_refused(started: dict[str, Any]) -> None:
    probe = ServerProbe("sk-wrong")
    try:
        assert (await probe.first_token(started["url"])).outcome == "refused"
        assert await probe.health(started["url"]) == "ok"
    finally:
        await probe.close()


def test_variables_lead_to_the_server(started: dict[str, Any]) -> None:
    variables = json.loads(answer("serve", "env", "shared", "--json"))
    root = started["url"].removesuffix("/v1")
    assert variables == {
        "version": 1,
        "OPENAI_BASE_URL": started["url"],
        "OPENAI_API_KEY": started["api_key"],
        "ANTHROPIC_BASE_URL": root,
        "ANTHROPIC_API_KEY": started["api_key"],
        "AREAL_LLM_SERVER_ADDRS": root.removeprefix("http://"),
    }
    lines = answer("serve", "env", "shared")
    shell = subprocess.run(
        ["bash", "-c", 'eval "$1"; echo "$OPENAI_BASE_URL $AREAL_LLM_SERVER_ADDRS"', "-", lines],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shell.stdout.split() == [started["url"], variables["AREAL_LLM_SERVER_ADDRS"]]


def test_key_is_only_in_a_private_file(started: dict[str, Any], home: Path) -> None:
    holding = [
        path
        for path in (home / "runs").rglob("*")
        if path.is_file() and started["api_key"].encode() in path.read_bytes()
    ]
    assert [path.name for path in holding] == ["server-key"]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600
    arguments = [
        " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
    ]
    assert not [text for text in arguments if started["api_key"] in text]
    for command in (
        ("serve", "ls"),
        ("serve", "list"),
        ("runs", "ls", "--json"),
        ("runs", "ls", "-o", "wide"),
    ):
        assert started["api_key"] not in answer(*command)


def test_taken_port_is_refused_before_anything_starts(started: dict[str, Any]) -> None:
    port = started["url"].rpartition(":")[2].removesuffix("/v1")
    terminal = Terminal(
        REPOSITORY, "serve", "start", "--name", "second", "--", *engine_command("--port", port)
    )
    assert terminal.code() == 1
    assert f"Port {port} is already taken by python" in terminal.errors()
    assert "second" not in answer("serve", "ls")


def test_missing_model_is_said_with_the_last_line(home: Path) -> None:
    command = engine_command("--port", str(free_port()), "--model", "/nope.gguf")
    terminal = Terminal(REPOSITORY, "serve", "start", "--name", "wrong", *KEY_ENV, "--", *command)
    assert terminal.code() == 1
    assert "The model wasn't found, or isn't a model." in terminal.errors()
    # llama.cpp logs in a thread of its own: either may be the last line.
    assert re.search("Failed to init server|exiting due to model loading", terminal.errors())
    assert listed("wrong")["state"] == "failed"


def test_server_without_memory_says_so(home: Path, model: Path) -> None:
    """Its limit leaves room for the program, and none for the 2 GB of its context."""
    limit = ["bash", "-c", 'ulimit -v 2097152; exec "$0" "$@"']
    engine = engine_command("--model", str(model), "--slot-context", "65536")
    terminal = Terminal(
        REPOSITORY, "serve", "start", "--name", "large", *KEY_ENV, "--", *limit, *engine
    )
    assert terminal.code() == 1
    assert "This machine has too little free memory for The model." in terminal.errors()


def test_killed_server_fails_and_restarts_with_port_and_key(home: Path, model: Path) -> None:
    """It is killed while it generates; its run says so, and another one takes its place."""
    before = start("killed", free_port(), model)
    engine = engine_of(before)
    with streaming(before) as ended:
        engine.send_signal(signal.SIGKILL)
        ended.wait(30)
    wait_for("the end of the server", lambda: listed("killed")["state"] == "failed")
    assert "was killed" in listed("killed")["reason"]
    after = json.loads(eagleray(REPOSITORY, "serve", "restart", "killed", "--json"))
    for field in ("name", "url", "api_key", "state", "model"):
        assert after[field] == before[field]
    assert after["run_id"] != before["run_id"]
    stopped = json.loads(answer("serve", "stop", "killed", "--json"))
    assert stopped["state"] == "stopped"


def test_stop_ends_processes_in_sessions_of_their_own(home: Path, model: Path) -> None:
    """As an engine does that starts its workers in other sessions, also when only its first process dies."""
    port = free_port()
    program = (
        "import subprocess, sys, time\n"
        "subprocess.Popen(sys.argv[1:], start_new_session=True)\n"
        "time.sleep(600)\n"
    )
    command = [
        sys.executable,
        "-c",
        program,
        *engine_command("--port", str(port), "--model", str(model)),
    ]
    out = eagleray(REPOSITORY, "serve", "start", "--name", "tree", "--json", "--", *command)
    server = json.loads(out)
    assert server["url"] == f"http://127.0.0.1:{port}/v1"
    assert server["warning"] == "This server has no key: every user here can use it."
    worker = engine_of(server)
    run = json.loads(answer("runs", "ls", "--json"))
    assert run[0]["id"] == server["run_id"]
    parent = worker.parent()
    assert parent is not None
    parent.kill()
    wait_for("the end of the worker", lambda: not worker.is_running())
    wait_for("the end of the server", lambda: listed("tree")["state"] == "failed")


def test_added_server_is_listed_and_forgotten(started: dict[str, Any]) -> None:
    """Its key is read from a variable once, and stored for other windows."""
    url = started["url"].removesuffix("/v1")
    added = ("serve", "add", url, "--name", "there", "--key-env", "K", "--json")
    row = json.loads(answer(*added, K=started["api_key"]))
    assert (row["name"], row["url"], row["state"], row["run_id"]) == (
        "there",
        started["url"],
        "ready",
        "",
    )
    variables = json.loads(answer("serve", "env", "there", "--json"))
    assert variables["OPENAI_API_KEY"] == started["api_key"]
    again = json.loads(answer(*added, K="sk-wrong"))
    assert (again["state"], again["reason"]) == ("unhealthy", "The server rejects the API key.")
    answer("serve", "stop", "there")
    assert "there" not in answer("serve", "ls")
    assert listed("shared")["state"] == "ready"


async def test_two_windows_use_one_server(home: Path, model: Path) -> None:
    """One starts it, the other gets its variables; the second stops it, and the first is told of it."""
    port = free_port()
    command = shlex.join(engine_command("--port", str(port), "--model", str(model)))
    async with sidecar() as first, sidecar() as second:
        for window in (first, second):
            await window.initialize()
        request = {"command": command, "cwd": str(REPOSITORY), "name": "both"}
        run = (await first.result(inference.START, request))["run"]
        for window in (first, second):
            await window.heard(runs.CHANGED, partial(is_server, run, "ready"))
        of_each = [
            (await window.result(inference.VARIABLES, {"name": "both"}))["variables"]
            for window in (first, second)
        ]
        assert of_each[0] == of_each[1]
        assert of_each[0]["OPENAI_BASE_URL"] == f"http://127.0.0.1:{port}/v1"
        # The end of the window that has started it leaves it to the other.
        assert await first.end() == 0
        listed = (await second.result(inference.LIST))["servers"]
        assert ("both", "ready") in [(row["name"], row["state"]) for row in listed]
        await second.result(runs.STOP, {"id": run, "confirmed": False})
        await second.heard(runs.CHANGED, partial(is_server, run, "stopped"))
    async with sidecar() as third:
        await third.initialize()
        listed = (await third.result(inference.LIST))["servers"]
        assert ("both", "stopped") in [(row["name"], row["state"]) for row in listed]


def is_server(run: str, state: str, changed: Any) -> bool:
    return any(row["id"] == run and row["server"]["state"] == state for row in changed["runs"])


async def test_name_of_a_live_server_is_refused(started: dict[str, Any]) -> None:
    request = ServerRequest(argv=["python", "x"], cwd=str(REPOSITORY), name="shared")
    with pytest.raises(EaglerayError) as refused:
        await with_app(lambda app: app.servers.prepare(request))
    assert refused.value.code == "server-name-taken"


def engine_of(server: dict[str, Any]) -> psutil.Process:
    """The process that listens on the port of a server."""
    port = int(server["url"].rpartition(":")[2].removesuffix("/v1"))
    return next(
        psutil.Process(connection.pid)
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
        and connection.laddr.port == port
        and connection.pid
    )


class streaming:
    """A request that generates until the block ends it; its event is set when the answer ends."""

    def __init__(self, server: dict[str, Any]) -> None:
        self._ended = threading.Event()
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(server,), daemon=True)

    def __enter__(self) -> threading.Event:
        self._thread.start()
        assert self._begun.wait(30)
        return self._ended

    def __exit__(self, *_: object) -> None:
        self._thread.join(30)

    def _read(self, server: dict[str, Any]) -> None:
        body = {"prompt": "def", "max_tokens": 900, "stream": True, "ignore_eos": True}
        request = urllib.request.Request(
            f"{server['url']}/completions",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {server['api_key']}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                answer.readline()
                self._begun.set()
                while answer.readline():
                    pass
        except OSError:
            pass
        finally:
            self._begun.set()
            self._ended.set()


async def test_server_never_stops_at_a_breakpoint_of_its_window(tmp_path: Path) -> None:
    """The program being debugged waits for its answers."""
    records = RunRecords(tmp_path)
    plan = RunPlan(
        kind="command", argv=("x",), cwd="/w", name="x", workspace="/w", server=ServerPlan("x")
    )
    run = records.create(plan, RunState("running", 1.0, host=host_name()))
    run.lock()
    all_runs = Runs(records, AdapterRunGateway(None))
    await all_runs.set_breakpoints("/w", [Breakpoint("/w/a.py", [LineBreakpoint(3)])])
    assert run.plan().breakpoints == ()
