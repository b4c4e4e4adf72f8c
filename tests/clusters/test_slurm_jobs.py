"""Tests the parser of `squeue` with answers recorded from SLURM 22.05, 24.11 and 26.05."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.slurm.jobs import SlurmJob, jobs_alone, parse_jobs, seconds, squeue_format
from hypothesis import given
from hypothesis import strategies as st

GOLDEN = Path(__file__).parent / "golden"
MARK = "0123456789abcdef"


def by_id(jobs: list[SlurmJob]) -> dict[str, SlurmJob]:
    return {job.id: job for job in jobs}


def test_text_of_22_05_is_parsed() -> None:
    jobs = by_id(parse_jobs((GOLDEN / "squeue-22.05.txt").read_text(), MARK))
    assert list(jobs) == ["1", "4", "2", "5", "3", "7", "6"]
    assert jobs["3"] == SlurmJob(
        id="3",
        name="rayhost",
        word="RUNNING",
        state="running",
        reason="",
        partition="batch",
        nodelist="node-10",
        node_count=1,
        time_left_s=428.0,
        ran_s=112.0,
        started=1795274234.0,
        exclusive=False,
    )
    assert (jobs["1"].state, jobs["1"].word, jobs["1"].name) == ("over", "CANCELLED", "a;b $(id)|x")
    assert (jobs["2"].state, jobs["2"].reason) == ("pending", "PartitionNodeLimit")
    # A line end in a name is data; only a job that requested it has its nodes alone.
    assert (jobs["5"].name, jobs["5"].exclusive) == ("two lines", True)
    # Two elements of an array.
    assert (jobs["6"].name, jobs["7"].name, jobs["6"].time_left_s) == ("array", "array", None)


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_text_of_newer_versions_is_parsed(version: str) -> None:
    jobs = by_id(parse_jobs((GOLDEN / f"squeue-{version}.txt").read_text(), MARK))
    states = {job.name: (job.word, job.state, job.reason) for job in jobs.values()}
    assert states == {
        "a;b $(id)|x": ("CANCELLED", "over", ""),
        "raylocal": ("CANCELLED", "over", ""),
        "done": ("COMPLETED", "over", ""),
        "fails": ("FAILED", "over", "NonZeroExitCode"),
        "stubborn": ("COMPLETING", "ending", ""),
        "big": ("PENDING", "pending", "Resources"),
        "behind": ("PENDING", "pending", "Priority"),
        "tomorrow": ("PENDING", "pending", "BeginTime"),
        "again": ("PENDING", "pending", "BeginTime"),
        "again held": ("PENDING", "pending", "job requeued in held state"),
        "after": ("PENDING", "pending", "Dependency"),
        "two lines": ("PENDING", "pending", "JobHeldUser"),
        "special": ("SPECIAL_EXIT", "pending", "job requeued in held state"),
        "suspended": ("SUSPENDED", "running", ""),
        "rayhost": ("RUNNING", "running", ""),
        "array": ("RUNNING", "running", ""),
        "het": ("RUNNING", "running", ""),
        " [31mred [0m é “” --evil": ("RUNNING", "running", ""),
    }
    # Two elements of an array, and the two parts of a heterogeneous job.
    assert [jobs[one].name for one in ("5", "6", "16", "17")] == ["array", "array", "het", "het"]
    assert (jobs["16"].nodelist, jobs["17"].nodelist) == ("node-9", "node-10")
    left = jobs["2"].time_left_s
    assert left is not None
    assert 580 < left < 600
    # Without a limit.
    assert jobs["5"].time_left_s is None


def test_job_that_has_its_nodes_alone_is_exclusive() -> None:
    """Recorded from jobs with each kind of `--exclusive`, and two without, in this order."""
    newer = "".join(
        f"{job:<20}{said:<20}\n"
        for job, said in enumerate(["NODE", "NO", "NO", "USER", "TOPO", "MCS"], 1)
    )
    assert jobs_alone(newer) == {"1"}
    assert jobs_alone("1                   \n2                   \n") == {"1", "2"}
    assert jobs_alone("Welcome to the cluster\n\n") == set()
    marked = {"24.11": {"4", "19", "20"}, "26.05": set(map(str, {*range(1, 22)} - {7}))}
    for version, jobs in marked.items():
        said = parse_jobs((GOLDEN / f"squeue-{version}.txt").read_text(), MARK)
        assert {job.id for job in said if job.exclusive} == jobs


@pytest.mark.parametrize("noise", ["", "Welcome to the cluster\n\nnotice: maintenance\n"])
def test_noise_of_login_shell_is_skipped(noise: str) -> None:
    text = noise + (GOLDEN / "squeue-22.05.txt").read_text()
    assert len(parse_jobs(text, MARK)) == 7


def test_other_format_raises_instead_of_returning_no_jobs() -> None:
    text = (GOLDEN / "squeue-22.05.txt").read_text()
    assert parse_jobs("Welcome\n" + text.splitlines()[0] + "\n", MARK) == []
    for other in ("", "JOBID PARTITION NAME\n 1 batch x\n"):
        with pytest.raises(ValueError, match="format"):
            parse_jobs(other, MARK)


@given(st.lists(st.text(max_size=20), min_size=11, max_size=11))
def test_field_is_never_split_in_two(fields: list[str]) -> None:
    """Any text in a field gives one job or none, and the next job is read."""
    good = ["9", "RUNNING", "1", "1:00", "1:00", "1", "OK", "p", "None", "n1", "next"]
    text = "".join("".join(MARK + f for f in one) + MARK + "\n" for one in (fields, good))
    jobs = parse_jobs(text, MARK)
    assert jobs[-1].name == "next"
    assert len(jobs) == 1 + (fields[0].isascii() and fields[0].isdigit() and len(fields[0]) <= 10)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("0:00", 0),
        ("15:01", 901),
        ("2:03:04", 7384),
        ("1-02:03:04", 93784),
        ("364-23:58:15", 31535895),
        ("UNLIMITED", None),
        ("NOT_SET", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_duration_is_parsed(written: str, expected: float | None) -> None:
    assert seconds(written) == expected


def test_format_has_mark_before_each_field() -> None:
    assert squeue_format("xx").startswith("xx%Axx%T")
    assert squeue_format("xx").endswith("xx%jxx")
