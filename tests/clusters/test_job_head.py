"""Finding the head of a job: by asking, whose it is, and how it is waited for."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

import pytest
from eagleray.clusters.job_head import JobHead, JobHeadFinder, JobSteps
from eagleray.common.errors import EaglerayError
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.tools.commands import Commands

from tests.clusters.fake_site import FakeJob, FakeSite, address, asking, ray
from tests.set_clock import SetClock

LOGIN = RouteSpec(ssh="login")
INSIDE = [{"address": "10.77.0.10", "port": 8265, "session": "s", "started": 5}]


def bridge(node: str, ssh: str = "login") -> RouteSpec:
    return RouteSpec(ssh=ssh, job="12", node=node)


class World:
    """A site with job 12, and what was said while its head was looked for.

    `after` is done, one thing at each wait.
    """

    def __init__(self, folder: Path) -> None:
        self.site = FakeSite()
        self.site.jobs = [FakeJob()]
        self.said: list[str] = []
        self.after: list[Callable[[], None]] = []
        self.clock = SetClock(1000.0)
        slurm, queue, nodes = asking(Commands(self.site.run, {}), folder, self.clock)
        self.heads = JobHeadFinder(slurm, queue, nodes, self._sleep, self.clock)

    def find(self, ssh: str = "login", *, wait: bool = True) -> Awaitable[JobHead]:
        return self.heads.find(ssh, "12", JobSteps(), self.said.append, wait=wait)

    async def refusal(self, *, wait: bool = True) -> EaglerayError:
        with pytest.raises(EaglerayError) as failed:
            await self.find(wait=wait)
        return failed.value

    def steps(self) -> int:
        return sum("srun" in argv for _, argv in self.site.asked)

    async def _sleep(self, seconds: float) -> None:
        self.clock.move(seconds)
        self.after.pop(0)()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_node_that_answers_is_the_head_even_if_it_is_not_the_first(world: World) -> None:
    world.site.nodes = {"node-10": ray("node-10", "node-9")}
    head = await world.find()
    assert (head.node, head.url) == ("node-10", "http://node-10:8265")
    assert head.routes == (LOGIN, bridge("node-10"))
    assert head.addresses["node-9"] == (address("node-9"),)
    # No other user has these nodes, so a step of the job is not needed to know the owner.
    assert world.steps() == 0


@pytest.mark.parametrize("share", ["OK", "YES", "USER"])
async def test_on_shared_nodes_a_step_of_the_job_finds_its_own_dashboard(
    world: World, share: str
) -> None:
    world.site.change(share=share)
    world.site.nodes = {"node-9": ray("node-9"), "node-10": ray("node-10", "node-9")}
    world.site.inside = {"node-10": INSIDE}
    assert (await world.find()).node == "node-10"
    assert world.steps() == 1


async def test_stranger_on_the_usual_port_is_not_taken(world: World) -> None:
    """It answers like Ray, but no dashboard of this user is inside."""
    world.site.change(share="OK")
    world.site.nodes = {"node-9": ray("node-9")}
    assert (await world.refusal()).code == "no-ray-in-job"


async def test_ray_with_other_nodes_is_not_the_jobs(world: World) -> None:
    world.site.nodes = {"node-9": ray("node-9", "node-77")}
    world.site.inside = {"node-10": INSIDE}
    assert (await world.find()).node == "node-10"


async def test_no_answer_is_taken_on_trust(world: World) -> None:
    world.site.change(share="OK")
    world.site.nodes = {"node-9": ray("node-9")}
    world.site.answers = {"srun": CommandOutput(1, "", "srun: error: disabled here")}
    error = await world.refusal()
    assert error.code == "not-surely-yours"
    assert "node-9" in error.message
    assert error.output == "srun: error: disabled here"


async def test_dashboard_on_localhost_is_reached_only_by_the_bridge(world: World) -> None:
    local = {"address": "127.0.0.1", "port": 8300, "session": "s", "started": 5}
    world.site.inside = {"node-9": [local]}
    head = await world.find()
    assert (head.node, head.url) == ("node-9", "http://127.0.0.1:8300")
    assert head.routes == (bridge("node-9"),)
    # The debug ports of workers are on the nodes' addresses.
    assert head.node_routes == (LOGIN, bridge("node-9"))


async def test_nodes_that_are_not_reached_are_reached_by_the_bridge_only(world: World) -> None:
    world.site.nodes = {name: {"said": "silent"} for name in ("node-9", "node-10")}
    world.site.inside = {"node-10": [{**INSIDE[0], "address": "0.0.0.0"}]}
    head = await world.find()
    assert (head.url, head.routes) == ("http://node-10:8265", (bridge("node-10"),))
    assert head.node_routes == head.routes


async def test_dashboard_that_was_started_last_is_the_head(world: World) -> None:
    """The Ray of the run before a requeue may have been left behind."""
    world.site.inside = {"node-9": INSIDE, "node-10": [{**INSIDE[0], "started": 9}]}
    assert (await world.find()).node == "node-10"


async def test_job_of_this_machine_is_reached_directly(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.site.nodes = {"node-10": ray("node-10")}
    monkeypatch.setattr(
        "eagleray.tools.commands._run_locally",
        lambda argv, stdin, limit_s, environ: world.site.run("", list(argv), stdin, limit_s),
    )
    head = await world.find("")
    assert head.routes == (DIRECT, bridge("node-10", ""))


async def test_pending_job_is_waited_for(world: World) -> None:
    world.site.change(word="PENDING", reason="Priority", nodelist="", ran="0:00")

    def begins() -> None:
        world.site.change(word="RUNNING", nodelist="node-[9-10]", reason="None", ran="0:01")

    def answers() -> None:
        world.site.nodes = {"node-10": ray("node-10")}

    world.after = [begins, answers]
    assert (await world.find()).node == "node-10"
    assert world.said == [
        "Job 12 is pending (Priority).",
        "Searching the job for a Ray dashboard",
        "Waiting for Ray to start in the job",
        "Searching the job for a Ray dashboard",
    ]


async def test_expected_start_of_a_pending_job_is_in_the_message(world: World) -> None:
    in_a_day = int(time.time()) + 86400
    world.site.change(word="PENDING", reason="Priority", nodelist="", started=str(in_a_day))
    said = (await world.refusal(wait=False)).message
    date = datetime.fromtimestamp(in_a_day).strftime("%H:%M on %d %B")
    assert said == f"Job 12 is pending (Priority), starts at {date}."
    world.site.change(started=str(int(time.time()) - 5))
    assert "expects" not in (await world.refusal(wait=False)).message


async def test_pending_job_is_not_waited_for_unless_requested(world: World) -> None:
    world.site.change(word="PENDING", reason="Priority", nodelist="", ran="0:00")
    assert (await world.refusal(wait=False)).code == "job-waits"
    world.site.change(word="RUNNING", nodelist="node-9", ran="0:01")
    assert (await world.refusal(wait=False)).code == "no-ray-in-job"
    world.site.change(nodelist="", ran="1:00:00")
    assert (await world.refusal(wait=False)).code == "no-ray-in-job"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("CANCELLED", "was cancelled"),
        ("TIMEOUT", "reached its time limit"),
        ("NODE_FAIL", "lost a node"),
        ("COMPLETED", "has ended"),
        ("OUT_OF_MEMORY", "ran out of memory"),
        ("COMPLETING", "is ending"),
        ("SOMETHING_NEW", "is SOMETHING_NEW"),
    ],
)
async def test_ended_job_is_reported_with_the_reason(world: World, word: str, said: str) -> None:
    world.site.change(word=word)
    error = await world.refusal()
    assert (error.code, error.message) == ("job-over", f"Job 12 {said}.")


async def test_job_that_slurm_no_longer_lists_is_reported(world: World) -> None:
    world.site.jobs = []
    assert "no longer lists it" in (await world.refusal()).message
