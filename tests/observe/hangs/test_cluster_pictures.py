"""Pictures of real clusters of Ray: what hangs is named, and nothing of the picture is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from eagleray.common.errors import EaglerayError
from eagleray.debug.pdb.pdb import PROGRAM as PDB
from eagleray.doctor.logs.cluster_copies import copy_logs
from eagleray.doctor.remote_facts import RemoteFacts
from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.cluster import ClusterPictures
from eagleray.observe.hangs.collecting.local_cluster import take_here
from eagleray.observe.hangs.collecting.ray_jobs import jobs_of
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.ray_names import job_of_driver
from eagleray.observe.hangs.waiting_ranks import waits
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.ray.cluster_query import ClusterQuery
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import TaskRow
from eagleray.tools.commands import Commands

from scripts.ray_cluster import MARK, free_ports
from tests.ray_cluster import (
    PROGRAMS,
    Program,
    RayCluster,
    no_local_nodes,
    start_cluster,
    temporary_home,
    wait_for,
)
from tests.real_ray.command import Command
from tests.remote.injected.runs import Run

pytestmark = [pytest.mark.real_ray, pytest.mark.cluster("torch")]

PAUSE_S = 0.5
NO_PDB = {"follow": "", "seconds": 0}


@pytest.fixture
def run(cluster: RayCluster) -> Iterator[Callable[..., Program]]:
    """Starts programs of tests/programs/hangs until they hang; they end with the test, and their workers too."""
    with hanging_programs(cluster) as started:
        yield started


@pytest.fixture(scope="module")
def cycle(cluster: RayCluster) -> Iterator[Program]:
    """Two actors that wait for each other, for the last tests of this module: a picture doesn't change them."""
    with hanging_programs(cluster) as started:
        yield started("ray_tasks.py", "cycle")


@contextlib.contextmanager
def hanging_programs(cluster: RayCluster) -> Iterator[Callable[..., Program]]:
    programs = []

    def started(name: str, *arguments: str, **env: str) -> Program:
        program = cluster.run(f"hangs/{name}", *arguments, **env)
        programs.append(program)
        wait_for(
            f"ready of {name}: {program.output()}",
            lambda: program.process.poll() is not None or "ready" in program.output(),
        )
        assert program.process.poll() is None, program.output()
        return program

    yield started
    for program in programs:
        program.end()
    pids = {program.process.pid for program in programs}
    wait_for("drivers to be gone", lambda: not pids & set(drivers(cluster)))


@pytest.fixture
async def dashboard(cluster: RayCluster) -> AsyncIterator[Dashboard]:
    opened = Dashboard(cluster.address)
    yield opened
    await opened.close()


def drivers(cluster: RayCluster) -> list[int]:
    rows = cluster.get("/api/v0/workers?detail=1&limit=10000")["data"]["result"]["result"]
    return [row["pid"] for row in rows if row["worker_type"] == "DRIVER" and row["is_alive"]]


async def take(
    dashboard: Dashboard,
    *,
    jobs: Collection[str] = (),
    workers: str = "",
    is_local: bool = False,
    **more: Any,
) -> Picture:
    """Takes a picture through a job, as of other machines, or directly."""
    pictures = ClusterPictures() if is_local else ClusterPictures(no_local_nodes)
    try:
        return await pictures.take(dashboard, SamplingPlan(pause_s=PAUSE_S, **more), jobs, workers)
    finally:
        await pictures.close()


def of_processes(picture: Picture) -> list[tuple[object, ...]]:
    """Returns what a picture says of each process, without what changes between two pictures."""
    rows = [(row.node, row.pid, row.role, row.group, row.rank) for row in picture.ranks]
    return sorted(rows)


CYCLE = {
    "Policy.ask": "RUNNING",
    "Reward.answer": "RUNNING",
    "Policy.value": "SUBMITTED_TO_WORKER",
}
TOO_LARGE = {"ask_for_much": "RUNNING", "train": "PENDING_NODE_ASSIGNMENT"}


