"""The files of one run's folder on a machine that a command reaches: listed and read in parts, never trusted."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.profile_errors import far_folder_failed
from eagleray.remote_scripts.report_folder import MOST
from eagleray.slurm.node_commands import Wrap
from eagleray.tools.commands import Commands
from eagleray.tools.remote_script import run_remote_script

ASK_S = 60.0
# A command line has room for so many names.
_NAMES = 200


@frozen
class RemotePlace:
    """A folder as the host `ssh` sees it."""

    ssh: str
    folder: str


@frozen
class RemoteFile:
    """`name` is as `os.fsdecode` returns it; `changed` tells one writing of the file from another."""

    name: str
    size: int
    changed: int


class RemoteFolder:
    """One folder, asked by commands; keeps nothing open.

    They are run on `ssh`, or here if that is "", as `wrap` makes them, and the folder lies on `host`.
    """

    def __init__(
        self, commands: Commands, ssh: str, folder: str, host: str = "", wrap: Wrap = list
    ) -> None:
        self.name = f"{host or ssh}:{folder}"
        self._commands = commands
        self._ssh = ssh
        self._folder = folder
        self._wrap = wrap

    async def make(self) -> None:
        """The folder is there now, for this user alone."""
        await self._ask("make")

    async def remove(self) -> None:
        """The folder is gone, with all in it."""
        await self._ask("remove")

    async def files(self) -> list[RemoteFile]:
        """None as long as nobody has made the folder."""
        rows = (await self._ask("list")).get("files")
        return [file for row in rows if (file := _file(row))] if isinstance(rows, list) else []

    async def small(self, names: Sequence[bytes]) -> dict[bytes, bytes]:
        """The texts of these small files."""
        found: dict[str, bytes] = {}
        left = [_quoted(name) for name in names]
        while left:
            said = (await self._ask("small", *left[:_NAMES])).get("small")
            texts = said if isinstance(said, dict) else {}
            new = {name: _bytes(texts[name]) for name in left[:_NAMES] if name in texts}
            if not new:
                raise far_folder_failed(self.name, "what came is no answer")
            found |= new
            left = [name for name in left if name not in new]
        return {unquote_to_bytes(name): text for name, text in found.items()}

    async def piece(self, name: bytes, start: int) -> bytes:
        """A part of the file from there on; it has ended with it if that is not `whole_piece`."""
        piece = _bytes((await self._ask("piece", _quoted(name), str(start))).get("piece"))
        return piece[:MOST]

    async def _ask(self, *words: str) -> dict[str, Any]:
        asked, *more = words
        said, why = await run_remote_script(
            self._commands,
            self._ssh,
            "report_folder",
            ["python3"],
            [asked, self._folder, *more],
            ASK_S,
            self._wrap,
        )
        answer = said[0] if said else {"error": why}
        if not isinstance(answer, dict) or "error" in answer:
            error = answer.get("error") if isinstance(answer, dict) else "what came is no answer"
            raise far_folder_failed(self.name, printable(str(error), 300))
        return answer


def whole_piece(piece: bytes) -> bool:
    """Whether more may follow it."""
    return len(piece) == MOST


def _file(row: Any) -> RemoteFile | None:
    if not isinstance(row, list) or len(row) != 3:
        return None
    name, size, changed = row
    is_name = isinstance(name, str) and name.isascii()
    if is_name and isinstance(size, int) and isinstance(changed, int):
        return RemoteFile(os.fsdecode(unquote_to_bytes(name)), size, changed)
    return None


def _quoted(name: bytes) -> str:
    """As text that each locale and each shell leaves as it is."""
    return quote(name, safe="")


def _bytes(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (ValueError, binascii.Error):
        return b""
