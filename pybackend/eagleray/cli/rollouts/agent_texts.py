"""The text output of `eagleray agent`: lines about a run or a wave."""

from __future__ import annotations

import json
from collections import Counter

from eagleray.cli.styles import Style, styled
from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.rollouts.agents.answers import answer_lines, is_observed
from eagleray.rollouts.agents.left_tasks import left_tasks_text
from eagleray.rollouts.agents.lost_server import no_answer
from eagleray.rollouts.agents.model import (
    AgentError,
    AgentRequest,
    AgentRun,
    ContractRule,
    Observed,
    Percentiles,
    RewardBin,
    WaveProgress,
)
from eagleray.rollouts.agents.statistics import (
    WaveStatistics,
    tokens_per_second,
    wave_statistics,
)
from eagleray.rollouts.agents.uncounted_tokens import uncounted_text
from eagleray.rollouts.agents.verdicts import verdicts

_BAR = 30
_MOST_FAILURES = 5


def progress_line(progress: WaveProgress) -> str:
    totals = progress.totals
    parts = [
        t("{n} in flight", n=totals.in_flight),
        t("{done} of {runs} done", done=progress.done, runs=progress.runs),
        t("{n} failed", n=progress.failed),
        *(
            [t("{tokens} tokens/s", tokens=f"{tokens_per_second(totals):g}")]
            if totals.requests
            else []
        ),
        t("lag {lag} ms", lag=f"{totals.lag_max_ms:g}"),
    ]
    return ", ".join(parts)


def run_lines(observed: Observed) -> list[str]:
    """Result, error with its traceback, contract and requests."""
    run = next(iter(observed.runs), None)
    lines = [] if run is None else _outcome_lines(run)
    lines += _contract_lines(observed)
    if run is not None:
        lines += map(_request_line, run.requests)
    return [*lines, *_ending_lines(observed)]


def wave_lines(observed: Observed) -> list[str]:
    """The figures, the verdicts, the rewards and the failures."""
    figures, totals = wave_statistics(observed), observed.totals
    lines = [
        counted(
            figures.runs,
            "{n} run: {done} done, {failed} failed in {seconds} s",
            "{n} runs: {done} done, {failed} failed in {seconds} s",
            done=figures.done,
            failed=figures.failed,
            seconds=f"{totals.seconds:.1f}",
        ),
        *answer_lines(observed),
        t("Runs: {times}", times=_times(figures.latency)),
        *(_request_lines(observed, figures) if is_observed(observed) else ()),
        t(
            "Event loop lag: median {p50} ms, at most {max} ms",
            p50=f"{totals.lag_p50_ms:g}",
            max=f"{totals.lag_max_ms:g}",
        ),
        *map(_bar_line, figures.rewards, [figures.done] * len(figures.rewards)),
    ]
    for verdict in verdicts(observed):
        place = f"{verdict.file}:{verdict.line}: " if verdict.file else ""
        lines.append(styled(printable(f"{place}{verdict.sentence}", 1000), Style.ATTENTION))
    return [
        *lines,
        *_failure_lines(observed),
        *_contract_lines(observed),
        *_ending_lines(observed),
    ]


def _request_lines(observed: Observed, figures: WaveStatistics) -> list[str]:
    totals = observed.totals
    return [
        t(
            "At most {runs} runs and {requests} requests in flight",
            runs=totals.max_in_flight,
            requests=totals.max_requests_in_flight,
        ),
        t("Requests: {times}", times=_times(figures.request)),
        t("Waits for a connection: {times}", times=_times(figures.pool_wait)),
        t("{tokens} tokens/s", tokens=f"{figures.tokens_per_second:g}"),
    ]


def _outcome_lines(run: AgentRun) -> list[str]:
    if run.error is not None:
        return _error_lines(run.error)
    if run.outcome == "timeout":
        where = "" if run.place is None else f" {run.place.file}:{run.place.line}"
        return [printable(f"{t('The run took too long.')}{where}", 1000)]
    if run.outcome == "cancelled":
        return [t("The run was cancelled.")]
    return [printable(json.dumps(run.result), 10_000)]


def _error_lines(error: AgentError) -> list[str]:
    return [printable(line, 1000) for line in error.traceback.splitlines()]


def _contract_lines(observed: Observed) -> list[str]:
    lines = [_rule_line(rule) for rule in observed.contract]
    if observed.load_error is not None:
        lines += _error_lines(observed.load_error)
    return lines


def _rule_line(rule: ContractRule) -> str:
    mark = styled("✓", Style.GOOD) if rule.ok else styled("✗", Style.BAD)
    return f"{mark} {printable(rule.text, 1000)}"


def _request_line(request: AgentRequest) -> str:
    seconds = "-" if request.seconds is None else f"{request.seconds:.2f} s"
    end = request.error or str(request.status)
    tokens = (
        t("tokens not counted: compressed")
        if request.tokens is None
        else t("{tokens} tokens", tokens=request.tokens)
    )
    text = t(
        "{path}: {end}, {seconds}, {tokens}",
        path=request.path,
        end=end,
        seconds=seconds,
        tokens=tokens,
    )
    return printable(text, 500)


def _failure_lines(observed: Observed) -> list[str]:
    """How often each failure came, and the first item with it."""
    counts: Counter[str] = Counter()
    items: dict[str, int] = {}
    for run in observed.runs:
        if run.error is not None:
            failure = printable(f"{run.error.type}: {run.error.message}", 200)
            counts[failure] += 1
            items.setdefault(failure, run.item)
    return [
        t("{n} × {failure} (first in item {item})", n=n, failure=failure, item=items[failure])
        for failure, n in counts.most_common(_MOST_FAILURES)
    ]


def _ending_lines(observed: Observed) -> list[str]:
    ending = observed.ending or no_answer(observed)
    texts = (ending, uncounted_text(observed), left_tasks_text(observed))
    lines = [line for line in texts if line]
    if observed.threads:
        names = ", ".join(observed.threads[:5])
        lines.append(t("The agent left threads running: {names}.", names=names))
    return lines


def _times(times: Percentiles) -> str:
    return t(
        "median {p50} ms, p99 {p99} ms, at most {max} ms",
        p50=f"{times.p50:g}",
        p99=f"{times.p99:g}",
        max=f"{times.max:g}",
    )


def _bar_line(bin_: RewardBin, total: int) -> str:
    bar = "█" * max(1, round(_BAR * bin_.count / max(total, 1))) if bin_.count else ""
    label = f"{bin_.low:.3g}" if bin_.low == bin_.high else f"{bin_.low:.3g}–{bin_.high:.3g}"
    return t("reward {range}: {n} {bar}", range=label, n=bin_.count, bar=bar).rstrip()
