"""A stop survives its editor and the sidecar: the worker stays where it is until it is let go."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from tests.dap_client import DapClient
from tests.ray_cluster import PROGRAMS, Program, RayCluster
from tests.real_ray.command import Command, line_of, stand
from tests.sidecar.stdio_client import sidecar

pytestmark = pytest.mark.real_ray

SHAPES = PROGRAMS / "cases" / "shapes.py"


@pytest.fixture
def program(cluster: RayCluster) -> Iterator[Program]:
    started = cluster.run(SHAPES, "looping")
    try:
        cluster.wait_paused(1)
        yield started
    finally:
        started.end()


def test_a_killed_editor_comes_back_to_the_same_line(program: Program, eagleray: Command) -> None:
    worker = eagleray.wait_row("looping")["worker_id"]
    line = line_of(SHAPES, "looping")
    with eagleray.editor(worker) as (client, attached):
        frame = stand(client)
        client.request("continue", threadId=frame["thread"])
        frame = stand(client)
        assert client.evaluate("step", frame["id"]) == "1"
        client.close()
    row = eagleray.wait_row("looping", held=True)
    assert row["worker_id"] == worker
    with eagleray.editor(worker) as (client, again):
        assert again["socket"] == attached["socket"]
        frame = stand(client)
        assert (frame["line"], client.evaluate("step", frame["id"])) == (line, "1")
    assert eagleray.wait_row("looping", held=True)["worker_id"] == worker
    for held in (True, False):
        eagleray.wait_row("looping", held=held)
        done = eagleray.run("continue", worker)
        assert done.returncode == 0, done.stderr
    program.wait_output("looping: [3]")


async def test_a_killed_sidecar_loses_nothing(program: Program, eagleray: Command) -> None:
    worker = eagleray.wait_row("looping")["worker_id"]
    async with sidecar(**eagleray.env) as editor:
        await editor.initialize(discovery="off")
        await editor.result("eagleray/clusters/refresh")
        address = eagleray.env["RAY_API_SERVER_ADDRESS"]
        written = {"cluster": address.upper() + "/"}
        assert await editor.result("eagleray/clusters/idOf", written) == {"cluster": address}
        attached = await editor.result(
            "eagleray/debugging/attach",
            {
                "cluster": address,
                "worker": worker,
                "workspace_folders": [],
            },
        )
        client = DapClient.unix(attached["socket"])
        client.attach()
        frame = stand(client)
        await editor.kill()
    assert client.evaluate("step", frame["id"]) == "0"
    client.close()
    assert eagleray.wait_row("looping", held=True)["worker_id"] == worker


def test_worker_continues_without_the_adapter(program: Program, eagleray: Command) -> None:
    worker = eagleray.wait_row("looping")["worker_id"]
    client = DapClient.unix(eagleray.attach(worker)["socket"])
    client.attach()
    stand(client)
    kill_adapter(eagleray)
    client.wait_closed()
    client.close()
    # It stops again at its next breakpoint(), for whoever comes next.
    assert not eagleray.wait_row("looping", held=False)["held"]
    with eagleray.editor(worker) as (client, _):
        assert client.evaluate("step", stand(client)["id"]) == "1"


def kill_adapter(eagleray: Command) -> None:
    for process in psutil.process_iter():
        try:
            ours = process.environ().get("EAGLERAY_HOME") == eagleray.env["EAGLERAY_HOME"]
            if ours and "adapter" in process.cmdline():
                process.kill()
                process.wait(30)
        except (psutil.Error, OSError):
            continue
