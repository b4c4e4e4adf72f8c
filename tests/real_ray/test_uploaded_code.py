"""Code that Ray uploads (working_dir, py_modules) is shown as the person's own files, with nothing configured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.ray_cluster import PROGRAMS, Program, RayCluster
from tests.real_ray.command import Command, line_of, stand

pytestmark = pytest.mark.real_ray

STEPS = """
def train_step(number):
    squared = number * number
    breakpoint()
    doubled = squared * 2  # stands: uploaded
    return doubled + 1  # stands: next
"""
LOSS = """
def loss(value):
    breakpoint()
    return value / 2  # stands: module
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Spaces and other letters than ASCII are in the path; the uploaded folder is not the workspace itself."""
    folder = tmp_path_factory.mktemp("my work é")
    (folder / "app").mkdir()
    (folder / "app" / "steps.py").write_text(STEPS, encoding="utf-8")
    (folder / "src" / "losses").mkdir(parents=True)
    (folder / "src" / "losses" / "__init__.py").touch()
    (folder / "src" / "losses" / "ppo.py").write_text(LOSS, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def program(cluster: RayCluster, workspace: Path) -> Iterator[Program]:
    started = cluster.run(
        PROGRAMS / "cases" / "in_working_dir.py",
        str(workspace / "app"),
        str(workspace / "src" / "losses"),
    )
    try:
        cluster.wait_paused(2)
        yield started
    finally:
        started.end()


def test_uploaded_files_are_shown_as_files_of_the_user(
    program: Program, eagleray: Command, workspace: Path
) -> None:
    command = replace(eagleray, cwd=workspace)
    steps = workspace / "app" / "steps.py"
    row = eagleray.wait_row("uploaded")
    with command.editor(row["worker_id"]) as (client, _):
        frame = stand(client)
        assert (frame["file"], frame["line"]) == (str(steps), line_of(steps, "uploaded"))
        assert client.evaluate("squared", frame["id"]) == "9"
        later = line_of(steps, "next")
        (breakpoint_,) = client.set_breakpoints(str(steps), [later])
        assert breakpoint_["verified"]
        client.request("continue", threadId=frame["thread"])
        frame = stand(client)
        assert (frame["file"], frame["line"]) == (str(steps), later)
        client.leave()
    loss = workspace / "src" / "losses" / "ppo.py"
    with command.editor(eagleray.wait_row("in_module")["worker_id"]) as (client, _):
        frame = stand(client)
        assert (frame["file"], frame["line"]) == (str(loss), line_of(loss, "module"))
        client.leave()
    program.wait_output("uploaded: [19, 1.0]")
