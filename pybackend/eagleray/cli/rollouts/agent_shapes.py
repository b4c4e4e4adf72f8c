"""One run and a wave of an agent in `--json`."""

from __future__ import annotations

from attrs import asdict

from eagleray.cli.json_shapes import (
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER_OR_NULL,
    VERSION,
    VERSIONED,
    Field,
    Json,
    Shape,
    only,
)
from eagleray.common.l10n import t
from eagleray.rollouts.agents.answers import answer_counts, is_observed
from eagleray.rollouts.agents.left_tasks import left_lines
from eagleray.rollouts.agents.lost_server import no_answer
from eagleray.rollouts.agents.model import VERDICT_KINDS, AgentRun, CodeLine, Observed
from eagleray.rollouts.agents.statistics import wave_statistics
from eagleray.rollouts.agents.uncounted_tokens import uncounted_requests
from eagleray.rollouts.agents.verdicts import verdicts

# At most this many of a wave; the trace file has all.
MOST_FAILURES = 100
_RULE = ("rule", "ok", "text")
_AGENT_ERROR = ("type", "message", "traceback", "file", "line")
_AGENT_REQUEST = (
    *("path", "status", "seconds", "pool_s", "tokens", "error"),
    *("finish_reason", "is_empty", "problem"),
)
_PERCENTILES = ("p50", "p99", "max")
_VERDICT = ("kind", "file", "line", "sentence")
_FAILURE = ("item", "group", "member", "outcome", "error")
_REWARD_BIN = ("low", "high", "count")
_CONTRACT = Field(f"what the framework takes, list of {{{', '.join(_RULE)}}}", "array", _RULE)
_OF_REQUESTS = (
    *("requests", "max_requests_in_flight", "tokens", "tokens_per_second"),
    *("request_ms", "pool_wait_ms"),
)
_LEFT_TASKS = Field(
    "lines whose asyncio tasks ran when runs returned, list of {file, line, text, runs, tasks}, null for an agent with its own task factory",
    "array or null",
    ("file", "line", "text", "runs", "tasks"),
)
AGENT_RUN: Shape = {
    **VERSIONED,
    "result": Field("what `run` returned, null if it returned nothing", "any"),
    "error": Field(
        f"{{{', '.join(_AGENT_ERROR)}}} of its exception, of its import or of a time-out, null for none",
        "object or null",
        _AGENT_ERROR,
    ),
    "contract": _CONTRACT,
    "outcome": Field(
        '"done", "rejected" (by the framework), "failed", "timeout", "cancelled" or "not-run"'
    ),
    "item": Field("number of the data item, counted from 1", INTEGER),
    "mode": Field('"inline" or "subproc"'),
    "seconds": Field("how long it ran", "number"),
    "requests": Field(
        f"list of {{{', '.join(_AGENT_REQUEST)}}}; tokens is null if they aren't counted, pool_s if the pool isn't known",
        "array",
        _AGENT_REQUEST,
    ),
    "threads": Field("names of threads that it left running", "array"),
    "left_tasks": _LEFT_TASKS,
    "trace": Field('the file with its trace, "" for none'),
}
AGENT_WAVE: Shape = {
    **VERSIONED,
    "runs": Field("number of runs that were planned", INTEGER),
    "done": Field("runs with a result that the framework takes", INTEGER),
    "failed": Field("runs that raised, were rejected, took too long or ended the program", INTEGER),
    "timeouts": Field("runs that took too long", INTEGER),
    "cancelled": Field("runs that were cancelled or didn't start", INTEGER),
    "interrupted": Field("whether Ctrl-C ended it", "boolean"),
    "groups": Field("number of groups", INTEGER),
    "group_size": Field("runs of a group", INTEGER),
    "mode": Field('"inline" or "subproc"'),
    "seconds": Field("how long it took", "number"),
    "max_in_flight": Field("most runs at once", INTEGER),
    "max_requests_in_flight": Field(
        "most requests at once, null if none was observed", INTEGER_OR_NULL
    ),
    "requests": Field(
        "number of requests of runs by known clients, null if none was observed", INTEGER_OR_NULL
    ),
    "unobserved_connections": Field(
        "connections to the server by clients that aren't observed", INTEGER
    ),
    "unattributed_requests": Field(
        "requests to the server from threads of which no run is known", INTEGER
    ),
    "statuses": Field("answers of the server by HTTP status", "object"),
    "finish_reasons": Field("answers of the server by finish reason", "object"),
    "empty_answers": Field("answers of the server without content and tool call", INTEGER),
    "tokens": Field("generated tokens, null if no request was observed", INTEGER_OR_NULL),
    "tokens_per_second": Field(
        "generated tokens a second, null if no request was observed", NUMBER_OR_NULL
    ),
    "uncounted_requests": Field("compressed streams whose tokens aren't counted", INTEGER),
    "latency_ms": Field(f"of runs, {{{', '.join(_PERCENTILES)}}}", "object", _PERCENTILES),
    "request_ms": Field(
        f"of requests, {{{', '.join(_PERCENTILES)}}}, null if none was observed",
        "object or null",
        _PERCENTILES,
    ),
    "pool_wait_ms": Field(
        f"how long requests waited for a connection, {{{', '.join(_PERCENTILES)}}}, null if none was observed",
        "object or null",
        _PERCENTILES,
    ),
    "loop_lag_ms": Field(
        "how late the event loop ran its timers, {p50, max}", "object", ("p50", "max")
    ),
    "clients": Field("HTTP clients that runs made", INTEGER),
    "mean_reward": Field("mean of the rewards, null for none", NUMBER_OR_NULL),
    "rewards": Field(f"histogram, list of {{{', '.join(_REWARD_BIN)}}}", "array", _REWARD_BIN),
    "verdicts": Field(
        f'list of {{{", ".join(_VERDICT)}}}; kind is one of {", ".join(VERDICT_KINDS)}; file is "" for none',
        "array",
        _VERDICT,
    ),
    "contract": _CONTRACT,
    "failures": Field(
        f"the failed runs, at most {MOST_FAILURES}: list of {{{', '.join(_FAILURE)}}}",
        "array",
        _FAILURE,
    ),
    "ending": Field(
        'why the program of the agent ended early, or how many runs lost the server, else ""'
    ),
    "threads": Field("names of threads that agents left running", "array"),
    "left_tasks": _LEFT_TASKS,
    "trace": Field('the file with the traces, "" for none'),
}


