"""How long workers have been seen to wait."""

from __future__ import annotations

from eagleray.debug.workers.paused_workers import WaitTimer
from hypothesis import given
from hypothesis import strategies as st

from tests.set_clock import SetClock

A, B = ("s", "a"), ("s", "b")


def test_wait_counts_from_its_first_sight() -> None:
    clock = SetClock(100.0)
    waits = WaitTimer(clock)
    waits.update({A})
    clock.move(2.5)
    waits.update({A, B})
    clock.move(1.0)
    assert (waits.seconds(A), waits.seconds(B), waits.seconds(("t", "a"))) == (3.5, 1.0, 0.0)


def test_next_pause_of_a_worker_is_another_wait() -> None:
    clock = SetClock()
    waits = WaitTimer(clock)
    waits.update({A})
    first = waits.number(A)
    clock.move(9)
    waits.update(set())
    assert waits.number(A) is None and waits.seconds(A) == 0.0
    waits.update({A})
    assert waits.number(A) not in (None, first) and waits.seconds(A) == 0.0


def test_next_stop_is_another_wait_where_no_run_was_seen() -> None:
    clock = SetClock()
    waits = WaitTimer(clock)
    numbers = []
    # Ray lists it, then an adapter has it, which reports the same stop twice and then the next one.
    for stops in ({}, {A: 1}, {A: 1}, {}, {A: 2}):
        clock.move(9)
        waits.update({A}, stops=stops)
        numbers.append(waits.number(A))
    assert len(set(numbers[:4])) == 1 and numbers[4] != numbers[0]
    assert waits.seconds(A) == 0.0


def test_begin_of_a_wait_may_be_unknown_and_become_known() -> None:
    clock = SetClock(100.0)
    waits = WaitTimer(clock)
    waits.update({A}, lambda key: None)
    number = waits.number(A)
    assert number is not None and waits.seconds(A) is None
    waits.start(A, number + 1, 5.0)
    assert waits.seconds(A) is None
    waits.start(A, number, 60.0)
    clock.move(2.0)
    waits.start(A, number, 1.0)
    assert waits.seconds(A) == 62.0
    waits.update(set())
    assert waits.seconds(A) == 0.0


@given(st.lists(st.sets(st.sampled_from([("s", letter) for letter in "abcd"]))))
def test_numbers_are_never_used_twice(looks: list[set[tuple[str, str]]]) -> None:
    waits = WaitTimer(SetClock())
    before: dict[tuple[str, str], int] = {}
    used: set[int] = set()
    for waiting in looks:
        waits.update(waiting)
        now = {key: number for key in waiting if (number := waits.number(key)) is not None}
        assert now.keys() == waiting
        for key, number in now.items():
            assert number == before.get(key) or number not in used
        used.update(now.values())
        before = now
