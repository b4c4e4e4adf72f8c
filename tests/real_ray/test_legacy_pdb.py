"""Ray's own pdb on a real cluster: listed, opened by key and not by index, followed into another task, left unharmed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.ray_cluster import (
    PROGRAMS,
    REPOSITORY,
    Program,
    RayCluster,
    wait_for,
)
from tests.real_ray.command import Command, Row, line_of

pytestmark = [pytest.mark.real_ray, pytest.mark.cluster("token")]

LEGACY = PROGRAMS / "cases" / "legacy.py"
NAMES = {"first": "first", "second": "adder.add", "calling": "calling", "failing": "failing"}


@pytest.fixture(scope="module")
def jobs_before(cluster: RayCluster) -> set[str]:
    return jobs(cluster)


@pytest.fixture(scope="module")
def program(cluster: RayCluster, jobs_before: set[str]) -> Iterator[Program]:
    env = {"RAY_DEBUG": "legacy", "RAY_DEBUG_POST_MORTEM": "1"}
    started = cluster.run(LEGACY, *NAMES, **env)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture(scope="module")
def rows(program: Program, eagleray: Command) -> dict[str, Row]:
    def found() -> dict[str, Row]:
        listed = {row["name"]: row for row in eagleray.json("pdb")}
        return listed if len(listed) == len(NAMES) else {}

    return wait_for("the pdb sessions", found, every_s=1)


def talk(eagleray: Command, session: str, *lines: str) -> tuple[str, str]:
    """Returns the content of a terminal in which these lines are typed and which is then left."""
    start = REPOSITORY / "pybackend" / "eagleray_start.py"
    done = subprocess.run(
        [sys.executable, str(start), "cli", "pdb", session],
        env=eagleray.env,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_waiting_workers_are_listed_with_their_lines(rows: dict[str, Row]) -> None:
    places = {name: (rows[NAMES[name]]["file"], rows[NAMES[name]]["line"]) for name in NAMES}
    assert places == {name: (str(LEGACY), line_of(LEGACY, name)) for name in NAMES}
    assert "ZeroDivisionError" in rows["failing"]["error"]
    assert all(os.kill(row["pid"], 0) is None and row["node"] for row in rows.values())


def test_two_at_once_are_opened_by_key(
    rows: dict[str, Row], eagleray: Command, program: Program
) -> None:
    """The later one first, by its id; then the other by its name."""
    later, earlier = sorted(("first", "adder.add"), key=lambda name: -rows[name]["since"])
    value = {"first": ("doubled", "42"), "adder.add": ("total", "42")}
    function = {"first": "first()", "adder.add": "add()"}
    for session, name in ((rows[later]["id"], later), (earlier, earlier)):
        shown, _ = talk(eagleray, session, f"p {value[name][0]}")
        assert function[name] in shown
        assert f"(Pdb) {value[name][1]}\n" in shown
    program.wait_output("first: 42")
    program.wait_output("second: 42")


def test_remote_leads_into_the_next_task(
    rows: dict[str, Row], eagleray: Command, program: Program
) -> None:
    shown, said = talk(eagleray, "calling", "remote")
    assert "Waiting for the next task" in said
    assert "inner()" in shown
    program.wait_output("calling: 21")


def test_failure_is_inspected_where_it_happened(
    rows: dict[str, Row], eagleray: Command, program: Program
) -> None:
    shown, _ = talk(eagleray, "failing", "p denominator")
    assert "(Pdb) 0\n" in shown
    program.wait_output("failing: failed with")


def test_nothing_of_ours_is_left_in_the_list_of_jobs(
    rows: dict[str, Row], eagleray: Command, cluster: RayCluster, jobs_before: set[str]
) -> None:
    """Also not what Ray writes of a job that was deleted too early."""
    assert eagleray.json("pdb") == []
    assert jobs(cluster) == jobs_before


def jobs(cluster: RayCluster) -> set[str]:
    """The submitted ones; a driver that joined by itself has no submission."""
    listed = cluster.get("/api/jobs/")
    return {job["submission_id"] for job in listed if job["type"] != "DRIVER"}
