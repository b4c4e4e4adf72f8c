"""The answers of a real dashboard, read as values."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.ray.dashboard import Dashboard
from yarl import URL

from tests.fakes.dashboard import FakeDashboard, dashboard, patient


@pytest.fixture(params=["2.60.0", "2.9.1"])
async def fake(request: pytest.FixtureRequest) -> AsyncIterator[FakeDashboard]:
    async with dashboard(request.param) as running:
        yield running


@pytest.fixture
async def client(fake: FakeDashboard) -> AsyncIterator[Dashboard]:
    asked = patient(fake.address)
    yield asked
    await asked.close()


async def test_version_names_the_session(fake: FakeDashboard, client: Dashboard) -> None:
    version = await client.version()
    assert version.ray == fake.version["ray_version"]
    head = fake.rows["nodes"][0]["node_id"]
    assert version.session == fake.version.get("session_name", f"head-{head}")


async def test_paused_workers_have_a_debug_port(client: Dashboard) -> None:
    paused = await client.paused_workers()
    assert len(paused) == 3
    assert all(w.paused_threads == 1 and w.debug_port and w.pid and w.node_ip for w in paused)


async def test_poll_is_the_filtered_query(fake: FakeDashboard, client: Dashboard) -> None:
    await client.paused_workers()
    asked = list(URL(fake.recorded["paused"]["path"], encoded=True).query.items())
    assert list(fake.requests[-1].query.items()) == asked


async def test_all_workers_are_workers_and_the_driver(client: Dashboard) -> None:
    workers = await client.all_workers()
    assert [w.kind for w in workers].count("driver") == 1
    assert {w.kind for w in workers} == {"worker", "driver"}
    driver = next(w for w in workers if w.kind == "driver")
    assert driver.started_ms > 0
    assert driver.debug_port == 0


async def test_tasks_name_their_worker_and_environment(client: Dashboard) -> None:
    tasks = {task.name: task for task in await client.running_tasks()}
    task = tasks["rollout_task"]
    assert task.kind == "NORMAL_TASK"
    assert task.actor_id == ""
    assert task.runtime_env.working_dir.startswith("gcs://_ray_pkg_")
    assert tasks["PolicyWorker.train"].actor_id


async def test_actors_name_their_rank(client: Dashboard) -> None:
    actors = {actor.name: actor for actor in await client.actors() if actor.name}
    assert actors["policy-1"].class_name == "PolicyWorker"
    assert actors["policy-1"].runtime_env.env["RANK"] == "1"
    assert "WANDB" not in repr(actors["policy-1"])


async def test_nodes_and_jobs_are_parsed(client: Dashboard) -> None:
    (node,) = await client.nodes()
    assert node.alive
    assert node.head
    (job,) = await client.jobs()
    assert job.kind == "driver"
    assert job.status == "RUNNING"
    assert job.driver_pid > 0
    assert job.runtime_env.working_dir.startswith("gcs://")


async def test_stacks_of_a_worker_are_read_or_the_reason_is_given(
    fake: FakeDashboard, client: Dashboard
) -> None:
    assert await client.profiling_enabled()
    if fake.recorded["traceback"]["status"] == 500:  # 2.9.1 was recorded without py-spy.
        with pytest.raises(EaglerayError) as failed:
            await client.traceback(1, "192.0.2.2")
        assert "py-spy is not installed" in failed.value.detail
        return
    assert "ray::PolicyWorker.train" in await client.traceback(1, "192.0.2.2")


async def test_profiling_that_is_switched_off_does_not_mean_a_refused_token(
    fake: FakeDashboard,
) -> None:
    if fake.recorded["authentication_mode"]["status"] == 404:
        return  # That version knows neither tokens nor the switch.
    fake.recorded["traceback"] = {
        "status": 403,
        "type": "text/plain",
        "body": "Profiling is disabled by default.",
    }
    fake.token = "right"
    client = patient(fake.address, lambda look: "right")
    with pytest.raises(EaglerayError) as failed:
        await client.traceback(1, "192.0.2.2")
    assert failed.value.code == "dashboard-failed"
    await client.close()


async def test_logs_are_listed_and_read(fake: FakeDashboard, client: Dashboard) -> None:
    node = fake.rows["nodes"][0]["node_id"]
    names = await client.log_files(node, "worker-*")
    assert sorted(name.rpartition(".")[2] for name in names) == ["err", "out"]
    err = next(name for name in names if name.endswith(".err"))
    assert "Waiting for debugger to attach" in await client.log_file(node, err, 100)
    with pytest.raises(EaglerayError) as failed:
        await client.log_file(node, "no-such-file.out", 100)
    assert failed.value.code == "no-log"


async def test_followed_log_keeps_characters_whole(fake: FakeDashboard, client: Dashboard) -> None:
    fake.logs["worker-1.out"] = "schöne Grüße 🦅\n" * 20_000
    fake.version["ray_version"] = "2.60.0"
    node = fake.rows["nodes"][0]["node_id"]
    got = [text async for text in client.log_stream(node, "worker-1.out")]
    assert "".join(got) == fake.logs["worker-1.out"]


async def test_old_versions_mark_the_chunks_of_a_log(
    fake: FakeDashboard, client: Dashboard
) -> None:
    fake.version["ray_version"] = "2.32.1"
    fake.logs["worker-1.out"] = "1loss 0.5\n"
    assert await client.log_file("n", "worker-1.out", 10) == "loss 0.5\n"
    fake.version["ray_version"] = "2.44.1"
    await client.version()
    assert await client.log_file("n", "worker-1.out", 10) == "1loss 0.5\n"


async def test_rows_of_nonsense_are_dropped(fake: FakeDashboard, client: Dashboard) -> None:
    good = fake.paused[0]
    fake.rows["workers"] = [
        {**good, "debugger_port": 10**6, "pid": "x", "node_id": ["y"], "is_alive": None},
        {"num_paused_threads": 1},
        {**good, "worker_id": None},
    ]
    (worker,) = await client.paused_workers()
    assert (worker.debug_port, worker.pid, worker.node_id) == (0, 0, "")


async def test_broken_runtime_env_counts_as_none(fake: FakeDashboard, client: Dashboard) -> None:
    texts = ["{", "[]", "[" * 100_000, '{"env_vars": [1], "py_modules": "x", "working_dir": 3}']
    good = fake.rows["actors"][0]
    fake.rows["actors"] = [{**good, "serialized_runtime_env": text} for text in texts]
    for actor in await client.actors():
        assert actor.runtime_env.env == {}
        assert actor.runtime_env.working_dir == ""
