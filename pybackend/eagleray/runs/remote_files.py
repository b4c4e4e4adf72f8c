"""Delivers code to another machine, and lists, reads and removes files there, by commands alone."""

from __future__ import annotations

import base64
import binascii
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from attrs import frozen

from eagleray.common.errors import EaglerayError, printable
from eagleray.remote.scripts import package_copies
from eagleray.remote.scripts.report_folder import MOST
from eagleray.runs.errors import not_delivered, remote_folder_failed
from eagleray.runs.model import RunPlan
from eagleray.slurm.client import WrapCommand
from eagleray.tools.code_copies import Package, zip_package
from eagleray.tools.commands import Commands, run_remote_script

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
                raise remote_folder_failed(self.name)
            contents |= new
            left = [name for name in left if name not in new]
        return {unquote_to_bytes(name): text for name, text in contents.items()}

    async def piece(self, name: bytes, start: int) -> bytes:
        """A part of the file from `start` on; the file ends with it unless `is_full_piece`."""
        response = await self._request("piece", _quoted(name), str(start))
        return _parse_bytes(response.get("piece"))[:MOST]

    async def _request(self, operation: str, *arguments: str) -> dict[str, Any]:
        response, output = await run_remote_script(
            self._commands,
            self._ssh,
            "report_folder",
            ["python3"],
            [operation, self._folder, *arguments],
            REQUEST_LIMIT_S,
            self._wrap,
        )
        answer = response[0] if response else None
        if not isinstance(answer, dict):
            raise remote_folder_failed(self.name, output=output)
        if "error" in answer:
            raise remote_folder_failed(self.name, printable(str(answer["error"]), 300))
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


# Read at once: an update of the extension removes this folder while a supervisor lives.
_SCRIPT = Path(package_copies.__file__).read_text("utf-8")
DELIVER_S = 60.0
# In the folder of the submission, which is the job's own; homes are small, and profiles are not.
REPORTS = ".eagleray-reports"

log = logging.getLogger(__name__)


def login_of(plan: RunPlan) -> str:
    """The host on which a script is given to SLURM, "" for this machine and for all other runs."""
    cluster = plan.cluster if plan.kind == "sbatch" else ""
    return cluster.removeprefix("ssh://").partition("/")[0]


def place_of(plan: RunPlan) -> tuple[str, str]:
    """The ssh destination and the SLURM job of a remote program, "" for none."""
    rest = plan.cluster
    ssh = ""
    if rest.startswith("ssh://"):
        ssh, _, rest = rest.removeprefix("ssh://").partition("/")
    return ssh, rest.removeprefix("slurm://")


def remote_reports_folder(run: str, plan: RunPlan) -> RemotePath | None:
    """Where reports of a run lie that is submitted elsewhere; None for all others."""
    ssh = login_of(plan)
    if not ssh or plan.profile is None:
        return None
    return RemotePath(ssh, f"{plan.cwd.rstrip('/')}/{REPORTS}/{run}")


async def make_remote_reports_folder(commands: Commands, run: str, plan: RunPlan) -> str:
    """Creates the folder and returns its path, "" where it can't be made: then reports go to Ray's logs."""
    remote = remote_reports_folder(run, plan)
    if remote is None:
        return ""
    try:
        await RemoteFiles(commands, remote.ssh, remote.folder).make()
    except EaglerayError as error:
        log.warning("%s", error)
        return ""
    return remote.folder


async def delivered_to(commands: Commands, ssh: str, of: Package, needed_since: float) -> str:
    """The folder on that host which holds the package now; raises `not-delivered`.

    Copies there that no run has begun to use since then are removed.
    """
    archive = base64.b64encode(zip_package(of)[1]).decode("ascii")
    command = ["python3", "-I", "-c", _SCRIPT, of.name, str(needed_since)]
    ran = await commands.run(ssh, command, archive, DELIVER_S)
    for line in ran.stdout.splitlines():
        if ran.code == 0 and line.startswith(package_copies.DELIVERED):
            return line.removeprefix(package_copies.DELIVERED)
    raise not_delivered(ssh, ran.stderr)
