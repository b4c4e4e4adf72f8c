"""Watching over a run, with a table and an adapter that are faked: who is handed over, and what is said at the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from attrs import define, evolve, field
from eagleray.common.errors import EaglerayError
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.ray.errors import unknown_cluster
from eagleray.ray.rows import WorkerRow
from eagleray.runs.adapter_gateway import AdapterRunStatus
from eagleray.runs.model import BreakpointStatus, RunPlan, RunState, RunWorkerStatus
from eagleray.runs.records import RunRecord, RunRecords
from eagleray.runs.run_discovery import Home, ProxyAddress, Trouble
from eagleray.supervisor.launchers.launcher import ProgramEnd
from eagleray.supervisor.nsight_refusal import NsightRefusal, nsight_refusal
from eagleray.supervisor.run_watch import RunWatch

PLAN = RunPlan(
    kind="program",
    argv=("python", "x.py"),
    cwd="/w",
    name="x.py",
    breakpoints=(Breakpoint("/w/lib.py", [LineBreakpoint(3)]),),
)
ROW = WorkerRow("w1", "worker", "n", "10.0.0.1", 7, 4000, 0, 20_000)
WORKER = RunWorkerStatus("w1", 7, "worker", "policy", "paused", ("/w/lib.py",))
THROUGH = RouteSpec(ssh="login")


@define
class FakeAdapter:
    """Knows a run once it is registered; `refuses` are the ports behind which no debug proxy of the run is."""

    refuses: dict[int, str] = field(factory=dict)
    registered: list[str] = field(factory=list)
    handed: list[tuple[int, RouteSpec]] = field(factory=list)
    is_registered: bool = False
    reported: AdapterRunStatus = field(factory=AdapterRunStatus)
    looked: asyncio.Event = field(factory=asyncio.Event)
    ended: bool = False

    async def register(self, record: RunRecord, plan: RunPlan, home: Home | None) -> None:
        self.is_registered = True
        self.registered.append(home.cluster if home else "")

    async def worker(self, run: str, proxy: ProxyAddress, routes: list[RouteSpec]) -> None:
        self.handed.append((proxy.port, routes[0]))
        if code := self.refuses.get(proxy.port):
            raise EaglerayError(code, "no")

    async def status(self, run: str) -> AdapterRunStatus | None:
        self.looked.set()
        return self.reported if self.is_registered else None

    async def end(self, run: str) -> None:
        self.ended = True

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    def on_output(self, run: str, listener: Callable[[str], None]) -> Callable[[], None]:
        return lambda: None


@define(eq=False)
class FakeTable:
    """A dashboard, and the cluster that has it."""

    rows: list[WorkerRow] = field(factory=list)
    resolved: Home | None = None
    is_expected: bool = False
    problem: Trouble = ""
    is_gone: bool = False
    is_doubted: bool = False

    async def all_workers(self) -> list[WorkerRow]:
        if self.is_gone:
            raise unknown_cluster("http://c:8265")
        return self.rows

    def doubt(self) -> None:
        self.is_doubted = True

    async def find(self, state: RunState) -> Home | None:
        return self.resolved

    def appears(self) -> None:
        self.resolved = Home("http://c:8265", "session", self)


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return RunRecords(tmp_path).create(PLAN, RunState("running", 10.0))


def watching(record: RunRecord, table: FakeTable, adapter: FakeAdapter) -> RunWatch:
    through = lambda cluster, host: [THROUGH]  # noqa: E731
    return RunWatch(record, PLAN, table, adapter, through, lambda text: None)


@asynccontextmanager
async def looking(
    watching: RunWatch, adapter: FakeAdapter
) -> AsyncIterator[Callable[[int], object]]:
    """While it looks; what is given waits for a number of looks from now on."""
    task = asyncio.create_task(watching.run())

    async def polls(count: int) -> None:
        for _ in range(count):
            adapter.looked.clear()
            await asyncio.wait_for(adapter.looked.wait(), 30)

    try:
        yield polls
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await watching.close()


async def test_each_debug_proxy_is_attached_once_by_its_route(record: RunRecord) -> None:
    adapter, table = FakeAdapter(), FakeTable()
    (record.folder / "proxy-9.json").write_text(json.dumps({"host": "127.0.0.1", "port": 5}))
    (record.folder / "proxy-8.json").write_text("half of a")
    async with looking(watching(record, table, adapter), adapter) as polls:
        await polls(2)
        table.rows = [ROW, evolve(ROW, worker_id="w2", debug_port=0)]
        table.appears()
        await polls(3)
    assert adapter.handed == [(5, DIRECT), (4000, THROUGH)]
    assert adapter.registered == ["", "http://c:8265"]
    assert adapter.ended


async def test_strangers_are_tried_once_and_the_unreachable_ever_more_rarely(
    record: RunRecord,
) -> None:
    refuses = {4000: "not-a-gate", 4001: "gate-refused", 4002: "port-refused"}
    adapter, table = FakeAdapter(refuses), FakeTable()
    table.rows = [evolve(ROW, worker_id=str(port), debug_port=port) for port in refuses]
    table.appears()
    async with looking(watching(record, table, adapter), adapter) as polls:
        await polls(9)
    tried = [port for port, _ in adapter.handed]
    assert [tried.count(port) for port in refuses] == [1, 1, 3]


async def test_run_of_another_version_has_a_note(record: RunRecord) -> None:
    adapter, table = FakeAdapter({4000: "gate-of-another-version"}), FakeTable([ROW])
    table.appears()
    watch = watching(record, table, adapter)
    async with looking(watch, adapter) as polls:
        await polls(5)
    assert [port for port, _ in adapter.handed] == [4000]
    assert watch.update(record.state()).note == "no"


async def test_new_adapter_gets_everything_again(record: RunRecord) -> None:
    adapter, table = FakeAdapter(), FakeTable([ROW])
    table.appears()
    async with looking(watching(record, table, adapter), adapter) as polls:
        await polls(2)
        adapter.is_registered = False
        await polls(3)
    assert [port for port, _ in adapter.handed] == [4000, 4000]
    assert len(adapter.registered) == 2


async def test_processes_are_found_and_followed_while_the_cluster_is_gone(
    record: RunRecord,
) -> None:
    """A program whose Ray has ended may continue, or another one of the same script may begin."""
    adapter, table = FakeAdapter(), FakeTable(is_gone=True)
    table.appears()
    watch = watching(record, table, adapter)
    async with looking(watch, adapter) as polls:
        await polls(1)
        adapter.reported = AdapterRunStatus((WORKER,))
        (record.folder / "proxy-9.json").write_text(json.dumps({"host": "127.0.0.1", "port": 5}))
        await polls(3)
    assert adapter.handed == [(5, DIRECT)] and table.is_doubted
    assert watch.update(record.state()).workers == (WORKER,)


async def test_run_without_its_current_cluster_says_so_until_it_is_found(
    record: RunRecord,
) -> None:
    table = FakeTable(problem="lost")
    watch = watching(record, table, FakeAdapter(is_registered=True))
    state = watch.update(evolve(record.state(), cluster="http://first:8265", session="s1"))
    assert (state.cluster, state.session) == ("", "")
    assert state.note == (
        "The program has another Ray cluster now, whose dashboard doesn't answer."
        " No worker pauses there."
    )
    assert watch.end_note(ProgramEnd(0)) == state.note
    table.appears()
    table.problem = "several"
    state = watch.update(state)
    assert (state.cluster, state.note) == (
        "http://c:8265",
        "The program uses several Ray clusters. Workers pause only in http://c:8265.",
    )
    table.problem = ""
    assert watch.update(state).note == ""


async def test_note_of_the_supervisor_outlasts_the_notes_of_the_watch(record: RunRecord) -> None:
    table = FakeTable(problem="lost")
    watch = watching(record, table, FakeAdapter(is_registered=True))
    state = watch.update(record.state())
    lost = state.note
    assert lost
    for _ in range(2):
        state = watch.update(evolve(state, note="no space left"))
        assert state.note == "no space left"
    # As when the user stops it.
    state = watch.update(evolve(state, note=""))
    assert state.note == lost
    table.problem = ""
    assert watch.update(state).note == ""


async def test_note_of_the_supervisor_outlasts_the_note_of_another_version(
    record: RunRecord,
) -> None:
    adapter, table = FakeAdapter({4000: "gate-of-another-version"}), FakeTable([ROW])
    table.appears()
    watch = watching(record, table, adapter)
    async with looking(watch, adapter) as polls:
        await polls(5)
    state = watch.update(evolve(record.state(), note="no space left"))
    assert state.note == "no space left"
    assert watch.update(evolve(state, note="")).note == "no"


RUNNING = (evolve(WORKER, state="running"),)
NOT_LOADED = (
    "No process that may pause was seen to import /w/lib.py."
    " Files that a tool reads and runs itself may not stop."
)
NOTES = [
    # A program without Ray has no cluster to be found.
    ((), "pending", False, NOT_LOADED),
    ((), "verified", False, "It ended before a process paused."),
    ((), "pending", True, "No worker could pause: no dashboard of the program's Ray has answered."),
    (RUNNING, "pending", True, NOT_LOADED),
    (RUNNING, "verified", True, "It ended before a process paused."),
    ((WORKER,), "verified", True, ""),
]


@pytest.mark.parametrize(("workers", "line", "uses_ray", "note"), NOTES)
async def test_note_at_the_end_says_why_nothing_stopped(
    record: RunRecord,
    workers: tuple[RunWorkerStatus, ...],
    line: str,
    uses_ray: bool,
    note: str,
) -> None:
    lines = (BreakpointStatus("/w/lib.py", 3, line),)
    adapter = FakeAdapter(is_registered=True, reported=AdapterRunStatus(workers, lines))
    watch = watching(record, FakeTable(is_expected=uses_ray), adapter)
    await watch.last_poll()
    assert watch.end_note(ProgramEnd(0)) == note


async def test_note_names_the_selection_that_a_program_is_not_in(record: RunRecord) -> None:
    lines = (BreakpointStatus("/w/lib.py", 3, "pending"),)
    adapter = FakeAdapter(is_registered=True, reported=AdapterRunStatus((), lines))
    plan = evolve(PLAN, ranks=(1,))
    watch = RunWatch(record, plan, FakeTable(), adapter, lambda *_: [THROUGH], lambda text: None)
    await watch.last_poll()
    assert watch.end_note(ProgramEnd(0)) == (
        f"{NOT_LOADED} Only the selected workers and ranks may pause."
    )


BY_NSIGHT = [
    ("nsight-bad-option", "on node 192.0.2.2", "Ray couldn't start a worker with nsys"),
    ("nsight-missing", "on node 192.0.2.2", "Ray found no nsys"),
    ("nsight-unknown", "on node 192.0.2.2", "Ray couldn't start a worker with nsys"),
]


@pytest.mark.parametrize(("recorded", "where", "why"), BY_NSIGHT)
async def test_failure_of_rays_own_nsys_becomes_a_note(
    record: RunRecord, recorded: str, where: str, why: str
) -> None:
    """As Ray 2.60 prints it: behind a page of tracebacks, as Python writes bytes, with help behind it."""
    printed = (Path(__file__).parent / "recorded" / f"{recorded}.txt").read_bytes()
    record.output.write_bytes(b"step 1\n" * 100_000 + printed)
    watch = watching(record, FakeTable(), FakeAdapter(is_registered=True))
    note = watch.end_note(ProgramEnd(1))
    assert note.startswith(f"{why} {where}. Remove `nsight`")
    assert "nsys" not in watch.end_note(ProgramEnd(0))


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        (b"an error of the program's own about nsight profile", None),
        (b"b'cut off \\nusage: nsys", "cut off"),
        (b"b''", "nsys doesn't say why"),
        (b"b'\\x1b[1mred\\xff'", " [1mred\ufffd".strip()),
        (b"not installed \xff\x1b[1m here", "not installed \ufffd [1m here"),
    ],
)
def test_other_output_is_not_a_refusal(tmp_path: Path, printed: bytes, why: str | None) -> None:
    output = tmp_path / "output.log"
    assert nsight_refusal(output) is None
    mark = b"nsight profile failed to run with the following error message:\n "
    output.write_bytes((b"" if why is None else mark) + printed)
    assert nsight_refusal(output) == (None if why is None else NsightRefusal("", why))
