"""Runs on a real Ray: workers of all kinds stop at lines, with no `breakpoint()` in the code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.in_cluster_run.runs import Debugging, Gates, Run, breakpoints, line_of
from tests.ray_cluster import Program, RayCluster, start_cluster

pytestmark = [pytest.mark.real_ray, pytest.mark.timeout(300)]

PROGRAMS = Path(__file__).parent / "programs"
SHAPES, LATE = PROGRAMS / "shapes.py", PROGRAMS / "late.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with start_cluster() as started:
        yield started


class Started:
    """A program of the run on the cluster, with its gates."""

    def __init__(self, cluster: RayCluster, run: Run, program: Program) -> None:
        self._run = run
        self._gates = Gates(cluster)
        self.program = program

    def debug(self, name: str) -> Debugging:
        return Debugging(self._gates.wait(name), self._run)

    def ends_with(self, *lines: str) -> None:
        assert self.program.wait() == 0, self.program.output()
        printed = self.program.output().splitlines()
        assert [line for line in printed if ": " in line and "INFO" not in line][-len(lines) :] == [
            *lines
        ]

    def close(self) -> None:
        self._gates.close()
        self.program.end()


@contextmanager
def started(
    cluster: RayCluster,
    folder: Path,
    names: list[str],
    env: dict[str, str] | None = None,
    **settings: Any,
) -> Iterator[Started]:
    run = Run(folder, **settings)
    one = Started(cluster, run, cluster.run(SHAPES, *names, **run.env(**(env or {}))))
    try:
        yield one
    finally:
        one.close()


def test_actors_of_all_kinds(cluster: RayCluster, tmp_path: Path) -> None:
    """Classes of `__main__` come without their module; `Other` is not meant and only holds a handle of one that is."""
    kinds = ["Init", "Method", "Async", "Thread", "Late", "Threaded"]
    points = breakpoints(SHAPES, "init", "method", "async", "thread", "threaded", "other")
    points += breakpoints(LATE, "late")
    with started(cluster, tmp_path, [*kinds, "Other"], breakpoints=points, workers=kinds) as run:
        for name, function in [("Init", "__init__"), ("Method", "run"), ("Async", "run"), ("Thread", "count")]:  # fmt: skip
            debugging = run.debug(name)
            assert debugging.stop() == (function, line_of(SHAPES, name.lower()))
            debugging.go_on()
        debugging = run.debug("Late")
        debugging.follow()
        assert debugging.stop() == ("<module>", line_of(LATE, "late"))
        debugging.go_on()
        debugging = run.debug("Threaded")
        for _ in range(3):
            assert debugging.stop() == ("run", line_of(SHAPES, "threaded"))
            debugging.go_on()
        run.ends_with(
            "Init: 7",
            "Method: 8",
            "Async: 9",
            "Thread: 10",
            "Late: 4",
            "Threaded: [11, 11, 11]",
            "Other: False",
        )


def test_a_worker_that_is_used_again_stops_only_in_what_is_meant(
    cluster: RayCluster, tmp_path: Path
) -> None:
    env = {"WITH_RUNTIME_ENV": "1"}
    points = breakpoints(SHAPES, "task", "free")
    with started(cluster, tmp_path, ["tasks"], env, breakpoints=points, workers=["task"]) as run:
        debugging = run.debug("task")
        for _ in range(2):
            assert debugging.stop() == ("task", line_of(SHAPES, "task"))
            debugging.go_on()
        run.ends_with("tasks: [1, 4, 3]")


def test_an_actor_that_an_actor_creates(cluster: RayCluster, tmp_path: Path) -> None:
    """Its parent is not meant, and lives in a program without a runtime_env."""
    points = breakpoints(SHAPES, "method")
    with started(cluster, tmp_path, ["Parent"], breakpoints=points, workers=["nested"]) as run:
        debugging = run.debug("nested")
        assert debugging.stop() == ("run", line_of(SHAPES, "method"))
        debugging.go_on()
        run.ends_with("Parent: 8")


def test_a_failure_stops_where_it_happens(cluster: RayCluster, tmp_path: Path) -> None:
    with started(
        cluster, tmp_path, ["Fails", "Method"], breakpoints=[], workers=["Fails"], post_mortem=True
    ) as run:
        debugging = run.debug("Fails")
        assert debugging.stop() == ("run", line_of(SHAPES, "fails"))
        debugging.go_on()
        run.ends_with("Fails: failed", "Method: 8")
