"""The oldest Ray that is served (2.9.1): list, attach, continue, over the same command."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray_cluster import (
    PROGRAMS,
    Program,
    RayCluster,
    start_cluster,
    temporary_home,
    wait_for,
)
from tests.real_ray.command import Command, line_of, stand
from tests.shared_clusters import OLD_PYTHON

pytestmark = pytest.mark.old_ray

SHAPES = PROGRAMS / "cases" / "shapes.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """RAY_DEBUG switches this Ray from its own debugger to debugpy, post-mortem included."""
    with start_cluster(python=OLD_PYTHON, env={"RAY_DEBUG": "1"}) as started:
        yield started


@pytest.fixture(scope="module")
def eagleray(cluster: RayCluster) -> Iterator[Command]:
    with temporary_home() as home:
        yield Command(cluster.eagleray_env(home))


@pytest.fixture(scope="module")
def program(cluster: RayCluster) -> Iterator[Program]:
    started = cluster.run(SHAPES, "task", "looping", "post_mortem", RAY_DEBUG="1")
    try:
        cluster.wait_paused(3)
        yield started
    finally:
        started.end()


def test_the_cluster_is_known(cluster: RayCluster, eagleray: Command) -> None:
    (known,) = eagleray.json("clusters")
    assert (known["state"], known["ray_version"]) == ("connected", "2.9.1")
    assert known["session"]


@pytest.mark.parametrize(
    ("shape", "name", "expression", "value"),
    [
        ("task", "plain_task", "doubled", "8"),
        ("looping", "looping", "step", "0"),
        ("post_mortem", "Failing", "numerator", "10"),
    ],
)
def test_attach(
    program: Program, eagleray: Command, shape: str, name: str, expression: str, value: str
) -> None:
    row = eagleray.wait_row(name)
    with eagleray.editor(row["worker_id"]) as (client, attached):
        assert attached["worker_id"] == row["worker_id"]
        frame = stand(client)
        assert (frame["file"], frame["line"]) == (str(SHAPES), line_of(SHAPES, shape))
        assert client.evaluate(expression, frame["id"]) == value
        client.close()
    eagleray.wait_row(name, held=True)
    assert eagleray.run("release", row["worker_id"]).returncode == 0


def test_they_continue(program: Program, eagleray: Command) -> None:
    program.wait_output("task: [9]")
    program.wait_output("post_mortem: failed with ZeroDivisionError")
    for _ in range(2):
        worker = eagleray.wait_row("looping", held=False)["worker_id"]
        assert eagleray.run("continue", worker).returncode == 0
    program.wait_output("looping: [3]")


@pytest.fixture
def new_protobuf(tmp_path: Path) -> Path:
    """A folder with the protobuf that pip takes for this Ray today, when no user pins it."""
    folder = tmp_path / "google"
    folder.mkdir()
    packages = Path(sysconfig.get_path("purelib"), "google")
    for name in ("protobuf", "_upb"):
        (folder / name).symlink_to(packages / name)
    return tmp_path


def test_a_protobuf_that_breaks_the_list_is_said(new_protobuf: Path) -> None:
    env = {"PYTHONPATH": str(new_protobuf)}
    with (
        start_cluster(python=OLD_PYTHON, env=env, ready="/api/version") as broken,
        temporary_home() as home,
    ):
        eagleray = Command(broken.eagleray_env(home))

        def problems() -> dict[str, str]:
            (known,) = eagleray.json("clusters")
            return {problem["code"]: problem["next_step"] for problem in known["problems"]}

        said = wait_for("what breaks", lambda: problems().get("protobuf-breaks-api"))
        assert "protobuf<4.26" in said
        assert said in eagleray.run("paused").stderr
