"""Output of a program as text for a terminal: colours and cursor movement pass, what could do harm does not.

A terminal obeys what it is sent.  Sequences that write the clipboard, set titles or working directories, make the
terminal answer as if the user typed, or switch its modes (mouse, pasting, screens) are removed.
"""

from __future__ import annotations

import codecs
import re

# A sequence that is not complete by then is removed without its end.
LONGEST = 2**16

# At the end of the text another sequence follows, which is not complete yet.
_END = r"(?:\x07|\x1b\\|(?=[\x18\x1a])|(?=\x1b[^\\])|(?=\x1b?\Z))"
_SEQUENCE = re.compile(
    r"\x1b\[(?P<parameters>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    rf"|\x1b\][^\x07\x1b\x18\x1a]*{_END}"
    rf"|\x1b[PX^_][^\x07\x1b\x18\x1a]*{_END}"
    r"|(?P<plain>\x1b(?:[78DEM]|\([0B]))"
    r"|\x1b[ -/]*[0-~]"
    r"|\x1b"
    r"|[\x00-\x06\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]"
)
_INCOMPLETE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x18\x1a]*\x1b?|[ -/]*)?\Z", re.DOTALL
)
# Colours, movement of the cursor, erasing, inserting, scrolling.
_FINALS = frozenset("ABCDEFGHJKLMPSTXZ@`adefmrsu")
_PARAMETERS = re.compile(r"[0-9;:]{0,64}")
# The cursor's visibility, and line wrapping.
_MODES = ("?25", "?7")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> tuple[str, str]:
    """`text` without harmful sequences, and the beginning of a sequence at its end, of which more has to come."""
    match = _INCOMPLETE.search(text, max(0, len(text) - LONGEST))
    at = match.start() if match else len(text)
    return _SEQUENCE.sub(_harmless, text[:at]), text[at:]


def decode(data: bytes, *, is_end: bool) -> tuple[str, int]:
    """The clean text of `data`, and how many of its bytes that is; the rest waits for more unless this is the end."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text = decoder.decode(data, is_end)
    shown, rest = clean(text)
    waiting = 0 if is_end else len(decoder.getstate()[0]) + _size(rest)
    return _SURROGATE.sub("\ufffd", shown), len(data) - waiting


class TerminalOutput:
    """Bytes in, clean text out; keeps an incomplete character or sequence."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> str:
        data = self._rest + data
        text, used = decode(data, is_end=False)
        self._rest = data[used:]
        return text


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _harmless(match: re.Match[str]) -> str:
    if match["plain"]:
        return match[0]
    final = match["final"]
    if final is None or match["between"]:
        return ""
    if final in "hl":
        return match[0] if match["parameters"] in _MODES else ""
    return match[0] if final in _FINALS and _PARAMETERS.fullmatch(match["parameters"]) else ""
