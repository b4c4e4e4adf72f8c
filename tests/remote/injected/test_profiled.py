"""Workers of a real Ray under a real nsys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected.nsys.profile_requests import profile_request

from tests.ray_cluster import RayCluster, start_cluster, wait_for
from tests.remote.injected.on_ray import PROGRAMS, Started, started
from tests.remote.injected.real_nsys import calls_in, real_nsys
from tests.remote.injected.runs import ProxyTestClient, Run

pytestmark = pytest.mark.nsys
PROGRAM = PROGRAMS / "profiled.py"
# The library of nsys (2022.4) waits in the exit handlers of a worker: 100 to 180 s were measured with a load above 10.
NSYS_END_S = 600.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    # Ray's own way to nsys takes both programs from the path of its node.
    folders = [Path(real_nsys()).parent, Path(sys.executable).parent, os.environ["PATH"]]
    with start_cluster(env={"PATH": ":".join(map(str, folders))}) as running:
        yield running


@contextmanager
def profiled(
    cluster: RayCluster, folder: Path, words: list[str], **profile: Any
) -> Iterator[Started]:
    """The program with such a profile; its reports come into `folder / "reports"`."""
    (folder / "reports").mkdir(mode=0o700)
    asked = {"trace": "nvtx,osrt", "nsys": real_nsys(), "reports": str(folder / "reports")}
    with started(cluster, folder, words, program=PROGRAM, profile={**asked, **profile}) as run:
        yield run


def statuses(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns what the workers say beside their reports, by their class or name."""
    found = [json.loads(path.read_text()) for path in (folder / "reports").glob("*.worker.json")]
    return {item["name"] or item["class"]: item for item in found}


def wait_for_state(proxy: ProxyTestClient, state: str, reports: int) -> dict[str, Any]:
    def is_so() -> dict[str, Any] | None:
        known: dict[str, Any] = proxy.latest.get("profile") or {}
        so = known.get("state") == state and len(known["reports"]) == reports
        return known if so else None

    found = wait_for(f"{state} with {reports} reports", is_so)
    assert found is not None
    return found


def wait_for_ends(folder: Path, workers: int) -> None:
    """Waits until so many workers have ended, with all their reports; fails with what they say instead."""

    def have_ended() -> bool:
        return [status["state"] for status in statuses(folder).values()] == ["ended"] * workers

    try:
        wait_for("the end of the workers", have_ended, NSYS_END_S)
    except AssertionError as error:
        raise AssertionError(f"{error}: {statuses(folder)}") from error


def test_selected_actors_of_a_family_are_recorded_several_times(
    cluster: RayCluster, tmp_path: Path
) -> None:
    orders = tmp_path / "orders"
    os.mkfifo(orders)
    words = ["family", str(orders)]
    wanted = [" *Policy*, ,Rollout"]
    with profiled(cluster, tmp_path, words, workers=wanted, when="on-demand") as run:
        said = run.program.wait_output("ready: yes").splitlines()
        assert [line for line in said if ": " in line and "INFO" not in line] == [
            "policy: recorded job own",
            "controller: plain job None",
            "rollout: recorded job None",
            "inner: recorded job rollout",
            "reward: plain job None",
            "task: plain job None",
            "ready: yes",
        ], {name: one["problem"] for name, one in statuses(tmp_path).items()}
        proxy = run.proxy_of("PolicyWorker", "")
        known = wait_for_state(proxy, "armed", 0)
        assert known["said"] == (
            "Nsight profiling enabled for worker 'PolicyWorker' (matched pattern '*Policy*')"
        )
        with orders.open("w") as line:
            for number, count in enumerate([5, 7]):
                proxy.say(op="record", seconds=0)
                wait_for_state(proxy, "recording", number)
                line.write(f"{count}\n")
                line.flush()
                run.program.wait_output(f"synced: {count}")
                proxy.say(op="stop_recording")
                wait_for_state(proxy, "armed", number + 1)
            # The last one is ended by the end of the program.
            proxy.say(op="record", seconds=0)
            wait_for_state(proxy, "recording", 2)
            line.write("3\n")
        assert run.program.wait() == 0, run.program.output()
        wait_for_ends(tmp_path, 3)
    of_workers = statuses(tmp_path)
    assert set(of_workers) == {"PolicyWorker", "inner-1", "Rollout"}
    policy = of_workers["PolicyWorker"]
    assert policy["problem"] == "" and policy["worker_id"] and policy["node_id"]
    reports = [tmp_path / "reports" / name for name in policy["reports"]]
    assert [calls_in(report, "fsync", tmp_path) for report in reports] == [5, 7, 3]
    for report in reports:
        entry = json.loads(Path(f"{report}.json").read_text())
        assert entry["size"] == report.stat().st_size and entry["problem"] == ""
        assert entry["actor_id"] and entry["pid"] == policy["pid"] and ":" not in report.name
    assert of_workers["Rollout"]["reports"] == []
    lists = [json.loads(p.read_text()) for p in (tmp_path / "reports").glob("*.classes.json")]
    of_creators = [["PolicyWorker", "Controller"], ["Rollout"], ["PolicyWorker", "RewardWorker"]]
    assert sorted(list_["classes"] for list_ in lists) == sorted(
        [f"__main__:{name}" for name in names] for names in of_creators
    )


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"nsys": "/nowhere/nsys"}, "there is no nsys at /nowhere/nsys"),
        ({"trace": "nonsense"}, "nsys ended with 1"),
    ],
)
def test_worker_runs_without_nsys_if_that_is_missing_or_fails(
    cluster: RayCluster, tmp_path: Path, settings: dict[str, str], why: str
) -> None:
    with profiled(cluster, tmp_path, [], workers=["PolicyWorker"], **settings) as run:
        run.ends_with("policy: plain job own")
    (known,) = statuses(tmp_path).values()
    assert known["state"] == "missing" and why in known["problem"]
    assert known["host"] in known["problem"]


