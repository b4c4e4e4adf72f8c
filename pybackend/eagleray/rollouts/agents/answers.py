"""Counts what the server answered, and names what explains a wave before anything is measured: errors and empty answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from http import HTTPStatus

from attrs import field, frozen

from eagleray.common.l10n import counted, t
from eagleray.rollouts.agents.model import (
    AgentRequest,
    CodeLine,
    Observed,
    VerdictKind,
    WaveVerdict,
)

# The share of all answers of the server: one error in a hundred is retried, and costs little.
NOTABLE_SHARE = 0.05
_REJECTED = frozenset({429, 503, 529})


@frozen
class AnswerCounts:
    """The server's answers, by status and finish reason; `empty` of them have no content and no tool call."""

    statuses: Counter[int] = field(factory=Counter)
    finish_reasons: Counter[str] = field(factory=Counter)
    empty: int = 0


def answer_counts(observed: Observed) -> AnswerCounts:
    answers = _answers(observed)
    return AnswerCounts(
        Counter(answer.status for answer in answers),
        Counter(answer.finish_reason for answer in answers if answer.finish_reason),
        sum(answer.is_empty for answer in answers),
    )


def are_all_refused(observed: Observed) -> bool:
    """Whether the server has answered, and never with what an agent can use."""
    statuses = answer_counts(observed).statuses
    return bool(statuses) and min(statuses) >= HTTPStatus.BAD_REQUEST


def is_observed(observed: Observed) -> bool:
    """Whether requests of runs were recorded: an agent may send them by a client that isn't known."""
    return observed.totals.requests > observed.totals.unattributed


def answer_lines(observed: Observed) -> list[str]:
    """Sentences with the counts, and with what can't be counted."""
    counts, lines = answer_counts(observed), []
    if counts.statuses:
        lines.append(t("HTTP statuses: {counts}", counts=_listed(counts.statuses)))
    if counts.finish_reasons:
        lines.append(t("Finish reasons: {counts}", counts=_listed(counts.finish_reasons)))
    return [*lines, *filter(None, [unobserved_text(observed)])]


def unobserved_text(observed: Observed) -> str:
    """A sentence, "" where all requests to the server were observed, and their runs are known."""
    if observed.totals.unattributed:
        return counted(
            observed.totals.unattributed,
            "{n} request came from a thread of which no run is known.",
            "{n} requests came from threads of which no run is known.",
        )
    if observed.totals.unobserved:
        return counted(
            observed.totals.unobserved,
            "Requests of {n} connection weren't observed: its client is unknown.",
            "Requests of {n} connections weren't observed: their client is unknown.",
        )
    return "" if is_observed(observed) else t("No request was observed.")


def rejected_requests(observed: Observed) -> Iterable[WaveVerdict]:
    """The server rejects requests because it has too many."""
    answers = _answers(observed)
    rejected = [answer for answer in answers if answer.status in _REJECTED]
    if rejected and len(rejected) >= NOTABLE_SHARE * len(answers):
        sentence = counted(
            len(rejected),
            "The server rejected {n} of {total} requests because it is busy ({status}).",
            "The server rejected {n} of {total} requests because it is busy ({status}).",
            total=len(answers),
            status=_listed(Counter(answer.status for answer in rejected)),
        )
        yield _verdict("server-saturated", sentence, rejected)


def failed_answers(observed: Observed) -> Iterable[WaveVerdict]:
    """1. Statuses from 400 on that aren't about load, with the server's own message.

    2. Answers without content, with the reason why they ended.
    """
    answers = _answers(observed)
    least = NOTABLE_SHARE * len(answers)
    statuses = Counter(answer.status for answer in answers if answer.status not in _REJECTED)
    for status, number in statuses.most_common():
        if status < HTTPStatus.BAD_REQUEST or number < least:
            continue
        failed = [answer for answer in answers if answer.status == status]
        sentence = counted(
            number,
            "{n} of {total} requests got HTTP {status}{detail}.",
            "{n} of {total} requests got HTTP {status}{detail}.",
            total=len(answers),
            status=status,
            detail=_detail(failed),
        )
        yield _verdict("http-error", sentence, failed)
    empty = [answer for answer in answers if answer.is_empty]
    if empty and len(empty) >= least:
        sentence = counted(
            len(empty),
            "{n} of {total} answers has no content (finish reason: {reasons}).",
            "{n} of {total} answers have no content (finish reasons: {reasons}).",
            total=len(answers),
            reasons=_listed(Counter(answer.finish_reason for answer in empty)),
        )
        yield _verdict("empty-answers", sentence, empty)


def _answers(observed: Observed) -> list[AgentRequest]:
    """Counts answers of the server alone: requests of an agent's tools may fail."""
    return [
        request
        for run in observed.runs
        for request in run.requests
        if request.is_of_server and request.status
    ]


def _detail(failed: list[AgentRequest]) -> str:
    problem = next((answer.problem for answer in failed if answer.problem), "")
    return f": {problem.rstrip('.')}" if problem else ""


def _listed(counts: Counter[int] | Counter[str]) -> str:
    return ", ".join(f"{name} × {number}" for name, number in counts.most_common())


def _verdict(kind: VerdictKind, sentence: str, answers: list[AgentRequest]) -> WaveVerdict:
    """At the line from which most of the requests came, where it is recorded."""
    places = Counter(answer.place for answer in answers if answer.place is not None)
    place = places.most_common(1)[0][0] if places else CodeLine("", 0)
    return WaveVerdict(kind, sentence, place.file, place.line)
