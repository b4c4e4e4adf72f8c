"""The tables of the trial: counts for each checkout, and each failing command line with its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tests.runs.presets_trial import arrival, composing
from tests.runs.presets_trial.trial import Result

_ARRIVALS = {
    arrival.EXACT: "exact",
    arrival.WRONG_PLACE: "wrong place",
    arrival.MISSING: "not at all",
    arrival.NOT_REACHED: "not reached",
}
_COMPOSED = {
    composing.OK: "composed",
    composing.FAILED: "not composed",
    composing.BROKEN_BEFORE: "broken before",
}


def counts(results: Sequence[Result]) -> str:
    """Three tables in Markdown: recognition, outcomes, arrival and composition; a row for each checkout."""
    names = list(dict.fromkeys(result.checkout for result in results))
    rows = {name: [result for result in results if result.checkout == name] for name in names}
    causes = _seen(result.cause for result in results)
    outcomes = _seen(outcome for result in results for outcome in result.outcomes)
    return "\n\n".join(
        [
            _table(
                ["checkout", "command lines", "recognised", *causes],
                [_recognition(name, rows[name], causes) for name in names],
            ),
            _table(
                ["checkout", *outcomes, "runs with rows over 100 columns", "tracebacks"],
                [_outcomes(name, rows[name], outcomes) for name in names],
            ),
            _table(
                [
                    "checkout",
                    "with words",
                    *_ARRIVALS.values(),
                    "not all calls",
                    *_COMPOSED.values(),
                ],
                [_arrivals(name, rows[name]) for name in names],
            ),
        ]
    )


def failures(results: Iterable[Result]) -> Iterator[str]:
    """The failing command lines, those with the same reason together, and those that could not be tried."""
    by_reason: dict[str, list[Result]] = {}
    for result in results:
        for reason in result.reasons:
            by_reason.setdefault(reason.splitlines()[0], []).append(result)
        if result.note:
            by_reason.setdefault(f"not reached: {result.note}", []).append(result)
    for reason, failed in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        yield f"\n{reason} ({len(failed)})"
        yield from (f"  {one.checkout}: {one.command}" for one in failed)


def _recognition(name: str, results: Sequence[Result], causes: Sequence[str]) -> list[str]:
    found = Counter(result.cause for result in results)
    recognised = sum(bool(result.framework) for result in results)
    return [name, str(len(results)), str(recognised), *(str(found[cause]) for cause in causes)]


def _outcomes(name: str, results: Sequence[Result], outcomes: Sequence[str]) -> list[str]:
    total: Counter[str] = Counter()
    for result in results:
        total.update(result.outcomes)
    wide = sum(result.wide_rows > 0 for result in results)
    failed = sum(result.cause == "traceback" for result in results)
    return [name, *(str(total[outcome]) for outcome in outcomes), str(wide), str(failed)]


def _arrivals(name: str, results: Sequence[Result]) -> list[str]:
    arrived = Counter(result.arrival for result in results)
    composed = Counter(result.composed for result in results)
    partly = sum(
        any(reason.startswith("some calls") for reason in result.reasons) for result in results
    )
    return [
        *(name, str(sum(bool(result.words) for result in results))),
        *(str(arrived[verdict]) for verdict in _ARRIVALS),
        str(partly),
        *(str(composed[verdict]) for verdict in _COMPOSED),
    ]


def _seen(values: Iterable[str]) -> list[str]:
    return sorted({value for value in values if value})


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
