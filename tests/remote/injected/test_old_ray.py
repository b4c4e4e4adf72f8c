"""Runs on the oldest supported Ray (2.9.1), whose debugpy is old as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ray_cluster import RayCluster
from tests.remote.injected.on_ray import SHAPES, started
from tests.remote.injected.runs import breakpoints, line_of

pytestmark = [pytest.mark.old_ray, pytest.mark.cluster("old")]


def test_breakpoints_and_a_failure_stop_on_an_old_ray(cluster: RayCluster, tmp_path: Path) -> None:
    words = ["Init", "Groups", "Caller", "Threaded", "tasks", "Fails"]
    points = breakpoints(SHAPES, "init", "groups", "lambda", "threaded", "task", "free")
    meant = ["Init", "Groups", "Caller", "Threaded", "task", "Fails"]
    with started(
        cluster, tmp_path, words, breakpoints=points, workers=meant, post_mortem=True
    ) as run:
        debugging = run.debug("Init")
        assert debugging.stop() == ("__init__", line_of(SHAPES, "init"))
        debugging.go_on()
        debugging = run.debug("Groups")
        assert debugging.stop() == ("read", line_of(SHAPES, "groups"))
        debugging.go_on()
        debugging = run.debug("Caller")
        assert debugging.stop() == ("<lambda>", line_of(SHAPES, "lambda"))
        debugging.go_on()
        debugging = run.debug("Threaded")
        for _ in range(3):
            assert debugging.stop() == ("run", line_of(SHAPES, "threaded"))
            debugging.go_on()
        debugging = run.debug("task")
        for _ in range(2):
            assert debugging.stop() == ("task", line_of(SHAPES, "task"))
            debugging.go_on()
        debugging = run.debug("Fails")
        assert debugging.stop() == ("run", line_of(SHAPES, "fails"))
        debugging.go_on()
        run.ends_with(
            "Init: 7",
            "Groups: [13, 13, 13]",
            "Caller: [14, 15, 17, 18, 19, 20]",
            "Threaded: [11, 11, 11]",
            "tasks: [1, 4, 3]",
            "Fails: failed",
        )
