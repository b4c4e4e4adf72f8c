"""Copies the logs of a cluster's nodes to this machine, through the dashboard."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from attrs import define, evolve, field, frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.common.outside_names import plain_name
from eagleray.doctor.errors import no_living_node
from eagleray.doctor.logs.file_copy import copy_log
from eagleray.doctor.logs.files import ScannedFile
from eagleray.doctor.model import UncheckedFile
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import NodeRow

# Logs of workers, drivers, and the parts of Ray that start and end them.
_LOGS = (
    *("worker-*.out", "worker-*.err", "job-driver-*.log", "raylet.*", "gcs_server.*"),
    *("monitor.*", "runtime_env_setup-*.log"),
)
# Ray 2.60: "worker-WORKER-JOB-PID.err".
_WORKER_LOG = re.compile(r"worker-[0-9a-f]+-(?P<job>[0-9a-f]{8})-\d+\.(?:out|err)")
_NO_JOB = "ffffffff"
# Our own jobs.
_OWN = "job-driver-eagleray_*"
# For a larger file, a quarter of this is its beginning, the rest its end.
LARGEST_COPY = 32 * 2**20
LARGEST_COPIES = 512 * 2**20
_AT_ONCE = 8
# Diagnoses whose copies remain, since their lines can be opened.
_REMAINING = 3

# How many of how many files are copied.
OnCopied = Callable[[int, int], None]


@frozen
class LogCopies:
    """A folder of this machine with a folder for each node, and what is not in it, or not as a whole.

    `is_empty`: no file of any node could be copied.
    """

    folder: Path
    unchecked: tuple[UncheckedFile, ...]
    is_empty: bool = False


@frozen
class NodeLog:
    """A log file of a node, by its name in the folder of the logs."""

    node_id: str
    ip: str
    name: str

    @property
    def shown(self) -> str:
        return f"{self.ip}: {printable(self.name)}"


async def copy_logs(
    dashboard: Dashboard, parent: Path, on_copied: OnCopied, jobs: Collection[str] = ()
) -> LogCopies:
    """Copies the logs of all nodes that live into a new folder in `parent`, and removes the oldest of those there.

    With `jobs`, only logs of workers of these jobs of Ray, and of Ray itself.

    A node or file that doesn't answer is among the unchecked ones; raises EaglerayError only if the dashboard has no list
    of nodes, or none of them is alive.
    """
    nodes = [node for node in await dashboard.nodes() if node.alive]
    if not nodes:
        raise no_living_node(dashboard.address)
    folder = await off_loop(partial(new_copies_folder, parent))
    copying = _Copying(dashboard, folder, on_copied, jobs)
    try:
        await copying.run(nodes)
    except BaseException:
        await off_loop(partial(shutil.rmtree, folder, ignore_errors=True))
        raise
    is_empty = await off_loop(lambda: not any(path.is_file() for path in folder.rglob("*")))
    return LogCopies(folder, tuple(copying.unchecked), is_empty)


@define
class _Copying:
    dashboard: Dashboard
    folder: Path
    on_copied: OnCopied
    jobs: Collection[str]
    unchecked: list[UncheckedFile] = field(factory=list)
    _room: int = field(factory=lambda: LARGEST_COPIES)
    _copying: int = 0
    _returns: asyncio.Condition = field(factory=asyncio.Condition)
    _done: int = 0
    _slots: asyncio.Semaphore = field(factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def run(self, nodes: list[NodeRow]) -> None:
        listed = await asyncio.gather(*map(self._listed, nodes))
        logs = [log for of_node in listed for log in of_node]
        await asyncio.gather(*(self._copied(log, len(logs)) for log in logs))

    async def _listed(self, node: NodeRow) -> list[NodeLog]:
        try:
            async with self._slots:
                names = await self.dashboard.log_files(node.node_id, "*")
        except EaglerayError as error:
            self.unchecked.append(UncheckedFile(t("node {node}", node=node.ip), error.message))
            return []
        own = [name for name in sorted(set(names)) if is_log(name, self.jobs)]
        return [NodeLog(node.node_id, node.ip, name) for name in own]

    async def _copied(self, log: NodeLog, count: int) -> None:
        async with self._slots:
            if missing := await self._copy(log):
                self.unchecked.append(UncheckedFile(log.shown, missing))
        self._done += 1
        self.on_copied(self._done, count)

    async def _copy(self, log: NodeLog) -> str:
        """Copies a log; returns what is missing in the copy, "" if nothing is."""
        room = await self._reserved()
        path = self.folder / folder_name(log) / log.name
        size = 0
        try:
            if not room:
                return t("all logs together have more than {n} MB", n=LARGEST_COPIES // 2**20)
            copied = await copy_log(self.dashboard, log.node_id, log.name, path, room)
            size = copied.size
            return copied.missing
        except asyncio.TimeoutError:
            return t("no answer")
        except (EaglerayError, OSError) as error:
            return str(error)
        finally:
            await self._returned(room - size)

    async def _reserved(self) -> int:
        """Room for one log: what others don't use comes back, so that only the last ones get less."""
        async with self._returns:
            await self._returns.wait_for(lambda: self._room >= LARGEST_COPY or not self._copying)
            room = min(LARGEST_COPY, self._room)
            self._room -= room
            self._copying += 1
            return room

    async def _returned(self, room: int) -> None:
        async with self._returns:
            self._room += room
            self._copying -= 1
            self._returns.notify_all()


def is_log(name: str, jobs: Collection[str] = ()) -> bool:
    """Also whether the name, which comes from the cluster, names a file in a folder.

    The log of a worker has its job in its name; one that was started before it had a job, only letters f.
    """
    is_plain = Path(name).name == name and name.isprintable()
    if not is_plain or fnmatch(name, _OWN) or not any(fnmatch(name, glob) for glob in _LOGS):
        return False
    worker = _WORKER_LOG.fullmatch(name)
    return not (jobs and worker) or worker["job"] in {*jobs, _NO_JOB}


def with_nodes(files: Iterable[ScannedFile], folder: Path) -> list[ScannedFile]:
    """Copied logs with the nodes that have written them: `folder` has one folder for each, named by its address."""
    place = len(folder.parts)
    return [
        evolve(file, node=file.path.parts[place]) if folder in file.path.parents else file
        for file in files
    ]


def folder_name(log: NodeLog) -> str:
    """The address of its node as the name of a folder."""
    return plain_name(log.ip)


def new_copies_folder(parent: Path) -> Path:
    """A new folder in `parent`; of the earlier ones, the last remain."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    older = sorted(parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in older[_REMAINING - 1 :]:
        shutil.rmtree(path, ignore_errors=True)
    return Path(tempfile.mkdtemp(dir=parent))


def write_copy(path: Path, content: bytes) -> None:
    """Appends to a copy, in a folder that only this user reads."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with path.open("ab") as file:
        file.write(content)
