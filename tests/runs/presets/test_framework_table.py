"""Versions are ordered, and a table covers a range of them."""

from __future__ import annotations

import pytest
from eagleray.runs.presets.framework_table import Range, order_of

RISING = ["0.6.0.dev", "0.6.0a1", "0.6.0rc1", "0.6", "0.6.0.post1", "0.6.1", "0.8.0.dev", "1.0"]


def test_they_rise() -> None:
    orders = [order_of(version) for version in RISING]
    assert None not in orders
    assert orders == sorted(orders, key=lambda order: order or ((), 0, 0))
    assert len(set(orders)) == len(RISING)


@pytest.mark.parametrize(
    ("version", "holds"),
    [
        ("0.6.0", True),
        ("0.6", True),
        ("v0.6.1", True),
        ("0.7.0+git12", True),
        ("0.8.0.dev", True),
        ("0.8.0", False),
        ("0.8.0.dev5", False),
        ("0.5.9", False),
        ("0.6.0rc1", False),
        ("", False),
        ("main", False),
        ("0.7.0; rm -rf /", False),
        ("9" * 400, False),
    ],
)
def test_range_holds_only_versions_that_were_read(version: str, holds: bool) -> None:
    assert Range("0.6.0", "0.8.0.dev").holds(version) is holds


def test_table_without_a_range_has_no_version() -> None:
    assert not Range("", "").holds("1.0")
    assert not Range("", "").holds("")
