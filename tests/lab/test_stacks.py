"""Pictures of programs without Ray: in a SLURM job, and on hosts that are reached through ssh."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.eagleray import START, Eagleray, eagleray_on
from tests.lab.hosts import BOB, SLURM_NODES
from tests.lab.many import PROGRAMS
from tests.lab.site import Site
from tests.lab.slurm import Job, submitted
from tests.ray_cluster import wait_for

RANKS = str(PROGRAMS / "ranks.py")
QUICK = ("--seconds", "0.5")
# The output of the job before its ranks start.
TOO_MANY = "Too many open files"


@pytest.fixture(scope="module")
def training(site: Site) -> Iterator[Job]:
    """Four ranks on two nodes, which only SLURM's variables number."""
    line = f"echo {TOO_MANY};"
    with submitted(
        site, line, "srun", "--overcommit", "--ntasks=4", "python", RANKS, name="training"
    ) as job:
        wait_for("the ranks", lambda: len(processes(site, RANKS, *SLURM_NODES)) == 4)
        yield job


def processes(site: Site, argument: str, *hosts: str) -> list[int]:
    """The processes of these hosts that have the argument."""
    found = []
    for host in hosts:
        for folder in site.processes(host):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if argument.encode() in words and words[0].endswith(b"python"):
                    found.append(int(folder.name))
    return found


def leftovers(site: Site, *hosts: str) -> list[str]:
    """Our folders and steps on these hosts, without the folders for sockets of processes that answer."""
    folders = [
        f"{host}: {path.name}"
        for host in hosts
        for place in ("tmp", "dev/shm", "var/tmp")
        for path in site.path(host, place).glob("eagleray-*")
        if not path.name.startswith(("eagleray-inspect-", "eagleray-records-"))
    ]
    sampling = [
        f"{host}: {folder.name}"
        for host in hosts
        for folder in site.processes(host)
        if b"sys.stdin.buffer.readline" in (folder / "cmdline").read_bytes()
    ]
    return folders + sampling


def steps(site: Site, job: Job) -> list[str]:
    """Our steps in the job that run."""
    command = ["squeue", "-h", "-s", "-j", job.id, "-o", "%j"]
    return [
        name for name in site.run_as("login", "alice", command).stdout.split() if name == "eagleray"
    ]


def seen(taken: dict[str, Any]) -> dict[str, str]:
    """The collective of each class of ranks."""
    return {
        each["ranks"]: frame["function"]
        for each in taken["classes"]
        for frame in each["frames"]
        if frame["path"].endswith("distributed_c10d.py")
    }


def test_single_step_samples_all_nodes_of_a_slurm_job(
    site: Site, training: Job, laptop: Eagleray
) -> None:
    taken = laptop.json("stacks", "--slurm", f"ssh://login/slurm://{training.id}", *QUICK)
    reading = taken["verdict"]
    assert (reading["kind"], reading["culprits"]) == ("collective-mismatch", "1,3"), reading
    assert (taken["coverage"]["seen"], taken["coverage"]["unseen"]) == (4, [])
    assert taken["coverage"]["nodes"] == taken["coverage"]["main_only"] == []
    assert {row["rank"]: row["role"] for row in taken["ranks"]} == dict.fromkeys(range(4), "rank")
    assert {row["node"] for row in taken["ranks"]} == set(SLURM_NODES)
    found = laptop.json("doctor", "--slurm", f"ssh://login/slurm://{training.id}")
    assert causes_in_output(found, training) == [TOO_MANY]
    wait_for("the end of the step", lambda: not steps(site, training))
    assert leftovers(site, *SLURM_NODES) == []
    assert len(processes(site, RANKS, *SLURM_NODES)) == 4


def causes_in_output(found: dict[str, Any], job: Job) -> list[str]:
    """The lines of the output of the job that the doctor explains; it checks the nodes, too."""
    assert [item for item in found["checked"]["unchecked"] if "node" in item["path"]] == []
    evidence = [item for cause in found["causes"] for item in cause["evidence"]]
    return [item["text"] for item in evidence if item["path"].endswith(f"/{job.id}.out")]


def test_ranks_of_a_slurm_job_answer_from_inside_in_the_same_step(
    site: Site, training: Job, laptop: Eagleray
) -> None:
    address = f"ssh://login/slurm://{training.id}"
    taken = laptop.json("stacks", "--slurm", address, "--inside", *QUICK)
    assert held(taken) == {
        rank: [f"ConnectionError('attempt of rank {rank}')"] for rank in range(4)
    }
    assert (taken["verdict"]["kind"], taken["verdict"]["culprits"]) == (
        "collective-mismatch",
        "1,3",
    )
    wait_for("the end of the step", lambda: not steps(site, training))
    assert leftovers(site, *SLURM_NODES) == []
    assert len(processes(site, RANKS, *SLURM_NODES)) == 4


