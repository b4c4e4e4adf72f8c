"""Errors of fixtures that were reported for an earlier test."""

from __future__ import annotations

from tests.repeated_errors import first_with


def test_same_error_object_names_the_first_test_that_had_it() -> None:
    reported: list[tuple[BaseException, str]] = []
    error = OSError("no room")
    assert first_with(reported, error, "a.py::one") is None
    assert first_with(reported, error, "a.py::two") == "a.py::one"


def test_equal_error_of_another_fixture_is_new() -> None:
    reported: list[tuple[BaseException, str]] = []
    assert first_with(reported, OSError("no room"), "a.py::one") is None
    assert first_with(reported, OSError("no room"), "a.py::two") is None
