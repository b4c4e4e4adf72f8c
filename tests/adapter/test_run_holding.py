"""A stop is held when a process or link between editor and worker is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapter.cut_link import CutLink
from tests.adapter.harness import AdapterProcess, ControlClient, until
from tests.adapter.proxied import (
    RUN,
    SOURCE,
    ProxiedWorker,
    RunClient,
    StartProxied,
    attached,
    line_of,
)
from tests.dap_client import DapClient


def test_held_stop_outlives_the_adapter(short_home: Path, tmp_path: Path) -> None:
    first = AdapterProcess(short_home)
    program = ProxiedWorker(tmp_path, waits=True)
    try:
        run = RunClient(first.control)
        run.take(program)
        program.wait_output("attached")
        program.tell("work 1")
        before = run.wait("stopped")
        first.process.kill()
        first.end()
        second = AdapterProcess(short_home)
        try:
            run = RunClient(second.control)
            run.take(program)
            after = run.wait("stopped")
            assert after["stop"] == before["stop"] and "work 1" not in program.output()
            editor = DapClient.unix(after["socket"])
            editor.attach({str(SOURCE): [line_of("return text")]})
            editor.wait_for("stopped")
            assert editor.variables(editor.stack()[0]["id"])["number"] == "1"
            editor.request("continue", threadId=1)
            editor.wait_for("stopped")
            second.control.call("run_end", run=RUN)
            program.wait_output("work 1")
        finally:
            second.end()
    finally:
        first.end()
        program.end()


def test_worker_without_an_adapter_resumes_after_the_hold_time(
    short_home: Path, tmp_path: Path
) -> None:
    adapter = AdapterProcess(short_home)
    program = ProxiedWorker(tmp_path, waits=True, hold_s=0.5)
    try:
        run = RunClient(adapter.control)
        run.take(program)
        program.wait_output("attached")
        program.tell("work 1")
        run.wait("stopped")
        adapter.process.kill()
        program.wait_output("work 1")
        assert program.wait_done().endswith("done\n")
    finally:
        adapter.end()
        program.end()


def test_another_adapter_adopts_a_held_worker(short_home: Path, tmp_path: Path) -> None:
    homes = [short_home / "a", short_home / "b"]
    for home in homes:
        home.mkdir()
    adapters = [AdapterProcess(home) for home in homes]
    program = ProxiedWorker(tmp_path, waits=True)
    try:
        old, new = (RunClient(adapter.control) for adapter in adapters)
        old.take(program)
        program.wait_output("attached")
        program.tell("work 1")
        old.wait("stopped")
        new.take(program)
        new.wait("stopped")
        until(lambda: old.state()["workers"] == [], "the old adapter has released it")
        assert "work 1" not in program.output()
        new.resume()
        program.wait_output("work 1")
    finally:
        for adapter in adapters:
            adapter.end()
        program.end()


@pytest.fixture
def link() -> Iterator[CutLink]:
    """Outlives the workers behind it, which would otherwise be released only after a time limit."""
    with CutLink() as link:
        yield link


@pytest.mark.parametrize("is_refused", [True, False])
def test_lost_link_loses_nothing(
    control: ControlClient, link: CutLink, proxied: StartProxied, is_refused: bool
) -> None:
    run = RunClient(control)
    program = proxied(waits=True, link=link.port)
    link.target_port = program.listening_port
    control.call("run_worker", run=RUN, host="127.0.0.1", port=link.port)
    program.wait_output("attached")
    program.tell("work 1")
    held = run.wait("stopped")
    editor = DapClient.unix(held["socket"])
    editor.attach({str(SOURCE): [line_of("return text")]})
    editor.wait_for("stopped")
    frame = editor.stack()[0]["id"]
    link.cut(is_refused)
    asked = [
        editor.send("evaluate", expression=f"'x' * {n}", frameId=frame, context="repl")
        for n in (10, 60_000)
    ]
    link.restore()
    answers = [editor.response(one) for one in asked]
    assert [answer.get("message", "") for answer in answers] == ["", ""]
    assert [len(answer["body"]["result"]) for answer in answers] == [12, 60_002]
    link.cut(is_refused)
    link.restore()
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == line_of("return text")
    editor.leave()
    program.wait_output("work 1")


def test_worker_resumes_after_a_long_cut_and_is_attached_again(
    control: ControlClient, link: CutLink, proxied: StartProxied
) -> None:
    run = RunClient(control)
    program = proxied(waits=True, hold_s=0.5, link=link.port)
    link.target_port = program.listening_port
    control.call("run_worker", run=RUN, host="127.0.0.1", port=link.port)
    program.wait_output("attached")
    program.tell("work 1")
    editor = DapClient.unix(run.wait("stopped")["socket"])
    editor.attach()
    editor.wait_for("stopped")
    link.cut(False)
    program.wait_output("work 1")
    told = editor.wait_for("output", lambda body: "resumed" in body["output"])
    assert "Lost" in told["body"]["output"]
    editor.wait_for("terminated")
    editor.close()
    link.restore()
    run.wait("running")
    program.tell("work 2")
    run.wait("stopped")


def test_held_worker_resumes_when_its_proxy_dies(
    control: ControlClient, proxied: StartProxied
) -> None:
    run, program = attached(control, proxied)
    program.tell("work 1")
    run.wait("stopped")
    os.kill(program.proxy_pid(), signal.SIGKILL)
    program.wait_output("work 1")
    until(lambda: run.state()["workers"] == [], "the worker is forgotten")