async def shown_tasks(dashboard: Dashboard, program: Program, wanted: dict[str, str]) -> None:
    """Waits for the states `wanted` of tasks, by their names.

    Each worker reports its tasks to Ray once a second; Ray still lists tasks of programs that were killed.
    """
    while True:
        jobs = {
            job_of_driver(row.worker_id)
            for row in await dashboard.all_workers()
            if row.pid == program.process.pid
        }
        tasks = [task for task in await dashboard.unended_tasks() if task.job_id in jobs]
        if wanted.items() <= {task.name: task.state for task in tasks}.items():
            return
        await asyncio.sleep(0.2)


def leftovers(cluster: RayCluster) -> list[str]:
    logs = cluster.folder / "ray" / "session_latest" / "logs"
    return [path.name for path in logs.glob("eagleray-stacks-*")]


async def test_actors_answer_from_inside_through_the_job(
    cluster: RayCluster, run: Callable[..., Program], dashboard: Dashboard, tmp_path: Path
) -> None:
    [port] = free_ports(1)
    run_env = Run(tmp_path, breakpoints=[]).env()
    run("ray_trainers.py", "arguments", "2", str(port), **run_env)
    # The processes of a run have served their counters already.
    served = await take(dashboard)
    assert served.inside == ()
    assert {
        row.rank: [(each.group, each.started, each.ended) for each in row.collectives]
        for row in served.ranks
        if row.group == "Trainer"
    } == {rank: [("default_pg", 2, 1)] for rank in range(2)}
    assert "as collective 2 of default_pg" in served.verdict.sentence
    taken = await take(dashboard, inside=True)
    verdict = taken.verdict
    assert (verdict.kind, verdict.culprits) == ("collective-mismatch", "1")
    assert "all_gather (ray_trainers.py:" in verdict.sentence
    assert "as collective 2 of default_pg" in verdict.sentence
    ranks = {row.rank: row for row in taken.ranks if row.group == "Trainer"}
    assert sorted(each.ranks for each in taken.classes if each.group == "Trainer") == ["0", "1"]
    counters = {rank: row.collectives[0] for rank, row in ranks.items()}
    assert {rank: (each.started, each.ended) for rank, each in counters.items()} == {
        0: (2, 1),
        1: (2, 1),
    }
    assert {each.rank: each.reason for each in taken.inside if each.group == "Trainer"} == {
        0: "",
        1: "",
    }
    assert leftovers(cluster) == []
    assert [job.submission_id for job in await dashboard.jobs() if job.submission_id] == []
    directly = await take(dashboard, inside=True, is_local=True)
    assert directly.verdict == verdict
    assert of_processes(directly) == of_processes(taken)
    assert {each.rank: each.reason for each in directly.inside if each.group == "Trainer"} == {
        0: "",
        1: "",
    }
    states = {psutil.Process(row.pid).status() for row in ranks.values()}
    assert "stopped" not in states


async def test_actors_in_different_collectives_are_named_by_rank(
    cluster: RayCluster, run: Callable[..., Program], dashboard: Dashboard
) -> None:
    [port] = free_ports(1)
    run("ray_trainers.py", "late", "4", str(port))
    rounds: list[int] = []
    taken = await take(dashboard, on_progress=lambda done, _: rounds.append(done))
    verdict = taken.verdict
    assert (verdict.kind, verdict.culprits) == ("collective-mismatch", "1,3")
    assert "all_gather (ray_trainers.py:" in verdict.sentence
    assert verdict.group == "Trainer"
    assert rounds == [1, 2, 3]
    classes = sorted(each.ranks for each in taken.classes if each.group == "Trainer")
    assert classes == ["0,2", "1,3"]
    assert taken.coverage.unseen == () and taken.coverage.nodes == ()
    assert leftovers(cluster) == []
    assert [job.submission_id for job in await dashboard.jobs() if job.submission_id] == []


async def test_actor_that_was_killed_is_named_with_what_ray_says(
    run: Callable[..., Program], dashboard: Dashboard
) -> None:
    [port] = free_ports(1)
    run("ray_trainers.py", "killed", "3", str(port))
    while not any(row.name == "trainer-1" and row.death for row in await dashboard.all_actors()):
        await asyncio.sleep(0.2)
    verdict = (await take(dashboard, is_local=True)).verdict
    assert (verdict.kind, verdict.culprits) == ("rank-dead", "1")
    assert "Ray says of trainer-1 (PID " in verdict.sentence
    assert "its process ended unexpectedly" in verdict.sentence


