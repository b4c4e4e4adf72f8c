"""Reads and writes saved batches by scripts in the Python of the user; nothing of a file is executed unless requested."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cattrs
from attrs import frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t, translated
from eagleray.rollouts.batches.errors import (
    batch_too_large,
    needs_unpickle,
    no_batch,
    no_tokens_of_wave,
    no_torch,
    no_wave_prompts,
    not_loaded,
    not_written,
    nothing_to_save,
    other_kind,
    python_not_started,
    script_failed,
    torch_fails,
    unlisted_pickle,
)
from eagleray.rollouts.batches.model import BatchSummary, WrittenBatch
from eagleray.rollouts.comparing.engines.wave_prompts import (
    AddressOf,
    Promptless,
    promptless,
    rows_with_prompts,
)
from eagleray.rollouts.file_kind import file_kind
from eagleray.rollouts.trajectories.dump import TrajectoryDump
from eagleray.rollouts.trajectories.formats import read_line
from eagleray.rollouts.trajectories.model import Trajectory
from eagleray.rollouts.trajectories.reading import DumpReading, read_off_loop
from eagleray.rollouts.trajectories.roles import FORMATS
from eagleray.routes.commands import start_process
from eagleray.runs.program_python import activated_environment

_SCRIPTS = Path(__file__).parents[2] / "remote" / "scripts"
# The last characters of what the script printed beside its answer.
_OUTPUT = 2000


async def summary(path: str, python: str, agreed: Sequence[str] = ()) -> BatchSummary:
    """Returns the contents of a batch; raises an error of the catalogue, also where reading it would execute code.

    `agreed` are the names of `NeedsUnpickleError` that the user agreed to; reading imports no others.
    """
    file = await off_loop(partial(_readable, path))
    answer = await _answer(python, "read_batch.py", [str(file), "--agreed", json.dumps([*agreed])])
    match answer.get("problem"):
        case None:
            return cattrs.structure(answer, BatchSummary)
        case "no-torch":
            raise no_torch(python, answer["detail"])
        case "torch-fails":
            raise torch_fails(python, answer["detail"])
        case "needs-unpickle":
            raise needs_unpickle(path, answer["detail"], answer["names"], answer["dangerous"])
        case "unlisted-pickle":
            raise unlisted_pickle(path, answer["detail"])
        case "too-large":
            raise batch_too_large(path)
        case _:
            raise not_loaded(path, answer["detail"])


async def save(dump: str, path: str, python: str, address_of: AddressOf) -> WrittenBatch:
    """Makes a batch of the trajectories of a dump that have token ids and a reward.

    Runs of a wave with llama.cpp get the ids of their prompts from its server.
    """
    read = await read_off_loop(partial(_rows, dump))
    rows = await _whole_rows(read, address_of)
    if not rows:
        raise _nothing(dump, read)
    lines = [json.dumps(row) + "\n" for row in rows]
    answer = await _answer(python, "write_batch.py", [path], "".join(lines))
    match answer.get("problem"):
        case None:
            skipped = len(read.rows) - len(rows)
            return WrittenBatch(path, answer["rows"], skipped, answer["tensors"])
        case "no-torch":
            raise no_torch(python, answer["detail"])
        case "torch-fails":
            raise torch_fails(python, answer["detail"])
        case _:
            raise not_written(path, answer["detail"])


def row_of(trajectory: Trajectory) -> dict[str, Any] | None:
    """A row of the batch; None without token ids or reward.  Columns are missing for a prompt without a policy."""
    columns = trajectory.columns
    if not columns.ids or trajectory.reward is None:
        return None
    count = len(columns.ids)
    trained_from = trajectory.prompt_tokens or 0
    mask = columns.mask or tuple(int(at >= trained_from) for at in range(count))
    return {
        "ids": list(columns.ids),
        "mask": _filled(mask, count, 0),
        "logprobs": _filled([value or 0.0 for value in columns.logprobs], count, 0.0),
        "versions": _filled(columns.versions, count, -1),
        "reward": trajectory.reward,
    }


def _filled(values: Any, count: int, missing: float) -> list[Any]:
    return [*values[:count], *[missing] * (count - len(values))]


@frozen
class _ReadRows:
    """A row for each trajectory, None where it has none; `is_wave`: Eagleray wrote one of them.

    Rows of a group are neighbours, since trainers normalize rewards over as many rows as a group has.  A wave is
    written in the order in which its runs end.
    """

    rows: list[dict[str, Any] | Promptless | None]
    is_wave: bool


def _rows(path: str, reading: DumpReading) -> _ReadRows:
    dump = TrajectoryDump(Path(path).expanduser().absolute())
    dump.refresh()
    dump.extend(reading)
    groups: dict[tuple[int | None, str], list[dict[str, Any] | Promptless | None]] = {}
    is_wave = False
    for line in dump.lines(0, dump.count):
        reading.check()
        trajectory = read_line(line.data)
        is_own = trajectory.format == FORMATS[0].name
        is_wave = is_wave or is_own
        rows = groups.setdefault((trajectory.step, trajectory.group or trajectory.prompt), [])
        row = row_of(trajectory)
        if row is None and is_own:
            rows.append(promptless(line.data, trajectory.reward))
        else:
            rows.append(row)
    return _ReadRows([row for rows in groups.values() for row in rows], is_wave)


async def _whole_rows(read: _ReadRows, address_of: AddressOf) -> list[dict[str, Any]]:
    """In their order."""
    runs = [row for row in read.rows if isinstance(row, Promptless)]
    completed = iter(await rows_with_prompts(runs, address_of))
    rows = [next(completed) if isinstance(row, Promptless) else row for row in read.rows]
    return [row for row in rows if row is not None]


def _nothing(dump: str, read: _ReadRows) -> EaglerayError:
    if any(isinstance(row, Promptless) for row in read.rows):
        return no_wave_prompts(dump)
    return no_tokens_of_wave(dump) if read.is_wave else nothing_to_save(dump)


def _readable(path: str) -> Path:
    file = Path(path).expanduser().absolute()
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise no_batch(path, t("it is not a file"))
        kind = file_kind(file)
    except OSError as error:
        raise no_batch(path, error.strerror or str(error)) from error
    if kind:
        raise other_kind(path, translated(kind))
    return file


async def _answer(python: str, script: str, arguments: list[str], text: str = "") -> Any:
    """Returns the output of a script; ends it when cancelled."""
    argv = [python, str(_SCRIPTS / script), *arguments]
    try:
        process = await start_process(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=activated_environment(os.environ, python),
        )
    except OSError as error:
        raise python_not_started(python, error.strerror or str(error)) from error
    try:
        out, err = await process.communicate(text.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        return json.loads(out)
    except ValueError:
        output = err.decode(errors="replace")[-_OUTPUT:]
        raise script_failed(python, await process.wait(), output) from None
