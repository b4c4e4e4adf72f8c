"""Versions of nsys: which one a program is, and whose reports it cannot read."""

from __future__ import annotations

import re

_SAID = re.compile(r"version (\d+(?:\.\d+)+)")


def version_in(said: str) -> str:
    """Such as 2022.4.2.1, of what `nsys --version` prints; "" if it does not say."""
    found = _SAID.search(said)
    return found[1] if found else ""


def is_newer(version: str, than: str) -> bool:
    """Whether that one's reports are not read by this one; an unknown version is never newer or older."""
    # The numbers behind the first three name a build.
    return bool(than) and numbers(version)[:3] > numbers(than)[:3]


def numbers(text: str) -> list[int]:
    """By which versions, and folders that bear them, are put in order."""
    return [int(number) for number in re.findall(r"\d{1,18}", text)]
