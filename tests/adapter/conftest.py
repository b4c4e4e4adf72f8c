"""Fixtures of the adapter's tests: a home with a short path, an adapter in it, programs that end."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter.sessions import registry, worker_rpc
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.routes.routes import Routes

from tests.adapter.harness import AdapterProcess, ControlClient, Program, until
from tests.adapter.no_routes import no_routes
from tests.adapter.proxied import RUN, ProxiedWorker, StartProxied
from tests.set_clock import SetClock


@pytest.fixture
def short_home() -> Iterator[Path]:
    """An EAGLERAY_HOME whose sockets have short paths."""
    home = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def adapter(short_home: Path) -> Iterator[AdapterProcess]:
    """An adapter for one test."""
    process = AdapterProcess(short_home)
    yield process
    process.end()
    # Its log is shown with a failure; it never contains values of the user.
    print(process.log.read_text())


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[SessionRegistry]:
    """A registry whose clock does not advance."""
    monkeypatch.setattr(registry, "PORT_REST_S", 0.0)
    monkeypatch.setattr(worker_rpc, "ANSWER_S", 0.01)
    folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    made = SessionRegistry(folder, SetClock(), Routes(no_routes))
    yield made
    made.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def shared_adapter() -> Iterator[AdapterProcess]:
    """One adapter for the tests of a module that leave it unchanged."""
    home = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    process = AdapterProcess(home)
    yield process
    process.end()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def control(request: pytest.FixtureRequest) -> Iterator[ControlClient]:
    """The control socket of the test's own adapter if it has one, else of the shared one.

    Tests request it before `program`, whose processes have then ended when this checks.
    """
    own = "adapter" in request.fixturenames
    process: AdapterProcess = request.getfixturevalue("adapter" if own else "shared_adapter")
    client = process.connect()
    yield client
    if not own:
        until(lambda: client.call("workers")["workers"] == [], "workers that ended are forgotten")
    client.close()


@pytest.fixture
def python() -> str:
    """The interpreter of the programs; a test may be parametrized with several."""
    return sys.executable


@pytest.fixture
def proxied(request: pytest.FixtureRequest, tmp_path: Path, python: str) -> Iterator[StartProxied]:
    """Starts a worker with a debug proxy; the run of the test's control client ends with it."""
    started: list[ProxiedWorker] = []

    def start(**options: Any) -> ProxiedWorker:
        started.append(ProxiedWorker(tmp_path, python=python, **options))
        return started[-1]

    yield start
    if "control" in request.fixturenames:
        request.getfixturevalue("control").call("run_end", run=RUN)
    for running in started:
        running.end()


@pytest.fixture
def program(python: str) -> Iterator[Callable[..., Program]]:
    """Starts a program and waits until it is paused."""
    started: list[Program] = []

    def start(
        script: Any, *arguments: str, threads: int = 1, env: dict[str, str] | None = None
    ) -> Program:
        started.append(Program(script, *arguments, env=env, python=python))
        started[-1].wait_paused(threads)
        return started[-1]

    yield start
    for running in started:
        running.end()
