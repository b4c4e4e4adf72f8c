"""Waves of the editor: each belongs to a page, which follows it, cancels it, and gets what there is."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from attrs import frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.common.paths import home, private_folder
from eagleray.rollouts.agents import agents
from eagleray.rollouts.agents.answers import unobserved_text
from eagleray.rollouts.agents.data_items import DataChoice
from eagleray.rollouts.agents.left_tasks import left_tasks_text
from eagleray.rollouts.agents.lost_server import no_answer
from eagleray.rollouts.agents.model import (
    AgentOutcome,
    AgentPlan,
    AgentRun,
    AgentSetup,
    ContractRule,
    Observed,
    WaveProgress,
    WaveVerdict,
)
from eagleray.rollouts.agents.statistics import wave_statistics
from eagleray.rollouts.agents.uncounted_tokens import uncounted_text
from eagleray.rollouts.agents.verdicts import verdicts
from eagleray.rollouts.servers.environment import NO_KEY
from eagleray.rollouts.servers.errors import server_not_ready
from eagleray.rollouts.servers.servers import Servers
from eagleray.wire.records import fields_in

FOLDER = "waves"
MOST_TRACES = 20
MOST_ROWS = 200
_LONGEST_TEXT = 300
_NAME = re.compile(r"[0-9a-f-]{8,40}")

OnProgress = Callable[[WaveProgress], None]


@frozen(kw_only=True)
class WaveRequest(AgentSetup):
    """A wave of a page, which gives it a name of its own; `timeout_s` is 0 for none, `server` a name or URL."""

    wave: str
    data: str
    server: str
    groups: int
    group_size: int
    timeout_s: float = 600.0


@frozen(kw_only=True)
class WaveRun(AgentOutcome):
    """A run of a wave in a row; `path:line` is where it failed or was late."""

    problem: str
    path: str
    line: int


@frozen
class WaveReport:
    """The end of a wave: `runs` are those that failed, then the slowest.

    `ending` says why it ended early, that the server didn't answer, or that tokens aren't counted, "" if none of these.
    `trace` is the file with all runs.
    """

    progress: WaveProgress
    verdicts: tuple[WaveVerdict, ...]
    contract: tuple[ContractRule, ...]
    runs: tuple[WaveRun, ...]
    ending: str
    problem: str
    is_cancelled: bool
    trace: str


class EditorWaves:
    """The waves that run, by their names."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._stops: dict[str, asyncio.Event] = {}

    def cancel(self, wave: str) -> None:
        """Ends a wave, whose request is then answered; does nothing for one that is over."""
        if stop := self._stops.get(wave):
            stop.set()

    async def run(self, request: WaveRequest, on_progress: OnProgress) -> WaveReport:
        """Returns when the wave is over; a cancelled call leaves nothing behind."""
        if not _NAME.fullmatch(request.wave):
            raise ValueError("the name of a wave is also that of a file")
        stop = self._stops.setdefault(request.wave, asyncio.Event())
        try:
            server = await self._servers.resolve(request.server)
            if not server.url:
                raise server_not_ready(server.name, server.reason)
            plan = await agents.with_items(
                AgentPlan(
                    **fields_in(request, AgentSetup),
                    base_url=server.url,
                    api_key=server.api_key or NO_KEY,
                    groups=request.groups,
                    group_size=request.group_size,
                    timeout_s=request.timeout_s or None,
                ),
                DataChoice(Path(request.data)),
            )
            trace = await off_loop(partial(_trace_file, request.wave))
            observed = await agents.observe(plan, stop, _drop, on_progress, trace)
        finally:
            self._stops.pop(request.wave, None)
        return report_of(observed, str(trace))


def report_of(observed: Observed, trace: str) -> WaveReport:
    load_error = observed.load_error
    return WaveReport(
        progress=progress_of(observed),
        verdicts=verdicts(observed),
        contract=observed.contract,
        runs=tuple(_row(run) for run in worst_runs(observed.runs)),
        ending=" ".join(
            filter(
                None,
                (
                    observed.ending or no_answer(observed),
                    uncounted_text(observed),
                    unobserved_text(observed),
                    left_tasks_text(observed),
                ),
            )
        ),
        problem=printable(load_error.traceback, 4000) if load_error else "",
        is_cancelled=observed.is_interrupted,
        trace=trace,
    )


def progress_of(observed: Observed) -> WaveProgress:
    """The last progress, of all runs that were observed."""
    figures = wave_statistics(observed)
    return WaveProgress(
        runs=observed.plan.runs,
        done=figures.done,
        failed=figures.failed,
        totals=observed.totals,
        latency_ms=figures.latency,
        rewards=figures.rewards,
    )


def worst_runs(runs: tuple[AgentRun, ...]) -> list[AgentRun]:
    """Returns the runs that failed, then the slowest."""
    failed = [run for run in runs if run.outcome != "done"]
    done = [run for run in runs if run.outcome == "done"]
    done.sort(key=lambda run: -run.seconds)
    return [*failed, *done][:MOST_ROWS]


def _row(run: AgentRun) -> WaveRun:
    path, line = (run.error.file, run.error.line) if run.error else ("", 0)
    if run.place is not None:
        path, line = run.place.file, run.place.line
    return WaveRun(**fields_in(run, AgentOutcome), problem=_problem(run), path=path, line=line)


def _problem(run: AgentRun) -> str:
    if run.error is not None:
        return printable(f"{run.error.type}: {run.error.message}", _LONGEST_TEXT)
    return printable(" ".join(rule.text for rule in run.broken), _LONGEST_TEXT)


def _trace_file(wave: str) -> Path:
    """A new file in place of old ones; its folder is private."""
    folder = private_folder(home() / FOLDER)
    files = sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in files[MOST_TRACES - 1 :]:
        with contextlib.suppress(OSError):
            old.unlink()
    return folder / f"{wave}.jsonl"


def _drop(output: bytes) -> None:
    """Drops the output of a wave's agents, which no view shows."""
