"""Names of files that come from a cluster: how they are displayed, which are accepted, and their local names.

A file system accepts any bytes but a slash and NUL in a name.  Everywhere else in the code a name is its *display name*:
whatever is not printable UTF-8 is percent-encoded, so that any name can be logged, written as JSON and compared.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import unquote_to_bytes

from eagleray.common.outside_names import plain_name

REPORT = ".nsys-rep"
ENTRY = ".nsys-rep.json"
STATUS = ".worker.json"
# Lists the classes of the actors that a process of the run created.
CLASSES = ".classes.json"
# A packed database that a node made of a report, for users whose nsys cannot read the report.
DATABASE = ".sqlite-gz"
_LONGEST = 170


def display_name(name: str) -> str:
    """The name as text, from a directory listing or from JSON; no tool reads its first character as an option.

    Surrogates are the bytes of a name that is not UTF-8 (as `os.fsdecode` returns it), or nonsense from JSON.
    """
    try:
        data = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = name.encode("utf-8", "surrogatepass")
    text = data.decode("utf-8", "surrogateescape")
    first = _quoted(text[0]) if text.startswith(("-", ".")) else _encoded(text[:1])
    return first + "".join(_encoded(character) for character in text[1:])


def raw_name(name: str) -> bytes:
    """The bytes of a display name, as the file system has them."""
    return unquote_to_bytes(name)


def utf8_name(name: str) -> str | None:
    """A display name decoded; None if it is not UTF-8, which no URL of Ray can name."""
    try:
        return raw_name(name).decode("utf-8")
    except UnicodeDecodeError:
        return None


def is_accepted(name: str) -> bool:
    """Whether this is the display name of a file directly in the run's folder."""
    if not name.isprintable() or name.startswith((".", "-")) or {"/", "\\"}.intersection(name):
        return False
    data = raw_name(name)
    return (
        data not in (b"", b".", b"..") and len(data) <= 255 and not {0, ord("/")}.intersection(data)
    )


def local_name(name: str, taken: Collection[str]) -> str:
    """The local file name of a report: plain, and different from all `taken` ones, also ignoring case."""
    stem = plain_name(name.removesuffix(REPORT), _LONGEST)
    used = {other.casefold() for other in taken}
    number, candidate = 1, f"{stem}{REPORT}"
    while candidate.casefold() in used:
        number += 1
        candidate = f"{stem}.{number}{REPORT}"
    return candidate


def _encoded(character: str) -> str:
    is_plain = character.isprintable() and character not in ("%", "\\", "/")
    return character if is_plain else _quoted(character)


def _quoted(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
