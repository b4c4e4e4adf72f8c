"""A cluster that asks for a token, its restart at the same address, and another cluster beside it."""

from __future__ import annotations

import socket

import pytest

from tests.ray_cluster import PROGRAMS, RayCluster, start_cluster, temporary_home, wait_for
from tests.real_ray.command import Command

pytestmark = pytest.mark.real_ray

TOKEN = "a-token-of-the-test-only"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_restart_with_a_token_is_another_session_and_leaves_the_other_cluster_alone(
    cluster: RayCluster,
) -> None:
    port = free_port()
    with temporary_home() as home:
        with start_cluster(token=TOKEN, dashboard_port=port) as first:
            eagleray = Command(first.eagleray_env(home))
            refuses_without_the_token(eagleray)
            program = first.run(PROGRAMS / "cases" / "shapes.py", "task")
            worker = eagleray.wait_row("plain_task")["worker_id"]
            eagleray.attach(worker)
            eagleray.wait_row("plain_task", held=True)
            program.end()
        with start_cluster(token=TOKEN, dashboard_port=port) as second:
            assert (second.address, second.session) != (first.address, first.session)
            wait_for("an empty list", lambda: eagleray.paused() == [])
            program = second.run(PROGRAMS / "cases" / "shapes.py", "task")
            newer = eagleray.wait_row("plain_task", held=False)["worker_id"]
            assert newer != worker
            what_is_held_elsewhere_is_listed_there(
                cluster, Command(cluster.eagleray_env(home)), eagleray
            )
            assert eagleray.run("continue", newer).returncode == 0
            program.wait_output("task: [9]")
            program.end()


def what_is_held_elsewhere_is_listed_there(
    cluster: RayCluster, beside: Command, eagleray: Command
) -> None:
    """Both commands have one home, hence one adapter, and a cluster each."""
    program = cluster.run(PROGRAMS / "cases" / "shapes.py", "task")
    held = beside.wait_row("plain_task")["worker_id"]
    beside.attach(held)
    beside.wait_row("plain_task", held=True)
    shown = [row["cluster"] for row in eagleray.paused() if row["worker_id"] == held]
    assert shown == [cluster.address]
    assert beside.run("release", held).returncode == 0
    program.wait_output("task: [9]")
    program.end()


def refuses_without_the_token(eagleray: Command) -> None:
    for token, said in (("", "requires a token"), ("wrong", "rejected the token")):
        env = {**eagleray.env, "RAY_AUTH_TOKEN": token, "HOME": eagleray.env["EAGLERAY_HOME"]}
        refused = Command(env).run("paused")
        assert refused.returncode != 0
        assert said in refused.stderr
        assert TOKEN not in refused.stderr + refused.stdout
