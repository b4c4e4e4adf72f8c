"""Finding the cluster of a run, among clusters of other runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from attrs import evolve
from eagleray.ray.errors import unknown_cluster
from eagleray.ray.rows import RayVersion
from eagleray.runs.model import RunState
from eagleray.runs.run_discovery import (
    LASTING_S,
    HomeCluster,
    JoinedCluster,
    OwnDashboard,
    joined_in,
)

from tests.set_clock import SetClock

STATE = RunState("running", 1.0)
OTHER = OwnDashboard("http://127.0.0.1:8265", "another", "10.0.0.1:6379")
STARTED = OwnDashboard("http://127.0.0.1:8266", "ours", "10.0.0.1:6380")


class Clusters:
    """Every cluster answers, but the cluster of a job which has none yet."""

    async def resolve(self, written: str, *, clicked: bool = True) -> str:
        if "slurm" in written and "live" not in written:
            raise unknown_cluster(written)
        return written


class Dashboard:
    async def version(self) -> RayVersion:
        return RayVersion("2.60.0", "session_1", "")


async def cluster_of(
    own: list[OwnDashboard], named: str = "", state: RunState = STATE, joined: str = ""
) -> str:
    dashboard: Any = Dashboard()
    home = HomeCluster(
        "ours", named, Clusters(), lambda _: dashboard, lambda: own, lambda: [JoinedCluster(joined)]
    )
    home_found = await home.find(state)
    return home_found.cluster if home_found else ""


async def test_named_cluster_comes_first() -> None:
    assert await cluster_of([STARTED], "http://far:8265") == "http://far:8265"


async def test_cluster_that_the_program_started() -> None:
    assert await cluster_of([OTHER]) == ""
    assert await cluster_of([OTHER, STARTED], joined=OTHER.gcs) == STARTED.address


async def test_cluster_that_a_driver_joined() -> None:
    assert await cluster_of([OTHER], joined=OTHER.gcs) == OTHER.address


async def test_cluster_in_the_slurm_job_of_the_run() -> None:
    job = evolve(STATE, external_id="77", ssh="login")
    assert await cluster_of([STARTED], state=job) == ""
    assert await cluster_of([], state=evolve(job, ssh="live")) == "ssh://live/slurm://77"


class Machine:
    """This machine while a run lasts: the dashboards that answer, by address, and what drivers have announced."""

    def __init__(self) -> None:
        self.sessions: dict[str, str] = {}
        self.own: list[OwnDashboard] = []
        self.joined: list[JoinedCluster] = []
        self.clock = SetClock()
        clusters: Any = Clusters()
        self.home = HomeCluster(
            "ours",
            "",
            clusters,
            self.dashboard,
            lambda: self.own,
            lambda: self.joined,
            now=self.clock.now,
        )

    def dashboard(self, address: str) -> Any:
        sessions = self.sessions

        class Answering:
            async def version(self) -> RayVersion:
                if address not in sessions:
                    raise unknown_cluster(address)
                return RayVersion("2.60.0", sessions[address], "")

        return Answering()

    def starts(self, dashboard: OwnDashboard, session: str) -> None:
        """A driver starts or joins this cluster and says so."""
        self.own.append(dashboard)
        self.joined.insert(0, JoinedCluster(dashboard.gcs, session))
        self.sessions[dashboard.address] = session

    def ends(self, dashboard: OwnDashboard) -> None:
        self.own.remove(dashboard)
        del self.sessions[dashboard.address]

    async def found(self) -> tuple[str, str]:
        home = await self.home.find(STATE)
        return (home.cluster, home.session) if home else ("", "")


NEXT = OwnDashboard("http://127.0.0.1:8267", "ours", "10.0.0.1:6381")


async def test_new_cluster_replaces_the_one_that_is_gone() -> None:
    """As `ray.shutdown()` and another `ray.init()` do it; a driver says so before the next dashboard answers."""
    machine = Machine()
    machine.starts(STARTED, "s1")
    assert await machine.found() == (STARTED.address, "s1")
    machine.ends(STARTED)
    # It may compute for hours without a Ray.
    for _ in range(2):
        machine.home.doubt()
        assert (await machine.found(), machine.home.problem) == ((STARTED.address, "s1"), "")
        machine.clock.move(LASTING_S)
    machine.joined = [JoinedCluster(NEXT.gcs, "s2")]
    assert await machine.found() == (STARTED.address, "s1")
    machine.starts(NEXT, "s2")
    assert await machine.found() == (NEXT.address, "s2")


async def test_cluster_of_a_driver_that_announces_nothing_is_found_once_requests_fail() -> None:
    machine = Machine()
    machine.starts(STARTED, "s1")
    machine.joined = []
    assert await machine.found() == (STARTED.address, "s1")
    machine.ends(STARTED)
    machine.own, machine.sessions = [NEXT], {NEXT.address: "s2"}
    assert await machine.found() == (STARTED.address, "s1")
    machine.home.doubt()
    assert await machine.found() == (NEXT.address, "s2")


async def test_new_session_at_the_same_address_is_another_cluster() -> None:
    machine = Machine()
    machine.starts(STARTED, "s1")
    assert await machine.found() == (STARTED.address, "s1")
    machine.ends(STARTED)
    machine.joined = []
    machine.starts(STARTED, "s2")
    assert await machine.found() == (STARTED.address, "s2")


async def test_driver_that_joins_another_cluster_takes_the_run_along() -> None:
    other = evolve(OTHER, address="http://127.0.0.1:8270", gcs="10.0.0.1:6390")
    machine = Machine()
    machine.own = [OTHER, other]
    machine.sessions = {OTHER.address: "s1", other.address: "s2"}
    machine.joined = [JoinedCluster(OTHER.gcs, "s1")]
    assert await machine.found() == (OTHER.address, "s1")
    machine.joined = [JoinedCluster(other.gcs, "s2")]
    assert await machine.found() == (other.address, "s2")
    assert machine.home.problem == ""


async def test_another_cluster_at_the_address_of_a_joined_one_is_not_the_run_s() -> None:
    """As `ray stop` and `ray start` on the same port make it while the program doesn't join again."""
    machine = Machine()
    machine.starts(OTHER, "session_1")
    assert await machine.found() == (OTHER.address, "session_1")
    machine.sessions[OTHER.address] = "session_2"
    machine.home.doubt()
    assert await machine.found() == (OTHER.address, "session_1")
    fresh = Machine()
    fresh.own, fresh.joined, fresh.sessions = machine.own, machine.joined, machine.sessions
    assert await fresh.found() == ("", "")
    fresh.starts(STARTED, "session_3")
    for _ in range(2):
        assert (await fresh.found(), fresh.home.problem) == ((STARTED.address, "session_3"), "")
        fresh.home.doubt()
        fresh.clock.move(LASTING_S)
    fresh.ends(STARTED)
    fresh.joined = [JoinedCluster(OTHER.gcs, "session_2"), *fresh.joined]
    assert await fresh.found() == (OTHER.address, "session_2")
    # The id of the head node, from a dashboard that doesn't report the session.
    fresh.joined, fresh.sessions[OTHER.address] = fresh.joined[-1:], "head-0a1b"
    assert await fresh.found() == (OTHER.address, "head-0a1b")


