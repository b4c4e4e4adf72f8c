"""Collects the events of a runner into what was observed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.rollouts.agents.model import (
    AgentError,
    AgentPlan,
    AgentRun,
    CodeLine,
    ContractRule,
    Observed,
    WaveProgress,
    WaveTotals,
)
from eagleray.rollouts.agents.runner_events import (
    error_of,
    place_of,
    rules_of,
    run_of,
    totals_of,
)
from eagleray.rollouts.agents.runner_process import RunnerEnd
from eagleray.rollouts.agents.shared_messages import MessageOwners
from eagleray.rollouts.agents.statistics import histogram, percentiles


class Observation:
    """`take` takes each event in its order; `observed` is what they amount to."""

    def __init__(self, plan: AgentPlan) -> None:
        self._plan = plan
        self._contract: dict[str, ContractRule] = {}
        self._runs: dict[int, AgentRun] = {}
        self._messages = MessageOwners()
        self._traces = 0
        self._totals = WaveTotals()
        self._load_error: AgentError | None = None
        self._is_stuck = False
        self._stuck_at: CodeLine | None = None
        self._has_ended = False
        self._threads: tuple[str, ...] = ()

    @property
    def totals(self) -> WaveTotals:
        """The last ones."""
        return self._totals

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "contract":
            self._add_rules(event)
            self._load_error = error_of(event.get("error"))
        elif kind == "item":
            # Each of these events is a line of the trace.
            self._traces += 1
            run = evolve(run_of(event, self._plan.base_url), trace=self._traces)
            # A run that ended after all, once the runner reported its loop as stuck.
            self._runs.setdefault(run.index, run)
            self._messages.take(event)
            self._add_rules(event)
        elif kind == "totals":
            self._totals = totals_of(event)
        elif kind == "stuck":
            self._is_stuck, self._stuck_at = True, place_of(event.get("location"))
        elif kind == "end":
            self._has_ended = True
            self._threads = tuple(printable(str(name), 100) for name in event["threads"])

    def _add_rules(self, event: Mapping[str, Any]) -> None:
        """A rule that one run breaks is broken."""
        for rule in rules_of(event):
            before = self._contract.get(rule.rule)
            if before is None or before.ok:
                self._contract[rule.rule] = rule

    def progress(self) -> WaveProgress:
        runs = self._runs.values()
        return WaveProgress(
            runs=self._plan.runs,
            done=sum(run.outcome == "done" for run in runs),
            failed=sum(run.outcome not in ("done", "cancelled") for run in runs),
            totals=self._totals,
            latency_ms=percentiles([run.seconds for run in runs]),
            rewards=histogram([run.reward for run in runs if run.reward is not None]),
        )

    def observed(self, end: RunnerEnd, is_interrupted: bool) -> Observed:
        return Observed(
            plan=self._plan,
            contract=tuple(self._contract.values()),
            runs=tuple(sorted(self._runs.values(), key=lambda run: run.index)),
            totals=self._totals,
            load_error=self._load_error,
            is_stuck=self._is_stuck,
            stuck_at=self._stuck_at,
            is_interrupted=is_interrupted,
            ending="" if self._has_ended or self._is_stuck or is_interrupted else _ending(end),
            threads=self._threads,
            shared=self._messages.shared(),
        )


def _ending(end: RunnerEnd) -> str:
    if end.code is None:
        return t("The program of the agent gave no answer.")
    if end.code < 0:
        return t("The program of the agent was ended by signal {number}.", number=-end.code)
    return t("The program of the agent ended with exit code {code}.", code=end.code)