def held(taken: dict[str, Any]) -> dict[int, list[str]]:
    """The exceptions that ranks hold."""
    return {
        each["rank"]: [error["text"] for error in each["exceptions"]] for each in taken["inside"]
    }


def test_job_is_sampled_on_the_login_node_by_its_number(site: Site, training: Job) -> None:
    with eagleray_on(site, "login") as login:
        taken = login.json("stacks", "--slurm", training.id, *QUICK)
        found = login.json("doctor", "--slurm", training.id)
    assert taken["coverage"]["seen"] == 4
    assert causes_in_output(found, training) == [TOO_MANY]


def test_run_of_sbatch_is_sampled_in_its_job_on_request_and_when_it_prints_nothing(
    site: Site,
) -> None:
    site.path("login", "/home/alice/ranks.sub").write_text(
        f"#!/bin/sh\n#SBATCH --nodes=2\nsrun --overcommit --ntasks=2 python {RANKS} of-run\n"
    )
    with eagleray_on(site, "login") as login:
        command = ("--yes", "--detach", "--watch", "0.1", "--", "sbatch", "ranks.sub")
        started = login.run("run", *command)
        assert started.returncode == 0, started.stderr
        run = started.stdout.strip()
        srun = ("srun", "--nodes=2", "--overcommit", "--ntasks=2", "python", RANKS, "of-srun")
        direct = login.run("run", "--anyway", "--detach", "--watch", "0.1", "--", *srun)
        assert direct.returncode == 0, direct.stderr
        try:
            wait_for("the ranks", lambda: len(processes(site, "of-run", *SLURM_NODES)) == 2)
            saved = wait_for("the picture of the watch", lambda: watched(login, run), every_s=1)
            other = direct.stdout.strip()
            of_srun = wait_for("that of srun", lambda: watched(login, other), every_s=1)
            taken = wait_for("its job", lambda: picture_of_run(login, run), every_s=1)
        finally:
            login.run("runs", "stop", run, "--yes")
            login.run("runs", "stop", direct.stdout.strip())
            wait_for("the end", lambda: not processes(site, "of-run", *SLURM_NODES))
            wait_for("the end of srun", lambda: not processes(site, "of-srun", *SLURM_NODES))
    assert taken["coverage"]["seen"] == 2, taken["ranks"]
    assert seen(taken) == {"0": "all_reduce", "1": "all_gather"}
    assert saved["kind"] == "collective-mismatch"
    opened = login.json("stacks", "--open", saved["path"])
    assert seen(opened) == {"0": "all_reduce", "1": "all_gather"}
    assert {row["node"] for row in opened["ranks"]} == set(SLURM_NODES)
    assert seen(login.json("stacks", "--open", of_srun["path"])) == seen(opened)


def watched(eagleray: Eagleray, run: str) -> dict[str, Any] | None:
    """The picture that the supervisor has saved while the run prints nothing."""
    (row,) = [row for row in eagleray.json("runs") if row["id"] == run]
    picture: dict[str, Any] | None = row["picture"]
    return picture if picture is not None and picture["is_stuck"] else None


def picture_of_run(eagleray: Eagleray, run: str) -> dict[str, Any] | None:
    """Its supervisor learns of the job after the job has started."""
    done = eagleray.run("stacks", run, "--json", *QUICK)
    taken: dict[str, Any] | None = json.loads(done.stdout) if done.returncode == 0 else None
    return taken


