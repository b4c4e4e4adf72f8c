"""Clusters of a real Ray: found by itself, watched, with its token, and what stands in its way."""

from __future__ import annotations

import asyncio
import os
import shutil
import sysconfig
import tempfile
import venv
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from eagleray.clusters import discovery
from eagleray.clusters.addresses import host_and_port
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.clusters import ClusterRegistry
from eagleray.clusters.credentials import TokenRules
from eagleray.clusters.discovery import DashboardProcess, Machine
from eagleray.clusters.model import Cluster
from eagleray.tools.worker_processes import environment_of

from tests.clusters.known import DirectConnections
from tests.ray_cluster import REPOSITORY, RayCluster
from tests.shared_clusters import TOKEN

pytestmark = [pytest.mark.real_ray, pytest.mark.cluster("token")]


def machine_with(cluster: RayCluster) -> Machine:
    """This machine without its other clusters: they don't belong to the test, nor is the test's token theirs."""

    def dashboards() -> list[DashboardProcess]:
        found = discovery.dashboard_processes()
        return [item for item in found if any(at.port == port for at in item.listeners)]

    port = host_and_port(cluster.address)[1]
    return Machine(dashboards, list, os.getuid())


@asynccontextmanager
async def clusters(
    home: Path, environ: dict[str, str], which: str = "own", machine: Machine | None = None
) -> AsyncIterator[ClusterRegistry]:
    watch = ClusterWatch()
    tokens = TokenRules(environ, folder=home)
    known = ClusterRegistry(
        watch,
        environ,
        which,  # type: ignore[arg-type]
        folder=home,
        machine=machine,
        tokens=tokens,
        connections=DirectConnections(tokens, watch),
    )
    try:
        yield known
    finally:
        await known.close()
        await watch.close()


@asynccontextmanager
async def tunnel(cluster: RayCluster) -> AsyncIterator[str]:
    """The address of a port of ours that leads to the cluster, as `ssh -L` does."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while some := await reader.read(2**16):
            writer.write(some)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(*host_and_port(cluster.address))
        with suppress(OSError):
            await asyncio.gather(carry(reader, there[1]), carry(there[0], writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def the_one(known: tuple[Cluster, ...], cluster: RayCluster) -> Cluster:
    (one,) = known
    assert one.session in ("", cluster.session)
    return one


async def test_own_cluster_is_discovered_with_its_token(
    cluster: RayCluster, tmp_path: Path
) -> None:
    machine = machine_with(cluster)
    async with clusters(tmp_path, {"RAY_AUTH_TOKEN": TOKEN}, machine=machine) as known:
        one = the_one((await known.refresh()).clusters, cluster)
        while one.state != "connected":
            # A dashboard that has just been started can take longer than a question waits.
            assert one.state in ("connecting", "unreachable", "failing"), one.sentence
            one = the_one((await known.refresh()).clusters, cluster)
        assert one.id == cluster.address
        assert one.origin == "own"
        assert one.state == "connected"
        assert one.sentence.startswith("Connected, Ray 2.")
        assert one.sentence.endswith("none paused")


async def test_cluster_at_two_addresses_is_listed_once(cluster: RayCluster, tmp_path: Path) -> None:
    async with tunnel(cluster) as named:
        environ = {"RAY_AUTH_TOKEN": TOKEN, "RAY_API_SERVER_ADDRESS": named}
        async with clusters(tmp_path, environ, machine=machine_with(cluster)) as known:
            await known.discover()
            while len(shown := (await known.refresh()).clusters) > 1:
                # Which session it is, is known once both have answered.
                assert all(one.state != "unauthorized" for one in shown), shown
            the_one(shown, cluster)


async def test_panel_shows_the_next_step_without_the_token(
    cluster: RayCluster, tmp_path: Path
) -> None:
    environ = {"RAY_API_SERVER_ADDRESS": cluster.address}
    async with clusters(tmp_path, environ, "off") as known:
        (one,) = (await known.refresh()).clusters
        assert one.state == "unauthorized"
        assert one.problems[0].code == "token-needed"
        assert "Set the token" in one.problems[0].next_step
        wrong = await known.set_access(cluster.address, "wrong")
        assert wrong.problems[0].code == "token-refused"
        right = await known.set_access(cluster.address, TOKEN)
        while right.state in ("unreachable", "failing"):
            right = (await known.refresh()).clusters[0]
        assert right.state == "connected"
        assert right.problems == ()


async def test_workers_and_a_pause_are_listed(cluster: RayCluster, tmp_path: Path) -> None:
    environ = {"RAY_AUTH_TOKEN": TOKEN}
    async with clusters(tmp_path, environ, "off") as known:
        await known.add(cluster.address)
        program = cluster.run("rl_training/train.py", "--steps", "1")
        try:
            paused = cluster.wait_paused(1)
            sentence = (await known.refresh()).clusters[0].sentence
            assert "none paused" not in sentence
            environment = environment_of(paused[0]["pid"])
            assert environment is not None
            assert environment.has_debugpy
            assert Path(environment.folder, "ray").is_dir()
        finally:
            program.end()


async def test_legacy_debugger_is_reported(cluster: RayCluster, tmp_path: Path) -> None:
    environ = {"RAY_AUTH_TOKEN": TOKEN}
    async with clusters(tmp_path, environ, "off") as known:
        await known.add(cluster.address)
        program = cluster.run("rl_training/train.py", "--steps", "1", RAY_DEBUG="legacy")
        try:
            codes: list[str] = []
            while "legacy-debugger" not in codes:
                assert program.process.poll() is None, program.output()
                codes = [p.code for p in (await known.refresh()).clusters[0].problems]
        finally:
            program.end()


@pytest.fixture
def bare_python() -> Iterator[Path]:
    """This environment without debugpy, made of links to its files."""
    out = REPOSITORY / "out"
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bare-", dir=out) as folder:
        venv.create(folder, with_pip=False, symlinks=True)
        (libraries,) = Path(folder).glob("lib/python3.*/site-packages")
        shutil.copytree(
            sysconfig.get_path("purelib"),
            libraries,
            dirs_exist_ok=True,
            symlinks=True,
            copy_function=os.link,
        )
        # Not by a pattern: Ray has a debugpy.py of its own.
        shutil.rmtree(libraries / "debugpy")
        yield Path(folder, "bin", "python")


async def test_missing_debugpy_is_reported(
    cluster: RayCluster, tmp_path: Path, bare_python: Path
) -> None:
    environ = {"RAY_AUTH_TOKEN": TOKEN}
    async with clusters(tmp_path, environ, "off") as known:
        await known.add(cluster.address)
        program = cluster.run("cases/passing_by.py", str(bare_python))
        try:
            problems: dict[str, str] = {}
            while "no-debugpy" not in problems:
                assert program.process.poll() is None, program.output()
                (one,) = (await known.refresh()).clusters
                problems = {problem.code: problem.next_step for problem in one.problems}
            assert str(bare_python.parents[1]) in problems["no-debugpy"]
            assert one.sentence.endswith("none paused")
        finally:
            program.end()


async def test_process_of_another_owner_is_not_inspected() -> None:
    assert environment_of(1 if os.getuid() else 2**22 - 1) is None
