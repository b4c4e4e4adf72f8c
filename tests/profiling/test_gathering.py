"""Gathering: byte for byte, in parts, from nodes that break off, into a disk that is full."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from eagleray.clients.ray_agent import RayAgent
from eagleray.clients.ray_dashboard import Dashboard
from eagleray.clients.ray_way import straight
from eagleray.common.errors import EaglerayError
from eagleray.common.profile_errors import report_unreachable
from eagleray.features.profiling import fetching, gathering
from eagleray.features.profiling.found import Looking
from eagleray.features.profiling.gathering import Gathering
from eagleray.features.profiling.gathers import output_folder
from eagleray.features.profiling.manifest import Entry, entry_of
from eagleray.features.profiling.sources import Agent, Folder, Node, Source
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.agent import agent_of
from tests.fakes.dashboard import FakeDashboard
from tests.profiling.reports import RUN, content, described, put

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


def node(dashboard: Dashboard, name: str, agent: Agent | None = None) -> Node:
    return Node(dashboard, name, name, RUN, lambda: agent)


async def gathered(folder: Path, *sources: Source) -> tuple[Gathering, list[EaglerayError]]:
    made = Gathering(RUN, folder)
    with made.held():
        look = await Looking().look(sources)
        return made, [*look.failures, *await made.fetch(look.reports)]


def listed(folder: Path) -> dict[str, dict[str, object]]:
    said = json.loads((folder / "manifest.json").read_text())
    assert said["run"] == RUN
    return {row["file"]: row for row in said["reports"]}


def all_missing(folder: Path) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads((folder / "manifest.json").read_text())["missing"]
    return rows


async def test_reports_of_nodes_come_byte_for_byte_through_the_head(tmp_path: Path) -> None:
    async with cluster("n1", "n2") as (fake, dashboard):
        growing = {f"eagleray/{RUN}/q.nsys-rep": b"", f"eagleray/{RUN}/x.qdstrm": b"7"}
        fake.files["n1"] |= growing | {"eagleray/other/p.nsys-rep": b"another run"}
        _, failures = await gathered(tmp_path, node(dashboard, "n1"), node(dashboard, "n2"))
    assert failures == []
    assert set(listed(tmp_path)) == {"p.n1.nsys-rep", "p.n2.nsys-rep"}
    for number, name in enumerate(("n1", "n2")):
        assert (tmp_path / f"p.{name}.nsys-rep").read_bytes() == content(number, 300_000)
        row = listed(tmp_path)[f"p.{name}.nsys-rep"]
        assert (row["node_id"], row["class"], row["size"]) == (name, "Policy", 300_000)
    assert not list(tmp_path.glob("*.part"))


async def test_a_report_that_breaks_off_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "_BATCH", 4096)
    async with cluster("n1") as (fake, dashboard), agent_of(fake.files["n1"]) as agent:
        fake.files["n1"][f"eagleray/{RUN}/p.n1.nsys-rep"] = BIG
        fake.files["n1"][f"eagleray/{RUN}/p.n1.nsys-rep.json"] = described(BIG)
        agent.cuts = [500_000]
        url = f"http://127.0.0.1:{agent.port}"
        ray_agent = RayAgent(url, straight(url))
        source = node(dashboard, "n1", ray_agent)
        _, failures = await gathered(tmp_path, source)
        assert [failure.code for failure in failures] == ["cluster-unreachable"]
        begun = (tmp_path / "p.n1.nsys-rep.part").stat().st_size
        assert 0 < begun <= 500_000
        _, failures = await gathered(tmp_path, source)
        await ray_agent.close()
    assert failures == [] and agent.starts == [0, begun]
    assert (tmp_path / "p.n1.nsys-rep").read_bytes() == BIG


async def test_an_agent_that_is_not_there_is_no_loss(tmp_path: Path) -> None:
    async with cluster("n1") as (_, dashboard):
        nobody = RayAgent("http://127.0.0.1:9", straight("http://127.0.0.1:9"))
        _, failures = await gathered(tmp_path, node(dashboard, "n1", nobody))
        await nobody.close()
    assert failures == [] and (tmp_path / "p.n1.nsys-rep").exists()


async def test_another_server_at_the_port_of_the_agent_is_no_loss(tmp_path: Path) -> None:
    async with cluster("n1") as (fake, dashboard), agent_of({}) as agent:
        url = f"http://127.0.0.1:{agent.port}"
        other = RayAgent(url, straight(url))
        _, failures = await gathered(tmp_path, node(dashboard, "n1", other))
        agent.files = dict.fromkeys(fake.files["n1"], b"something else")
        (tmp_path / "p.n1.nsys-rep").unlink()
        _, wrong = await gathered(tmp_path, node(dashboard, "n1", other))
        await other.close()
    assert failures == [] and [failure.code for failure in wrong] == ["bad-report"]
    assert not (tmp_path / "p.n1.nsys-rep").exists()


async def test_a_node_that_dies_takes_only_its_own(tmp_path: Path) -> None:
    async with cluster("n1", "n2") as (fake, dashboard):
        look = await Looking().look([node(dashboard, "n1"), node(dashboard, "n2")])
        fake.gone_nodes = {"n1"}
        made = Gathering(RUN, tmp_path)
        with made.held():
            failures = await made.fetch(look.reports)
        again = await Looking().look([node(dashboard, "n1"), node(dashboard, "n2")])
    assert [failure.code for failure in failures] == ["dashboard-failed"]
    assert set(listed(tmp_path)) == {"p.n2.nsys-rep"}
    assert [(row["source"], row["host"]) for row in all_missing(tmp_path)] == [
        ("p.n1.nsys-rep", "n1")
    ]
    assert [failure.code for failure in again.failures] == ["dashboard-failed"]
    assert [one.entry.node_id for one in again.reports] == ["n2"]


async def test_what_is_here_is_not_fetched_again_also_without_its_list(tmp_path: Path) -> None:
    async with cluster("n1") as (fake, dashboard):
        await gathered(tmp_path, node(dashboard, "n1"))
        (tmp_path / "manifest.json").unlink()
        fake.files["n1"][f"eagleray/{RUN}/p.n1.nsys-rep"] = b"gone by now"
        _, failures = await gathered(tmp_path, node(dashboard, "n1"))
    assert failures == [] and set(listed(tmp_path)) == {"p.n1.nsys-rep"}


async def test_reports_of_one_name_from_two_nodes_are_two(tmp_path: Path) -> None:
    one, two = tmp_path / "a", tmp_path / "b"
    put(one, "p.nsys-rep", b"first", node_id="n1")
    put(two, "p.nsys-rep", b"second", node_id="n2")
    _, failures = await gathered(tmp_path / "here", Folder(one), Folder(two))
    assert failures == []
    assert {name: row["node_id"] for name, row in listed(tmp_path / "here").items()} == {
        "p.nsys-rep": "n1",
        "p.2.nsys-rep": "n2",
    }
    assert (tmp_path / "here" / "p.2.nsys-rep").read_bytes() == b"second"


async def test_a_folder_that_both_see_takes_no_room_twice(tmp_path: Path) -> None:
    put(tmp_path / "there", "p.nsys-rep", BIG)
    await gathered(tmp_path / "here", Folder(tmp_path / "there"))
    here, there = tmp_path / "here/p.nsys-rep", tmp_path / "there/p.nsys-rep"
    assert here.stat().st_ino == there.stat().st_ino


async def test_links_and_pipes_in_a_shared_folder_are_not_followed(tmp_path: Path) -> None:
    there, secret = tmp_path / "there", tmp_path / "secret"
    secret.write_bytes(b"mine")
    put(there, "p.nsys-rep", b"mine")
    (there / "p.nsys-rep").unlink()
    (there / "p.nsys-rep").symlink_to(secret)
    os.mkfifo(there / "q.worker.json")
    (there / "r.worker.json").symlink_to(secret)
    look = await Looking().look([Folder(there)])
    assert (look.failures, look.workers) == ((), ())
    _, failures = await gathered(tmp_path / "here", Folder(there))
    assert [failure.code for failure in failures] == ["report-unreachable"]
    assert f"from {there}: Too many levels of symbolic links." in failures[0].message
    assert not (tmp_path / "here/p.nsys-rep").exists()
    (there / "p.nsys-rep").unlink()
    os.mkfifo(there / "p.nsys-rep")
    _, failures = await gathered(tmp_path / "here", Folder(there))
    assert [failure.code for failure in failures] == ["bad-report"]
    assert not list((tmp_path / "here").glob("p.nsys-rep*"))


async def test_a_report_that_was_removed_here_comes_again_under_its_name(tmp_path: Path) -> None:
    put(tmp_path / "there", "p.nsys-rep", b"one")
    for _ in range(2):
        await gathered(tmp_path / "here", Folder(tmp_path / "there"))
        assert set(listed(tmp_path / "here")) == {"p.nsys-rep"}
        (tmp_path / "here" / "p.nsys-rep").unlink()


@pytest.mark.parametrize("size", [10, 400_000])
async def test_a_node_that_lies_about_a_report_leaves_nothing_here(
    tmp_path: Path, size: int
) -> None:
    async with cluster("n1") as (fake, dashboard):
        lie = described(content(0, size), sha256="0" * 64)
        fake.files["n1"][f"eagleray/{RUN}/p.n1.nsys-rep.json"] = lie
        _, failures = await gathered(tmp_path, node(dashboard, "n1"))
    assert [failure.code for failure in failures] == ["bad-report"]
    assert not (tmp_path / "p.n1.nsys-rep").exists()


async def test_a_full_disk_is_said_and_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = fetching._write_all

    def full(fd: int, data: bytes) -> None:
        write(fd, data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    async with cluster("n1") as (_, dashboard):
        monkeypatch.setattr(fetching, "_write_all", full)
        with pytest.raises(EaglerayError, match="No space left") as raised:
            await gathered(tmp_path, node(dashboard, "n1"))
        assert raised.value.code == "no-room"
        assert [one.name for one in tmp_path.iterdir() if one.suffix not in (".json", "")] == []
        monkeypatch.setattr(fetching, "_write_all", write)
        _, failures = await gathered(tmp_path, node(dashboard, "n1"))
    assert failures == [] and (tmp_path / "p.n1.nsys-rep").exists()


async def test_what_cannot_fit_is_not_begun_and_takes_no_room_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever says that its report is huge, on a disk with room for one of the honest two."""
    async with cluster("n1", "n2", "n3", "n4") as (fake, dashboard):
        for name, size in (("n1", 2**36 + 1), ("n2", 2**62), ("n3", 399_999)):
            lie = described(b"little", size=size, node_id=name, host=name)
            fake.files[name][f"eagleray/{RUN}/p.{name}.nsys-rep.json"] = lie
        nodes = [node(dashboard, name) for name in fake.files]
        small = gathering.shutil.disk_usage(tmp_path)._replace(free=400_000)
        monkeypatch.setattr(gathering.shutil, "disk_usage", lambda path: small)
        made, failures = await gathered(tmp_path, *nodes)
        assert [failure.code for failure in failures] == ["report-left-out"] * 3
        assert set(listed(tmp_path)) == {"p.n4.nsys-rep"} and made.all_bytes == 300_000
        missing = {row["host"]: row["why"] for row in all_missing(tmp_path)}
        assert "no report has more than 68719.5 MB" in missing["n1"]
        assert "4611686018427.4 MB" in missing["n2"]
        assert "it says that it has 0.4 MB, and 0.1 MB are free" in missing["n3"]
        monkeypatch.undo()
        fake.files["n3"][f"eagleray/{RUN}/p.n3.nsys-rep.json"] = described(
            content(2, 300_000), node_id="n3", host="n3"
        )
        await gathered(tmp_path, *nodes)
    assert set(listed(tmp_path)) == {"p.n3.nsys-rep", "p.n4.nsys-rep"}
    assert {row["host"] for row in all_missing(tmp_path)} == {"n1", "n2"}


