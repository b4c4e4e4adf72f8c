"""Collected reports: fake nodes of a cluster with one report each, and the rows of the manifest."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings.scanner import Scanner
from eagleray.profile.recordings.sources import NodeLogs, Source
from eagleray.profile.recordings.store import ReportStore
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.logs import RayAgent

from tests.fakes.dashboard import FakeDashboard
from tests.profile.recordings.reports import RUN, content, described

BIG = content(1, 900_000)


@asynccontextmanager
async def cluster(*nodes: str) -> AsyncIterator[tuple[FakeDashboard, Dashboard]]:
    """A dashboard with these nodes, on each of which one report is whole."""
    fake = FakeDashboard()
    await fake.start()
    for number, node in enumerate(nodes):
        report = content(number, 300_000)
        fake.files[node] = {
            f"eagleray/{RUN}/p.{node}.nsys-rep": report,
            f"eagleray/{RUN}/p.{node}.nsys-rep.json": described(report, node_id=node, host=node),
        }
    dashboard = Dashboard(fake.address)
    try:
        yield fake, dashboard
    finally:
        await dashboard.close()
        await fake.stop()


def node(dashboard: Dashboard, name: str, agent: RayAgent | None = None) -> NodeLogs:
    return NodeLogs(dashboard, name, name, RUN, lambda: agent)


async def gathered(folder: Path, *sources: Source) -> tuple[ReportStore, list[EaglerayError]]:
    made = ReportStore(RUN, folder)
    with made.locked():
        scan = await Scanner().scan(sources)
        return made, [*scan.failures, *await made.download(scan.reports)]


def listed(folder: Path) -> dict[str, dict[str, object]]:
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["run"] == RUN
    return {row["file"]: row for row in manifest["reports"]}


def all_missing(folder: Path) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads((folder / "manifest.json").read_text())["missing"]
    return rows
