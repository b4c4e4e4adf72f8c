"""Who listens comes and goes by itself."""

from __future__ import annotations

from eagleray.common.listeners import Listeners


def test_all_are_told_in_the_order_in_which_they_came() -> None:
    heard: list[str] = []
    listeners = Listeners[[str]]()
    listeners.add(lambda text: heard.append(f"first {text}"))
    listeners.add(lambda text: heard.append(f"second {text}"))
    listeners.notify("now")
    assert heard == ["first now", "second now"]


def test_one_may_leave_while_the_others_are_told() -> None:
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


def test_one_that_is_there_twice_leaves_once_for_each_time() -> None:
    heard: list[int] = []
    listeners = Listeners[[int]]()
    end = listeners.add(heard.append)
    listeners.add(heard.append)
    end()
    end()
    listeners.notify(7)
    assert heard == [7]


def test_leaving_after_all_were_sent_away_is_no_error() -> None:
    heard: list[int] = []
    listeners = Listeners[[int]]()
    end = listeners.add(heard.append)
    listeners.clear()
    end()
    listeners.notify(7)
    assert heard == []