async def test_a_report_of_the_same_file_system_needs_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "there", "p.nsys-rep", BIG)
    full = gathering.shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(gathering.shutil, "disk_usage", lambda path: full)
    _, failures = await gathered(tmp_path / "here", Folder(tmp_path / "there"))
    assert failures == [] and (tmp_path / "here/p.nsys-rep").exists()


async def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EaglerayError) as raised:
        await gathered(tmp_path / "file" / "run", Folder(tmp_path))
    assert raised.value.code == "no-room"


def test_one_run_is_gathered_by_one_at_a_time(tmp_path: Path) -> None:
    first, second = Gathering(RUN, tmp_path), Gathering(RUN, tmp_path)
    with first.held(), pytest.raises(EaglerayError) as raised, second.held():
        pass
    assert raised.value.code == "being-gathered"
    with Gathering(RUN, tmp_path).held():
        pass


async def test_two_runs_into_one_folder_share_no_report(tmp_path: Path) -> None:
    """`--output DIR` twice: the same worker on the same node, with the same name of its report."""
    here = [output_folder(run, str(tmp_path / "out"), "/elsewhere") for run in ("one", "two")]
    for run, folder in zip(("one", "two"), here, strict=True):
        put(tmp_path / run, "p.nsys-rep", run.encode(), run=run)
        made = Gathering(run, folder)
        with made.held():
            assert await made.fetch((await Looking().look([Folder(tmp_path / run)])).reports) == []
    for run, folder in zip(("one", "two"), here, strict=True):
        assert folder.parent == tmp_path / "out"
        assert (folder / "p.nsys-rep").read_bytes() == run.encode()
        assert [entry.run for entry in Gathering(run, folder).entries] == [run]
        # Whoever is pointed at another run's folder takes nothing of it for its own.
        assert Gathering("three", folder).entries == ()


