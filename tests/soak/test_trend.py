"""The slope test separates growth from noise, also over restarts."""

from __future__ import annotations

import random

from tests.soak.trend import Point, trend

NOISE = random.Random(11)


def series(life: str, start: float, per_hour: float, noise: float, count: int = 30) -> list[Point]:
    return [
        Point(life, at / count, start + per_hour * at / count + NOISE.gauss(0, noise))
        for at in range(count)
    ]


def test_noise_is_not_growth() -> None:
    found = trend(series("a", 100, 0, 5))
    assert found.p is not None and found.p > 0.01
    assert not found.grows(0)


def test_growth_within_noise_is_found() -> None:
    found = trend(series("a", 100, 20, 3))
    assert found.grows(5)
    assert not found.grows(40)
    assert 10 < found.per_hour < 30


def test_growth_is_found_over_restarts() -> None:
    """Each life begins at the same value, so that the whole series is level."""
    points = [point for life in "abcd" for point in series(life, 50, 12, 1, 12)]
    assert trend(points).grows(3)


def test_start_values_of_lives_are_not_growth() -> None:
    points = [point for start in (10, 20, 30) for point in series(str(start), start, 0, 0, 10)]
    assert not trend(points).grows(0)
    assert trend(points).per_hour == 0


def test_constant_values_and_few_values_are_not_growth() -> None:
    assert not trend(series("a", 7, 0, 0)).grows(0)
    assert trend(series("a", 7, 100, 0, 5)).p is None


def test_a_falling_series_is_not_growth() -> None:
    assert not trend(series("a", 100, -50, 1)).grows(0)
