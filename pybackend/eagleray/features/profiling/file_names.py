"""Names of reports, which come from a cluster: which of them are taken, and what they are called here."""

from __future__ import annotations

import re
from collections.abc import Collection

REPORT = ".nsys-rep"
ENTRY = ".nsys-rep.json"
STATUS = ".worker.json"
# Of which classes a process of the run has created actors.
CLASSES = ".classes.json"
# What a node has made of a report for those whose nsys cannot read it, packed.
DATABASE = ".sqlite-gz"
# What file systems of every kind take: a colon is none of them, and scp sees a host before it.
_PLAIN = re.compile(r"[^A-Za-z0-9._+=@-]")
_LONGEST = 200


def is_taken(name: str) -> bool:
    """Whether a file of that name is asked for: one name in the folder of the run, that no tool reads otherwise."""
    if name in ("", ".", "..") or name.startswith((".", "-")) or len(name.encode()) > 255:
        return False
    return name.isprintable() and not {"/", "\\", "\0"}.intersection(name)


def local(name: str, taken: Collection[str]) -> str:
    """What a report is called here: a plain name that none of `taken` has, in any case of its letters."""
    stem = _PLAIN.sub("_", name.removesuffix(REPORT)).lstrip(".-_")[: _LONGEST - 20] or "report"
    used = {one.casefold() for one in taken}
    number, found = 1, f"{stem}{REPORT}"
    while found.casefold() in used:
        number += 1
        found = f"{stem}.{number}{REPORT}"
    return found
