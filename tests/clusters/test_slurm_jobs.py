"""What `squeue` says, as recorded of SLURM 22.05, 24.11 and 26.05, and of 23.02 as its documents show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eagleray.slurm.jobs import SlurmJob, alone, of_json, of_text, seconds, squeue_format
from hypothesis import given
from hypothesis import strategies as st

GOLDEN = Path(__file__).parent / "golden"
MARK = "0123456789abcdef"
NOW = 1795274303.0
# When it was recorded, and the forms of JSON that the same `squeue` was asked for.
RECORDED = {
    "24.11": (1795286125.7, ["23.11", "24.05", "24.11"]),
    "26.05": (1795286148.2, ["25.05", "25.11", "26.05"]),
}
FORMS = [(version, form) for version, (_, forms) in RECORDED.items() for form in forms]


def by_id(jobs: list[SlurmJob]) -> dict[str, SlurmJob]:
    return {job.id: job for job in jobs}


def test_the_recorded_text() -> None:
    jobs = by_id(of_text((GOLDEN / "squeue-22.05.txt").read_text(), MARK))
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
    # A line end in a name is data, and only one who asked for it has the nodes alone.
    assert (jobs["5"].name, jobs["5"].exclusive) == ("two lines", True)
    # Two elements of an array.
    assert (jobs["6"].name, jobs["7"].name, jobs["6"].time_left_s) == ("array", "array", None)


def test_the_recorded_json_says_the_same() -> None:
    """SLURM 22 lists also what it was not asked for: the job of root is left out by us."""
    text = by_id(of_text((GOLDEN / "squeue-22.05.txt").read_text(), MARK))
    answer = (GOLDEN / "squeue-22.05.json").read_text()
    assert {row["user_name"] for row in json.loads(answer)["jobs"]} == {"alice", "root"}
    jobs = by_id(of_json(answer, "alice", NOW))
    assert set(jobs) == set(text)
    for job in jobs.values():
        other = text[job.id]
        assert (job.name, job.state, job.nodelist) == (other.name, other.state, other.nodelist)
        assert (job.node_count, job.exclusive) == (other.node_count, other.exclusive)
    assert jobs["3"].time_left_s == 1795274774 - NOW


@pytest.mark.parametrize("version", RECORDED)
def test_the_recorded_text_of_newer_ones(version: str) -> None:
    jobs = by_id(of_text((GOLDEN / f"squeue-{version}.txt").read_text(), MARK))
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


@pytest.mark.parametrize(("version", "form"), FORMS)
def test_the_recorded_json_of_newer_ones_says_the_same(version: str, form: str) -> None:
    text = by_id(of_text((GOLDEN / f"squeue-{version}.txt").read_text(), MARK))
    answer = (GOLDEN / f"squeue-{form}.json").read_text()
    jobs = by_id(of_json(answer, "alice", RECORDED[version][0]))
    assert set(jobs) == set(text)
    for job in jobs.values():
        other = text[job.id]
        assert (job.name, job.state, job.nodelist) == (other.name, other.state, other.nodelist)
        assert (job.node_count, job.started) == (other.node_count, other.started)
        assert job.time_left_s == pytest.approx(other.time_left_s, abs=2)
        assert job.reason == other.reason or job.reason == "JobHeldUser"
    assert of_json(answer, "root", NOW) == []


def test_who_has_their_nodes_alone() -> None:
    """Recorded of jobs with `--exclusive` of each kind, and of two without, in this order."""
    newer = "".join(
        f"{job:<20}{said:<20}\n"
        for job, said in enumerate(["NODE", "NO", "NO", "USER", "TOPO", "MCS"], 1)
    )
    assert alone(newer) == {"1"}
    assert alone("1                   \n2                   \n") == {"1", "2"}
    assert alone("Welcome to the cluster\n\n") == set()
    marked = {"24.11": {"4", "19", "20"}, "26.05": set(map(str, {*range(1, 22)} - {7}))}
    for version, jobs in marked.items():
        said = of_text((GOLDEN / f"squeue-{version}.txt").read_text(), MARK)
        assert {job.id for job in said if job.exclusive} == jobs
    # Its JSON knows only the older field, in which nobody is alone any more.
    newest = of_json((GOLDEN / "squeue-26.05.json").read_text(), "alice", NOW)
    assert not any(job.exclusive for job in newest)


def test_json_of_23_02() -> None:
    jobs = by_id(of_json((GOLDEN / "squeue-23.02.json").read_text(), "alice", NOW))
    assert list(jobs) == ["525", "526", "527", "528"]
    train = jobs["525"]
    assert (train.state, train.nodelist, train.node_count) == ("running", "gpu[001-002]", 2)
    assert (train.time_left_s, train.ran_s, train.exclusive) == (3500.0, 100.0, True)
    assert (jobs["526"].state, jobs["526"].reason) == ("pending", "Priority")
    assert jobs["526"].started == 1795280000.0
    assert (jobs["527"].state, jobs["528"].state) == ("pending", "ending")


@pytest.mark.parametrize("noise", ["", "Welcome to the cluster\n\nnotice: maintenance\n"])
def test_what_a_login_shell_says_before(noise: str) -> None:
    text = noise + (GOLDEN / "squeue-22.05.txt").read_text()
    assert len(of_text(text, MARK)) == 7
    assert len(of_json(noise + (GOLDEN / "squeue-25.05.json").read_text(), "alice", NOW)) == 20


def test_another_format_is_no_list_without_jobs() -> None:
    text = (GOLDEN / "squeue-22.05.txt").read_text()
    assert of_text("Welcome\n" + text.splitlines()[0] + "\n", MARK) == []
    for other in ("", "JOBID PARTITION NAME\n 1 batch x\n"):
        with pytest.raises(ValueError, match="format"):
            of_text(other, MARK)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"jobs": 3}', "no json", '{"jobs": ['])
def test_no_json(text: str) -> None:
    with pytest.raises(ValueError):
        of_json(text, "alice", NOW)


@given(st.lists(st.text(max_size=20), min_size=11, max_size=11))
def test_no_field_can_look_like_two(fields: list[str]) -> None:
    """Whatever a field holds, there is one job or none, and the next job is read."""
    good = ["9", "RUNNING", "1", "1:00", "1:00", "1", "OK", "p", "None", "n1", "next"]
    text = "".join("".join(MARK + f for f in one) + MARK + "\n" for one in (fields, good))
    jobs = of_text(text, MARK)
    assert jobs[-1].name == "next"
    assert len(jobs) == 1 + (fields[0].isascii() and fields[0].isdigit() and len(fields[0]) <= 10)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4))
def test_any_value_of_json_is_a_job_or_none(value: object) -> None:
    names = ("name", "job_state", "nodes", "node_count", "start_time", "end_time", "shared")
    row = {"job_id": 1, "user_name": "alice", **dict.fromkeys(names, value)}
    assert len(of_json(json.dumps({"jobs": [row, value]}), "alice", NOW)) == 1


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
def test_times(written: str, expected: float | None) -> None:
    assert seconds(written) == expected


def test_the_format_begins_each_field_with_the_mark() -> None:
    assert squeue_format("xx").startswith("xx%Axx%T")
    assert squeue_format("xx").endswith("xx%jxx")
