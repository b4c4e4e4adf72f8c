"""Listeners come and go by themselves."""

from __future__ import annotations

from eagleray.common.listeners import Listeners


def test_listeners_are_called_in_the_order_of_their_addition() -> None:
    heard: list[str] = []
    listeners = Listeners[[str]]()
    listeners.add(lambda text: heard.append(f"first {text}"))
    listeners.add(lambda text: heard.append(f"second {text}"))
    listeners.notify("now")
    assert heard == ["first now", "second now"]


def test_listener_may_be_removed_during_a_call() -> None:
    heard: list[int] = []
    listeners = Listeners[[]]()

    def leave() -> None:
        heard.append(1)
        end()

    end = listeners.add(leave)
    listeners.add(lambda: heard.append(2))
    listeners.notify()
    listeners.notify()
    assert heard == [1, 2, 2]


def test_listener_that_was_added_twice_is_removed_one_at_a_time() -> None:
    heard: list[int] = []
    listeners = Listeners[[int]]()
    end = listeners.add(heard.append)
    listeners.add(heard.append)
    end()
    end()
    listeners.notify(7)
    assert heard == [7]


def test_removal_after_clear_raises_no_error() -> None:
    heard: list[int] = []
    listeners = Listeners[[int]]()
    end = listeners.add(heard.append)
    listeners.clear()
    end()
    listeners.notify(7)
    assert heard == []
