"""The text of a log as a Ray dashboard sends it, chunk by chunk."""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncIterator

import aiohttp

# From this version on a chunk is the log's own bytes; before, each chunk begins with one byte more ("1").
FIRST_UNMARKED = (2, 33)


def is_marked(ray_version: str) -> bool:
    """Whether that version of Ray marks each chunk of a log with a byte in front."""
    numbers = re.match(r"(\d+)\.(\d+)", ray_version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < FIRST_UNMARKED


async def texts(answer: aiohttp.ClientResponse, marked: bool) -> AsyncIterator[str]:
    """The text of `answer` as it comes; a character that a chunk cuts in two is put together."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    at_start = True
    async for data, ends in answer.content.iter_chunks():
        skip = 1 if marked and at_start and data else 0
        at_start = ends if data else at_start
        text = decoder.decode(data[skip:])
        if text:
            yield text
