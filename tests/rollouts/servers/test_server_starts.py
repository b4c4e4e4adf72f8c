"""Starts of servers that go wrong: a name that two terminals take, no tokens, a daemon, Ctrl-C."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from eagleray.app import App, Settings
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.servers.servers import ServerRequest

from tests.ray_cluster import REPOSITORY, temporary_home, wait_for
from tests.runs.terminal import Terminal, eagleray

from .test_servers import free_port

TINY = Path(__file__).with_name("programs") / "tiny_server.py"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with temporary_home() as home:
        monkeypatch.setenv("EAGLERAY_HOME", str(home))
        monkeypatch.setenv("EAGLERAY_DISCOVERY", "off")
        yield home


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(TINY), str(free_port()), *arguments]


def running(arguments: list[str]) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if process.info["cmdline"] == arguments
    ]


async def test_second_start_of_a_name_is_refused() -> None:
    """Both terminals have checked the name before either has started."""
    app = App(Settings.read({}, dict(os.environ)))
    try:
        first, second = [
            await app.servers.prepare(
                ServerRequest(argv=command(), cwd=str(REPOSITORY), name="both")
            )
            for _ in range(2)
        ]
        run = await app.servers.start(first)
        with pytest.raises(EaglerayError) as refused:
            await app.servers.start(second)
        assert refused.value.code == "server-name-taken"
        await app.servers.until_answers(run)
        await app.servers.stop("both")
    finally:
        await app.close()


def test_answer_without_a_token_is_not_ready() -> None:
    terminal = Terminal(REPOSITORY, "serve", "start", "--name", "zero", "--", *command("zero"))
    assert terminal.code() == 1
    assert "The server generates no token: its answer has 0 tokens." in terminal.errors()
    eagleray(REPOSITORY, "serve", "stop", "zero")


def test_daemon_of_a_program_that_ended_is_ended() -> None:
    arguments = command("daemon")
    terminal = Terminal(REPOSITORY, "serve", "start", "--name", "daemon", "--", *arguments)
    # The daemon answers while its parent lives, so either outcome of the start is right.
    terminal.code()
    wait_for("the end of the daemon", lambda: not running(arguments))


def test_interrupted_start_says_what_happens() -> None:
    arguments = command("unready")
    terminal = Terminal(REPOSITORY, "serve", "start", "--name", "slow", "--", *arguments)
    wait_for("the start", lambda: "Log: " in terminal.errors())
    terminal.interrupt()
    assert terminal.code() == 130
    assert "The server keeps starting." in terminal.errors()
    assert "eagleray serve stop " in terminal.errors()
    wait_for("the program", lambda: running(arguments))
    eagleray(REPOSITORY, "serve", "stop", "slow")
    assert not running(arguments)
