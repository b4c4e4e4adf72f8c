"""The reminder after fifteen minutes, by a clock that only the test moves."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from eagleray.app import Settings
from eagleray.debug.attaching import hold_reminder
from eagleray.debug.attaching.hold_reminder import REMIND_AFTER_S, HoldReminder
from eagleray.debug.attaching.model import HeldLong

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


def test_reminder_comes_once_after_fifteen_minutes(
    reminder: HoldReminder, clock: SetClock, said: list[HeldLong]
) -> None:
    reminder.update([state("w1")])
    clock.move(REMIND_AFTER_S - 1)
    reminder.remind()
    assert said == []
    clock.move(1)
    reminder.remind()
    assert said == [HeldLong("http://c:8265", "w1", "name of w1", 15 * 60)]
    clock.move(REMIND_AFTER_S)
    reminder.remind()
    reminder.update([state("w1")])
    assert len(said) == 1


@pytest.mark.parametrize(
    ("said", "limit"), [("", REMIND_AFTER_S), ("60", 60.0), ("soon", REMIND_AFTER_S)]
)
def test_environment_shortens_the_limit(said: str, limit: float) -> None:
    assert Settings.read({}, {"EAGLERAY_REMIND_S": said}).remind_s == limit


def test_hold_before_the_start_counts(
    reminder: HoldReminder, clock: SetClock, said: list[HeldLong]
) -> None:
    reminder.update([state("w1", held_s=14 * MINUTE)])
    assert said == []
    clock.move(MINUTE)
    reminder.remind()
    assert [held.held_s for held in said] == [15 * 60]


def test_stop_without_an_editor_before_is_not_a_hold(
    reminder: HoldReminder, said: list[HeldLong]
) -> None:
    reminder.update([state("w1", held_s=47 * MINUTE, seen=False)])
    assert said == []


def test_old_hold_is_reminded_of_at_once(reminder: HoldReminder, said: list[HeldLong]) -> None:
    reminder.update([state("w1", held_s=47 * MINUTE)])
    assert [held.held_s for held in said] == [47 * 60]


def test_editor_ends_the_hold(
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


def test_next_hold_is_reminded_of_again(
    reminder: HoldReminder, clock: SetClock, said: list[HeldLong]
) -> None:
    for _ in range(2):
        reminder.update([state("w1")])
        clock.move(REMIND_AFTER_S)
        reminder.remind()
        reminder.update([])
    assert len(said) == 2


async def test_reminder_polls_repeatedly(
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
