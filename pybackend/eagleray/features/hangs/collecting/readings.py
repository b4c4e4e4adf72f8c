"""Completes a picture: with the verdict on its samples and, if it may, with answers of processes from inside."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from eagleray.common.l10n import counted
from eagleray.features.hangs.collecting.rounds import Say
from eagleray.features.hangs.diagnosis import diagnosis
from eagleray.features.hangs.evidence import HangEvidence
from eagleray.features.hangs.inside import Place, Question, question, with_readings
from eagleray.features.hangs.model import Picture, SilentNode
from eagleray.features.hangs.picture import picture
from eagleray.inspecting.readings import ProcessReading, reading_of

Readings = Mapping[Place, ProcessReading]
# Asks these processes, each of which gets a thread for two minutes.
AskInside = Callable[[Question], Awaitable[Readings]]


def completed(sampled: HangEvidence, silent: Iterable[SilentNode] = ()) -> Picture:
    return picture(sampled, diagnosis(sampled), time.time(), silent)


async def answered(sampled: HangEvidence, ask: AskInside, say: Say) -> HangEvidence:
    """The evidence with what the processes that matter for the verdict answer."""
    query = to_ask(sampled, say)
    return with_readings(sampled, await ask(query)) if query.places else sampled


def to_ask(sampled: HangEvidence, say: Say) -> Question:
    """The processes that matter for the verdict, which are asked now."""
    now = question(sampled, diagnosis(sampled))
    count = len(now.places)
    if count:
        say(counted(count, "Reading {n} process from inside", "Reading {n} processes from inside"))
    return now


def readings_of(places: Sequence[Place], rows: object) -> Readings:
    """The readings of `places` in the rows `[pid, answer]` of a node, which isn't trusted; `rows` is None if it gave none."""
    answers: dict[Any, Any] = {}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, list) and len(row) == 2 and type(row[0]) is int:
            answers[row[0]] = row[1]
    missing = {"reason": "no-answer" if rows is None else "ended"}
    return {place: reading_of(answers.get(place[1], missing)) for place in places}
