"""Which processes of a node belong to a cluster: told from the processes of this machine, as Ray titles them."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from eagleray.remote.sampling import node_actor, proc

from tests.ray_cluster import wait_for

# A raylet and its children, named as Ray names them; each sleeps until the pipe is closed.
RAYLET = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(15, b"raylet", 0, 0, 0)
child = "import sys; sys.stdin.read()"
shell = f"import subprocess, sys; subprocess.run([{sys.executable!r}, '-c', {child!r}])"
titles = {
    "worker": ("ray::Trainer.fit", shell),
    "idle": ("ray::IDLE", child),
    "agent": ("ray::DashboardAgent", child),
    "other": ("/usr/bin/redis", child),
    "ours": ("ray::EaglerayNodeSampler.round", child),
    "supervisor": ("ray::JobSupervisor", shell),
}
for name, (title, program) in titles.items():
    process = subprocess.Popen([title, "-c", program], executable=sys.executable)
    print(name, process.pid, flush=True)
print("end", 0, flush=True)
sys.stdin.read()
"""


@dataclass
class Node:
    raylet: int
    pids: dict[str, int]

    def children(self, name: str) -> list[int]:
        return proc.descendants([self.pids[name]], proc.all_processes())[1:]


@pytest.fixture
def node() -> Iterator[Node]:
    raylet = subprocess.Popen(
        [sys.executable, "-c", RAYLET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert raylet.stdin and raylet.stdout
    lines = (line.split() for line in iter(raylet.stdout.readline, "end 0\n"))
    made = Node(raylet.pid, {name: int(pid) for name, pid in lines})
    wait_for(
        "children of the workers",
        lambda: made.children("worker") and made.children("supervisor"),
    )
    yield made
    raylet.stdin.close()
    raylet.stdout.close()
    raylet.wait(timeout=20)


def test_workers_and_what_they_started_are_sampled_and_nothing_else(node: Node) -> None:
    processes = proc.all_processes()
    found = node_actor.workers(node.raylet, [], [], processes)
    worker = node.pids["worker"]
    # The supervisor of a job does nothing itself; its child is the driver.
    assert sorted(found) == sorted([worker, *node.children("worker"), *node.children("supervisor")])


def test_own_job_is_left_out(node: Node) -> None:
    processes = proc.all_processes()
    driver = node.children("supervisor")[0]
    ours = node_actor.lineage(driver, processes)
    assert ours == [driver, node.pids["supervisor"]]
    found = node_actor.workers(node.raylet, [], ours, processes)
    assert sorted(found) == sorted([node.pids["worker"], *node.children("worker")])


def test_driver_elsewhere_is_added_but_not_an_agent_that_counts_as_one(node: Node) -> None:
    processes = proc.all_processes()
    drivers = [node.pids["other"], node.pids["agent"]]
    found = node_actor.workers(node.raylet, drivers, [], processes)
    assert node.pids["other"] in found and node.pids["agent"] not in found


def test_process_below_no_raylet_has_no_workers(node: Node) -> None:
    assert node_actor.workers(node.raylet, [], [], {}) == []
