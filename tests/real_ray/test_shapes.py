"""Every way in which a worker can wait: listed, attached, read, continued, over the command and a plain DAP client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from eagleray.common.errors import printable

from tests.dap_client import DapClient
from tests.programs.cases.names import HOSTILE
from tests.ray_cluster import PROGRAMS, Program, RayCluster, wait_for
from tests.real_ray.command import Command, line_of, stand

pytestmark = pytest.mark.real_ray

SHAPES = PROGRAMS / "cases" / "shapes.py"
NAMES = [
    "task",
    "last_line",
    "nested",
    "init",
    "async",
    "threaded",
    "looping",
    "post_mortem",
    "retries",
    "relay",
    "hostile",
]


@pytest.fixture(scope="module")
def program(cluster: RayCluster) -> Iterator[Program]:
    """All shapes wait at the same time; each test releases its own."""
    started = cluster.run(SHAPES, *NAMES)
    try:
        cluster.wait_paused(len(NAMES))
        yield started
    finally:
        started.end()


def stands_at(client: DapClient, shape: str) -> dict[str, Any]:
    """The next stop is in the person's own code, at the marked line, and so says the top frame."""
    frame = stand(client)
    assert (frame["file"], frame["line"]) == (str(SHAPES), line_of(SHAPES, shape))
    return frame


def go_on(client: DapClient, frame: dict[str, Any]) -> None:
    client.request("continue", threadId=frame["thread"])


@pytest.mark.parametrize(
    ("shape", "name", "local", "said"),
    [
        ("task", "plain_task", {"doubled": "8", "number": "4"}, "task: [9]"),
        ("last_line", "last_line", {}, "last_line: [None]"),
        ("nested", "inner", {"number": "1"}, "nested: [2]"),
        ("init", "init-0", {"size": "7"}, "init: [7]"),
        ("hostile", printable(HOSTILE, 80).strip(), {}, "hostile: ['named']"),
    ],
)
def test_breakpoint_of_each_shape_stops_with_its_variables(
    program: Program, eagleray: Command, shape: str, name: str, local: dict[str, str], said: str
) -> None:
    row = eagleray.wait_row(name)
    assert row["kind"] in ("breakpoint", "unknown")
    assert not row["held"]
    with eagleray.editor(row["worker_id"]) as (client, attached):
        assert attached["worker_id"] == row["worker_id"]
        frame = stands_at(client, shape)
        values = client.variables(frame["id"])
        assert {key: values.get(key) for key in local} == local
        go_on(client, frame)
        program.wait_output(said)
        client.leave()


def test_breakpoint_in_the_driver_stops(cluster: RayCluster, eagleray: Command) -> None:
    driver = cluster.run(SHAPES, "driver")
    try:
        row = eagleray.wait_row("driver · shapes.py")
        with eagleray.editor(row["worker_id"]) as (client, _):
            frame = stands_at(client, "driver")
            assert client.evaluate("answer", frame["id"]) == "42"
            client.leave()
        driver.wait_output("driver: 43")
        assert driver.wait() == 0
    finally:
        driver.end()


def test_the_next_coroutine_stops_at_once(program: Program, eagleray: Command) -> None:
    with eagleray.editor(eagleray.wait_row("Async")["worker_id"]) as (client, _):
        go_on(client, stands_at(client, "async"))
        go_on(client, stands_at(client, "async"))
        program.wait_output("async: [10, 20]")
        client.leave()


def test_single_continue_releases_all_threads_of_a_threaded_actor(
    program: Program, eagleray: Command
) -> None:
    with eagleray.editor(eagleray.wait_row("Threaded")["worker_id"]) as (client, _):
        frame = stands_at(client, "threaded")
        seen = len(client.events("stopped"))
        go_on(client, frame)

        def all_went_on() -> bool:
            # A thread that came to its stop only now needs a continue of its own.
            nonlocal seen
            for message in client.events("stopped")[seen:]:
                seen += 1
                client.request("continue", threadId=message["body"]["threadId"])
            return "threaded: [0, 100, 200]" in program.output()

        wait_for("all threads to go on", all_went_on)
        client.leave()


def test_a_breakpoint_in_a_loop_stops_every_time(program: Program, eagleray: Command) -> None:
    with eagleray.editor(eagleray.wait_row("looping")["worker_id"]) as (client, _):
        for step in range(3):
            frame = stands_at(client, "looping")
            assert client.evaluate("step", frame["id"]) == str(step)
            if step == 0:
                # Ray wraps each method of an actor; the wrapper is folded, and stepped through.
                client.request("stepIn", threadId=frame["thread"])
                stands_at(client, "own_method")
            go_on(client, frame)
        program.wait_output("looping: [3]")
        client.leave()


def test_post_mortem_stops_at_the_failing_line(program: Program, eagleray: Command) -> None:
    row = eagleray.wait_row("Failing")
    assert row["kind"] in ("post-mortem", "unknown")
    with eagleray.editor(row["worker_id"]) as (client, _):
        frame = stands_at(client, "post_mortem")
        assert client.variables(frame["id"])["numerator"] == "10"
        info = client.request("exceptionInfo", threadId=frame["thread"])
        assert "ZeroDivisionError" in info["exceptionId"]
        go_on(client, frame)
        program.wait_output("post_mortem: failed with ZeroDivisionError")
        client.leave()


def test_each_retry_stops_again(program: Program, eagleray: Command) -> None:
    with eagleray.editor(eagleray.wait_row("flaky")["worker_id"]) as (client, _):
        go_on(client, stands_at(client, "retries"))
        go_on(client, stands_at(client, "retries"))
        program.wait_output("retries: failed with KeyError")
        client.leave()


def test_the_child_stops_before_the_parent_that_relays_its_error(
    program: Program, eagleray: Command
) -> None:
    child = eagleray.wait_row("failing_child")
    with eagleray.editor(child["worker_id"]) as (client, _):
        frame = stands_at(client, "child")
        assert client.evaluate("secret", frame["id"]) == "41"
        go_on(client, frame)
        client.leave()
    parent = eagleray.wait_row("relaying_parent")
    with eagleray.editor(parent["worker_id"]) as (client, _):
        stands_at(client, "relay")
        client.leave()
    program.wait_output("relay: failed with RuntimeError")
