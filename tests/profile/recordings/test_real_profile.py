"""`eagleray profile` with a real Ray and a real nsys: from a shared folder, and through Ray's own file server."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter_client.client import AdapterClient
from eagleray.profile.recordings.collector import ReportCollector
from eagleray.profile.recordings.run_sources import RunSources
from eagleray.profile.recordings.store import ReportStore
from eagleray.profile.reports.reports import Reports
from eagleray.protocol.route_spec import DIRECT
from eagleray.ray.dashboard import Dashboard
from eagleray.remote.injected.nsys import node_reports
from eagleray.runs.adapter_gateway import AdapterRunGateway

from tests.profile.recordings.reports import RUN, content, put, status
from tests.ray_cluster import REPOSITORY, RayCluster, wait_for
from tests.remote.injected.real_nsys import calls_in, real_nsys
from tests.runs.conftest import joined
from tests.runs.terminal import Terminal, eagleray, row

__all__ = ["joined"]

PROGRAM = REPOSITORY / "tests" / "remote" / "injected" / "programs" / "profiled.py"
LOG_MESSAGE = "Nsight profiling enabled for worker 'PolicyWorker' (matched pattern '*Policy*')"


def arguments(*more: str) -> list[str]:
    return ["profile", "--workers", "*Policy*", "--trace", "osrt", "--nsys", real_nsys(), *more]


def gathered(folder: Path, run: str) -> list[dict[str, Any]]:
    """The reports of the manifest, after checking size and hash of each."""
    manifest = json.loads((folder / "eagleray-profiles" / run / "manifest.json").read_text())
    for report in manifest["reports"]:
        content = (folder / "eagleray-profiles" / run / report["file"]).read_bytes()
        assert len(content) == report["size"] > 0
        assert hashlib.sha256(content).hexdigest() == report["sha256"]
    rows: list[dict[str, Any]] = manifest["reports"]
    return rows


@pytest.mark.nsys
def test_reports_of_a_program_that_ends_are_collected_and_read(
    joined: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whose reports are read where no nsys is: their node has made the databases."""
    monkeypatch.setenv("EAGLERAY_NSYS", str(tmp_path / "nowhere"))
    terminal = Terminal(tmp_path, *arguments("--", sys.executable, str(PROGRAM), "family"))
    assert terminal.code() == 0, terminal.errors() + terminal.output()
    run = terminal.run_id()
    lines = terminal.output().splitlines()
    assert "policy: recorded job own" in lines and "inner: recorded job rollout" in lines
    assert "rollout: plain job None" in lines and "task: plain job None" in lines
    assert LOG_MESSAGE in terminal.errors() and "2 reports in" in terminal.errors()
    rows = gathered(tmp_path, run)
    assert {row["name"] or row["class"] for row in rows} == {"PolicyWorker", "inner-1"}
    assert all(row["run"] == run and row["pid"] and row["nsys_version"] for row in rows)
    assert all(row["started_utc"].startswith("20") for row in rows)
    state = json.loads((joined / "runs" / run / "state.json").read_text())
    # Rollout is one that does not fit, and RewardWorker one that a worker has created.
    classes = state["profile"]["classes"]
    assert {"__main__:PolicyWorker", "__main__:Rollout", "__main__:RewardWorker"} <= set(classes)
    for entry in rows:
        report = tmp_path / "eagleray-profiles" / run / entry["file"]
        read = asyncio.run(Reports(lambda: tmp_path).read(str(report)))
        assert read.database == report.with_suffix(".sqlite")
        assert read.summary.about.trace == "osrt"
        assert {table.name for table in read.summary.tables} >= {"osrt"}


def state_in(home: Path, run: str) -> str:
    """How the one worker of a run says that it stands."""
    files = list((home / "runs" / run / "reports").glob("*.worker.json"))
    return str(json.loads(files[0].read_text())["state"]) if files else ""


