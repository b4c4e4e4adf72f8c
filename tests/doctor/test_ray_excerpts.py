"""The logs of a SLURM job's Ray: lines with signs of trouble, read by one step on its nodes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from eagleray.doctor.logs.ray_excerpts import run_seconds, signs_of
from eagleray.doctor.logs.slurm_output import SlurmLogs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules
from eagleray.remote import scripts as remote_scripts
from eagleray.slurm.client import SlurmClient
from eagleray.tools.commands import Commands, values_in

from tests.doctor.fake_slurm import FakeSite, NoNodes, diagnosed
from tests.ray_cluster import wait_for

SCRIPT = Path(remote_scripts.__file__).with_name("ray_logs.py")
MARK = "0123456789abcdef"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
FILES = "OSError: [Errno 24] Too many open files: 'x'"
HOST = socket.gethostname()


def session(tmp: Path, name: str = "session_2026-11-28_02-00-00_1_2", **logs: str) -> Path:
    """The logs of a Ray in its folder for temporary files; names have __ for a dot."""
    folder = tmp / "ray" / name / "logs"
    folder.mkdir(parents=True)
    for log, text in logs.items():
        (folder / log.replace("__", ".").replace("_", "-")).write_text(text)
    return folder


@contextlib.contextmanager
def raylet(folder: Path, job: str) -> Iterator[None]:
    """A process of a job that names its folder with logs, as a raylet does."""
    process = subprocess.Popen(
        [sys.executable, "-c", "input()", f"--log_dir={folder}"],
        stdin=subprocess.PIPE,
        env={**os.environ, "SLURM_JOB_ID": job},
    )
    try:
        yield
    finally:
        process.communicate(b"\n")


async def of_job(folder: Path, **more: Any) -> tuple[Diagnosis, FakeSite]:
    site = FakeSite("/no/output", tmp=str(folder / "tmp"), **more)
    return await diagnosed(site, folder / "copies", "12", NoNodes()), site


def values(tmp: Path, room: int = 10**6) -> list[Any]:
    """Returns the output of the script on this machine."""
    ran = subprocess.run(
        [sys.executable, "-I", "-", MARK, "12", "600", str(room), signs_of(own_rules())],
        input=SCRIPT.read_text(),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TMPDIR": str(tmp), "RAY_TMPDIR": ""},
    )
    assert ran.stderr == ""
    return values_in(ran.stdout, MARK)


def text_of(row: dict[str, Any]) -> str:
    return zlib.decompress(base64.b64decode(row["data"])).decode()


async def test_cause_in_a_log_of_ray_has_its_node_and_its_line(tmp_path: Path) -> None:
    lines = "".join(f"step {number}\n" for number in range(1000))
    log = f"{lines}2026-11-28 02:03:04,123 ERROR main: it fails\n{OOM}\n{lines}"
    session(tmp_path / "tmp", worker_3a_01000000_7__err=log, raylet__out="fine\n")

    found, site = await of_job(tmp_path)

    (cause,) = [cause for cause in found.causes if cause.id == "cuda-oom"]
    (evidence,) = cause.evidence
    copy = Path(evidence.path)
    assert (evidence.node, copy.name) == (HOST, "worker-3a-01000000-7.err")
    assert copy.read_text().splitlines()[evidence.line - 1] == OOM
    # Its time comes from the line before it.
    assert time.strftime("%H:%M:%S", time.localtime(evidence.time)) == "02:03:04"
    assert copy.read_text().startswith("... 990 lines left out ...\nstep 990\n")
    assert copy.stat().st_size < 1000
    assert "Reading the logs of Ray on the nodes" in site.steps
    assert len([command for command in site.commands if "srun" in command]) == 2


async def test_secrets_of_nodes_are_in_no_copy(tmp_path: Path) -> None:
    secret = "hf_" + "abcdefghijklmnopqrstuvwxyz012345"
    session(tmp_path / "tmp", worker_3a_01000000_7__err=f"token {secret}\n{OOM} {secret}\n")

    found, _ = await of_job(tmp_path)

    texts = [path.read_text() for path in (tmp_path / "copies").rglob("*.err")]
    assert len(texts) == 1
    assert secret not in texts[0]
    assert secret not in repr(found)


async def test_error_that_no_rule_explains_is_named_by_its_traceback(tmp_path: Path) -> None:
    traceback = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in step\n    raise NoReward(9)\nrewards.NoReward: 9\n'
    )
    session(tmp_path / "tmp", worker_3a_01000000_7__err=traceback)

    found, _ = await of_job(tmp_path)

    assert [item.text for item in found.unknown] == ["rewards.NoReward: 9"]


async def test_node_that_does_not_answer_is_listed(tmp_path: Path) -> None:
    session(tmp_path / "tmp", raylet__err=f"{FILES}\n")

    found, _ = await of_job(tmp_path, silent=["n2"])

    assert [cause.id for cause in found.causes] == ["ulimit-nofile"]
    assert "logs of Ray on n2" in [item.path for item in found.checked.unchecked]
    assert f"logs of Ray on {HOST}" not in [item.path for item in found.checked.unchecked]


async def test_job_without_ray_has_no_more_to_say(tmp_path: Path) -> None:
    found, _ = await of_job(tmp_path)

    assert [item.path for item in found.checked.unchecked] == ["/no/output"]


async def test_nodes_of_an_ended_job_get_no_step(tmp_path: Path) -> None:
    session(tmp_path / "tmp", raylet__err=f"{FILES}\n")

    _, site = await of_job(tmp_path, state="FAILED")

    assert [command for command in site.commands if "srun" in command] == []


async def test_cancelled_diagnosis_ends_its_step(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    job = "JobId=12 JobState=RUNNING RunTime=00:10:00 NodeList=n1 StdOut=/no StdErr=/no"
    for name, script in (
        ("scontrol", f"echo {job}"),
        ("srun", f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 1000"),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    no_ssh: Any = None
    commands = Commands(no_ssh, {"PATH": f"{tools}:{os.environ['PATH']}"})
    logs = SlurmLogs(commands, SlurmClient(commands), tmp_path / "copies")
    reading = asyncio.ensure_future(logs.of_job("12", own_rules(), lambda _text: None))
    while not (tmp_path / "pid").exists():
        assert not reading.done(), await reading
        await asyncio.sleep(0.01)
    step = psutil.Process(int((tmp_path / "pid").read_text()))

    reading.cancel()

    await asyncio.gather(reading, return_exceptions=True)
    assert reading.cancelled()
    wait_for("the end of the step", lambda: has_ended(step))


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_logs_are_those_that_processes_of_the_job_name(tmp_path: Path) -> None:
    own = session(tmp_path, "session_a", raylet__err=f"{FILES}\n")
    other = session(tmp_path, "session_b", raylet__err=f"{OOM}\n")
    with raylet(other, "13"):
        # Ray of this job has ended.
        ended, end = values(tmp_path)
        with raylet(own, "12"):
            living, _ = values(tmp_path / "elsewhere")

    assert ended["path"] == living["path"] == str(own / "raylet.err")
    assert (end["logs"], end["unread"], end["cut"]) == (1, 0, 0)


def container(folder: Path, job: str, script: str) -> subprocess.Popen[bytes]:
    """A process of a job with a /tmp of its own, in which the script first writes; it ends with its input."""
    # The process has a raylet's name, as the checks of nodes need it.
    program = folder / "raylet"
    # The environment may lie below /tmp, its interpreter doesn't.
    program.symlink_to(Path(sys.executable).resolve())
    text = f"mount -t tmpfs tmpfs /tmp && {script} && echo ready && exec {program} -c 'input()' --temp_dir=/tmp/ray --log_dir=/tmp/ray/session_c/logs"
    process = subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "SLURM_JOB_ID": job},
    )
    assert process.stdout and process.stdout.readline() == b"ready\n"
    return process


LOGS = "mkdir -p /tmp/ray/session_c/logs && echo '{line}' > /tmp/ray/session_c/logs/raylet.err"


def test_logs_of_a_container_are_read_through_its_root(tmp_path: Path) -> None:
    program = Path(tempfile.mkdtemp(dir=Path.home()))
    other = Path(tempfile.mkdtemp(dir=Path.home()))
    first = container(program, "12", LOGS.format(line=FILES.replace("'", "")))
    second = container(other, "12", LOGS.format(line=OOM))
    try:
        one, two, end = values(tmp_path)
    finally:
        for process, folder in ((first, program), (second, other)):
            process.communicate(b"\n")
            shutil.rmtree(folder)

    # Both containers have a log by this name.
    path = "/tmp/ray/session_c/logs/raylet.err"
    assert one["path"] == path
    assert re.fullmatch(rf"/proc/\d+/root{path}", two["path"])
    assert {text_of(one), text_of(two)} == {FILES.replace("'", "") + "\n", f"{OOM}\n"}
    assert (end["logs"], end["unread"]) == (2, 0)


def test_checks_of_a_node_read_the_disks_of_its_container() -> None:
    folder = Path(tempfile.mkdtemp(dir=Path.home()))
    process = container(folder, "12", "mount -t tmpfs -o size=7M tmpfs /dev/shm && mkdir /tmp/ray")
    script = SCRIPT.with_name("node_facts.py")
    try:
        facts = [
            json.loads(
                subprocess.run(
                    [sys.executable, script],
                    capture_output=True,
                    text=True,
                    check=True,
                    env={**os.environ, "SLURM_JOB_ID": job},
                ).stdout
            )
            for job in ("12", "13")
        ]
    finally:
        process.communicate(b"\n")
        shutil.rmtree(folder)

    own, other = facts
    assert (own["shm"]["path"], own["shm"]["size"]) == ("/dev/shm", 7 * 2**20)
    assert own["ray_tmp"]["path"] == "/tmp/ray"
    assert other["shm"]["size"] != 7 * 2**20


def test_earlier_logs_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    folder = session(tmp_path, raylet__err=f"{FILES}\n", monitor__err=f"{FILES}\n")
    os.utime(folder / "raylet.err", (1, 1))
    secret = tmp_path / "secret"
    secret.write_text(f"{FILES}\n")
    (folder / "worker-1.err").symlink_to(secret)
    os.mkfifo(folder / "worker-2.err")

    row, end = values(tmp_path)

    assert row["path"] == str(folder / "monitor.err")
    assert end["logs"] == 1


def test_room_and_large_logs_are_limits_that_are_reported(tmp_path: Path) -> None:
    folder = session(tmp_path, raylet__err=f"{OOM}\n", raylet__out=f"{FILES}\n")
    with (folder / "raylet.err").open("ab") as file:
        file.truncate(40 * 2**20)
        file.seek(0, os.SEEK_END)
        file.write(f"\n{FILES}\n".encode())

    first, end = values(tmp_path, room=1)
    rows = values(tmp_path)

    assert (end["logs"], end["unread"], end["cut"]) == (2, 1, 1)
    assert text_of(first).startswith(f"{OOM}\n")
    assert "... a part of this log was not read ...\n" in text_of(first)
    assert text_of(first).endswith(f"{FILES}\n")
    assert [Path(row["path"]).name for row in rows[:-1]] == ["raylet.err", "raylet.out"]


def test_excerpt_without_room_has_its_first_lines(tmp_path: Path) -> None:
    tracebacks = "".join(
        f"Traceback (most recent call last):\n{os.urandom(1000).hex()}\nE{number}Error: x\n"
        for number in range(20)
    )
    session(tmp_path, raylet__err=tracebacks)

    row, end = values(tmp_path, room=4000)

    assert len(row["data"]) <= 4000
    assert text_of(row).startswith(tracebacks[:2000])
    assert (end["logs"], end["unread"], end["cut"]) == (1, 0, 1)


def test_line_of_any_length_travels_around_its_sign(tmp_path: Path) -> None:
    session(tmp_path, raylet__err=f"{'a ' * 2**20}{OOM} {'b' * 2**20}\n")

    row, _ = values(tmp_path)

    assert OOM in text_of(row)
    assert len(text_of(row)) < 5000


def test_first_lines_of_each_rule_travel_however_many_there_are(tmp_path: Path) -> None:
    session(tmp_path, raylet__err=f"{OOM}\n" * 1000 + f"{FILES}\n")

    row, _ = values(tmp_path)

    assert 3 <= text_of(row).count(OOM) <= 20
    assert text_of(row).endswith(f"{FILES}\n")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:10:00", 600), ("1-02:03:04", 93784), ("", 0), ("INVALID", 0)],
)
def test_run_time_of_a_job_is_read(text: str, seconds: int) -> None:
    assert run_seconds(text) == seconds


def test_signs_fit_into_an_argument() -> None:
    signs = signs_of(own_rules())

    assert len(signs) < 2**16
    assert json.loads(zlib.decompress(base64.b64decode(signs)))["markers"]
