"""Makes records of the events of the runner, which runs code of the user and may send anything."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from eagleray.common.errors import printable
from eagleray.common.redact import redact_text
from eagleray.rollouts.agents.contract_texts import contract_rule
from eagleray.rollouts.agents.model import (
    AgentError,
    AgentRequest,
    AgentRun,
    BlockingCall,
    CodeLine,
    Contention,
    ContractRule,
    HeldLoop,
    LeftTasks,
    Outcome,
    WaveTotals,
)

Event = Mapping[str, Any]
_MESSAGE = re.compile(r'"(?:message|detail)"\s*:\s*"((?:[^"\\]|\\.){1,400})')
_ERROR_CHARACTERS = 4000


def rules_of(event: Event) -> tuple[ContractRule, ...]:
    return tuple(map(contract_rule, event.get("rules") or ()))


def run_of(event: Event, base_url: str) -> AgentRun:
    return AgentRun(
        index=int(event["index"]),
        item=int(event["item"]),
        group=int(event["group"]),
        member=int(event["member"]),
        outcome=cast(Outcome, event["outcome"]),
        seconds=float(event["seconds"]),
        result=event.get("result"),
        reward=event.get("reward"),
        error=error_of(event.get("error")),
        place=place_of(event.get("location")),
        broken=tuple(rule for rule in rules_of(event) if not rule.ok),
        clients=int(event["clients"]),
        client_s=float(event["client_seconds"]),
        client_place=place_of(event.get("client_location")),
        requests=tuple(_request_of(exchange, base_url) for exchange in event["requests"]),
        left_tasks=_left_of(event["left_tasks"]),
    )


def _request_of(exchange: Event, base_url: str) -> AgentRequest:
    seconds, tokens, pool_s = (exchange.get(name) for name in ("seconds", "tokens", "pool_s"))
    limit, url, status = exchange.get("pool_limit"), str(exchange["url"]), int(exchange["status"])
    return AgentRequest(
        path=printable(urlsplit(url).path, 200),
        status=status,
        seconds=None if seconds is None else float(seconds),
        pool_s=None if pool_s is None else float(pool_s),
        tokens=None if tokens is None else int(tokens),
        error=printable(str(exchange["error"]), 300),
        finish_reason=printable(str(exchange["finish_reason"]), 40),
        is_empty=bool(exchange["is_empty"]),
        is_of_server=url.startswith(base_url.removesuffix("/v1")),
        problem=_problem(str(exchange["response"])) if status >= HTTPStatus.BAD_REQUEST else "",
        place=place_of(exchange.get("location")),
        pool_limit=None if limit is None else int(limit),
    )


def _problem(response: str) -> str:
    """The message of an error, as OpenAI's API and FastAPI have it."""
    match = _MESSAGE.search(response[:_ERROR_CHARACTERS])
    return printable(redact_text(match[1]), 120) if match else ""


def totals_of(event: Event) -> WaveTotals:
    lag = event["lag_ms"]
    return WaveTotals(
        seconds=float(event["seconds"]),
        in_flight=int(event["in_flight"]),
        max_in_flight=int(event["max_in_flight"]),
        ended=int(event["ended"]),
        requests=int(event["requests"]),
        requests_in_flight=int(event["requests_in_flight"]),
        max_requests_in_flight=int(event["max_requests_in_flight"]),
        tokens=int(event["tokens"]),
        lag_p50_ms=float(lag["p50"]),
        lag_max_ms=float(lag["max"]),
        lines=tuple(map(_held_of, event["lines"])),
        blocking=tuple(map(_blocking_of, event["blocking"])),
        unobserved=int(event["unobserved"]),
        unattributed=int(event["unattributed"]),
        contention=_contention_of(event["contention"]),
    )


def _contention_of(line: Event | None) -> Contention | None:
    place = place_of(line)
    if line is None or place is None:
        return None
    kind: Literal["lock", "thread"] = "lock" if line["kind"] == "lock" else "thread"
    return Contention(place, kind, float(line["share"]), int(line["samples"]))


def _left_of(lines: Sequence[Event] | None) -> tuple[LeftTasks, ...] | None:
    if lines is None:
        return None
    places = [(place_of(line), int(line["tasks"])) for line in lines]
    return tuple(LeftTasks(place, tasks) for place, tasks in places if place is not None)


def _blocking_of(line: Event) -> BlockingCall:
    place = place_of(line)
    assert place is not None
    return BlockingCall(place, float(line["seconds"]), int(line["calls"]))


def _held_of(line: Event) -> HeldLoop:
    place = place_of(line)
    assert place is not None
    return HeldLoop(
        place,
        waiting_s=float(line["waiting_s"]),
        computing_s=float(line["computing_s"]),
        own_s=float(line["own_s"]),
        awaited_s=float(line["awaited_s"]),
        constructing_s=float(line["constructing_s"]),
        longest_s=float(line["longest_s"]),
        samples=int(line["samples"]),
    )


def error_of(error: Event | None) -> AgentError | None:
    if error is None:
        return None
    return AgentError(
        type=printable(str(error["type"]), 100),
        message=printable(str(error["message"]), 2000),
        traceback=str(error["traceback"]),
        file=str(error["file"]),
        line=int(error["line"]),
        is_pool_timeout=bool(error["is_pool_timeout"]),
    )


def place_of(location: Event | None) -> CodeLine | None:
    if not location:
        return None
    return CodeLine(
        file=str(location["file"]),
        line=int(location["line"]),
        function=printable(str(location.get("function", "")), 200),
        text=printable(str(location.get("text", "")), 200),
        inner=printable(str(location.get("inner", "")), 200),
    )
