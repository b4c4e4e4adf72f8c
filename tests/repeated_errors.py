"""A fixture that many tests share fails once: its traceback is shown for the first of them, the others name that one."""

from __future__ import annotations

from collections.abc import Generator

import pytest

# Kept as a whole, so that no other error gets the id of one that is gone.
SEEN = pytest.StashKey[list[tuple[BaseException, str]]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "setup" and report.failed and call.excinfo is not None:
        seen = item.session.stash.setdefault(SEEN, [])
        first = first_with(seen, call.excinfo.value, item.nodeid)
        if first is not None:
            said = call.excinfo.exconly().splitlines()[0]
            report.longrepr = f"{said}\nThe same error as that of {first}."
    return report


def first_with(
    seen: list[tuple[BaseException, str]], error: BaseException, nodeid: str
) -> str | None:
    """The test whose set-up ended with this very error, None for a new one, which is noted: pytest raises it again."""
    for before, first in seen:
        if before is error:
            return first
    seen.append((error, nodeid))
    return None
