"""Source mapping: finds, stores and applies which local file is the file of a worker."""

from __future__ import annotations

import asyncio
import logging
import os
import posixpath
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.blocking_calls import InOrder, off_loop
from eagleray.common.errors import EaglerayError, not_a_folder
from eagleray.common.file_checks import FileChecks
from eagleray.common.worker_errors import unknown_worker
from eagleray.debug.source_mapping import local_files, mounts, worker_paths
from eagleray.debug.source_mapping.decision import Decision, decide
from eagleray.debug.source_mapping.model import FileText
from eagleray.debug.source_mapping.stored_mappings import StoredMappings
from eagleray.protocol.adapter_control import Mounts, PathMapping, WorkerState

EVERY_CLUSTER = "*"
Verdict = Literal["same", "different", "only-worker", "only-local", "unknown"]

log = logging.getLogger(__name__)


class SourceMapping:
    """Shared by the panel and the command line; used from one event loop.

    It owns the mappings: mappings of the setting, the stored answers, and mappings that it detected itself, which
    it remembers as long as it lives, so that the next worker of the cluster is attached with them.
    """

    def __init__(
        self,
        sessions: AdapterSessions,
        home: Path,
        own_mounts: Callable[[], Mounts] = local_files.own_mounts,
    ) -> None:
        self._sessions = sessions
        self._own_mounts = own_mounts
        self._stored = StoredMappings(home / "source_mappings.json")
        self._answers = InOrder()
        self._files = FileChecks(os.path.isfile)
        self._settings: dict[str, list[PathMapping]] = {}
        self._detected: dict[str, list[PathMapping]] = {}

    def configure(self, mappings: dict[str, list[PathMapping]]) -> None:
        """Sets the user's mappings of the setting: by cluster id, or "*" for every cluster."""
        self._settings = {
            cluster: [
                PathMapping(mapping.remote, local_files.absolute(mapping.local))
                for mapping in of_cluster
            ]
            for cluster, of_cluster in mappings.items()
        }

    def mappings_of(self, cluster: str) -> list[PathMapping]:
        """All mappings of a cluster, in the order in which they are tried."""
        return self._chosen_mappings(cluster) + self._detected.get(cluster, [])

    def local(self, cluster: str, path: str) -> str:
        """The local file of `path` if `find_local_files` has found it, without a request to the worker; "" otherwise."""
        candidates = self._candidates(cluster, path)
        return next((local for local in candidates if self._files.answer(local)), "")

    async def find_local_files(self, files: Collection[tuple[str, str]]) -> bool:
        """Looks for the local files of these (cluster, path); returns whether an answer of `local` may have changed."""
        if all(self._files.is_fresh(local) for file in files for local in self._candidates(*file)):
            return False
        is_new = await self._stored.refresh()
        candidates = [local for file in files for local in self._candidates(*file)]
        return await self._files.check(candidates) or is_new

    def _candidates(self, cluster: str, path: str) -> Iterator[str]:
        for mapping in sorted(self.mappings_of(cluster), key=lambda mapping: -len(mapping.remote)):
            if local := worker_paths.apply(mapping, path):
                yield local
        # A worker must not make this machine mount what it names.
        if path.startswith("/") and not self._files.is_unmounted(path):
            yield path

    async def resolve(
        self, cluster: str, worker_id: str, path: str, workspace_folders: list[str]
    ) -> Decision:
        """Finds the local file of `path`; an attached worker's editor shows it from now on."""
        mounted = await self._mounted(cluster, worker_id, path)
        hash_of = partial(self._remote_hash, cluster, worker_id, path)
        decision = await self.decided(cluster, path, workspace_folders, hash_of, mounted)
        if decision.mapping is not None:
            self._remember(cluster, decision.mapping)
            await self._send_mappings(cluster, worker_id)
        return decision

    async def decided(
        self,
        cluster: str,
        path: str,
        workspace_folders: list[str],
        hash_of: Callable[[], Coroutine[Any, Any, str]],
        mounted: Sequence[mounts.MountedFile] = (),
    ) -> Decision:
        """The local file of `path`, of which `hash_of` returns the hash; nothing is remembered."""
        loop = asyncio.get_running_loop()
        folders = [local_files.absolute(folder) for folder in workspace_folders]

        def remote_hash() -> str:
            return asyncio.run_coroutine_threadsafe(hash_of(), loop).result()

        await self._stored.refresh()
        return await off_loop(
            partial(decide, path, self._chosen_mappings(cluster), folders, remote_hash, mounted)
        )

    async def set_folder(self, cluster: str, remote: str, local: str) -> list[PathMapping]:
        """Stores the user's answer for the cluster and applies it to its attached workers at once.

        `remote` may be a file: then the folders that correspond are worked out from `local`, which is the
        file itself or a folder that holds it at any depth.
        """
        mapping = await off_loop(partial(_answer, remote, local))
        await self._answers.run(partial(self._stored.add, cluster, mapping))
        self._detected.pop(cluster, None)
        self._remember(cluster, mapping)
        await self._send_mappings(cluster)
        return self.mappings_of(cluster)

    async def compare(self, cluster: str, worker_id: str, path: str, local: str) -> Verdict:
        """The worker's file against the local one, by hash."""
        ours = await off_loop(partial(local_files.sha256, local)) if local else ""
        theirs = await self._remote_hash(cluster, worker_id, path)
        if ours and theirs:
            return "same" if ours == theirs else "different"
        if theirs:
            return "only-worker"
        return "only-local" if ours and await self._find(cluster, worker_id) else "unknown"

    async def worker_file(self, cluster: str, worker_id: str, path: str) -> FileText:
        """The text of the file as an attached worker sees it."""
        worker = await self._find(cluster, worker_id)
        if worker is None:
            raise unknown_worker(worker_id)
        file = await self._sessions.read_file(worker.session, worker_id, path)
        return FileText(file.text, file.truncated)

    def _chosen_mappings(self, cluster: str) -> list[PathMapping]:
        """The user's own mappings: the setting of this cluster, the answers, the setting of every cluster."""
        return [
            *self._settings.get(cluster, []),
            *self._stored.of(cluster),
            *self._settings.get(EVERY_CLUSTER, []),
        ]

    def _remember(self, cluster: str, mapping: PathMapping) -> None:
        detected = self._detected.setdefault(cluster, [])
        if mapping not in self.mappings_of(cluster):
            detected.insert(0, mapping)

    async def _send_mappings(self, cluster: str, worker_id: str = "") -> None:
        """Sends the mappings to an attached worker, or to all of the cluster."""
        for worker in await self._sessions.workers():
            if worker.cluster == cluster and worker_id in ("", worker.worker_id):
                mappings = self._for_worker(cluster, worker)
                try:
                    await self._sessions.set_mappings(worker.session, worker.worker_id, mappings)
                except EaglerayError as error:
                    # It ended meanwhile; the others still get theirs.
                    log.info("no new mappings for %s: %s", worker.worker_id, error)

    def _for_worker(self, cluster: str, worker: WorkerState) -> list[PathMapping]:
        """The adapter knows plain prefixes only, so mappings of packages are sent for the worker's own upload."""
        path = worker.stop.path if worker.stop else ""
        return [worker_paths.concrete(mapping, path) for mapping in self.mappings_of(cluster)]

    async def _find(self, cluster: str, worker_id: str) -> WorkerState | None:
        for worker in await self._sessions.workers():
            if (worker.cluster, worker.worker_id) == (cluster, worker_id):
                return worker
        return None

    async def _mounted(self, cluster: str, worker_id: str, path: str) -> list[mounts.MountedFile]:
        """Where this machine has the file by the mounts of the worker."""
        try:
            worker = await self._find(cluster, worker_id)
            if worker is None:
                return []
            theirs = mounts.table(await self._sessions.mounts(worker.session, worker_id))
        except EaglerayError as error:
            log.info("can't read the mounts of %s: %s", worker_id, error)
            return []
        return mounts.mounted_files(path, theirs, mounts.table(self._own_mounts()))

    async def _remote_hash(self, cluster: str, worker_id: str, path: str) -> str:
        """The hash of the worker's file, or "" if it cannot be read."""
        try:
            worker = await self._find(cluster, worker_id)
            if worker is None:
                return ""
            return (await self._sessions.read_file(worker.session, worker_id, path)).sha256
        except EaglerayError as error:
            log.info("can't read %s of %s: %s", path, worker_id, error)
            return ""


def _answer(remote: str, local: str) -> PathMapping:
    """The mapping that the user means by `remote` is `local`; blocks while it checks files."""
    chosen = local_files.absolute(local)
    if local_files.is_file(chosen):
        return worker_paths.mapping_between(remote, chosen, [])
    if not Path(chosen).is_dir():
        raise not_a_folder(local)
    if not remote.endswith(".py"):
        return PathMapping(remote.rstrip("/") or "/", chosen)
    for tail in worker_paths.suffixes(remote):
        if local_files.is_file(f"{chosen}/{tail}"):
            return PathMapping(remote.removesuffix(f"/{tail}") or "/", chosen)
    return PathMapping(posixpath.dirname(remote), chosen)
