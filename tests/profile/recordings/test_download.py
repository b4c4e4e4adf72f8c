"""Downloads from nodes that disconnect, die or lie: resumed, and other reports are unaffected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings import download
from eagleray.profile.recordings.errors import report_unreachable
from eagleray.profile.recordings.manifest import ReportEntry, parse_entry
from eagleray.profile.recordings.scanner import Scanner
from eagleray.profile.recordings.sources import Source
from eagleray.profile.recordings.store import ReportStore
from eagleray.ray.endpoint import direct_endpoint
from eagleray.ray.logs import RayAgent
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.agent import agent_of
from tests.profile.recordings.gathered import BIG, all_missing, cluster, gathered, listed, node
from tests.profile.recordings.reports import RUN, content, described


async def test_interrupted_download_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_BATCH", 4096)
    async with cluster("n1") as (fake, dashboard), agent_of(fake.files["n1"]) as agent:
        fake.files["n1"][f"eagleray/{RUN}/p.n1.nsys-rep"] = BIG
        fake.files["n1"][f"eagleray/{RUN}/p.n1.nsys-rep.json"] = described(BIG)
        agent.cuts = [500_000]
        url = f"http://127.0.0.1:{agent.port}"
        ray_agent = RayAgent(url, direct_endpoint(url))
        source = node(dashboard, "n1", ray_agent)
        _, failures = await gathered(tmp_path, source)
        assert [failure.code for failure in failures] == ["cluster-unreachable"]
        partial = (tmp_path / "p.n1.nsys-rep.part").stat().st_size
        assert 0 < partial <= 500_000
        _, failures = await gathered(tmp_path, source)
        await ray_agent.close()
    assert failures == [] and agent.starts == [0, partial]
    assert (tmp_path / "p.n1.nsys-rep").read_bytes() == BIG


async def test_missing_agent_is_replaced_by_the_head(tmp_path: Path) -> None:
    async with cluster("n1") as (_, dashboard):
        nobody = RayAgent("http://127.0.0.1:9", direct_endpoint("http://127.0.0.1:9"))
        _, failures = await gathered(tmp_path, node(dashboard, "n1", nobody))
        await nobody.close()
    assert failures == [] and (tmp_path / "p.n1.nsys-rep").exists()


async def test_other_server_on_the_agent_port_is_replaced_by_the_head(tmp_path: Path) -> None:
    async with cluster("n1") as (fake, dashboard), agent_of({}) as agent:
        url = f"http://127.0.0.1:{agent.port}"
        other = RayAgent(url, direct_endpoint(url))
        _, failures = await gathered(tmp_path, node(dashboard, "n1", other))
        agent.files = dict.fromkeys(fake.files["n1"], b"something else")
        (tmp_path / "p.n1.nsys-rep").unlink()
        _, wrong = await gathered(tmp_path, node(dashboard, "n1", other))
        await other.close()
    assert failures == [] and [failure.code for failure in wrong] == ["bad-report"]
    assert not (tmp_path / "p.n1.nsys-rep").exists()


async def test_dead_node_costs_only_its_own_reports(tmp_path: Path) -> None:
    async with cluster("n1", "n2") as (fake, dashboard):
        scan_result = await Scanner().scan([node(dashboard, "n1"), node(dashboard, "n2")])
        fake.gone_nodes = {"n1"}
        made = ReportStore(RUN, tmp_path)
        with made.locked():
            failures = await made.download(scan_result.reports)
        again = await Scanner().scan([node(dashboard, "n1"), node(dashboard, "n2")])
    assert [failure.code for failure in failures] == ["dashboard-failed"]
    assert set(listed(tmp_path)) == {"p.n2.nsys-rep"}
    assert [(row["source"], row["host"]) for row in all_missing(tmp_path)] == [
        ("p.n1.nsys-rep", "n1")
    ]
    assert [failure.code for failure in again.failures] == ["dashboard-failed"]
    assert [report.entry.node_id for report in again.reports] == ["n2"]


@pytest.mark.parametrize("size", [10, 400_000])
async def test_false_description_leaves_no_files(tmp_path: Path, size: int) -> None:
    async with cluster("n1") as (fake, dashboard):
        lie = described(content(0, size), sha256="0" * 64)
        fake.files["n1"][f"eagleray/{RUN}/p.n1.nsys-rep.json"] = lie
        _, failures = await gathered(tmp_path, node(dashboard, "n1"))
    assert [failure.code for failure in failures] == ["bad-report"]
    assert not (tmp_path / "p.n1.nsys-rep").exists()


class Broken:
    """A source that disconnects after a number of bytes in each request, and may not support ranges."""

    name = "n1"

    def __init__(self, report: bytes, cuts: list[int], knows_parts: list[bool]) -> None:
        self._report = report
        self._cuts = cuts
        self._knows_parts = knows_parts

    async def names(self) -> list[str]:
        return []

    async def small(self, name: str) -> bytes:
        return b""

    def local_path(self, name: str) -> Path | None:
        return None

    async def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        cut = self._cuts.pop() if self._cuts else len(self._report)
        if start and not (self._knows_parts.pop() if self._knows_parts else True):
            yield b""
            start = 0
        for at in range(start, len(self._report), 7):
            if at - start > cut:
                raise report_unreachable(name, "n1", "it broke off")
            yield self._report[at : at + 7]


@settings(max_examples=60)
@given(
    size=st.integers(0, 300),
    cuts=st.lists(st.integers(0, 120), max_size=5),
    knows_parts=st.lists(st.booleans(), max_size=5),
    before=st.binary(max_size=40),
)
def test_report_is_identical_after_any_interruptions(
    size: int, cuts: list[int], knows_parts: list[bool], before: bytes
) -> None:
    asyncio.run(_resumed(content(3, size), cuts, knows_parts, before))


async def _resumed(report: bytes, cuts: list[int], knows_parts: list[bool], before: bytes) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        entry = parse_entry("p.nsys-rep", described(report))
        assert entry is not None
        # A partial file here may belong to something else.
        (folder / "p.nsys-rep.part").write_bytes(before)
        source = Broken(report, cuts, knows_parts)
        for _ in range(len(cuts) + 2):
            if await _tried(source, entry, folder):
                break
        assert (folder / "p.nsys-rep").read_bytes() == report
        assert not (folder / "p.nsys-rep.part").exists()


async def _tried(source: Source, entry: ReportEntry, folder: Path) -> bool:
    try:
        await download.download_report(source, entry, folder, "p.nsys-rep", lambda here: None)
    except EaglerayError:
        return False
    return True