async def test_paused_actor_is_named_with_those_that_wait_for_it(
    run: Callable[..., Program], dashboard: Dashboard
) -> None:
    [port] = free_ports(1)
    run("ray_trainers.py", "paused", "3", str(port))
    while not any(row.paused_threads for row in await dashboard.all_workers()):
        await asyncio.sleep(0.2)
    taken = await take_here(dashboard, "Trainer.hang", paused=1, pause_s=PAUSE_S)
    assert taken is not None
    assert re.fullmatch(
        r"Ranks 0 and 2 wait in all_reduce \(ray_trainers.py:\d+\) for rank 1, "
        r"which is paused by a debugger in Trainer.hang \(ray_trainers.py:\d+\)\.",
        taken.verdict.sentence,
    )
    # From the log that Ray has made of the errors of this worker.
    assert [(each.rank, each.exception) for each in taken.exits] == [
        (0, "ValueError: no reward of sample 7")
    ]
    waiting, paused = waits(taken)
    # In the order of their PIDs, which is not always the order of their ranks.
    assert (sorted(each.rank or 0 for each in waiting), [each.rank for each in paused]) == (
        [0, 2],
        [1],
    )
    assert await take_here(dashboard, "Trainer.hang", paused=3, pause_s=PAUSE_S) is None


async def test_async_actor_tells_what_all_its_tasks_await(
    run: Callable[..., Program], dashboard: Dashboard
) -> None:
    program = run("ray_tasks.py", "awaiting")
    await shown_tasks(dashboard, program, {"Rollout.generate": "RUNNING"})
    taken = await take(dashboard, inside=True, is_local=True)
    assert taken.verdict.kind == "asyncio", taken.verdict
    assert taken.verdict.group == "Rollout"
    assert taken.verdict.sentence.startswith(
        "The driver waits for Rollout.generate. All 5 tasks wait in Rollout.tokens (ray_tasks.py:"
    )


async def test_task_that_is_too_large_for_every_node_is_named(
    run: Callable[..., Program], dashboard: Dashboard
) -> None:
    program = run("ray_tasks.py", "too_large")
    await shown_tasks(dashboard, program, TOO_LARGE)
    verdict = (await take(dashboard, is_local=True)).verdict
    assert verdict.kind == "starvation"
    assert verdict.sentence == (
        "The driver waits for ask_for_much, which waits for train, but no node has CPU: 1000."
    )


CHAINS = {
    "chain": (
        {"Engine.generate": "RUNNING"},
        r"The driver waits for Syncer\.sync, which waits for Engine\.generate, "
        r"which waits for the server at 127\.0\.0\.1:\d+ in Engine\.generate \(ray_tasks\.py:\d+\)\.",
    ),
    "constructor": (
        {"Starting.step": "PENDING_NODE_ASSIGNMENT", "Starting.__init__": "RUNNING"},
        r"The driver waits for Starting\.step, whose actor is still in its constructor, "
        r"which waits for data of process \d+, which runs sleep\.",
    ),
    "queue": (
        {"fill": "RUNNING", "_QueueActor.put": "RUNNING"},
        r"The driver waits for fill, which waits for room in a queue of Ray, from which no call takes\. "
        # Ray still lists tasks of earlier programs, which were killed.
        r"Policy 0 has no task\.",
    ),
    "polling": (
        {"Follower.follow": "RUNNING"},
        r"The driver waits for Follower\.follow, which sleeps in a loop in Follower\.follow \(ray_tasks\.py:\d+\)\. "
        r"Policy 0 has no task\.",
    ),
    "generator": (
        {"make": "RUNNING"},
        r"The driver waits for make, which runs no code, as a generator whose results are not read yet\.",
    ),
    "group": (
        {},
        r"The driver waits for a placement group, but no node has room for its bundles \(CPU: 1000\)\.",
    ),
}


@pytest.mark.parametrize("program", CHAINS)
async def test_chain_of_the_driver_is_followed_to_its_end(
    run: Callable[..., Program], dashboard: Dashboard, program: str
) -> None:
    tasks, sentence = CHAINS[program]
    await shown_tasks(dashboard, run("ray_tasks.py", program), tasks)
    verdict = (await take(dashboard, is_local=program != "constructor")).verdict
    assert verdict.kind == ("starvation" if program == "group" else "wait-chain"), verdict
    assert re.fullmatch(sentence, verdict.sentence), verdict.sentence


