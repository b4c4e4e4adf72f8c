"""Logs of a cluster: chunks from a dashboard, and files from a node's agent."""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from eagleray.common.worker_errors import no_log
from eagleray.ray.endpoint import FindEndpoint

if TYPE_CHECKING:
    import aiohttp

# From this version on a chunk has the log's bytes only; before, each chunk begins with one byte more: "1", or
# "0" before an error message.
FIRST_UNMARKED = (2, 33)
FAILED = b"0"


class LogFailed(Exception):
    """The dashboard couldn't read the log; its message came in place of the text."""


def is_marked(ray_version: str) -> bool:
    """Whether that version of Ray puts a byte before each chunk of a log."""
    numbers = re.match(r"(\d{1,9})\.(\d{1,9})", ray_version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < FIRST_UNMARKED


async def texts(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yields the text of `pieces` as they arrive; joins characters that two of them share."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    async for piece in pieces:
        if text := decoder.decode(piece):
            yield text


async def pieces(answer: aiohttp.ClientResponse, marked: bool) -> AsyncIterator[bytes]:
    """Yields the bytes of `answer` as they arrive.

    Raises `LogFailed` with the message of the dashboard.
    """
    at_start = True
    async for data, ends in answer.content.iter_chunks():
        has_mark = marked and at_start and bool(data)
        if has_mark and data.startswith(FAILED):
            raise LogFailed(data[1:2000].decode("utf-8", errors="replace"))
        skip = 1 if has_mark else 0
        at_start = ends if data else at_start
        if len(data) > skip:
            yield data[skip:]


_WHOLE, _PART, _PAST_THE_END = 200, 206, 416


class RayAgent:
    """Ray's agent on one node, which serves parts of files without the head; owns its connections until `close()`.

    It never gets a token: the listener on that port of a node may not belong to the cluster.
    """

    def __init__(self, address: str, find_endpoint: FindEndpoint) -> None:
        from eagleray.ray.http import RayHttp

        self._http = RayHttp(address, lambda check: None, find_endpoint)

    async def close(self) -> None:
        await self._http.close()

    async def log_bytes(self, filename: str, start: int) -> AsyncIterator[bytes]:
        """Yields the bytes of a file from `start` on; first an empty piece if it starts from the beginning instead.

        Raises `no-log`, or an error of the connection.
        """
        async with self._http.open(f"/logs/{filename}", seconds=None, start=start) as answer:
            if answer.status == _PAST_THE_END:
                return
            if answer.status not in (_WHOLE, _PART):
                raise no_log(filename)
            if start and answer.status == _WHOLE:
                yield b""
            async for piece in answer.content.iter_any():
                yield piece
