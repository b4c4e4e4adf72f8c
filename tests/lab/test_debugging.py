"""Workers on nodes that only a login node reaches: found, debugged, held, and what a cut link does to them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.lab.eagleray import Eagleray, eagleray_on
from tests.lab.hosts import node_address
from tests.lab.ray import PROGRAMS, LabRay
from tests.lab.site import Site
from tests.ray_cluster import Program
from tests.real_ray.command import line_of, stand

CLUSTER = "ssh://login/node-1:8265"
LINE = line_of(PROGRAMS / "pausing.py", "pausing")


@pytest.fixture(scope="module")
def driver(ray_site: LabRay) -> Iterator[Program]:
    """One paused worker on each node."""
    program = ray_site.run("pausing.py")
    ray_site.wait_paused(3)
    yield program
    program.end()


@dataclass(frozen=True)
class Cut:
    """A session whose link stayed cut: its worker, the step at which it stood, what the person was told."""

    worker: str
    step: int
    said: str


@pytest.fixture(scope="module")
def cut(driver: Program, site: Site) -> Iterator[Cut]:
    """Made before other tests and looked at again at the end, since a dead connection takes its time to be seen."""
    with eagleray_on(site, "laptop") as laptop:
        row = laptop.wait_row(CLUSTER, state="paused", **on("node-2"))
        with laptop.editor(CLUSTER, row["worker_id"]) as client:
            frame = stand(client)
            step = int(client.evaluate("step", frame["id"]))
            with site.cut_off("laptop"):
                client.wait_for("terminated")
            said = " ".join(event["body"]["output"] for event in client.events("output"))
        yield Cut(row["worker_id"], step, said)


def on(node: str) -> dict[str, str]:
    return {"node_ip": node_address(node)}


def test_workers_of_all_nodes_are_debugged_from_a_laptop(driver: Program, laptop: Eagleray) -> None:
    """From the laptop, which knows neither the nodes' names nor their addresses."""
    rows = laptop.paused(CLUSTER)
    assert {row["node_ip"] for row in rows} == {node_address(f"node-{n}") for n in (1, 2, 3)}
    for row in rows[:2]:
        with laptop.editor(CLUSTER, row["worker_id"]) as client:
            frame = stand(client)
            assert (frame["line"], client.evaluate("step", frame["id"])) == (LINE, "0")
    assert {row["state"] for row in laptop.paused(CLUSTER)} == {"held", "paused"}


def test_a_session_ends_with_its_link(cut: Cut) -> None:
    """After so long a cut the worker runs on by itself, which is what the person is told."""
    assert "resumed" in cut.said


def test_on_the_login_node_no_ssh_is_needed(driver: Program, site: Site) -> None:
    with eagleray_on(site, "login") as eagleray:
        assert len(eagleray.paused("node-1:8265")) >= 1


def test_stop_held_on_the_other_login_node_is_listed_there(driver: Program, site: Site) -> None:
    """Both have one home; the row says where the worker is held, in place of being nowhere."""
    first, second = Eagleray(site, "login"), Eagleray(site, "login2")
    try:
        row = first.wait_row("node-1:8265", state="paused", **on("node-1"))
        with first.editor("node-1:8265", row["worker_id"]) as client:
            stand(client)
        held = second.wait_row("node-1:8265", worker_id=row["worker_id"])
        assert held["state"] == "held"
        assert "login" in str(held)
        assert "login" in second.refusal("attach", row["worker_id"], "--cluster", "node-1:8265")
        first.json("release", row["worker_id"], "--cluster", "node-1:8265")
    finally:
        for one in (first, second):
            one.end()


def test_session_survives_a_cut_of_8_s(driver: Program, site: Site, laptop: Eagleray) -> None:
    row = laptop.wait_row(CLUSTER, state="paused", **on("node-3"))
    with laptop.editor(CLUSTER, row["worker_id"]) as client:
        frame = stand(client)
        with site.cut_off("laptop"):
            asked = client.send("evaluate", expression="step + 40", frameId=frame["id"])
            # The length of the cut is what this test is about.
            time.sleep(8)
        assert client.response(asked)["body"]["result"].isdigit()
        client.request("continue", threadId=frame["thread"])
        assert stand(client)["line"] == LINE


def test_worker_of_a_lost_session_continues_to_its_next_breakpoint(
    cut: Cut, laptop: Eagleray
) -> None:
    """It stops again at its next breakpoint(), and can be debugged as before."""
    laptop.wait_row(CLUSTER, worker_id=cut.worker, state="paused")
    with laptop.editor(CLUSTER, cut.worker) as client:
        assert int(client.evaluate("step", stand(client)["id"])) > cut.step
