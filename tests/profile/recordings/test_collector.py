"""The collector of a live run's reports: downloads while they come, waits before the end, gives up in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings import collector
from eagleray.profile.recordings.collector import FindCluster, ReportCollector
from eagleray.profile.recordings.run_sources import RunSources
from eagleray.profile.recordings.scanner import Scanner
from eagleray.profile.recordings.sources import LocalFolder
from eagleray.profile.recordings.store import ReportStore
from eagleray.protocol.adapter_control import OpenedSocket
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import NodeRow

from tests.fakes.agent import agent_of
from tests.fakes.dashboard import FakeDashboard
from tests.profile.recordings.reports import RUN, content, described, put, status

STATUS = "p.n1.7.worker.json"
NAME = "p.n1.7.nsys-rep"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(collector, "WAIT_POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(collector, "UNREACHABLE_LIMIT_S", 0.2)


class Nsys:
    """Takes the question to end a recording, as the debug proxies pass it on; `does` is what comes of it."""

    def __init__(self, does: Callable[[], None] = lambda: None, asked: int = 1) -> None:
        self._does = does
        self._asked = asked
        self.stops = 0

    async def __call__(self, run: str, workers: Sequence[str]) -> int:
        self.stops += 1
        self._does()
        return self._asked


async def open_nothing(routes: list[RouteSpec], host: str, port: int) -> OpenedSocket:
    raise EaglerayError("port-refused", "nobody listens there")


def reports(
    there: Path, here: Path, nsys: Nsys, home: FindCluster = lambda: None, quiet_s: float = 60
) -> ReportCollector:
    sources = RunSources(RUN, there, open_nothing, lambda cluster, ip: [DIRECT])
    return ReportCollector(RUN, ReportStore(RUN, here), sources, home, nsys, quiet_s)


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.01)


async def test_report_is_collected_while_the_run_continues(tmp_path: Path) -> None:
    there = tmp_path / "there"
    made = reports(there, tmp_path / "here", Nsys())
    running = asyncio.create_task(made.run())
    await until(lambda: (tmp_path / "here").exists())
    there.mkdir()
    log_message = "Nsight profiling enabled for worker 'p' (matched pattern '*p*')"
    (there / STATUS).write_bytes(status("recording", said=log_message))
    await until(lambda: made.state.phase == "recording")
    assert made.state.workers[0].said == log_message
    put(there, NAME, b"one")
    (there / STATUS).write_bytes(status("armed", reports=[NAME]))
    await until(lambda: made.state.gathered == 1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await made.close()
    assert made.state.workers[0].reports == (str(tmp_path / "here" / NAME),)
    assert (made.state.expected, made.state.phase) == (1, "idle")


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[LocalFolder]:
    """Grows with each scan of a folder."""
    scanned, names = [], LocalFolder.names

    async def counted(folder: LocalFolder) -> list[str]:
        scanned.append(folder)
        return await names(folder)

    monkeypatch.setattr(LocalFolder, "names", counted)
    return scanned


async def test_finish_waits_until_recorded_reports_are_collected(
    tmp_path: Path, scans: list[LocalFolder]
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / STATUS).write_bytes(status("recording"))
    nsys = Nsys(lambda: (there / STATUS).write_bytes(status("writing")) and None)
    made = reports(there, tmp_path / "here", nsys)
    finishing = asyncio.create_task(made.finish())

    async def is_waited_for() -> bool:
        before = len(scans)
        await until(lambda: len(scans) > before + 2 or finishing.done())
        return not finishing.done()

    await until(lambda: made.state.workers != () and made.state.workers[0].state == "writing")
    # It grows, as nsys writes it, and is none before its description is there.
    (there / NAME).write_bytes(b"")
    assert await is_waited_for()
    put(there, NAME, b"one")
    assert await is_waited_for()
    (there / STATUS).write_bytes(status("armed", reports=[NAME]))
    await finishing
    await made.close()
    assert nsys.stops == 1 and (tmp_path / "here" / NAME).read_bytes() == b"one"


class Late(LocalFolder):
    """A folder in which a report becomes whole while its names have been read and its worker has not."""

    async def names(self) -> list[str]:
        names = await super().names()
        if f"{NAME}.json" not in names:
            put(self._path, NAME, b"one")
            (self._path / STATUS).write_bytes(status("armed", reports=[NAME]))
        return names


@pytest.mark.parametrize("is_started", [False, True])
async def test_report_that_completes_during_a_scan_is_returned_with_its_worker(
    tmp_path: Path, is_started: bool
) -> None:
    (tmp_path / STATUS).write_bytes(status("writing"))
    if is_started:
        (tmp_path / NAME).write_bytes(b"on")
    scan_result = await Scanner().scan([Late(tmp_path)])
    assert [worker.state for worker in scan_result.workers] == ["armed"]
    assert [report.entry.source for report in scan_result.reports] == [NAME]


class Silent(Dashboard):
    """A cluster that never answers."""

    asked = 0

    async def nodes(self) -> list[NodeRow]:
        self.asked += 1
        raise EaglerayError("cluster-unreachable", "nobody answers")


async def test_silent_source_does_not_cost_other_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "UNREACHABLE_LIMIT_S", 0.0)
    there, silent = tmp_path / "there", Silent("http://127.0.0.1:1")
    there.mkdir()
    (there / STATUS).write_bytes(status("writing"))
    made = reports(there, tmp_path / "here", Nsys(), lambda: ("c", silent))
    finishing = asyncio.create_task(made.finish())
    await until(lambda: silent.asked > 9 or finishing.done())
    assert not finishing.done()
    put(there, NAME, b"one")
    (there / STATUS).write_bytes(status("armed", reports=[NAME]))
    await finishing
    await made.close()
    await silent.close()
    assert (tmp_path / "here" / NAME).read_bytes() == b"one"


async def test_collect_rest_waits_for_reports_of_an_ended_run(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / STATUS).write_bytes(status("writing"))
    made = reports(there, tmp_path / "here", Nsys())
    rest = asyncio.create_task(made.collect_rest())
    await until(lambda: made.state.phase == "gathering" and made.state.workers != ())
    put(there, NAME, b"one")
    (there / STATUS).write_bytes(status("ended", reports=[NAME]))
    await rest
    await made.close()
    assert (made.state.phase, made.state.gathered) == ("gathered", 1)


async def test_silent_worker_is_given_up_after_the_limit(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / STATUS).write_bytes(status("writing"))
    made = reports(there, tmp_path / "here", Nsys(), quiet_s=0.05)
    await made.collect_rest()
    await made.close()
    assert made.state.gathered == 0


async def test_report_without_room_is_shown_and_not_awaited(tmp_path: Path) -> None:
    there = tmp_path / "there"
    put(there, NAME, b"one")
    (there / f"{NAME}.json").write_bytes(described(b"one", size=2**50))
    put(there, "q.nsys-rep", b"two")
    (there / STATUS).write_bytes(status("ended", reports=[NAME, "q.nsys-rep"]))
    made = reports(there, tmp_path / "here", Nsys())
    await made.collect_rest()
    await made.close()
    assert (made.state.phase, made.state.gathered, made.state.expected) == ("gathered", 1, 2)
    assert "Skipped p.n1.7.nsys-rep" in made.state.sentence


async def test_finish_returns_at_once_if_no_worker_records(tmp_path: Path) -> None:
    made = reports(tmp_path / "there", tmp_path / "here", Nsys(asked=0))
    await made.finish()
    await made.close()
    assert (made.state.phase, made.state.workers) == ("gathered", ())


async def test_node_without_nsys_is_named(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    problem = "nsys was not found on n1; the worker runs without it."
    (there / STATUS).write_bytes(status("missing", problem=problem))
    made = reports(there, tmp_path / "here", Nsys(asked=0))
    await made.collect_rest()
    await made.close()
    assert [(worker.state, worker.problem) for worker in made.state.workers] == [
        ("missing", problem)
    ]


async def test_run_that_another_process_collects_is_refused(tmp_path: Path) -> None:
    made = reports(tmp_path / "there", tmp_path / "here", Nsys())
    with ReportStore(RUN, tmp_path / "here").locked(), pytest.raises(EaglerayError) as raised:
        await made.collect()
    await made.close()
    assert raised.value.code == "being-gathered"
    assert made.state.phase == "failed" and "Another process" in made.state.sentence


async def test_agent_gets_requests_on_the_port_of_its_node(tmp_path: Path) -> None:
    fake = FakeDashboard()
    await fake.start()
    node_id = next(row["node_id"] for row in fake.rows["nodes"] if row["state"] == "ALIVE")
    for row in fake.rows["nodes"]:
        row["node_ip"] = "127.0.0.1"
    report = content(5, 50_000)
    folder = f"eagleray/{RUN}/"
    fake.files[node_id] = {folder + NAME: report, folder + NAME + ".json": described(report)}
    dashboard = Dashboard(fake.address)
    try:
        async with agent_of(fake.files[node_id]) as agent:
            worker_status = status("ended", node_id=node_id, agent_port=agent.port, reports=[NAME])
            fake.files[node_id][folder + STATUS] = worker_status
            made = reports(tmp_path / "there", tmp_path / "here", Nsys(), lambda: ("c", dashboard))
            await made.collect()
            assert agent.starts == [0]
            # The cluster ends; what was seen of it stays.
            fake.fault = "error_500"
            await made.collect_rest()
            await made.close()
    finally:
        await dashboard.close()
        await fake.stop()
    assert (tmp_path / "here" / NAME).read_bytes() == report
    assert made.state.gathered == made.state.expected == len(made.state.workers) == 1


async def test_agent_at_an_invalid_host_gets_no_request(tmp_path: Path) -> None:
    """A hostile dashboard could name any address in place of its node's."""
    fake = FakeDashboard()
    await fake.start()
    node_id = next(row["node_id"] for row in fake.rows["nodes"] if row["state"] == "ALIVE")
    report = content(5, 50_000)
    folder = f"eagleray/{RUN}/"
    fake.files[node_id] = {folder + NAME: report, folder + NAME + ".json": described(report)}
    dashboard = Dashboard(fake.address)
    try:
        async with agent_of(fake.files[node_id]) as agent:
            for row in fake.rows["nodes"]:
                row["node_ip"] = f"x@127.0.0.1:{agent.port}/?"
            worker_status = status("ended", node_id=node_id, agent_port=agent.port, reports=[NAME])
            fake.files[node_id][folder + STATUS] = worker_status
            made = reports(tmp_path / "there", tmp_path / "here", Nsys(), lambda: ("c", dashboard))
            await made.collect()
            await made.close()
            assert agent.starts == []
    finally:
        await dashboard.close()
        await fake.stop()
    assert (tmp_path / "here" / NAME).read_bytes() == report
