"""Opens inspections: a conversation with a process, and a socket that shows it as a paused debug session."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from eagleray.common import private_socket, tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t
from eagleray.common.paths import run_folder
from eagleray.common.worker_errors import no_such_worker
from eagleray.debug.source_mapping.source_mapping import SourceMapping
from eagleray.observe.look_inside.cluster_processes import ClusterProcesses
from eagleray.observe.look_inside.conversations import InspectedProcess, local_process
from eagleray.observe.look_inside.errors import not_inspected, process_elsewhere
from eagleray.observe.look_inside.model import InspectionTarget, OpenedInspection
from eagleray.observe.look_inside.virtual_stop import VirtualStop
from eagleray.ray.dashboard import Dashboard, FindLocalNodes
from eagleray.ray.rows import NodeRow
from eagleray.remote.inspecting.conversation import ProcessEnded, Unanswered
from eagleray.remote.inspecting.inspected_process import Inspection, steps
from eagleray.remote.inspecting.ptrace_thread import NotStarted
from eagleray.remote.sampling.pyspy_dumps import Tools
from eagleray.tools.processes import is_own, local_addresses
from eagleray.tools.pyspy import find_program

# A client connects at once, or its window has closed.
UNCONNECTED_S = 60.0
_LINE_LIMIT = 2**20


class Inspections:
    """Owns the open inspections, each with its conversation and socket; `close` ends all of them."""

    def __init__(
        self,
        source_mapping: SourceMapping,
        dashboard_of: Callable[[str], Dashboard],
        local_nodes: FindLocalNodes = Dashboard.local_nodes,
    ) -> None:
        self._source_mapping = source_mapping
        self._dashboard_of = dashboard_of
        self._local_nodes = local_nodes
        self._cluster_processes = ClusterProcesses()
        self._sessions: dict[asyncio.Task[None], _Session] = {}

    async def close(self) -> None:
        for session in self._sessions.values():
            session.end()
        await asyncio.gather(*self._sessions, return_exceptions=True)
        await self._cluster_processes.close()

    async def open(
        self, target: InspectionTarget, folders: list[str], report: Callable[[str], None]
    ) -> OpenedInspection:
        """Raises an error of the catalogue if the process can't be read at all."""
        process = await self.process(target, report)
        try:
            session = _Session(process, self._source_mapping, target, folders)
            path = await session.listen()
        except BaseException:
            await process.close()
            raise
        running = tasks.owned(session.run(), "inspection", tasks.only_logged)
        self._sessions[running] = session
        running.add_done_callback(self._sessions.pop)
        name = target.name or t("process {pid}", pid=target.pid)
        return OpenedInspection(str(path), name, process.how, process.why_outside)

    async def read(
        self, target: InspectionTarget, expressions: tuple[str, ...], *, allow_all: bool
    ) -> Inspection:
        """The stack of the main thread of the process, and values in its innermost frame of the user's code."""
        process = await self.process(target, lambda text: None)
        try:
            reading = steps(process, expressions, allow_all=allow_all)
            op, question = next(reading)
            while True:
                op, question = reading.send(await process.ask(op, **question))
        except StopIteration as done:
            inspection: Inspection = done.value
            return inspection
        except ProcessEnded as error:
            raise not_inspected(target.pid, "ended", t("it has ended")) from error
        except Unanswered as error:
            raise not_inspected(target.pid, "no-answer", str(error)) from error
        finally:
            await process.close()

    async def process(
        self, target: InspectionTarget, report: Callable[[str], None]
    ) -> InspectedProcess:
        """A conversation with the process, which the caller closes.

        1. A process of no cluster is one of this machine.
        2. So is a process of a node that is this machine, if it is the user's own.
        3. Any other is asked through a job that is pinned to its node.
        """
        if not target.cluster:
            if target.node_id not in ("", socket.gethostname(), *local_addresses()):
                raise process_elsewhere(target.pid, target.node_id)
            return await self._local(target.pid)
        dashboard = self._dashboard_of(target.cluster)
        nodes = await dashboard.nodes()
        node = await _node_of(dashboard, nodes, target)
        is_here = node.node_id in await self._local_nodes(dashboard, nodes)
        if is_here and await off_loop(partial(is_own, target.pid)):
            return await self._local(target.pid)
        return await self._cluster_processes.process(dashboard, node, target.pid, report)

    async def _local(self, pid: int) -> InspectedProcess:
        try:
            return await local_process(pid, Tools(py_spy=find_program()))
        except NotStarted as error:
            raise not_inspected(pid, error.reason, str(error)) from error


async def _node_of(
    dashboard: Dashboard, nodes: Sequence[NodeRow], target: InspectionTarget
) -> NodeRow:
    """The node of the process, by its id or by the worker; raises `no-such-worker`."""
    workers = await dashboard.all_workers()
    alive = [node for node in nodes if node.alive]
    named = [node for node in alive if target.node_id and target.node_id in _names(node)]
    of_worker = {row.node_id for row in workers if row.worker_id == target.worker_id}
    by_pid = {row.node_id for row in workers if row.pid == target.pid}
    fitting = named or [node for node in alive if node.node_id in (of_worker or by_pid)]
    # The same PID may exist on several nodes.
    if len(fitting) != 1:
        raise no_such_worker(target.name or str(target.pid))
    return fitting[0]


def _names(node: NodeRow) -> tuple[str, ...]:
    """Its names; pictures of stacks name nodes of one address by the beginnings of their ids, too."""
    return node.node_id, node.name, node.ip, f"{node.ip} {node.node_id[:6]}"


def _bound_socket() -> private_socket.Bound:
    return private_socket.bound(run_folder() / f"inspection-{secrets.token_hex(4)}.sock")


class _Session:
    """The socket of one inspection; it serves one client, then the inspection is over."""

    def __init__(
        self,
        process: InspectedProcess,
        source_mapping: SourceMapping,
        target: InspectionTarget,
        folders: list[str],
    ) -> None:
        self._process = process
        self._source_mapping = source_mapping
        self._target = target
        self._folders = folders
        self._is_connected = False
        self._over = asyncio.Event()

    async def listen(self) -> Path:
        """Returns the path of the socket."""
        bound = await off_loop(_bound_socket)
        self._served = await private_socket.serve_bound(bound, self._serve, limit=_LINE_LIMIT)
        return bound.path

    async def run(self) -> None:
        """Returns when the client has left, or none has come."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(UNCONNECTED_S, self._end_unused)
        try:
            await self._over.wait()
        finally:
            timer.cancel()
            self._served.close()
            await off_loop(self._served.remove_file)
            await self._process.close()

    def end(self) -> None:
        self._over.set()

    def _end_unused(self) -> None:
        if not self._is_connected:
            self.end()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_connected:
            writer.close()
            return
        self._is_connected = True
        try:
            await VirtualStop(
                self._process,
                self._local_file,
                reader,
                writer,
                pausable=self._target.pausable,
            ).run()
        finally:
            self._over.set()

    async def _local_file(self, path: str) -> str:
        cluster = self._target.cluster
        decision = await self._source_mapping.decided(
            cluster, path, self._folders, partial(self._hash, path)
        )
        return decision.local

    async def _hash(self, path: str) -> str:
        with contextlib.suppress(ProcessEnded, Unanswered):
            return str((await self._process.ask("source", path=path)).get("sha256", ""))
        return ""
