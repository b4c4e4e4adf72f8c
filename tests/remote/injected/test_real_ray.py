"""Runs on a real Ray: workers of all kinds stop at breakpoints, with no `breakpoint()` in the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ray_cluster import RayCluster
from tests.remote.injected.on_ray import LATE, SHAPES, UPLOADED, started
from tests.remote.injected.runs import breakpoints, line_of

pytestmark = pytest.mark.real_ray


def test_actors_of_all_kinds_stop(cluster: RayCluster, tmp_path: Path) -> None:
    """Classes of `__main__` come without their module; `Other` is not meant and only holds a handle of one that is."""
    kinds = ["Init", "Method", "Async", "Groups", "Thread", "Late", "Threaded"]
    points = breakpoints(SHAPES, "init", "method", "async", "groups", "thread", "threaded", "other")
    points += breakpoints(LATE, "late")
    with started(cluster, tmp_path, [*kinds, "Other"], breakpoints=points, workers=kinds) as run:
        for name, function in [("Init", "__init__"), ("Method", "run"), ("Async", "run"), ("Groups", "read"), ("Thread", "count")]:  # fmt: skip
            debugging = run.debug(name)
            assert debugging.stop() == (function, line_of(SHAPES, name.lower()))
            debugging.go_on()
        debugging = run.debug("Late")
        debugging.follow()
        assert debugging.stop() == ("<module>", line_of(LATE, "late"))
        debugging.go_on()
        debugging = run.debug("Threaded")
        # Each call is made in a thread that C++ started.
        for _ in range(3):
            assert debugging.stop() == ("run", line_of(SHAPES, "threaded"))
            debugging.go_on()
        run.ends_with(
            "Init: 7",
            "Method: 8",
            "Async: 9",
            "Groups: [13, 13, 13]",
            "Thread: 10",
            "Late: 4",
            "Threaded: [11, 11, 11]",
            "Other: False",
        )


def test_code_that_comes_in_objects_stops(cluster: RayCluster, tmp_path: Path) -> None:
    """Both workers run a module without breakpoints, which calls what it was given."""
    names = ["bound", "called", "closure", "factory", "lambda", "argument"]
    points = breakpoints(SHAPES, *names)
    with started(
        cluster, tmp_path, ["Caller"], breakpoints=points, workers=["Caller", "call"]
    ) as run:
        debugging = run.debug("Caller")
        functions = ["method", "__call__", "inner", "fresh", "<lambda>"]
        for name, function in zip(names[:-1], functions, strict=True):
            assert debugging.stop() == (function, line_of(SHAPES, name))
            debugging.go_on()
        debugging = run.debug("call")
        assert debugging.stop() == ("<lambda>", line_of(SHAPES, "argument"))
        debugging.go_on()
        run.ends_with("Caller: [14, 15, 17, 18, 19, 20]")


def test_reused_worker_stops_only_in_selected_functions(
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


def test_actor_created_by_an_actor_stops(cluster: RayCluster, tmp_path: Path) -> None:
    """Its parent is not meant, and lives in a program without a runtime_env."""
    points = breakpoints(SHAPES, "method")
    with started(cluster, tmp_path, ["Parent"], breakpoints=points, workers=["nested"]) as run:
        debugging = run.debug("nested")
        assert debugging.stop() == ("run", line_of(SHAPES, "method"))
        debugging.go_on()
        run.ends_with("Parent: 8")


def test_failure_and_breakpoint_of_the_user_stop(cluster: RayCluster, tmp_path: Path) -> None:
    meant = ["Fails", "Calls"]
    with started(
        cluster, tmp_path, [*meant, "Method"], breakpoints=[], workers=meant, post_mortem=True
    ) as run:
        debugging = run.debug("Fails")
        assert debugging.stop() == ("run", line_of(SHAPES, "fails"))
        debugging.go_on()
        debugging = run.debug("Calls")
        assert debugging.stop()[0] == "run"
        frame = debugging.client.stack(debugging.thread)[0]["id"]
        assert debugging.client.evaluate("number", frame) == "13"
        debugging.go_on()
        run.ends_with("Fails: failed", "Calls: 13", "Method: 8")
        assert cluster.paused() == [], "only the debug proxy is announced"


STEPS = """
def train(number):
    return number * 2  # stop: train
"""


def test_uploaded_code_stops_at_the_breakpoints_of_the_user(
    cluster: RayCluster, tmp_path: Path
) -> None:
    app = tmp_path / "my app é"
    (app / "inner").mkdir(parents=True)
    steps = app / "inner" / "steps.py"
    steps.write_text(STEPS)
    points = breakpoints(steps, "train")
    with started(
        cluster, tmp_path, [str(app)], program=UPLOADED, breakpoints=points, workers=["Uploaded"]
    ) as run:
        debugging = run.debug("Uploaded")
        assert debugging.stop() == ("train", line_of(steps, "train"))
        file = debugging.client.stack(debugging.thread)[0]["source"]["path"]
        assert "/working_dir_files/" in file and debugging.proxy.latest["class"] == "Uploaded"
        debugging.go_on()
        run.ends_with("uploaded: 6")
