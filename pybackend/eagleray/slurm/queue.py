"""The user's SLURM jobs as `squeue` lists them: one answer for all jobs, windows and run supervisors of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cattrs
from attrs import frozen

from eagleray.slurm.client import SlurmClient
from eagleray.slurm.jobs import SlurmJob
from eagleray.tools.shared_cache import SharedAnswer, SharedAnswers

# Another version may write other fields.
_FORMAT = "squeue-1"

_converter = cattrs.Converter()


@frozen
class JobQueue:
    """The jobs as they were at `at`, of the machine's monotonic clock."""

    jobs: tuple[SlurmJob, ...]
    at: float

    def job(self, job: str) -> SlurmJob | None:
        """None if SLURM doesn't know it any more."""
        return next((entry for entry in self.jobs if entry.id == job), None)


class SlurmQueue:
    """Runs `squeue` at most as often as the caller with the shortest `max_age_s` needs."""

    def __init__(self, slurm: SlurmClient, answers: SharedAnswers) -> None:
        self._slurm = slurm
        self._answers = answers

    async def get(self, ssh: str, max_age_s: float) -> JobQueue:
        """Returns the queue on the host `ssh`, "" for this machine; raises the error of the last query.

        With a `max_age_s` of 0, after a click, SLURM is asked now.
        """

        async def ask(before: Any) -> Any:
            return _converter.unstructure(await self._slurm.jobs(ssh, _jobs(before)))

        answer = await self._answers.get(_key(ssh), max_age_s, ask)
        if answer.error is not None:
            raise answer.error
        return _queue(answer)

    async def peek(self, ssh: str) -> JobQueue | None:
        """The last answer, without asking."""
        answer = await self._answers.peek(_key(ssh))
        return None if answer is None or answer.error is not None else _queue(answer)


def _key(ssh: str) -> str:
    return f"{_FORMAT} {ssh}"


def _queue(answer: SharedAnswer) -> JobQueue:
    return JobQueue(tuple(_jobs(answer.value)), answer.at)


def _jobs(value: Any) -> Sequence[SlurmJob]:
    try:
        return _converter.structure(value or [], tuple[SlurmJob, ...])
    except (cattrs.BaseValidationError, ValueError, TypeError):
        return ()
