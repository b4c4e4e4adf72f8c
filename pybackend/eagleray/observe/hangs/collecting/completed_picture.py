"""Completes a picture: with the verdict on its samples and, if it may, with answers of processes from inside."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from eagleray.common.l10n import counted
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import HangEvidence
from eagleray.observe.hangs.inside_questions import Place, Question, question, with_readings
from eagleray.observe.hangs.model import Picture, SilentNode
from eagleray.observe.hangs.native_frames import Natives, representatives, with_natives
from eagleray.observe.hangs.picture import picture
from eagleray.remote.inspecting.process_answers import ProcessReading, reading_of
from eagleray.remote.sampling.native import NativeReading, native_of

Readings = Mapping[Place, ProcessReading]


@frozen
class FurtherAnswers:
    """Answers of processes besides their samples: from inside, and native frames."""

    readings: Readings = field(factory=dict)
    natives: Natives = field(factory=dict)


# Asks these processes, each of which gets a thread for two minutes, or is stopped for a moment.
AskFurther = Callable[[Question], Awaitable[FurtherAnswers]]


def completed(sampled: HangEvidence, silent: Iterable[SilentNode] = ()) -> Picture:
    return picture(sampled, diagnosis(sampled), time.time(), silent)


async def answered(sampled: HangEvidence, ask: AskFurther, plan: SamplingPlan) -> HangEvidence:
    """The evidence with what the processes that matter for the verdict answer."""
    query = to_ask(sampled, plan)
    return with_answers(sampled, await ask(query)) if query else sampled


def with_answers(sampled: HangEvidence, answers: FurtherAnswers) -> HangEvidence:
    return with_natives(with_readings(sampled, answers.readings), answers.natives)


def to_ask(sampled: HangEvidence, plan: SamplingPlan) -> Question:
    """The processes that matter for the verdict, which are asked now: from inside only by a plan that allows it."""
    verdict = diagnosis(sampled)
    query = question(sampled, verdict) if plan.inside else Question()
    count = len(query.places)
    if count:
        plan.say(
            counted(count, "Reading {n} process from inside", "Reading {n} processes from inside")
        )
    return evolve(query, native=representatives(sampled, verdict, of_classes=plan.native))


def answers_in(query: Question, value: object) -> FurtherAnswers:
    """The answers in the value of a node (see `answers_of`), which isn't trusted; it is None if the node gave none."""
    missing = {"reason": "no-answer" if value is None else "ended"}
    inside, natives = _by_pid(value, "inside"), _by_pid(value, "native")
    return FurtherAnswers(
        {place: reading_of(inside.get(place[1], missing)) for place in query.places},
        {place: native_of(natives.get(place[1])) for place in query.native},
    )


def _by_pid(value: object, key: str) -> dict[Any, Any]:
    rows = value.get(key) if isinstance(value, dict) else None
    return {
        row[0]: row[1]
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, list) and len(row) == 2 and type(row[0]) is int
    }


def joined(parts: Iterable[FurtherAnswers]) -> FurtherAnswers:
    readings: dict[Place, ProcessReading] = {}
    natives: dict[Place, NativeReading] = {}
    for part in parts:
        readings |= part.readings
        natives |= part.natives
    return FurtherAnswers(readings, natives)
