"""Which error of a fixture counts as one that was shown already."""

from __future__ import annotations

from tests.repeated_errors import first_with


def test_the_very_same_error_is_that_of_the_first_test() -> None:
    seen: list[tuple[BaseException, str]] = []
    error = OSError("no room")
    assert first_with(seen, error, "a.py::one") is None
    assert first_with(seen, error, "a.py::two") == "a.py::one"


def test_an_equal_error_of_another_fixture_is_a_new_one() -> None:
    seen: list[tuple[BaseException, str]] = []
    assert first_with(seen, OSError("no room"), "a.py::one") is None
    assert first_with(seen, OSError("no room"), "a.py::two") is None
