"""Polls the nodes of jobs for a Ray dashboard: all jobs at once, shared by all windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cattrs

from eagleray.common.retry import RAY_IN_JOB, Clock
from eagleray.slurm.client import NodeAnswer, SlurmClient
from eagleray.slurm.jobs import SlurmJob
from eagleray.tools.shared_cache import SharedAnswers

_FORMAT = "nodes-2"
_FORGET_S = 24 * 3600.0
# Where the nodes can't be asked at all, for want of a `python3`.
RETRY_S = 60.0

_converter = cattrs.Converter()

Nodes = Mapping[str, Sequence[str]]


class JobNodes:
    """Polls the nodes of a young job more often, since Ray starts at its beginning."""

    def __init__(
        self, slurm: SlurmClient, answers: SharedAnswers, clock: Clock | None = None
    ) -> None:
        self._slurm = slurm
        self._answers = answers
        self._clock = clock or Clock()

    async def get(
        self, ssh: str, jobs: Sequence[SlurmJob], nodes: Nodes, max_age_s: float | None = None
    ) -> dict[str, list[NodeAnswer]]:
        """Returns the answers of the `nodes` of each of these running jobs, by the id of the job.

        Without `max_age_s` a job's nodes are polled by its schedule; with 0, after a click, now.
        """
        now = self._clock.now()
        has_polled = False

        async def ask(before: Any) -> Any:
            nonlocal has_polled
            has_polled = True
            rows = before if isinstance(before, dict) else {}
            due = _due(rows, jobs, now, max_age_s)
            wanted = dict.fromkeys(node for job in due for node in nodes[job.id])
            answers = await self._slurm.ask_nodes(ssh, list(wanted)) if wanted else []
            by_node = {answer.node: _converter.unstructure(answer) for answer in answers}
            new = {
                job.id: {
                    "at": now,
                    "started": job.started,
                    "nodes": [by_node[node] for node in nodes[job.id] if node in by_node],
                }
                for job in due
            }
            recent = {key: row for key, row in rows.items() if now - row["at"] < _FORGET_S}
            return {**recent, **new}

        key = f"{_FORMAT} {ssh}"
        last = await self._answers.peek(key)
        value = last.value if last and isinstance(last.value, dict) else {}
        failed = last is not None and last.error is not None and max_age_s is None
        while not has_polled and _due(value, jobs, now, max_age_s):
            # Another window may have polled meanwhile, about other jobs.
            answer = await self._answers.get(key, RETRY_S if failed else 0.0, ask)
            if answer.error is not None:
                raise answer.error
            value, failed = answer.value, False
        return {job.id: _answers(value, job, float("-inf")) or [] for job in jobs}


def _due(
    value: Mapping[str, Any], jobs: Sequence[SlurmJob], now: float, max_age_s: float | None
) -> list[SlurmJob]:
    return [job for job in jobs if _answers(value, job, now - _age(job, max_age_s)) is None]


def _age(job: SlurmJob, max_age_s: float | None) -> float:
    return RAY_IN_JOB.interval_s(job.ran_s) if max_age_s is None else max_age_s


def _answers(value: Mapping[str, Any], job: SlurmJob, not_before: float) -> list[NodeAnswer] | None:
    """The answers of this run of the job that aren't older; None if there are none."""
    row = value.get(job.id)
    if not isinstance(row, dict) or row["started"] != job.started or row["at"] <= not_before:
        return None
    return [_converter.structure(answer, NodeAnswer) for answer in row["nodes"]]
