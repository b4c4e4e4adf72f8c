"""The commands of workers: list, attach, continue, release, logs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.asked import eagleray
from tests.fakes.adapter import STOP, FakeAdapter, state
from tests.fakes.dashboard import POLICY, FakeDashboard


async def test_paused_workers_are_printed_as_json(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    held = state("w9", cluster=dashboard.address, session=dashboard.session)
    runs = state("w8", cluster=dashboard.address, session=dashboard.session, state="running")
    fake_adapter.change(held, runs)
    rows = (await eagleray("paused", "--json")).json
    by_id = {row["worker_id"]: row for row in rows}
    assert len(rows) == 4
    assert by_id["w9"]["held"] is True
    assert by_id["w9"]["kind"] == "breakpoint"
    policy = by_id[POLICY]
    assert policy["name"] == "policy-0"
    assert (policy["rank"], policy["held"], policy["kind"]) == (0, False, "unknown")
    assert (policy["node_ip"], policy["pid"]) == ("10.9.9.9", 15465)
    # Its process is on another machine, and Ray does not report since when it waits.
    assert policy["waiting_s"] is None


async def test_paused_shows_hold_time_and_debugger(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    """One that an editor debugs is listed as well, whether it is stopped or runs."""
    of = {"cluster": dashboard.address, "session": dashboard.session}
    fake_adapter.change(
        state("held", **of, held_s=185.0),
        state("debugged", **of, editor=True),
        state("stepping", **of, editor=True, state="running", stop=None),
        state("free", **of, state="running", stop=None),
    )
    rows = {row["worker_id"]: row for row in (await eagleray("paused", "--json")).json}
    shown = {key: (rows[key]["state"], rows[key]["waiting_s"]) for key in rows if key != POLICY}
    assert shown["held"] == ("held", pytest.approx(185, abs=60))
    assert shown["debugged"] == shown["stepping"] == ("debugging", None)
    assert "free" not in rows
    lines = (await eagleray("paused", "-o", "wide")).out.splitlines()
    assert lines[0].split() == [
        *["NAME", "RANK", "STATE", "AGE", "LOCATION", "NODE", "PID", "ID", "RUNS"]
    ]
    fields = {line.split()[-2]: re.split(r"  +", line) for line in lines[1:]}
    assert fields["held"][2:4] == ["held", "3 m 5 s"]
    assert fields["debugged"][2:4] == fields["stepping"][2:4] == ["debugging", "-"]
    assert fields[POLICY][2:4] == ["paused", "-"]


async def test_paused_workers_are_printed_as_a_table(dashboard: FakeDashboard) -> None:
    done = await eagleray("paused", "--cluster", str(dashboard.port))
    assert done.code == 0
    header, *rows = done.out.splitlines()
    assert header.split() == ["NAME", "RANK", "STATE", "AGE", "LOCATION", "NODE", "PID", "ID"]
    policy = next(row for row in rows if row.startswith("policy-0"))
    assert policy.split() == [
        *["policy-0", "0", "paused", "-", "-", "10.9.9.9", "15465"],
        POLICY[:12],
    ]
    # Columns begin where their titles do.
    assert policy.index("paused") == header.index("STATE")


async def test_workers_are_printed_by_name_and_without_headers(dashboard: FakeDashboard) -> None:
    names = (await eagleray("workers", "ls", "--paused", "-o", "name")).out.splitlines()
    assert POLICY in names and len(names) == 3
    table = (await eagleray("paused", "--no-headers")).out
    assert len(table.splitlines()) == 3 and "NAME" not in table


async def test_workers_lists_running_workers_too(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    rows = (await eagleray("workers", "--json")).json
    states = {row["worker_id"]: row["state"] for row in rows}
    assert states[POLICY] == "paused"
    assert "running" in states.values()
    listed = (await eagleray("workers", "ls")).out
    assert len(listed.splitlines()) == len(rows) + 1


async def test_paused_reports_that_no_worker_is_paused(dashboard: FakeDashboard) -> None:
    dashboard.rows["workers"] = []
    assert (await eagleray("paused", "--json")).json == []
    done = await eagleray("paused")
    said = "No worker is paused. `eagleray clusters` lists your clusters.\n"
    assert (done.code, done.out, done.err) == (0, "", said)


@pytest.mark.parametrize("worker", [POLICY, POLICY[:8], "policy-0"])
async def test_attach_returns_a_socket(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter, worker: str
) -> None:
    attached = (await eagleray("attach", worker, "--json")).json
    assert attached["socket"] == f"/run/{POLICY}.sock"
    assert attached["worker_id"] == POLICY
    assert (attached["path"], attached["line"]) == ("/remote/train.py", 24)


async def test_attach_prints_only_the_socket(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    done = await eagleray("attach", POLICY)
    assert done.out == f"/run/{POLICY}.sock\n"
    first, *usage = done.err.splitlines()
    assert first == "policy-0 is paused at /remote/train.py:24."
    assert f'{{ type = "pipe", pipe = "/run/{POLICY}.sock" }}' in usage[-1]


async def test_continue_resumes_the_worker(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    done = await eagleray("continue", "policy-0", "policy-1", "--json")
    assert done.json == {"version": 1, "done": 2, "failures": []}
    ops = [op for op, _ in fake_adapter.asked if op != "subscribe"]
    assert sorted(ops) == ["attach", "attach", "continue", "continue"]


async def test_continue_all_resumes_every_worker(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    done = await eagleray("continue", "--all")
    assert (done.code, done.err) == (0, "Resumed 3 workers.\n")


async def test_release_needs_no_cluster(own_home: Path, fake_adapter: FakeAdapter) -> None:
    fake_adapter.change(state("w1"), state("w2"))
    assert (await eagleray("release", "w1", "--json")).json == {
        "version": 1,
        "done": 1,
        "failures": [],
    }
    assert (await eagleray("release", "--all", "--json")).json == {
        "version": 1,
        "done": 1,
        "failures": [],
    }
    assert [p["worker_id"] for op, p in fake_adapter.asked if op == "release"] == ["w1", "w2"]


async def test_workers_of_a_program_without_ray_are_listed(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    """Their cluster is "", which no dashboard answers for."""
    fake_adapter.change(state("driver-7", cluster="", session="run"))
    rows = (await eagleray("workers", "--json")).json
    assert ("driver-7", "") in [(row["worker_id"], row["cluster"]) for row in rows]
    assert "driver-7" in (await eagleray("workers", "ls", "-o", "wide")).out


async def test_release_of_a_worker_that_is_not_held_fails(
    own_home: Path, fake_adapter: FakeAdapter
) -> None:
    done = await eagleray("release", "w1")
    assert done.code == 1
    assert "No paused or held worker is called “w1”." in done.err


async def test_logs_are_printed(dashboard: FakeDashboard) -> None:
    file = f"worker-{POLICY}-01000000-15465.err"
    dashboard.logs[file] = "".join(f"line {i}\n" for i in range(50))
    done = await eagleray("logs", "policy-0", "--err", "--lines", "2")
    assert (done.code, done.out) == (0, "line 48\nline 49\n"), done.err
    assert (await eagleray("logs", POLICY[:9], "--err", "--json", "--lines", "2")).json["truncated"]
    nobody = await eagleray("logs", "nobody")
    assert (nobody.code, nobody.out) == (1, "")
    assert "No worker is called “nobody”." in nobody.err


async def test_worker_output_does_not_control_the_terminal(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter
) -> None:
    stop = replace(STOP, path="/remote/\x1b]0;title\x07\x9b31m.py")
    fake_adapter.answers[POLICY] = state(POLICY, session=dashboard.session, stop=stop)
    done = await eagleray("attach", "policy-0")
    assert done.code == 0
    assert "/remote/ ]0;title  31m.py:24" in done.err
