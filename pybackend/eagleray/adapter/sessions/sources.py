"""The files of a worker as an editor sees them: local paths, or references to the worker's own text."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.worker_session import WorkerSession

# debugpy numbers its own references (code without a file) from 1.
_FIRST_REFERENCE = 1_000_000_000


class Sources:
    """Translates the `source` objects of one worker; references stay valid for the worker's life."""

    def __init__(self, worker: WorkerSession) -> None:
        self._worker = worker
        self._by_reference: dict[int, str] = {}
        self._references: dict[str, int] = {}

    def to_editor(self, source: Message) -> Message:
        """The worker's source for the editor."""
        path = source.get("path")
        if not isinstance(path, str):
            return source
        local = self._worker.rules.to_local(path)
        if local:
            # debugpy refers to its own text for a file that has gone from the worker's disk meanwhile.
            found = {**source, "path": local, "name": posixpath.basename(local)}
            return {name: value for name, value in found.items() if name != "sourceReference"}
        if source.get("sourceReference"):
            return source
        return {**source, "sourceReference": self._reference(path), "origin": "from the worker"}

    def to_worker(self, source: Message) -> Message:
        """The editor's source for the worker."""
        mine = self._by_reference.get(source.get("sourceReference") or 0)
        if mine is not None:
            return {"path": mine, "name": posixpath.basename(mine)}
        path = source.get("path")
        if not isinstance(path, str):
            return source
        return {**source, "path": self._worker.rules.to_remote(path)}

    def names(self, source: Message) -> list[Message]:
        """The editor's source under each name that it may have in the worker, the mapped one first.

        A class of the driver's own file comes to the worker pickled by value: its code keeps the name that the file
        has where the driver runs, also where the worker has a copy of the file.
        """
        inward, path = self.to_worker(source), source.get("path")
        if not isinstance(path, str) or path == inward.get("path") or source.get("sourceReference"):
            return [inward]
        return [inward, source]

    def path_of(self, reference: object) -> str:
        """The worker's file behind one of our references, "" for another's."""
        return self._by_reference.get(reference, "") if isinstance(reference, int) else ""

    async def check_files(self, sources: Iterable[object]) -> None:
        """Looks for the local files of the worker's `source` objects, before they are translated."""
        paths = (source.get("path") for source in sources if isinstance(source, dict))
        await self._worker.rules.check_files(path for path in paths if isinstance(path, str))

    async def translated(self, body: Message, *keys: str) -> Message:
        """`outward_in`, after the local files have been looked up."""
        rows = (row for key in keys for row in _rows(body.get(key)))
        await self.check_files(row.get("source") for row in rows)
        return self.rows_to_editor(body, *keys)

    def rows_to_editor(self, body: Message, *keys: str) -> Message:
        """`body` with every `source` in the lists under `keys` translated."""
        result = dict(body)
        for key in keys:
            rows = body.get(key)
            if isinstance(rows, list):
                result[key] = [self._row(row) for row in rows]
        return result

    def _row(self, row: Message) -> Message:
        source = row.get("source")
        return {**row, "source": self.to_editor(source)} if isinstance(source, dict) else row

    def _reference(self, path: str) -> int:
        if path not in self._references:
            self._references[path] = _FIRST_REFERENCE + len(self._references)
            self._by_reference[self._references[path]] = path
        return self._references[path]


def _rows(rows: object) -> list[Message]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