def opened_by_its_reader(fifo: Path) -> int:
    """To write into it, once the program reads it."""

    def opened() -> int | None:
        with contextlib.suppress(OSError):
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        return None

    fd = wait_for("the program at its orders", opened)
    assert fd is not None
    return fd


@pytest.mark.nsys
def test_job_is_recorded_on_demand_and_finished_before_its_end(
    cluster: RayCluster, joined: Path, tmp_path: Path
) -> None:
    """Twice; what the worker does in between is in neither report, and Ctrl-C finishes and gathers."""
    orders = tmp_path / "orders"
    os.mkfifo(orders)
    command = arguments("--on-demand", "--cluster", cluster.address, "--")
    terminal = Terminal(tmp_path, *command, sys.executable, str(PROGRAM), "alone", str(orders))
    try:
        run = terminal.run_id()
        terminal.wait_output("ready: yes")
        order = opened_by_its_reader(orders)

        def syncs(count: int) -> None:
            os.write(order, b"%d\n" % count)
            terminal.wait_output(f"synced: {count}")

        def records() -> bool:
            return Terminal(tmp_path, "profile", "--record", run).code() == 0

        def is_state(state: str) -> Callable[[], bool]:
            return lambda: state_in(joined, run) == state

        syncs(5)
        wait_for("a gate that is known", records)
        wait_for("the recording", is_state("recording"))
        syncs(7)
        eagleray(tmp_path, "profile", "--stop", run)
        wait_for("the first report", is_state("armed"))
        syncs(8)
        assert records()
        wait_for("the second recording", is_state("recording"))
        syncs(9)
        terminal.interrupt()
        assert terminal.code() == 0, terminal.errors()
        os.close(order)
    finally:
        terminal.interrupt_hard()
    assert "2 reports in" in terminal.errors(), terminal.errors()
    assert row(run)["state"] == "cancelled"
    rows = sorted(gathered(tmp_path, run), key=lambda entry: str(entry["started_utc"]))
    here = tmp_path / "eagleray-profiles" / run
    assert [calls_in(here / entry["file"], "fsync", tmp_path) for entry in rows] == [7, 9]


@pytest.mark.real_ray
async def test_reports_in_node_logs_are_downloaded_through_ray(
    cluster: RayCluster, tmp_path: Path
) -> None:
    """As on a cluster that shares no file system with us: by the head, and in parts by the node's own agent."""
    session = next(cluster.folder.glob(f"**/{cluster.session}/logs")).parent
    logs = Path(node_reports.folder_for("", str(session), RUN))
    report = content(9, 20_000_000)
    put(logs, "p.nsys-rep", report)
    dashboard = Dashboard(cluster.address)
    try:
        for name, port in (("head", 9), ("agent", agent_port(session))):
            (logs / "p.worker.json").write_bytes(
                status("ended", agent_port=port, node_id=await node_of(dashboard))
            )
            here = tmp_path / name
            sources = RunSources(
                RUN, tmp_path, AdapterClient().routes.open_socket, lambda of, ip: [DIRECT]
            )
            if name == "agent":
                here.mkdir()
                (here / "p.nsys-rep.part").write_bytes(report[:5_000_000])
            made = ReportCollector(
                RUN,
                ReportStore(RUN, here),
                sources,
                lambda: ("c", dashboard),
                AdapterRunGateway(AdapterClient()).stop_recording,
            )
            await made.collect()
            await made.close()
            assert (here / "p.nsys-rep").read_bytes() == report
            assert (made.state.gathered, made.state.expected) == (1, 1)
    finally:
        await dashboard.close()


async def node_of(dashboard: Dashboard) -> str:
    return next(node.node_id for node in await dashboard.nodes() if node.alive)


def agent_port(session: Path) -> int:
    """Where Ray's agent of the node has written down that it listens."""
    return next(int(file.read_text()) for file in session.glob("dashboard_agent_listen_port_*"))
