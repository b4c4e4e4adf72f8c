"""Fixtures of the lab: one site for all, and what runs in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.site import NoSite, Site


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks for the site belongs to the suite “lab”."""
    for item in items:
        if "site" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.lab)


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The miniature site; where it cannot be, the reason is told in place of every result."""
    started = Site()
    try:
        started.start()
    except NoSite as error:
        pytest.skip(f"no lab: {error}")
    yield started
    started.end()
