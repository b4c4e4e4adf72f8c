"""The reminder after fifteen minutes, by a clock that only the test moves."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from eagleray.app import Settings
from eagleray.features.debugging import hold_reminder
from eagleray.features.debugging.hold_reminder import REMIND_AFTER_S, HoldReminder
from eagleray.features.debugging.model import HeldLong

from tests.fakes.adapter import state
from tests.set_clock import SetClock

MINUTE = 60.0


@pytest.fixture
def clock() -> SetClock:
    return SetClock(1000.0)


@pytest.fixture
def said() -> list[HeldLong]:
    return []


@pytest.fixture
def reminder(clock: SetClock, said: list[HeldLong]) -> HoldReminder:
    return HoldReminder(clock, said.append)


def test_it_says_so_after_fifteen_minutes_and_once(
    reminder: HoldReminder, clock: SetClock, said: list[HeldLong]
) -> None:
    reminder.update([state("w1")])
    clock.move(REMIND_AFTER_S - 1)
    reminder.remind()
    assert said == []
    clock.move(1)
    reminder.remind()
    assert said == [HeldLong("http://c:8265", "w1", "name of w1", 15)]
    clock.move(REMIND_AFTER_S)
    reminder.remind()
    reminder.update([state("w1")])
    assert len(said) == 1


@pytest.mark.parametrize(
    ("said", "limit"), [("", REMIND_AFTER_S), ("60", 60.0), ("soon", REMIND_AFTER_S)]
)
def test_the_environment_may_shorten_it(said: str, limit: float) -> None:
    assert Settings.read({}, {"EAGLERAY_REMIND_S": said}).remind_s == limit


def test_a_hold_that_began_before_us(
    reminder: HoldReminder, clock: SetClock, said: list[HeldLong]
) -> None:
    reminder.update([state("w1", held_s=14 * MINUTE)])
    assert said == []
    clock.move(MINUTE)
    reminder.remind()
    assert [held.minutes for held in said] == [15]


def test_a_stop_that_nobody_has_seen_is_no_hold(
    reminder: HoldReminder, said: list[HeldLong]
) -> None:
    reminder.update([state("w1", held_s=47 * MINUTE, seen=False)])
    assert said == []


def test_a_very_old_hold_is_said_at_once(reminder: HoldReminder, said: list[HeldLong]) -> None:
    reminder.update([state("w1", held_s=47 * MINUTE)])
    assert [held.minutes for held in said] == [47]


def test_an_editor_ends_the_hold(
    reminder: HoldReminder, clock: SetClock, said: list[HeldLong]
) -> None:
    reminder.update([state("w1")])
    clock.move(REMIND_AFTER_S - 1)
    reminder.update([state("w1", editor=True)])
    clock.move(REMIND_AFTER_S)
    reminder.remind()
    reminder.update([state("w1")])
    clock.move(REMIND_AFTER_S - 1)
    reminder.remind()
    assert said == []
    clock.move(1)
    reminder.remind()
    assert len(said) == 1


@pytest.mark.parametrize("kind", ["running", "gone", "attaching"])
def test_only_stopped_workers_are_held(
    reminder: HoldReminder, clock: SetClock, said: list[HeldLong], kind: str
) -> None:
    reminder.update([state("w1", state=kind)])
    clock.move(REMIND_AFTER_S)
    reminder.remind()
    assert said == []


def test_the_next_hold_is_said_again(
    reminder: HoldReminder, clock: SetClock, said: list[HeldLong]
) -> None:
    for _ in range(2):
        reminder.update([state("w1")])
        clock.move(REMIND_AFTER_S)
        reminder.remind()
        reminder.update([])
    assert len(said) == 2


async def test_it_looks_again_by_itself(
    reminder: HoldReminder, clock: SetClock, said: list[HeldLong], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold_reminder, "_POLL_S", 0.0)
    reminder.update([state("w1")])
    running = asyncio.create_task(reminder.run())
    clock.move(REMIND_AFTER_S)
    while not said:
        await asyncio.sleep(0)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
