"""A run as it is, also where its keeper died and wrote nothing any more; and which of the last runs may go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from eagleray.common.paths import host_name
from eagleray.features.runs import supervisor_process
from eagleray.features.runs.errors import (
    job_unkept,
    program_elsewhere,
    program_lost,
    program_unkept,
)
from eagleray.features.runs.model import RunPlan, RunState
from eagleray.features.runs.records import Listed, Record, read
from eagleray.tools.processes import lives

# The last runs, which can be started again; of those that live none is ever thrown away.
KEPT = 30
# What nobody keeps may go on elsewhere, or have recorded what nobody has gathered yet.
UNKEPT_S = 7 * 24 * 3600.0


def seen(one: Listed) -> Listed:
    """What is to be shown of a run.

    1. What its keeper wrote, as long as it lives or the run is over.
    2. "unwatched" for a job, for a program of another machine, and for one of this machine that lives.
    3. It has ended, since its program has.
    """
    state = one.state
    gave_up = state.phase == "unwatched"
    if state.is_over or (supervisor_process.is_kept(one.record, state) and not gave_up):
        return one
    if is_elsewhere(state) or _has_program(state):
        note = f"{_unkept(one.plan, state)} {_said_last(state)}".strip()
        return evolve(one, state=evolve(state, phase="unwatched", workers=(), note=note))
    over = evolve(state, phase="ended", ended=_last_sign(one.record.folder), note=program_lost())
    return evolve(one, state=evolve(over, workers=()))


def prints_no_more(record: Record) -> bool:
    """Whether all output of a run is in its file: it is over, or it continues on another host and isn't copied."""
    now = read(record)
    if now is None:
        return True
    state = seen(now).state
    return state.is_over or (state.phase == "unwatched" and is_elsewhere(state))


def is_elsewhere(state: RunState) -> bool:
    """Whether it cannot be seen from here what became of a run that nobody keeps."""
    return bool(state.far_id) or state.host != host_name()


def outdated(every: Sequence[Listed], kept: int = KEPT) -> list[Listed]:
    """Those that are thrown away when one more begins, of all runs, the newest first.

    The oldest of those that are over.  One that nobody keeps is among them when nothing was heard of it for a week,
    but never as long as its program is seen to live.
    """
    now = [(one, seen(one).state) for one in every]
    left = [
        (one, state)
        for one, state in now
        if state.is_over or (state.phase == "unwatched" and is_elsewhere(state))
    ]
    return [
        one
        for one, state in left[max(0, kept - 1) :]
        if _is_done(one, state) or one.record.silent_s() > UNKEPT_S
    ]


def _is_done(one: Listed, now: RunState) -> bool:
    """Whether it has surely ended, with nothing recorded that its keeper did not live to gather."""
    return one.state.is_over or (now.is_over and one.plan.profile is None)


def _has_program(state: RunState) -> bool:
    program = state.program
    return program is not None and lives(program.pid, program.born)


def _unkept(plan: RunPlan, state: RunState) -> str:
    if state.far_id:
        return job_unkept("SLURM job" if plan.kind == "sbatch" else "job", state.far_id)
    if state.host != host_name() or state.program is None:
        return program_elsewhere(state.host)
    return program_unkept(state.program.pid)


def _said_last(state: RunState) -> str:
    """Why a keeper could not take it over."""
    return state.note if state.phase == "unwatched" else ""


def _last_sign(folder: Path) -> float:
    """When a run that nobody kept was last heard of."""
    try:
        return max(path.stat().st_mtime for path in folder.iterdir())
    except (OSError, ValueError):
        return 0.0