WORKER = """
import os, sys, tempfile
with tempfile.TemporaryFile() as file:
    for _ in range(6):
        file.write(b"x")
        file.flush()
        os.fsync(file.fileno())
print(sys.argv[1:], "EAGLERAY_NSYS_SOCKET" in os.environ)
sys.exit(3)
"""


FAILS_ONCE = """#!/bin/sh
if [ "$1" = launch ] && mkdir "{tried}" 2>/dev/null; then exit 1; fi
exec "{nsys}" "$@"
"""


def test_worker_is_recorded_from_its_first_line_and_keeps_its_exit_code(tmp_path: Path) -> None:
    """Starts the same as Ray, without Ray; nsys fails at first, as it may on a busy node."""
    worker = tmp_path / "ray" / "_private" / "workers" / "default_worker.py"
    worker.parent.mkdir(parents=True)
    worker.write_text(WORKER)
    reports = tmp_path / "reports"
    reports.mkdir(mode=0o700)
    nsys = tmp_path / "nsys"
    nsys.write_text(FAILS_ONCE.format(tried=tmp_path / "tried", nsys=real_nsys()))
    nsys.chmod(0o755)
    profile = {"workers": ["A"], "nsys": str(nsys), "trace": "osrt", "reports": str(reports)}
    env = Run(tmp_path, profile=profile).env(EAGLERAY_PROFILE=profile_request("A", "m", "A", "a-1"))
    words = [sys.executable, "-u", str(worker), "--node-id=ab", 'it\'s "one" word']
    ended = subprocess.run(
        words, env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 3, ended.stderr
    assert """['--node-id=ab', 'it\\'s "one" word'] False""" in ended.stdout
    assert "Nsight profiling enabled for worker 'a-1' (matched pattern 'A')" in ended.stderr
    wait_for_ends(tmp_path, 1)
    (known,) = statuses(tmp_path).values()
    (name,) = known["reports"]
    assert known["node_id"] == "ab" and known["problem"] == ""
    assert calls_in(reports / name, "fsync", tmp_path) == 6


def test_nsys_of_frameworks_stays_and_its_reports_are_gathered(
    cluster: RayCluster, tmp_path: Path
) -> None:
    """By Ray's `nsight`, or as the program of the worker; the reports of both are taken."""
    words = ["framework", str(tmp_path / "of-framework")]
    with profiled(cluster, tmp_path, words, workers=["Nobody"], when="on-demand") as run:
        run.ends_with(
            "policy: plain job own",
            "framework: recorded job framework",
            "around: recorded job around 3",
        )
        wait_for_ends(tmp_path, 2)
    counts = {"Framework": 4, "around": 3}
    for name, known in statuses(tmp_path).items():
        assert known["problem"] == "" and known["said"].endswith("is that of its framework")
        (report,) = known["reports"]
        entry = json.loads((tmp_path / "reports" / f"{report}.json").read_text())
        assert entry["problem"] == ""
        assert calls_in(tmp_path / "reports" / report, "fsync", tmp_path) == counts[name]
    assert len(list(tmp_path.glob("of-framework_*.nsys-rep"))) == 1