def agent_run_json(observed: Observed, trace: str) -> Json:
    run = next(iter(observed.runs), None)
    requests = () if run is None else run.requests
    return {
        "version": VERSION,
        "result": None if run is None else run.result,
        "error": _agent_error(run, observed),
        "contract": [asdict(rule) for rule in observed.contract],
        "outcome": "not-run" if run is None else run.outcome,
        "item": observed.plan.items[0].number,
        "mode": observed.plan.mode,
        "seconds": 0.0 if run is None else run.seconds,
        "requests": [only(asdict(request), _AGENT_REQUEST) for request in requests],
        "threads": list(observed.threads),
        "left_tasks": _left_tasks(observed),
        "trace": trace,
    }


def agent_wave_json(observed: Observed, trace: str) -> Json:
    figures, totals = wave_statistics(observed), observed.totals
    failed = [run for run in observed.runs if run.outcome not in ("done", "cancelled")]
    answers = answer_counts(observed)
    values: Json = {
        "version": VERSION,
        **{name: value for name, value in asdict(totals).items() if name in AGENT_WAVE},
        **{name: value for name, value in asdict(figures).items() if name in AGENT_WAVE},
        "uncounted_requests": uncounted_requests(observed),
        "interrupted": observed.is_interrupted,
        "groups": observed.plan.groups,
        "group_size": observed.plan.group_size,
        "mode": observed.plan.mode,
        "latency_ms": asdict(figures.latency),
        "request_ms": asdict(figures.request),
        "pool_wait_ms": asdict(figures.pool_wait),
        "loop_lag_ms": {"p50": totals.lag_p50_ms, "max": totals.lag_max_ms},
        "rewards": [asdict(each) for each in figures.rewards],
        "verdicts": [only(asdict(verdict), _VERDICT) for verdict in verdicts(observed)],
        "contract": [asdict(rule) for rule in observed.contract],
        "failures": [_failure(run, observed) for run in failed[:MOST_FAILURES]],
        "ending": observed.ending or no_answer(observed),
        "threads": list(observed.threads),
        "left_tasks": _left_tasks(observed),
        "trace": trace,
        "unobserved_connections": totals.unobserved,
        "unattributed_requests": totals.unattributed,
        "requests": totals.requests - totals.unattributed,
        "statuses": {str(status): number for status, number in answers.statuses.items()},
        "finish_reasons": dict(answers.finish_reasons),
        "empty_answers": answers.empty,
        **({} if is_observed(observed) else dict.fromkeys(_OF_REQUESTS)),
    }
    return only(values, AGENT_WAVE)


def _left_tasks(observed: Observed) -> list[Json] | None:
    lines = left_lines(observed)
    if lines is None:
        return None
    return [
        {
            **only(asdict(line.place), ("file", "line", "text")),
            **only(asdict(line), ("runs", "tasks")),
        }
        for line in lines
    ]


def _failure(run: AgentRun, observed: Observed) -> Json:
    return only({**asdict(run), "error": _agent_error(run, observed)}, _FAILURE)


def _agent_error(run: AgentRun | None, observed: Observed) -> Json | None:
    """The exception of the run or of the import; of a time-out, where the run was."""
    error = observed.load_error if run is None else run.error
    if error is not None:
        return only(asdict(error), _AGENT_ERROR)
    if run is not None and run.outcome == "timeout":
        place = run.place or CodeLine("", 0)
        message = t("The run took longer than {limit} s.", limit=f"{observed.plan.timeout_s:g}")
        values = {"type": "TimeoutError", "message": message, "traceback": ""}
        return {**values, "file": place.file, "line": place.line}
    if run is not None and run.broken:
        return {**_no_place("rejected"), "message": run.broken[0].text}
    if observed.ending:
        return {**_no_place("ended"), "message": observed.ending}
    return None


def _no_place(kind: str) -> Json:
    return {"type": kind, "message": "", "traceback": "", "file": "", "line": 0}
