"""Workers of real clusters of Ray are asked through a job on their node, which leaves nothing behind (real_ray)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psutil
import pytest
from eagleray.debug.source_mapping.source_mapping import SourceMapping
from eagleray.observe.look_inside import cluster_processes, inspections
from eagleray.observe.look_inside.cluster_processes import ClusterProcess
from eagleray.observe.look_inside.inspections import Inspections
from eagleray.observe.look_inside.model import InspectionTarget
from eagleray.observe.look_inside.stacks import InspectedThread, StackFrame, threads_of
from eagleray.observe.look_inside.virtual_stop import STOP_REQUEST
from eagleray.ray import cluster_query
from eagleray.ray.dashboard import Dashboard
from eagleray.remote.inspecting.conversation import ProcessEnded

from scripts.ray_cluster import free_ports
from tests.asked import ask
from tests.dap_client import DapClient
from tests.ray_cluster import Program, RayCluster, no_local_nodes, wait_for

pytestmark = [pytest.mark.real_ray, pytest.mark.cluster("torch")]


@pytest.fixture(scope="module")
def trainers(cluster: RayCluster) -> Iterator[Program]:
    """Two ranks of gloo in actors, which hang in different collectives."""
    [port] = free_ports(1)
    program = cluster.run("hangs/ray_trainers.py", "arguments", "2", str(port))
    wait_for(
        f"the hang: {program.output()}",
        lambda: program.process.poll() is not None or "ready" in program.output(),
    )
    assert program.process.poll() is None, program.output()
    yield program
    program.end()


@pytest.fixture
async def dashboard(cluster: RayCluster) -> AsyncIterator[Dashboard]:
    opened = Dashboard(cluster.address)
    yield opened
    await opened.close()


@pytest.fixture
async def opened(
    cluster: RayCluster, dashboard: Dashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Inspections]:
    """Inspections for which no process is on this machine."""
    monkeypatch.setattr(inspections, "run_folder", lambda: tmp_path)
    mapping = SourceMapping(None, tmp_path)  # type: ignore[arg-type]
    made = Inspections(mapping, lambda _: dashboard, no_local_nodes)
    yield made
    await made.close()
    assert [job.submission_id for job in await dashboard.jobs() if job.submission_id] == []
    logs = cluster.folder / "ray" / "session_latest" / "logs"
    assert list(logs.glob("eagleray-inspection-*")) == []


async def target_of(dashboard: Dashboard, number: int = 0) -> InspectionTarget:
    actors = [row for row in await dashboard.actors() if row.class_name == "Trainer"]
    actor = sorted(actors, key=lambda row: row.name)[number]
    return InspectionTarget(actor.pid, dashboard.address, actor.node_id, name=actor.name)


async def process_of(opened: Inspections, target: InspectionTarget) -> ClusterProcess:
    process = await opened.process(target, lambda text: None)
    assert isinstance(process, ClusterProcess)
    return process


async def users_place(process: ClusterProcess) -> tuple[InspectedThread, StackFrame]:
    main = threads_of(await process.ask("threads"))[0]
    assert main.users_frame is not None
    return main, main.users_frame


async def test_rank_that_hangs_in_a_collective_answers_with_its_stack_and_its_tensor(
    opened: Inspections, dashboard: Dashboard, trainers: Program
) -> None:
    process = await process_of(opened, await target_of(dashboard))
    try:
        assert process.how == "inside"
        thread, frame = await users_place(process)
        assert Path(frame.path).name == "ray_trainers.py"
        place = {"thread": thread.ident, "frame": frame.number, "id": frame.ident}
        answer = await process.ask("variables", scope="locals", **place)
        assert answer["variables"][0]["name"] == "self"
        value = await process.ask("evaluate", expression="self.gradient.sum().item()", **place)
        assert value["value"] == "200.0"
        refused = await process.ask("evaluate", expression="dist.get_rank()", **place)
        assert refused["refused"]
        key = f"{process._job.order['key']}_{process._number}.zip"
        assert not await dashboard.job_api.has_package(key)
    finally:
        await process.close()
    assert trainers.process.poll() is None
    assert psutil.Process(process.pid).status() != "stopped"


async def test_job_ends_without_questions(
    opened: Inspections,
    dashboard: Dashboard,
    trainers: Program,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_processes, "UNASKED_S", 1.0)
    process = await process_of(opened, await target_of(dashboard))
    try:
        await process.ask("threads")
        while not (await dashboard.job_api.state(process._job.id)).ended:
            await asyncio.sleep(0.1)
        while not process._has_ended:
            await asyncio.sleep(0.1)
        with pytest.raises(ProcessEnded):
            await process.ask("threads")
        # If Eagleray was killed, the next one deletes the record.
        for left_s, stays in ((600.0, True), (-600.0, False)):
            monkeypatch.setattr(cluster_query, "LEFT_S", left_s)
            opened._cluster_processes._jobs.remove_left(dashboard)
            await opened._cluster_processes.close()
            listed = [job.submission_id for job in await dashboard.jobs()]
            assert (process._job.id in listed) is stays
    finally:
        await process.close()


async def test_worker_that_is_not_there_is_an_error_of_the_catalogue(
    opened: Inspections, dashboard: Dashboard
) -> None:
    from eagleray.common.errors import EaglerayError

    with pytest.raises(EaglerayError) as failed:
        await opened.process(InspectionTarget(1, dashboard.address, name="gone"), lambda text: None)
    assert failed.value.code == "no-such-worker"


async def test_values_are_read_through_the_job(
    opened: Inspections, dashboard: Dashboard, trainers: Program
) -> None:
    target = await target_of(dashboard)
    expressions = ("self.rank + 1", "self.hang()")
    inspection = await opened.read(target, expressions, allow_all=False)
    assert (inspection.pid, inspection.how) == (target.pid, "inside")
    assert [(value.value, value.refused) for value in inspection.values] == [
        ("1", False),
        ("", True),
    ]
    assert "reduce" in " ".join(frame.function for frame in inspection.stack)


async def test_command_takes_a_worker_as_other_commands_do(
    cluster: RayCluster, dashboard: Dashboard, trainers: Program, tmp_path: Path
) -> None:
    target = await target_of(dashboard, 1)
    home = tmp_path / "home"
    arguments = ("inspect", "rank 1", "self.rank * 7", "--json")
    done = await asyncio.to_thread(ask, cluster.eagleray_env(home), *arguments)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert (printed["pid"], printed["how"]) == (target.pid, "inside")
    assert printed["values"] == [{"expression": "self.rank * 7", "value": "7", "error": ""}]
    assert any(frame["function"].endswith("gather") for frame in printed["stack"])


# The last two tests change the ranks: one gets a thread, the other one ends.


async def test_worker_of_a_cluster_is_shown_as_paused(
    opened: Inspections, dashboard: Dashboard, trainers: Program
) -> None:
    inspection = await opened.open(await target_of(dashboard), [], lambda text: None)

    def story() -> None:
        client = DapClient.unix(inspection.socket)
        client.attach()
        client.wait_for("stopped")
        main = client.request("threads")["threads"][0]
        frames = client.stack(main["id"])
        users = next(
            frame for frame in frames if frame.get("source", {}).get("name") == "ray_trainers.py"
        )
        assert "self" in client.variables(users["id"])
        assert client.evaluate("1 + 1", users["id"]) == "2"
        # The rank waits in C, where no line comes.
        client.request(STOP_REQUEST, threadId=main["id"])
        client.wait_for("output", lambda body: "stops at its next line" in body["output"])
        client.request("continue", threadId=main["id"])
        assert stops_and_steps(client)
        client.leave()

    await asyncio.to_thread(story)


TURNING = """!__import__('threading').Thread(name='turning', daemon=True, target=lambda:
    [
        __import__('time').sleep(0.01) or number
        for number in range(100_000)
    ]).start()"""


def stops_and_steps(client: DapClient) -> bool:
    """Starts a thread that runs Python code in the worker, stops it and steps."""
    client.request("pause", threadId=1)
    client.wait_for("stopped")
    threads = client.request("threads")["threads"]
    frame_id = client.stack(threads[0]["id"])[0]["id"]
    client.request("evaluate", expression=TURNING, frameId=frame_id, context="repl")
    client.request("restart")
    client.wait_for("stopped")
    listed = client.request("threads")["threads"]
    [turning] = [each["id"] for each in listed if each["name"] == "turning"]
    client.request(STOP_REQUEST, threadId=turning)
    client.wait_for("stopped", lambda body: body["threadId"] == turning)
    lines = set()
    for _ in range(6):
        client.request("next", threadId=turning)
        client.wait_for("stopped", lambda body: body["reason"] == "step")
        lines.add(client.stack(turning)[0]["line"])
    return {3, 4} <= lines


async def test_process_that_is_killed_ends_the_conversation(
    opened: Inspections, dashboard: Dashboard, trainers: Program
) -> None:
    process = await process_of(opened, await target_of(dashboard, 1))
    try:
        await process.ask("threads")
        psutil.Process(process.pid).kill()
        with pytest.raises(ProcessEnded):
            while True:
                await process.ask("threads")
    finally:
        await process.close()
