"""Excerpts of the logs of a SLURM job's Ray: read by one step on its nodes, of which only lines with signs of trouble travel."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import counted, t
from eagleray.doctor.model import Rule, UncheckedFile
from eagleray.doctor.unknown_errors import FORMS, MARKERS
from eagleray.slurm.client import step_of
from eagleray.tools.commands import Commands, run_remote_script

# An answer of 8 MB is truncated in transfer, and a step's answer comes from all its nodes.
_MOST_DATA = 4 * 2**20
# Each is a file of its own here.
_MOST_LOGS = 2000
# The script ends earlier.
_STEP_S = 60
_RUN_TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)")


@frozen
class RayExcerpts:
    """Values with `host`, `path` and `data` as nodes have sent them, and what wasn't read."""

    logs: tuple[Mapping[str, Any], ...]
    unchecked: tuple[UncheckedFile, ...]


async def ray_excerpts(
    commands: Commands,
    ssh: str,
    job: Mapping[str, str],
    nodes: Sequence[str],
    rules: Sequence[Rule],
) -> RayExcerpts:
    """Returns the nodes of a running job, as `scontrol` describes it; a node that doesn't answer is among the unchecked ones."""
    step = [*step_of(job["JobId"], nodes, _STEP_S), "--cpu-bind=none", "python3"]
    room = str(_MOST_DATA // len(nodes))
    arguments = [job["JobId"], str(run_seconds(job.get("RunTime", ""))), room, signs_of(rules)]
    try:
        values, output = await run_remote_script(
            commands, ssh, "ray_logs", step, arguments, _STEP_S + 10.0
        )
    except EaglerayError as error:
        values, output = [], str(error)
    rows = tuple(value for value in values if isinstance(value, dict))
    why = printable(output.strip().splitlines()[-1] if output.strip() else "", 300)
    unchecked = _unchecked(rows, nodes, why)
    logs = [row for row in rows if "path" in row]
    if len(logs) > _MOST_LOGS:
        why_not = _unread(len(logs) - _MOST_LOGS, len(logs))
        unchecked.append(UncheckedFile(t("logs of Ray"), why_not))
    return RayExcerpts(tuple(logs[:_MOST_LOGS]), tuple(unchecked))


def signs_of(rules: Sequence[Rule]) -> str:
    """Returns the signs that lines are searched for, as the script takes them."""
    patterns = [(rule.literals, rule.pattern) for rule in rules if rule.check is None]
    text = json.dumps({"rules": patterns, "markers": MARKERS, "forms": FORMS})
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def run_seconds(text: str) -> int:
    """`RunTime` of scontrol, such as "1-02:03:04", in seconds; 0 for what isn't one."""
    match = _RUN_TIME.fullmatch(text)
    if not match:
        return 0
    days, hours, minutes, seconds = (int(value or 0) for value in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _unchecked(
    rows: Sequence[Mapping[str, Any]], nodes: Sequence[str], why: str
) -> list[UncheckedFile]:
    ends = {_short(str(row.get("host"))): row for row in rows if "logs" in row}
    unchecked = []
    for node in nodes:
        path = t("logs of Ray on {node}", node=printable(node))
        end = ends.get(_short(node))
        if end is None:
            unchecked.append(UncheckedFile(path, why or t("no answer")))
            continue
        if unread := _count(end, "unread"):
            unchecked.append(UncheckedFile(path, _unread(unread, _count(end, "logs"))))
        if cut := _count(end, "cut"):
            reason = counted(cut, "{n} file was read in part", "{n} files were read in part")
            unchecked.append(UncheckedFile(path, reason))
    return unchecked


def _unread(number: int, logs: int) -> str:
    return counted(
        number, "{n} of {all} files was not read", "{n} of {all} files were not read", all=logs
    )


def _count(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) else 0


def _short(host: str) -> str:
    return host.partition(".")[0]