async def test_cluster_without_a_free_cpu_is_sampled_and_its_driver_starves(
    run: Callable[..., Program], dashboard: Dashboard
) -> None:
    program = run("ray_tasks.py", "full")
    await shown_tasks(dashboard, program, {"train": "PENDING_NODE_ASSIGNMENT"})
    verdict = (await take(dashboard)).verdict
    assert verdict.kind == "starvation"
    assert verdict.sentence == (
        "The driver waits for train, but no node has CPU: 1 free: held by Holder (CPU: 4, without a task)."
    )
    assert re.fullmatch(
        r"End Holder \d.* \(PID \d.*\), or start fewer actors or tasks\.", verdict.next_step
    ), verdict.next_step


async def test_driver_that_waits_for_a_task_that_computes_does_not_hang(
    run: Callable[..., Program], dashboard: Dashboard
) -> None:
    program = run("ray_tasks.py", "working")
    await shown_tasks(dashboard, program, {"compute": "RUNNING"})
    taken = await take(dashboard, is_local=True)
    assert taken.verdict.kind in ("slow", "unknown")


async def test_own_cluster_is_read_while_another_program_has_the_port_of_its_agent(
    cluster: RayCluster, tmp_path: Path
) -> None:
    [port] = free_ports(1)
    with socket.create_server(("0.0.0.0", 0)) as taken_port:
        agent_port = taken_port.getsockname()[1]
        with subprocess.Popen(
            [
                cluster.python,
                str(PROGRAMS / "hangs" / "own_cluster.py"),
                str(port),
                str(agent_port),
            ],
            env={**os.environ, "RAY_AUTH_MODE": "disabled"},
            stdout=subprocess.PIPE,
            text=True,
        ) as program:
            beside = Dashboard(f"http://127.0.0.1:{port}")
            try:
                assert program.stdout and any("ready" in line for line in program.stdout)
                while "PENDING_NODE_ASSIGNMENT" not in {
                    task.state for task in await beside.unended_tasks()
                }:
                    await asyncio.sleep(0.2)
                taken = await take(beside, is_local=True)
                by_pid = await local.take([program.pid], SamplingPlan(pause_s=PAUSE_S))
                with pytest.raises(EaglerayError) as raised:
                    await take(beside)
                copies = await copy_logs(beside, tmp_path, lambda done, count: None)
                facts = await RemoteFacts(Commands(no_ssh), None, None).of_cluster(beside)  # type: ignore[arg-type]
                asked = ClusterQuery()
                waiting = await asked.ask(beside, "list", PDB.read_text("utf-8"), NO_PDB, 60)
            finally:
                program.terminate()
                await beside.close()
    assert taken.verdict.kind == "starvation"
    # None of Ray's own processes.
    for picture in (taken, by_pid):
        assert [row.pid for row in picture.ranks] == [program.pid]
    assert raised.value.code == "no-job-agent"
    assert f"Its port {agent_port} is taken by PID {os.getpid()} (" in raised.value.message
    assert copies.unchecked == ()
    assert [path.name for path in copies.folder.rglob("raylet.out")] == ["raylet.out"]
    assert facts.silent == ()
    [of_node] = facts.facts
    assert of_node["packages"]["ray"] and of_node["executable"] == cluster.python
    assert waiting == []


async def no_ssh(*_: object) -> CommandOutput:
    raise AssertionError("nothing goes through ssh")


@contextlib.contextmanager
def second_node(cluster: RayCluster) -> Iterator[psutil.Process]:
    """Another node of the cluster on this machine; yields its raylet.

    `ray start` gives up on a very busy machine, and other programs can take its ports; so it is tried three times.
    """
    with contextlib.ExitStack() as ending:
        for _ in range(3):
            process = _started_node(cluster)
            ending.callback(_end_node, process)
            wait_for(
                "the second node",
                lambda process=process: process.poll() is not None or _raylet(cluster, process.pid),
            )
            if (raylet := _raylet(cluster, process.pid)) is not None:
                break
        assert raylet is not None, (cluster.folder / "second.log").read_text()
        ending.callback(psutil.wait_procs, [raylet], timeout=20)
        ending.callback(raylet.terminate)
        ending.callback(raylet.send_signal, signal.SIGCONT)
        yield raylet


