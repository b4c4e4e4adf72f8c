"""Logs of a cluster: chunks from a dashboard, files from a node's agent, and the output of a job."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import no_log
from eagleray.ray.endpoint import FindEndpoint
from eagleray.ray.jobs import JobState

if TYPE_CHECKING:
    import aiohttp

    from eagleray.ray.dashboard import Dashboard

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


log = logging.getLogger(__name__)

POLL_S = 0.5
STREAM_S = 0.1
WHOLE = -1


async def follow(dashboard: Dashboard, job: str) -> AsyncGenerator[str, None]:
    """Yields the text of a job from its beginning until the job has ended.

    The dashboard's own WebSocket for it polls once a second and ends seconds late, so it isn't used.

    1. Until the job has a node there is no log.
    2. Then its file is streamed; if that fails, the whole log is requested repeatedly.
    3. When the job has ended, the rest is taken from the whole log.
    """
    yielded = 0
    state = await _wait_started(dashboard, job)
    ended = asyncio.create_task(_ended(dashboard, job))
    try:
        if not state.ended:
            async for text in _streamed(dashboard, job, state.driver_node_id, ended):
                yielded += len(text)
                yield text
        while True:
            is_last = ended.done()
            async for rest in _rest(dashboard, job, state.driver_node_id, yielded):
                yielded += len(rest)
                yield rest
            if is_last:
                return
            await asyncio.wait([ended], timeout=POLL_S)
    finally:
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)


async def wait_ended(dashboard: Dashboard, job: str, poll_s: float = POLL_S) -> JobState:
    """Waits for the end of the job without a limit."""
    while True:
        state = await dashboard.job_api.state(job)
        if state.ended:
            return state
        await asyncio.sleep(poll_s)


async def _wait_started(dashboard: Dashboard, job: str) -> JobState:
    while True:
        state = await dashboard.job_api.state(job)
        if state.ended or (state.driver_node_id and state.status == "RUNNING"):
            return state
        await asyncio.sleep(POLL_S)


async def _ended(dashboard: Dashboard, job: str) -> None:
    """Waits for the end of the job; ignores failed requests, which say nothing about it."""
    while True:
        with contextlib.suppress(EaglerayError):
            await wait_ended(dashboard, job)
            return
        await asyncio.sleep(POLL_S)


async def _rest(dashboard: Dashboard, job: str, node_id: str, yielded: int) -> AsyncIterator[str]:
    """Yields the text after the first `yielded` characters; reads a log that is too large for one response in pieces."""
    try:
        text = await dashboard.job_api.logs(job)
    except EaglerayError as error:
        if error.code != "answer-too-large" or not node_id:
            raise
    else:
        if text[yielded:]:
            yield text[yielded:]
        return
    passed = 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    async for piece in dashboard.log_bytes(node_id, f"job-driver-{job}.log"):
        text = decoder.decode(piece)
        new, passed = text[max(0, yielded - passed) :], passed + len(text)
        if new:
            yield new


async def _streamed(
    dashboard: Dashboard, job: str, node_id: str, ended: asyncio.Task[None]
) -> AsyncIterator[str]:
    """Yields the streamed text until the job has ended or the stream fails."""
    stream = dashboard.log_stream(node_id, f"job-driver-{job}.log", WHOLE, STREAM_S)
    try:
        while True:
            piece = asyncio.ensure_future(anext(stream))
            try:
                await asyncio.wait([piece, ended], return_when=asyncio.FIRST_COMPLETED)
            finally:
                # Also when the follower is cancelled: a stream that is being read can't be closed.
                if not piece.done():
                    piece.cancel()
                    await asyncio.gather(piece, return_exceptions=True)
            if piece.cancelled():
                return
            yield piece.result()
    except StopAsyncIteration:
        return
    except EaglerayError as error:
        log.info("the log of job %s is not streamed: %s %s", job, error, error.logged)
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
