"""Registers runs with the adapter and gets the status of their workers, in the records of this feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from eagleray.adapter_client.client import AdapterClient
from eagleray.common.errors import printable
from eagleray.protocol.route_spec import RouteSpec
from eagleray.protocol.runs import (
    AdapterRunState,
    Breakpoint,
    LineState,
    RunRecording,
    RunRegister,
    RunWorkerAt,
    RunWorkerState,
)
from eagleray.runs.model import BreakpointStatus, RunPlan, RunWorkerPhase, RunWorkerStatus
from eagleray.runs.records import RunRecord
from eagleray.runs.run_discovery import Home, ProxyAddress


@frozen
class AdapterRunStatus:
    """The adapter's part of a run's state; `problems` are sentences, each once; `cluster` "" is not known."""

    workers: tuple[RunWorkerStatus, ...] = ()
    lines: tuple[BreakpointStatus, ...] = ()
    problems: tuple[str, ...] = ()
    cluster: str = ""


class AdapterRunGateway:
    """Sends requests through the client of the adapter."""

    def __init__(self, adapters: AdapterClient) -> None:
        self._adapters = adapters

    async def register(self, record: RunRecord, plan: RunPlan, home: Home | None) -> None:
        """Registers a run, or its new cluster and breakpoints."""
        await self._adapters.runs.register(
            RunRegister(
                run=record.id,
                secret=record.secret(),
                session=home.session if home else "",
                cluster=home.cluster if home else "",
                name=plan.name,
                breakpoints=list(plan.breakpoints),
                post_mortem=plan.post_mortem,
                children=plan.children,
            )
        )

    async def worker(self, run: str, proxy: ProxyAddress, routes: list[RouteSpec]) -> None:
        await self._adapters.runs.add_worker(RunWorkerAt(run, proxy.host, proxy.port, routes))

    async def status(self, run: str) -> AdapterRunStatus | None:
        """Requests the status of a run; None if no adapter has the run."""
        states = await self._adapters.runs.states()
        return next((_status(state) for state in states if state.run == run), None)

    def reported(self) -> dict[str, AdapterRunStatus]:
        """The runs of all adapters that live, as their last events reported them; call it on the loop.

        Empty unless `on_change` has a listener, and for runs of other machines.
        """
        # With several adapters the first one counts, as in `status`.
        return {state.run: _status(state) for state in reversed(self._adapters.runs.last_states())}

    async def end(self, run: str) -> None:
        await self._adapters.runs.end(run)

    async def breakpoints(self, run: str, breakpoints: Sequence[Breakpoint]) -> None:
        await self._adapters.runs.set_breakpoints(run, list(breakpoints))

    async def pause(self, run: str, worker_id: str) -> None:
        await self._adapters.runs.pause(run, worker_id)

    async def record(self, run: str, workers: Sequence[str], seconds: float) -> int:
        """How many workers were asked to begin a recording, for so many seconds unless that is 0."""
        return await self._adapters.runs.set_recording(
            RunRecording(run, "record", list(workers), seconds)
        )

    async def stop_recording(self, run: str, workers: Sequence[str]) -> int:
        """How many workers were asked to end their recording."""
        return await self._adapters.runs.set_recording(
            RunRecording(run, "stop_recording", list(workers))
        )

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` after an adapter's event about its runs, and after the end of an adapter that had some."""
        return self._adapters.runs.listen(lambda _: listener())

    def on_output(self, run: str, listener: Callable[[str], None]) -> Callable[[], None]:
        """Calls `listener` with what log points of the run say."""

        def hear(of: str, worker_id: str, text: str) -> None:
            if of == run:
                listener(text)

        return self._adapters.runs.listen_output(hear)


def _status(state: AdapterRunState) -> AdapterRunStatus:
    problems = dict.fromkeys(
        printable(worker.problem, 400) for worker in state.workers if worker.problem
    )
    return AdapterRunStatus(
        tuple(map(_worker, state.workers)),
        tuple(map(_line, state.lines)),
        tuple(problems),
        state.cluster,
    )


def _worker(worker: RunWorkerState) -> RunWorkerStatus:
    stop = worker.stop
    return RunWorkerStatus(
        worker_id=worker.worker_id,
        pid=worker.pid,
        kind=worker.kind,
        name=printable(worker.name, 200),
        state=worker_phase(worker),
        files=tuple(worker.files),
        rank=worker.rank,
        path=stop.path if stop else "",
        line=stop.shown_line if stop else 0,
        python=printable(worker.python, 20),
        stop=stop.number if stop else 0,
    )


def worker_phase(worker: RunWorkerState) -> RunWorkerPhase:
    """The state of a worker in the words for users."""
    if worker.state != "stopped":
        return "starting" if worker.state == "waiting" else "running"
    if worker.editor:
        return "debugging"
    return "held" if worker.taken else "paused"


def _line(line: LineState) -> BreakpointStatus:
    return BreakpointStatus(
        line.path,
        line.line,
        line.state,
        line.moved_to,
        len(line.workers),
        printable(line.message, 400),
    )
