"""Which lines of a text fit what a person searches for: plain text, or a regular expression."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from pathlib import Path
from typing import Protocol

from attrs import frozen

from eagleray.common.worker_errors import bad_pattern, slow_pattern

CHILD = Path(__file__).with_name("regex_child.py")
TIME_LIMIT_S = 10.0
# A regular expression sees only the beginning of a line: its time may explode with the length.
WIDTH = 2_000


class Matcher(Protocol):
    """Tells which lines fit; may be asked from several tasks at once."""

    async def lines(self, text: str, most: int) -> list[int]:
        """The indexes of the first `most` lines of `text` that fit."""


def matcher(pattern: str, regex: bool, match_case: bool) -> Matcher:
    """Raises `bad-pattern`."""
    if not pattern:
        raise bad_pattern(pattern, "it is empty")
    if not regex:
        return PlainText(pattern if match_case else pattern.casefold(), match_case)
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise bad_pattern(pattern, str(error)) from None
    return Regex(pattern, match_case)


@frozen
class PlainText:
    """A piece of text, folded already unless the case matters."""

    text: str
    match_case: bool

    async def lines(self, text: str, most: int) -> list[int]:
        # Off the loop: a large log would keep everybody else waiting.
        return await asyncio.to_thread(self._lines, text, most)

    def _lines(self, text: str, most: int) -> list[int]:
        found: list[int] = []
        for index, line in enumerate(text.split("\n")):
            if self.text in (line if self.match_case else line.casefold()):
                found.append(index)
                if len(found) >= most:
                    break
        return found


@frozen
class Regex:
    """A regular expression, run in a process of its own that ends with the call, or after a time limit."""

    pattern: str
    match_case: bool

    async def lines(self, text: str, most: int) -> list[int]:
        if not text:
            return []
        asked = {
            "pattern": self.pattern,
            "ignore_case": not self.match_case,
            "most": most,
            "width": WIDTH,
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(CHILD)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            said = f"{json.dumps(asked)}\n{text}".encode("utf-8", "replace")
            out, _ = await asyncio.wait_for(process.communicate(said), TIME_LIMIT_S)
            found: list[int] = json.loads(out)
        except (asyncio.TimeoutError, ValueError):
            raise slow_pattern(self.pattern) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return found
