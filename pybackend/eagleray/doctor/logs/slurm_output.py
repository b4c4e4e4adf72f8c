"""Finds and copies the files in which a SLURM job, its steps and its Ray have written."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attrs import frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.slurm_errors import slurm_failed
from eagleray.debug.workers.logs import clean_text
from eagleray.doctor.logs.cluster_copies import new_copies_folder
from eagleray.doctor.logs.file_copy import END, between
from eagleray.doctor.logs.ray_excerpts import ray_excerpts
from eagleray.doctor.model import Rule, UncheckedFile
from eagleray.observe.hangs.collecting.slurm import parse_job
from eagleray.slurm.client import SlurmClient, step_of
from eagleray.slurm.job_output import fields, output_globs
from eagleray.tools.commands import Commands, run_remote_script

_SHOW_S = 30.0
_READ_S = 90
# An answer of 8 MB is truncated in transfer, and a step's answer comes from all its nodes.
_MOST_DATA = 4 * 2**20
_LARGEST = 64 * 2**20
_MOST_FILES = 200
# Folders above a log.
_DEEPEST = 64


@frozen
class SlurmOutput:
    """Log files and folders with logs of a job, on this machine, and what couldn't be read."""

    paths: tuple[Path, ...]
    unchecked: tuple[UncheckedFile, ...] = ()
    # The one of `paths` that has a folder for each node, whose logs were copied.
    copies: Path | None = None


