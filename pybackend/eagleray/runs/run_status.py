"""The current state of a run, from the adapter or the run's folder; and which old runs are removed."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from eagleray.common.l10n import t
from eagleray.common.paths import host_name
from eagleray.runs import supervisor_process
from eagleray.runs.adapter_gateway import AdapterRunStatus
from eagleray.runs.errors import (
    job_orphaned,
    program_elsewhere,
    program_lost,
    program_orphaned,
)
from eagleray.runs.model import Phase, ProcessIdentity, RunPlan, RunState
from eagleray.runs.records import (
    ProgramRecord,
    RunRecord,
    StoredRun,
    load_if_readable,
)
from eagleray.tools.processes import lives

# The last runs, which can be started again; live runs are never removed.
MAX_STORED_RUNS = 30
# An orphaned run may continue elsewhere, or have reports that were not gathered yet.
ORPHAN_RETENTION_S = 7 * 24 * 3600.0


def with_current_state(run: StoredRun, reported: AdapterRunStatus | None = None) -> StoredRun:
    """The run with the state that is shown; `reported` comes from the adapter's events, None where no adapter has the run.

    1. The state in its folder, if the run is over.
    2. While its supervisor lives: start, stop and end as they are in the folder; workers and breakpoints from the
       adapter's events, and from the folder too if no adapter of this machine has the run.
    3. "unwatched" for a job, for a program of another machine, and for one of this machine that lives.
    4. It has ended, since its program has; with the exit code that the parent of the program has recorded, else "unknown".
    """
    state = run.state
    if state.is_over:
        return run
    gave_up = state.phase == "unwatched"
    if supervisor_process.is_supervised(run.record, state) and not gave_up:
        return run if reported is None else evolve(run, state=with_workers(state, reported))
    program = None if is_remote(state) else run.record.program(state)
    if is_remote(state) or (program is not None and lives(program.pid, program.born)):
        note = f"{_orphaned_note(run.plan, state, program)} {_adoption_error(state)}".strip()
        orphaned = evolve(state, phase="unwatched", program=program, workers=(), note=note)
        return evolve(run, state=orphaned)
    return evolve(run, state=_ended(run, run.record.end()))


def with_workers(state: RunState, reported: AdapterRunStatus) -> RunState:
    """The state of a supervised run with its workers and breakpoints as the adapter reports them."""
    phase = state.phase
    if phase in ("running", "paused"):
        is_paused = any(worker.is_at_stop for worker in reported.workers)
        phase = "paused" if is_paused else "running"
    return evolve(
        state,
        phase=phase,
        cluster=reported.cluster or state.cluster,
        workers=reported.workers,
        lines=reported.lines,
        note=next(iter(reported.problems), state.note),
    )


def output_is_complete(record: RunRecord) -> bool:
    """Whether all output of a run is in its file: it is over, or it continues on another host and isn't copied."""
    now = load_if_readable(record)
    if now is None:
        return True
    state = with_current_state(now).state
    return state.is_over or (state.phase == "unwatched" and is_remote(state))


def is_remote(state: RunState) -> bool:
    """Whether this machine can't see whether the program of an orphaned run lives."""
    return bool(state.external_id) or state.host != host_name()


def outdated(every: Sequence[StoredRun], limit: int = MAX_STORED_RUNS) -> list[StoredRun]:
    """The runs that are removed when a new one begins; `every` are all runs, the newest first.

    The oldest of those that are over.  An orphaned run is among them a week after its last heartbeat, but never as
    long as its program lives.
    """
    now = [(item, with_current_state(item).state) for item in every]
    left = [
        (run, state)
        for run, state in now
        if state.is_over or (state.phase == "unwatched" and is_remote(state))
    ]
    return [
        run
        for run, state in left[max(0, limit - 1) :]
        if _is_done(run, state) or run.record.silent_s() > ORPHAN_RETENTION_S
    ]


def _is_done(run: StoredRun, now: RunState) -> bool:
    """Whether it has surely ended, without reports that its supervisor could not gather."""
    return run.state.is_over or (now.is_over and run.plan.profile is None)


def _ended(run: StoredRun, recorded: ProgramRecord | None) -> RunState:
    """The state of a run whose supervisor didn't write its end."""
    state = evolve(run.state, workers=())
    if recorded is None or recorded.code is None:
        ended = _last_sign(run.record.folder)
        return evolve(state, phase="unknown", ended=ended, note=program_lost())
    # As in a shell.
    code = 128 - recorded.code if recorded.code < 0 else recorded.code
    was_stopped = state.phase == "stopping" or recorded.code == -signal.SIGINT
    phase: Phase = "cancelled" if was_stopped else "failed" if code else "exited"
    return evolve(state, phase=phase, code=code, ended=recorded.ended)


def _orphaned_note(plan: RunPlan, state: RunState, program: ProcessIdentity | None) -> str:
    if plan.kind == "remote":
        return program_elsewhere(state.ssh or plan.cluster)
    if state.external_id:
        return job_orphaned(
            t("SLURM job") if plan.kind == "sbatch" else t("job"), state.external_id
        )
    if program is None:
        return program_elsewhere(state.host)
    return program_orphaned(program.pid)


def _adoption_error(state: RunState) -> str:
    """Why a supervisor could not adopt it."""
    return state.note if state.phase == "unwatched" else ""


def _last_sign(folder: Path) -> float:
    """The time of the last change in the folder of an orphaned run."""
    try:
        return max(path.stat().st_mtime for path in folder.iterdir())
    except (OSError, ValueError):
        return 0.0
