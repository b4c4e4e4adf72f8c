"""Answers the requests of the feature `rollouts`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.rollouts import messages
from eagleray.rollouts.agents import agents, debug_runs, pasted_items
from eagleray.rollouts.agents.agent_classes import agent_classes
from eagleray.rollouts.agents.debug_runs import DebugAgent
from eagleray.rollouts.agents.editor_waves import EditorWaves, WaveReport, WaveRequest
from eagleray.rollouts.agents.errors import agents_not_trusted
from eagleray.rollouts.agents.model import WaveProgress
from eagleray.rollouts.batches import batches
from eagleray.rollouts.batches.errors import (
    NeedsUnpickleError,
    bad_training_command,
    untrusted_batch,
)
from eagleray.rollouts.batches.findings import findings
from eagleray.rollouts.batches.model import WrittenBatch
from eagleray.rollouts.batches.replay import areal_script, write_script
from eagleray.rollouts.batches.verl_replay import verl_command
from eagleray.rollouts.comparing import comparison_files
from eagleray.rollouts.comparing.comparison_run import ComparisonRequest, compare_named
from eagleray.rollouts.comparing.engines.wave_prompts import listed_server
from eagleray.rollouts.comparing.errors import untrusted_model
from eagleray.rollouts.comparing.page_record import ShownComparison, shown
from eagleray.rollouts.comparing.targets import names_model
from eagleray.rollouts.servers.servers import Servers
from eagleray.rollouts.trajectories.rows import PAGE_LIMITS
from eagleray.rollouts.trajectories.trajectories import Trajectories
from eagleray.runs.runs import Runs

if TYPE_CHECKING:
    from eagleray.wire.requests import ReportProgress, RequestServer

# The first items of a file, from which the user selects.
MOST_ITEMS = 200
_LONGEST_ITEM = 300


def register(
    server: RequestServer,
    trajectories: Trajectories,
    runs: Runs,
    servers: Servers,
    *,
    trusted: bool,
) -> None:
    """Answers the requests of this feature; `trusted`: the user trusts the workspace."""
    register_agents(server, runs, servers, trusted=trusted)
    comparing = ComparisonHandlers(servers, trusted=trusted)
    server.on_request(messages.COMPARE, comparing.compare)
    server.on_request(messages.SAVE_COMPARISON, comparing.save)
    server.on_request(messages.COMPARISON_MARKDOWN, comparing.markdown)
    saved = BatchHandlers(servers, trusted=trusted)
    server.on_request(messages.BATCH, saved.summary)
    server.on_request(messages.SAVE_BATCH, saved.save)
    server.on_request(messages.REPLAY, saved.replay)
    server.on_request(messages.PAGE, trajectories.page)
    server.on_request(messages.ITEM, lambda it: trajectories.item(it.path, it.item, PAGE_LIMITS))
    server.on_request(
        messages.GROUP, lambda it, report: trajectories.group(it.path, it.item, report)
    )
    server.on_request(
        messages.STATISTICS, lambda dump, report: trajectories.statistics(dump.path, report)
    )


def register_agents(server: RequestServer, runs: Runs, servers: Servers, *, trusted: bool) -> None:
    """An untrusted workspace runs no agent."""

    def on_wave(wave: str, progress: WaveProgress) -> None:
        server.notify(messages.WAVE_CHANGED, messages.WaveChange(wave, progress))

    running = AgentHandlers(runs, EditorWaves(servers), on_wave, trusted)
    server.on_request(messages.AGENTS, running.agents)
    server.on_request(messages.ITEMS, running.items)
    server.on_request(messages.STORE_ITEM, running.store_item)
    server.on_request(messages.DEBUG_AGENT, running.debug)
    server.on_request(messages.WAVE, running.wave)
    server.on_request(messages.CANCEL_WAVE, running.cancel_wave)


class ComparisonHandlers:
    """Compares engines."""

    def __init__(self, servers: Servers, *, trusted: bool) -> None:
        self._servers = servers
        self._trusted = trusted

    async def compare(self, request: ComparisonRequest, report: ReportProgress) -> ShownComparison:
        if not self._trusted and any(map(names_model, (request.a, request.b))):
            raise untrusted_model()

        def on_progress(doing: str, done: int, total: int) -> None:
            is_counted = done > 0 or total > 1
            report(f"{doing}: {done}/{total}" if is_counted else doing, None)

        compared = await compare_named(self._servers, request, on_progress)
        return shown(compared, await off_loop(partial(comparison_files.store, compared)))

    async def save(self, request: messages.ComparisonToSave) -> None:
        await off_loop(partial(comparison_files.save, request.stored, Path(request.path)))

    async def markdown(self, request: messages.ComparisonName) -> messages.ComparisonText:
        return messages.ComparisonText(
            await off_loop(partial(comparison_files.stored_markdown, request.stored))
        )


class BatchHandlers:
    """One method per request about saved batches; only a trusted workspace names the Python that reads them."""

    def __init__(self, servers: Servers, *, trusted: bool) -> None:
        self._servers = servers
        self._trusted = trusted
        # The names that a question to the user had, by file.
        self._announced: dict[str, Sequence[str]] = {}

    async def summary(self, request: messages.BatchFile) -> messages.DescribedBatch:
        self._check()
        agreed = self._announced.pop(request.path, ()) if request.unpickle else ()
        try:
            summary = await batches.summary(request.path, request.python, agreed)
        except NeedsUnpickleError as error:
            if error.code == "needs-unpickle":
                self._announced[request.path] = error.names
            raise
        return messages.DescribedBatch(summary, findings(summary))

    async def save(self, request: messages.DumpToSave) -> WrittenBatch:
        self._check()
        address_of = listed_server(self._servers, "")
        return await batches.save(request.path, request.batch, request.python, address_of)

    async def replay(self, request: messages.ReplayRequest) -> messages.ReplayCommand:
        if request.framework == "verl":
            try:
                command = shlex.split(request.command)
            except ValueError as error:
                raise bad_training_command(str(error)) from error
            now = datetime.now().astimezone()
            argv = await off_loop(
                partial(verl_command, request.batch, command, request.cwd or str(Path.home()), now)
            )
            return messages.ReplayCommand("", list(argv))
        written = areal_script(
            request.batch, request.script, request.config, 1, unpickle=request.unpickle
        )
        await off_loop(partial(write_script, request.script, written.text, replace=request.replace))
        return messages.ReplayCommand(request.script, list(written.argv))

    def _check(self) -> None:
        if not self._trusted:
            raise untrusted_batch()


class AgentHandlers:
    """One method per request about agents."""

    def __init__(
        self,
        runs: Runs,
        waves: EditorWaves,
        on_wave: Callable[[str, WaveProgress], None],
        trusted: bool,
    ) -> None:
        self._runs = runs
        self._waves = waves
        self._on_wave = on_wave
        self._trusted = trusted

    async def agents(self, file: messages.ProgramText) -> messages.AgentClasses:
        return messages.AgentClasses(await off_loop(partial(agent_classes, file.text)))

    async def items(self, file: messages.DataFile) -> messages.ItemRows:
        """A Parquet file is read by the user's interpreter."""
        self._require_trust()
        items = await agents.data_rows(file.path, file.cwd, file.python, MOST_ITEMS)
        return messages.ItemRows(
            tuple(messages.ItemRow(item.number, _beginning(item.data)) for item in items)
        )

    async def store_item(self, given: messages.GivenItem) -> messages.StoredItem:
        file = await off_loop(partial(pasted_items.store, given.text))
        return messages.StoredItem(str(file))

    async def debug(self, request: DebugAgent) -> messages.StartedAgent:
        self._require_trust()
        return messages.StartedAgent(await debug_runs.start(self._runs, request))

    async def wave(self, request: WaveRequest) -> WaveReport:
        self._require_trust()
        return await self._waves.run(request, partial(self._on_wave, request.wave))

    async def cancel_wave(self, request: messages.WaveName) -> None:
        self._waves.cancel(request.wave)

    def _require_trust(self) -> None:
        if not self._trusted:
            raise agents_not_trusted()


def _beginning(data: object) -> str:
    return printable(json.dumps(data, ensure_ascii=False), _LONGEST_ITEM)
