"""Names of files that come from a cluster: how they are shown, which are accepted, and what they are called here.

A file system accepts any bytes but a slash and NUL as a name.  Everywhere else in the code a name is *shown*: what is not
printable UTF-8 is percent-encoded, so that any name can be logged, written as JSON and compared.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote_to_bytes

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


def shown(name: str) -> str:
    """The name as text, from a directory listing or from JSON; no tool reads its first character as an option.

    Surrogates are the bytes of a name that is not UTF-8 (as `os.fsdecode` returns it), or nonsense from JSON.
    """
    try:
        data = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = name.encode("utf-8", "surrogatepass")
    text = data.decode("utf-8", "surrogateescape")
    first = _quoted(text[0]) if text.startswith(("-", ".")) else _shown(text[:1])
    return first + "".join(_shown(character) for character in text[1:])


def raw(name: str) -> bytes:
    """The bytes of a shown name, as the file system has them."""
    return unquote_to_bytes(name)


def utf8(name: str) -> str | None:
    """A shown name as it is in UTF-8; None if it is not UTF-8, which no URL of Ray can name."""
    try:
        return raw(name).decode("utf-8")
    except UnicodeDecodeError:
        return None


def is_taken(name: str) -> bool:
    """Whether this is the shown name of a file in the folder of the run."""
    if not name.isprintable() or name.startswith((".", "-")) or {"/", "\\"}.intersection(name):
        return False
    data = raw(name)
    return (
        data not in (b"", b".", b"..") and len(data) <= 255 and not {0, ord("/")}.intersection(data)
    )


def local(name: str, taken: Collection[str]) -> str:
    """What a report is called here: a plain name that none of `taken` has, in any case of its letters."""
    stem = _PLAIN.sub("_", name.removesuffix(REPORT)).lstrip(".-_")[: _LONGEST - 20] or "report"
    used = {one.casefold() for one in taken}
    number, found = 1, f"{stem}{REPORT}"
    while found.casefold() in used:
        number += 1
        found = f"{stem}.{number}{REPORT}"
    return found


def _shown(character: str) -> str:
    is_plain = character.isprintable() and character not in ("%", "\\", "/")
    return character if is_plain else _quoted(character)


def _quoted(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