async def test_cluster_that_does_not_answer_is_lost_after_a_while() -> None:
    machine = Machine()
    machine.starts(STARTED, "s1")
    await machine.found()
    machine.ends(STARTED)
    machine.joined = [JoinedCluster("192.0.2.9:6379", "far")]
    await machine.found()
    assert machine.home.problem == ""
    machine.clock.move(LASTING_S)
    assert (await machine.found(), machine.home.problem) == (("", ""), "lost")
    machine.starts(NEXT, "s2")
    assert (await machine.found(), machine.home.problem) == ((NEXT.address, "s2"), "")


async def test_one_of_two_clusters_at_a_time_is_not_taken_for_all() -> None:
    machine = Machine()
    machine.starts(STARTED, "s1")
    machine.starts(NEXT, "s2")
    await machine.found()
    assert machine.home.problem == ""
    machine.clock.move(LASTING_S)
    assert (await machine.found(), machine.home.problem) == ((NEXT.address, "s2"), "several")
    machine.ends(STARTED)
    assert (await machine.found(), machine.home.problem) == ((NEXT.address, "s2"), "")


def test_last_announcement_comes_first(tmp_path: Path) -> None:
    for at, name in enumerate(("proxy-b", "driver-c", "proxy-a")):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"gcs": f"10.0.0.1:{at}", "session": f"s{at}"}))
        os.utime(path, ns=(at, at))
    (tmp_path / "proxy-d.json").write_text(json.dumps({"gcs": ""}))
    assert joined_in(tmp_path) == [JoinedCluster(f"10.0.0.1:{at}", f"s{at}") for at in (2, 1, 0)]