async def test_a_thousand_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "there"
    for number in range(1000):
        put(there, f"p.n1.{number}.nsys-rep", b"%d" % number)
    written: list[int] = []
    write = gathering.manifest.write
    monkeypatch.setattr(
        gathering.manifest, "write", lambda at, what: (written.append(1), write(at, what))
    )
    _, failures = await gathered(tmp_path / "here", Folder(there))
    assert failures == [] and len(listed(tmp_path / "here")) == 1000
    assert len(written) < 100


class Broken:
    """A source that breaks off after so many bytes, each time it is asked, and may not know parts of a file."""

    name = "n1"

    def __init__(self, report: bytes, cuts: list[int], knows_parts: list[bool]) -> None:
        self._report = report
        self._cuts = cuts
        self._knows_parts = knows_parts

    async def names(self) -> list[str]:
        return []

    async def small(self, name: str) -> bytes:
        return b""

    def file(self, name: str) -> Path | None:
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
def test_however_often_it_breaks_off_the_report_comes_as_it_is(
    size: int, cuts: list[int], knows_parts: list[bool], before: bytes
) -> None:
    asyncio.run(_resumed(content(3, size), cuts, knows_parts, before))


async def _resumed(report: bytes, cuts: list[int], knows_parts: list[bool], before: bytes) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        entry = entry_of("p.nsys-rep", described(report))
        assert entry is not None
        # What is here in part may be of something else.
        (folder / "p.nsys-rep.part").write_bytes(before)
        source = Broken(report, cuts, knows_parts)
        for _ in range(len(cuts) + 2):
            if await _tried(source, entry, folder):
                break
        assert (folder / "p.nsys-rep").read_bytes() == report
        assert not (folder / "p.nsys-rep.part").exists()


async def _tried(source: Source, entry: Entry, folder: Path) -> bool:
    try:
        await fetching.fetch(source, entry, folder, "p.nsys-rep", lambda here: None)
    except EaglerayError:
        return False
    return True