def test_cancelled_picture_leaves_nothing_in_the_job(
    site: Site, training: Job, laptop: Eagleray
) -> None:
    address = f"ssh://login/slurm://{training.id}"
    command = ["python", "-u", START, "cli", "stacks", "--slurm", address]
    running = site.popen(
        "laptop", "alice", command, laptop.env, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert running.stderr
        for line in running.stderr:
            if b"1" in line and b"3" in line:
                break
        (pid,) = processes(site, "stacks", "laptop")
        os.kill(pid, signal.SIGINT)
        running.wait(60)
    finally:
        running.kill()
        running.communicate()
    wait_for("the end of the step", lambda: not steps(site, training))
    wait_for("no leftovers", lambda: leftovers(site, *SLURM_NODES) == [])
    assert len(processes(site, RANKS, *SLURM_NODES)) == 4


def test_node_that_is_cut_off_is_named_and_the_others_are_sampled(
    site: Site, training: Job, laptop: Eagleray
) -> None:
    with site.cut_off("node-10"):
        taken = laptop.json("stacks", "--slurm", f"ssh://login/slurm://{training.id}", *QUICK)
    assert [row["node"] for row in taken["coverage"]["nodes"]] == ["node-10"]
    assert {row["node"] for row in taken["ranks"]} == {"node-9"}
    wait_for("the end of the step", lambda: not steps(site, training))


def test_ended_and_missing_jobs_are_distinguished(site: Site, laptop: Eagleray) -> None:
    assert "no longer lists it" in laptop.refusal("stacks", "--slurm", "ssh://login/slurm://987654")
    with submitted(site, "sleep", "300", begin="now+1hour", name="waits") as job:
        refusal = laptop.refusal("stacks", "--slurm", f"ssh://login/slurm://{job.id}")
        assert "is pending" in refusal


def test_job_without_python_is_reported(site: Site, laptop: Eagleray) -> None:
    with submitted(site, "sleep", "300", name="sleeps") as job:
        job.wait_state("RUNNING")
        refusal = laptop.refusal("stacks", "--slurm", f"ssh://login/slurm://{job.id}", *QUICK)
    assert "None of your Python processes" in refusal


@pytest.fixture
def ranks_on_hosts(site: Site) -> Iterator[None]:
    """Two ranks of alice on two hosts, and one of bob with the same rendezvous."""
    with contextlib.ExitStack() as stack:
        for number, (host, user) in enumerate(
            (("node-4", "alice"), ("node-5", "alice"), ("node-5", "bob"))
        ):
            env = {
                "RANK": str(number),
                "WORLD_SIZE": "2",
                "LOCAL_WORLD_SIZE": "1",
                "MASTER_ADDR": "node-4",
                "MASTER_PORT": "29500",
            }
            process = site.popen(
                host, user, ["python", RANKS], env, stdout=subprocess.PIPE, text=True
            )
            stack.callback(process.communicate)
            stack.callback(process.kill)
            assert process.stdout
            assert process.stdout.readline() == f"ready {number}\n"
        yield


@pytest.mark.usefixtures("ranks_on_hosts")
def test_own_ranks_are_sampled_through_ssh(site: Site, laptop: Eagleray) -> None:
    taken = laptop.json("stacks", "--hosts", "node-4", "node-5", "--inside", *QUICK)
    assert seen(taken) == {"0": "all_reduce", "1": "all_gather"}
    assert held(taken) == {
        rank: [f"ConnectionError('attempt of rank {rank}')"] for rank in range(2)
    }
    assert {row["node"] for row in taken["ranks"]} == {"node-4", "node-5"}
    assert taken["coverage"]["seen"] == 2 and taken["coverage"]["nodes"] == []
    wait_for("no leftovers", lambda: leftovers(site, "node-4", "node-5") == [])


@pytest.mark.usefixtures("ranks_on_hosts")
def test_host_that_is_not_reached_is_named_and_the_others_are_sampled(laptop: Eagleray) -> None:
    taken = laptop.json("stacks", "--hosts", "node-4", "no-such-node", *QUICK)
    assert taken["coverage"]["seen"] == 1
    assert [(row["node"], row["reason"]) for row in taken["coverage"]["nodes"]] == [
        ("no-such-node", "failed")
    ]


def test_hosts_without_ranks_are_reported(laptop: Eagleray) -> None:
    assert "None of your ranks runs on node-6" in laptop.refusal("stacks", "--hosts", "node-6")


@pytest.mark.usefixtures("ranks_on_hosts")
def test_process_of_another_user_is_listed_as_not_readable(site: Site) -> None:
    command = ["pgrep", "-u", str(BOB), "-f", RANKS]
    pid = site.run_as("node-5", "alice", command).stdout.strip()
    with eagleray_on(site, "node-5") as there:
        done = there.run("stacks", "--pids", pid, *QUICK, "--json")
    assert done.returncode == 1, done.stderr
    taken = json.loads(done.stdout)
    assert [row["reason"] for row in taken["coverage"]["unseen"]] == ["permission"]
    assert (taken["verdict"]["kind"], taken["classes"]) == ("unknown", [])


def test_ray_in_a_slurm_job_is_sampled_with_the_same_command(
    slurm_job: Job, laptop: Eagleray
) -> None:
    driver = slurm_job.ray.run("pausing.py")
    try:
        slurm_job.ray.wait_paused(2)
        taken = laptop.json("stacks", "--slurm", f"ssh://login/slurm://{slurm_job.id}", *QUICK)
    finally:
        driver.end()
    assert taken["verdict"]["kind"] == "debugger"
    titles = json.dumps([row["group"] for row in taken["ranks"]])
    assert "dashboard" not in titles and "raylet" not in titles