class SlurmLogs:
    """Used from one event loop; reads files here, on the login node, or by a step on the nodes of the job."""

    def __init__(self, commands: Commands, slurm: SlurmClient, copies: Path) -> None:
        """`copies` is a folder of this user for copied logs."""
        self._commands = commands
        self._slurm = slurm
        self._copies = copies

    async def of_job(
        self, written: str, rules: Sequence[Rule], report: Callable[[str], None]
    ) -> SlurmOutput:
        """The output of a job, also of one that has ended, until SLURM forgets it, and excerpts of the logs of a running job's
        Ray, by these rules; raises EaglerayError.
        """
        ssh, job = parse_job(written)
        described = await self._show(ssh, job)
        output = await self._output(ssh, job, described)
        if described.get("JobState") != "RUNNING":
            return output
        nodes = await self._slurm.nodes(ssh, described.get("NodeList", ""))
        if not nodes:
            return output
        report(t("Reading the logs of Ray on the nodes"))
        excerpts = await ray_excerpts(self._commands, ssh, described, nodes, rules)
        copy = partial(_copied, excerpts.logs, self._copies, output.copies, clean_text)
        copied = await off_loop(copy)
        return SlurmOutput(
            tuple(dict.fromkeys((*output.paths, *copied.paths))),
            (*output.unchecked, *excerpts.unchecked, *copied.unchecked),
            copied.copies,
        )

    async def _output(self, ssh: str, job: str, described: Mapping[str, str]) -> SlurmOutput:
        """Its output:

        1. Files that this machine sees, if SLURM's commands run here.
        2. Else those that the login node sees, as copies.
        3. Without any, those on the nodes of a running job, as copies.
        """
        patterns = output_globs(described, await self._script(ssh, job))
        if not patterns:
            return SlurmOutput((), (UncheckedFile(t("output of job {job}", job=job), t("none")),))
        if not ssh:
            files = await off_loop(partial(_local_files, patterns))
            if files:
                return SlurmOutput(tuple(files))
        else:
            copied = await self._read(ssh, ["python3"], patterns)
            if copied.paths:
                return copied
        return await self._on_nodes(ssh, job, described, patterns)

    async def _show(self, ssh: str, job: str) -> dict[str, str]:
        show = ["env", "LC_ALL=C", "scontrol", "-o", "show", "job", job]
        ran = await self._commands.run(ssh, show, "", _SHOW_S)
        # An array has a line for each of its jobs.
        described = fields(ran.stdout.splitlines()[0]) if ran.code == 0 and ran.stdout else {}
        if "JobId" not in described:
            raise slurm_failed("scontrol", ran.stderr)
        return described

    async def _script(self, ssh: str, job: str) -> str:
        """The batch script of a job; "" for one without, and for another user's."""
        show = ["env", "LC_ALL=C", "scontrol", "write", "batch_script", job, "-"]
        ran = await self._commands.run(ssh, show, "", _SHOW_S)
        return ran.stdout if ran.code == 0 else ""

    async def _on_nodes(
        self, ssh: str, job: str, described: Mapping[str, str], patterns: Sequence[str]
    ) -> SlurmOutput:
        missing = SlurmOutput(
            (), tuple(UncheckedFile(printable(path), t("no such file")) for path in patterns)
        )
        if described.get("JobState") != "RUNNING":
            return missing
        nodes = await self._slurm.nodes(ssh, described.get("NodeList", ""))
        if not nodes:
            return missing
        step = [*step_of(job, nodes, _READ_S), "--cpu-bind=none", "python3"]
        copied = await self._read(ssh, step, patterns, len(nodes))
        return copied if copied.paths else missing

    async def _read(
        self, ssh: str, before: Sequence[str], patterns: Sequence[str], hosts: int = 1
    ) -> SlurmOutput:
        encoded = [quote(pattern, safe="/*?[]!-") for pattern in patterns]
        arguments = [str(_MOST_DATA // hosts), *encoded]
        rows, _ = await run_remote_script(
            self._commands, ssh, "read_logs", before, arguments, _READ_S + 10.0
        )
        return await off_loop(partial(_copied, rows[:_MOST_FILES], self._copies))


def _local_files(patterns: Sequence[str]) -> list[Path]:
    root = Path("/")
    paths = [
        path
        for pattern in patterns
        for path in sorted(root.glob(pattern.lstrip("/")))[:_MOST_FILES]
    ]
    return [path for path in dict.fromkeys(paths) if path.is_file()]


def _copied(
    rows: Sequence[Any],
    parent: Path,
    folder: Path | None = None,
    clean: Callable[[str], str] | None = None,
) -> SlurmOutput:
    """Writes the files of an answer, of which nothing is certain, into `folder`, or else a new one; their text may be cleaned."""
    unchecked: list[UncheckedFile] = []
    for row in rows:
        if not isinstance(row, dict) or not (parts := _parts(row)):
            continue
        shown = printable(f"{row['host']}:{row['path']}")
        content = _content(row.get("data"))
        if content is None:
            reason = printable(str(row.get("error") or t("no answer")), 200)
            unchecked.append(UncheckedFile(shown, reason))
            continue
        folder = folder or new_copies_folder(parent)
        path = folder.joinpath(*parts)
        try:
            missing = _write(path, row, _cleaned(content, clean) if clean else content)
        except OSError as error:
            # Such as a file whose name another answer has as a folder.
            missing = error.strerror or str(error)
        if missing:
            unchecked.append(UncheckedFile(shown, missing))
    return SlurmOutput((folder,) if folder else (), tuple(unchecked), folder)


def _write(path: Path, row: Mapping[str, Any], content: bytes) -> str:
    """Writes a copy; returns what is missing in it, "" if nothing is."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(content)
    size = row.get("size")
    if not isinstance(size, int) or size <= len(content):
        return ""
    # Its first line is a part of one.
    end = (_content(row.get("end")) or b"").partition(b"\n")[2]
    if not end:
        return t("only its beginning")
    path.with_name(path.name + END).write_bytes(end)
    return between(len(content), len(end))


def _cleaned(content: bytes, clean: Callable[[str], str]) -> bytes:
    """Each line alone: what is left out of one mustn't change the number of another."""
    lines = content.decode("utf-8", "replace").split("\n")
    return "\n".join(clean(line).replace("\n", " ") for line in lines).encode()


def _parts(row: Mapping[str, Any]) -> list[str]:
    """Host and path of a file as names of folders; [] for a path that leads out of them."""
    host, path = row.get("host"), row.get("path")
    if not (isinstance(host, str) and isinstance(path, str) and path.startswith("/")):
        return []
    parts = [host, *filter(None, path.split("/"))]
    is_plain = all(
        part.isprintable() and part not in (".", "..") and "/" not in part and len(part) < 200
        for part in parts
    )
    return parts if is_plain and host and len(parts) <= _DEEPEST else []


def _content(data: Any) -> bytes | None:
    if not isinstance(data, str):
        return None
    try:
        return zlib.decompressobj().decompress(base64.b64decode(data, validate=True), _LARGEST)
    except (ValueError, binascii.Error, zlib.error):
        return None