def _started_node(cluster: RayCluster) -> subprocess.Popen[bytes]:
    ports = dict(zip(NODE_PORTS, free_ports(len(NODE_PORTS)), strict=True))
    command = [cluster.python, "-m", "ray.scripts.scripts", "start", "--block"]
    command += [f"--address={cluster.gcs_address}", "--num-cpus=0", "--disable-usage-stats"]
    command += ["--object-store-memory=80000000", "--min-worker-port=0", "--max-worker-port=0"]
    command += [f"{option}={port}" for option, port in ports.items()]
    with Path(cluster.folder / "second.log").open("wb") as log:
        return subprocess.Popen(
            command,
            env=cluster.program_env(**{MARK: cluster.mark}),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _end_node(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=20)


NODE_PORTS = (
    "--dashboard-agent-listen-port",
    "--dashboard-agent-grpc-port",
    "--metrics-export-port",
    "--runtime-env-agent-port",
    "--node-manager-port",
    "--object-manager-port",
)


def _raylet(cluster: RayCluster, pid: int) -> psutil.Process | None:
    """The raylet below `pid`, once its node is alive."""
    if len(_alive(cluster)) < 2:
        return None
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            if child.name() == "raylet":
                return child
    return None


def _alive(cluster: RayCluster) -> list[dict[str, Any]]:
    rows = cluster.get("/api/v0/nodes?detail=1&limit=10000")["data"]["result"]["result"]
    return [row for row in rows if row["state"] == "ALIVE"]


async def test_actors_that_call_back_are_a_proved_cycle(
    cycle: Program, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shown_tasks(dashboard, cycle, CYCLE)
    taken = await take(dashboard, is_local=True)
    verdict = taken.verdict
    assert verdict.kind == "ray-get-cycle", verdict
    assert verdict.sentence == (
        "The driver waits for Policy.ask of left, which waits for Reward.answer, which waits for "
        "Policy.value of left, which is queued behind Policy.ask of left: none of them can continue."
    )
    # The PID of a worker leads to its job.
    [worker] = [row.pid for row in taken.ranks if row.group == "Reward"]
    by_pid = await local.take([worker], SamplingPlan(pause_s=PAUSE_S))
    assert by_pid.verdict.sentence == verdict.sentence
    with monkeypatch.context() as patched:
        patched.setattr(dashboard, "unended_tasks", fail)
        by_gcs = await take(dashboard, is_local=True)
    assert by_gcs.verdict.sentence == verdict.sentence
    part = await take(dashboard, workers="Policy.ask")
    assert {each.group for each in part.ranks} == {"Policy"}
    assert part.coverage.workers == "Policy.ask"
    with pytest.raises(EaglerayError, match=r"No running worker of .* matches"):
        await take(dashboard, workers="Critic", is_local=True)


async def fail() -> list[TaskRow]:
    raise EaglerayError("no-tasks", "the list failed")


async def test_picture_of_a_job_judges_only_that_job(
    cycle: Program, run: Callable[..., Program], dashboard: Dashboard
) -> None:
    other = run("ray_tasks.py", "too_large")
    await shown_tasks(dashboard, cycle, CYCLE)
    await shown_tasks(dashboard, other, TOO_LARGE)
    of_other, of_cycle = await take_job(dashboard, other), await take_job(dashboard, cycle)
    directly = await take_job(dashboard, cycle, is_local=True)
    assert directly.verdict == of_cycle.verdict
    assert of_processes(directly) == of_processes(of_cycle)
    by_pid = await local.take([cycle.process.pid], SamplingPlan(pause_s=PAUSE_S))
    assert {row.pid for row in by_pid.ranks} == {row.pid for row in of_cycle.ranks}
    assert by_pid.verdict == of_cycle.verdict
    assert (of_other.verdict.kind, of_cycle.verdict.kind) == ("starvation", "ray-get-cycle")
    drivers = {
        row.pid for taken in (of_other, of_cycle) for row in taken.ranks if row.role == "driver"
    }
    assert drivers == {cycle.process.pid, other.process.pid}
    pids = [{row.pid for row in taken.ranks} for taken in (of_other, of_cycle)]
    assert not pids[0] & pids[1]
    assert {row.group for row in of_cycle.ranks} >= {"Policy", "Reward"}
    assert not {row.group for row in of_other.ranks} & {"Policy", "Reward"}


async def test_run_is_judged_without_the_other_programs_of_its_cluster(
    cluster: RayCluster, cycle: Program, dashboard: Dashboard
) -> None:
    await shown_tasks(dashboard, cycle, CYCLE)
    with temporary_home() as home:
        command = Command({**cluster.eagleray_env(home), "RAY_ADDRESS": cluster.gcs_address})
        program = str(PROGRAMS / "hangs" / "ray_tasks.py")
        started = command.run("run", "--detach", "--", cluster.python, program, "too_large")
        assert started.returncode == 0, started.stderr
        run_id = started.stdout.strip()
        try:
            output = home / "runs" / run_id / "output.log"
            wait_for("ready", lambda: output.exists() and "ready" in output.read_text())
            taken = wait_for("its tasks", lambda: starving(command, run_id), every_s=1)
        finally:
            command.run("runs", "stop", run_id)
    drivers = [row["pid"] for row in taken["ranks"] if row["role"] == "driver"]
    assert len(drivers) == 1 and cycle.process.pid not in drivers


def starving(command: Command, run_id: str) -> dict[str, Any] | None:
    """The picture of the run once its workers have reported their tasks."""
    taken: dict[str, Any] = command.json("stacks", run_id, "--seconds", "0.5")
    return taken if taken["verdict"]["kind"] == "starvation" else None


async def take_job(dashboard: Dashboard, program: Program, is_local: bool = False) -> Picture:
    """The picture of the job whose driver is the program."""
    [job] = {
        job_of_driver(row.worker_id)
        for row in await dashboard.all_workers()
        if row.pid == program.process.pid
    }
    jobs = jobs_of(await dashboard.jobs(), job)
    return await take(dashboard, jobs=jobs, is_local=is_local)


async def test_other_cluster_of_the_machine_is_left_out(
    cycle: Program, dashboard: Dashboard
) -> None:
    await shown_tasks(dashboard, cycle, CYCLE)
    with start_cluster() as neighbour:
        other = neighbour.run("hangs/ray_tasks.py", "too_large")
        wait_for("ready", lambda: "ready" in other.output())
        beside = Dashboard(neighbour.address)
        try:
            await shown_tasks(beside, other, TOO_LARGE)
            of_other, of_own = await take(beside), await take(dashboard)
        finally:
            await beside.close()
            other.end()
    assert (of_other.verdict.kind, of_own.verdict.kind) == ("starvation", "ray-get-cycle")
    assert not {row.pid for row in of_other.ranks} & {row.pid for row in of_own.ranks}
    drivers = [row.pid for row in (*of_other.ranks, *of_own.ranks) if row.role == "driver"]
    assert sorted(drivers) == sorted([cycle.process.pid, other.process.pid])


async def test_cancelled_picture_stops_its_job_and_leaves_no_process_stopped(
    cluster: RayCluster, cycle: Program, dashboard: Dashboard
) -> None:
    pictures = ClusterPictures(no_local_nodes)
    reached = asyncio.Event()
    taking = asyncio.create_task(
        pictures.take(
            dashboard, SamplingPlan(lambda done, _: reached.set(), rounds=50, pause_s=0.1)
        )
    )
    await reached.wait()
    taking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await taking
    await pictures.close()
    assert [job.submission_id for job in await dashboard.jobs() if job.submission_id] == []
    assert leftovers(cluster) == []
    actors = [row for row in await dashboard.actors() if row.class_name in ("Policy", "Reward")]
    assert actors and all(psutil.Process(row.pid).status() != "stopped" for row in actors)


async def test_node_whose_raylet_is_stopped_is_reported_and_the_others_are_seen(
    cluster: RayCluster, cycle: Program, dashboard: Dashboard
) -> None:
    await shown_tasks(dashboard, cycle, CYCLE)
    with second_node(cluster) as raylet:
        raylet.suspend()
        taken = await take(dashboard)
        directly = await take(dashboard, is_local=True)
    assert [node.reason for node in taken.coverage.nodes] == ["timeout"]
    assert directly.coverage.nodes == ()
    assert taken.verdict.kind == directly.verdict.kind == "ray-get-cycle"
