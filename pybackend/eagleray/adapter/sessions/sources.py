"""The files of a worker as an editor sees them: local paths, or references to the worker's own text."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from eagleray.common.file_checks import FileChecks
from eagleray.protocol.adapter_control import PathMapping
from eagleray.protocol.dap import Body, Message, Row, Source

# debugpy numbers its own references (code without a file) from 1 (1.8.22, `pydevd_file_utils.py`).
_FIRST_REFERENCE = 1_000_000_000

# Shared by all workers of this process: they have the same files.
_FILES = FileChecks()


class PathRules:
    """The mappings of one worker in the order in which they are tried.

    `to_local` uses the results of the last `check_files`: it never waits for a file system.
    """

    def __init__(self, mappings: Iterable[PathMapping] = (), files: FileChecks = _FILES) -> None:
        self.mappings = [PathMapping(_bare(m.remote), _bare(m.local)) for m in mappings]
        self._files = files

    async def check_files(self, remotes: Iterable[str]) -> None:
        """Checks which local files of these files of the worker exist; one that can't be checked counts as missing."""
        await self._files.check(
            path for remote in set(remotes) for path in self._candidates(remote)
        )

    def to_local(self, remote: str) -> str:
        """The local file of a worker's file, or "" when no such file exists on this machine.

        1. By the first rule that fits and whose file exists.
        2. The same path.
        """
        return next((path for path in self._candidates(remote) if self._files.answer(path)), "")

    def _candidates(self, remote: str) -> Iterator[str]:
        if remote.startswith("/"):
            # A path that climbs ("..") must not climb out of the folder that it is mapped to.
            remote = posixpath.normpath(remote)
        for rule in self.mappings:
            local = _moved(remote, rule.remote, rule.local)
            if local is not None:
                yield local
        # A worker must not make this machine mount what it names.
        if not self._files.is_unmounted(remote):
            yield remote

    def to_remote(self, local: str) -> str:
        """The worker's name of a local file: by the first rule that fits, else the same path."""
        for rule in self.mappings:
            remote = _moved(local, rule.local, rule.remote)
            if remote is not None:
                return remote
        return local


class Sources:
    """Translates the `source` objects of one worker by `rules`; references stay valid for the worker's life."""

    def __init__(self, rules: PathRules) -> None:
        self.rules = rules
        self._by_reference: dict[int, str] = {}
        self._references: dict[str, int] = {}

    def to_editor(self, source: Source) -> Source:
        """The worker's source for the editor."""
        path = source.get("path")
        if not isinstance(path, str):
            return source
        local = self.rules.to_local(path)
        if local:
            # debugpy refers to its own text for a file that was removed from the worker's disk meanwhile (1.8.22,
            # `create_source_reference_for_linecache`).
            translated = {**source, "path": local, "name": posixpath.basename(local)}
            return {name: value for name, value in translated.items() if name != "sourceReference"}
        if source.get("sourceReference"):
            return source
        return {**source, "sourceReference": self._reference(path), "origin": "from the worker"}

    def to_worker(self, source: Source) -> Source:
        """The editor's source for the worker."""
        remote = self._by_reference.get(source.get("sourceReference") or 0)
        if remote is not None:
            return {"path": remote, "name": posixpath.basename(remote)}
        path = source.get("path")
        if not isinstance(path, str):
            return source
        return {**source, "path": self.rules.to_remote(path)}

    def names(self, source: Source) -> list[Source]:
        """The editor's source under each name that it may have in the worker, the mapped one first.

        A class of the driver's own file comes to the worker pickled by value: its code keeps the name that the file
        has where the driver runs, also where the worker has a copy of the file.
        """
        remote, path = self.to_worker(source), source.get("path")
        if not isinstance(path, str) or path == remote.get("path") or source.get("sourceReference"):
            return [remote]
        return [remote, source]

    def path_of(self, reference: object) -> str:
        """The worker's file behind one of our references, "" for another's."""
        return self._by_reference.get(reference, "") if isinstance(reference, int) else ""

    async def translated(self, body: Body, *keys: str) -> Body:
        """`rows_to_editor`, after the local files have been checked."""
        rows = (row for key in keys for row in _rows(body.get(key)))
        sources = (row.get("source") for row in rows)
        paths = (source.get("path") for source in sources if isinstance(source, dict))
        await self.rules.check_files(path for path in paths if isinstance(path, str))
        return self.rows_to_editor(body, *keys)

    def rows_to_editor(self, body: Body, *keys: str) -> Body:
        """`body` with every `source` in the lists under `keys` translated."""
        result = dict(body)
        for key in keys:
            rows = body.get(key)
            if isinstance(rows, list):
                result[key] = [self._row(row) for row in rows]
        return result

    def _row(self, row: Row) -> Row:
        source = row.get("source")
        return {**row, "source": self.to_editor(source)} if isinstance(source, dict) else row

    def _reference(self, path: str) -> int:
        if path not in self._references:
            self._references[path] = _FIRST_REFERENCE + len(self._references)
            self._by_reference[self._references[path]] = path
        return self._references[path]


def paths_in(event: Message) -> list[str]:
    """The worker's files that an event names."""
    body = event.get("body")
    body = body if isinstance(body, dict) else {}
    holders = (body, body.get("breakpoint"))
    sources = [holder.get("source") for holder in holders if isinstance(holder, dict)]
    paths = [source.get("path") for source in sources if isinstance(source, dict)]
    return [path for path in paths if isinstance(path, str)]


def _moved(path: str, source: str, target: str) -> str | None:
    if path == source:
        return target
    start = source if source.endswith("/") else source + "/"
    return target.rstrip("/") + "/" + path[len(start) :] if path.startswith(start) else None


def _bare(path: str) -> str:
    return path.rstrip("/") or "/"


def _rows(rows: object) -> list[Row]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
