"""The text of a log as a Ray dashboard sends it, chunk by chunk."""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncIterator

import aiohttp

# From this version on a chunk is the log's own bytes; before, each chunk begins with one byte more:
# "1", or "0" when what follows is what went wrong.
FIRST_UNMARKED = (2, 33)
FAILED = b"0"


class LogFailed(Exception):
    """The dashboard says, in the text of the log, that it could not read it."""


def is_marked(ray_version: str) -> bool:
    """Whether that version of Ray marks each chunk of a log with a byte in front."""
    numbers = re.match(r"(\d{1,9})\.(\d{1,9})", ray_version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < FIRST_UNMARKED


async def texts(answer: aiohttp.ClientResponse, marked: bool) -> AsyncIterator[str]:
    """The text of `answer` as it comes; a character that a chunk cuts in two is put together.

    Raises `LogFailed` with the words of the dashboard.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    async for piece in pieces(answer, marked):
        if text := decoder.decode(piece):
            yield text


async def pieces(answer: aiohttp.ClientResponse, marked: bool) -> AsyncIterator[bytes]:
    """The bytes of `answer` as they come; raises as `texts` does."""
    at_start = True
    async for data, ends in answer.content.iter_chunks():
        has_mark = marked and at_start and bool(data)
        if has_mark and data.startswith(FAILED):
            raise LogFailed(data[1:2000].decode("utf-8", errors="replace"))
        skip = 1 if has_mark else 0
        at_start = ends if data else at_start
        if len(data) > skip:
            yield data[skip:]
