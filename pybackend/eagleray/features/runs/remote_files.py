"""Lists, reads and removes the files of a run's folder on a machine that only commands reach."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.features.runs.errors import remote_folder_failed
from eagleray.remote_scripts.report_folder import MOST
from eagleray.slurm.node_commands import WrapCommand
from eagleray.tools.commands import Commands
from eagleray.tools.remote_script import run_remote_script

REQUEST_LIMIT_S = 60.0
# A command line has room for this many names.
_NAMES_PER_REQUEST = 200


@frozen
class RemotePath:
    """A folder as the host `ssh` names it."""

    ssh: str
    folder: str


@frozen
class RemoteFile:
    """A file of the folder: `name` as `os.fsdecode` returns it, `changed` differs after each write."""

    name: str
    size: int
    changed: int


class RemoteFiles:
    """One folder on `host`, accessed by commands; keeps no connection and trusts no answer.

    Commands run on `ssh`, or on this machine if that is "", wrapped by `wrap`.
    """

    def __init__(
        self, commands: Commands, ssh: str, folder: str, host: str = "", wrap: WrapCommand = list
    ) -> None:
        self.name = f"{host or ssh}:{folder}"
        self._commands = commands
        self._ssh = ssh
        self._folder = folder
        self._wrap = wrap

    async def make(self) -> None:
        """Creates the folder, for this user only."""
        await self._request("make")

    async def remove(self) -> None:
        """Removes the folder and its files."""
        await self._request("remove")

    async def files(self) -> list[RemoteFile]:
        """The files of the folder; none if it does not exist."""
        rows = (await self._request("list")).get("files")
        return (
            [file for row in rows if (file := _parse_file(row))] if isinstance(rows, list) else []
        )

    async def small(self, names: Sequence[bytes]) -> dict[bytes, bytes]:
        """The contents of small files, by name."""
        contents: dict[str, bytes] = {}
        left = [_quoted(name) for name in names]
        while left:
            response = (await self._request("small", *left[:_NAMES_PER_REQUEST])).get("small")
            texts = response if isinstance(response, dict) else {}
            new = {
                name: _parse_bytes(texts[name])
                for name in left[:_NAMES_PER_REQUEST]
                if name in texts
            }
            if not new:
                raise remote_folder_failed(self.name, "what came is no answer")
            contents |= new
            left = [name for name in left if name not in new]
        return {unquote_to_bytes(name): text for name, text in contents.items()}

    async def piece(self, name: bytes, start: int) -> bytes:
        """A part of the file from `start` on; the file ends with it unless `is_full_piece`."""
        response = await self._request("piece", _quoted(name), str(start))
        return _parse_bytes(response.get("piece"))[:MOST]

    async def _request(self, operation: str, *arguments: str) -> dict[str, Any]:
        response, why = await run_remote_script(
            self._commands,
            self._ssh,
            "report_folder",
            ["python3"],
            [operation, self._folder, *arguments],
            REQUEST_LIMIT_S,
            self._wrap,
        )
        answer = response[0] if response else {"error": why}
        if not isinstance(answer, dict) or "error" in answer:
            error = answer.get("error") if isinstance(answer, dict) else "what came is no answer"
            raise remote_folder_failed(self.name, printable(str(error), 300))
        return answer


def is_full_piece(piece: bytes) -> bool:
    """Whether the file may continue after this piece."""
    return len(piece) == MOST


def _parse_file(row: Any) -> RemoteFile | None:
    if not isinstance(row, list) or len(row) != 3:
        return None
    name, size, changed = row
    is_name = isinstance(name, str) and name.isascii()
    if is_name and isinstance(size, int) and isinstance(changed, int):
        return RemoteFile(os.fsdecode(unquote_to_bytes(name)), size, changed)
    return None


def _quoted(name: bytes) -> str:
    """The name as text that no locale and no shell changes."""
    return quote(name, safe="")


def _parse_bytes(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (ValueError, binascii.Error):
        return b""
