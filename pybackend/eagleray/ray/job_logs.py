"""The output of a job: followed until the job has ended."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator

from eagleray.common.errors import EaglerayError
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.jobs import JobState

log = logging.getLogger(__name__)

POLL_S = 0.5
STREAM_S = 0.1
WHOLE = -1


async def follow(dashboard: Dashboard, job: str) -> AsyncGenerator[str, None]:
    """Yields the text of a job from its beginning until the job has ended.

    The dashboard's own WebSocket for it polls once a second (LOG_TAIL_SLEEP_S) and ends 3.3 s late (measured with Ray
    2.60), so it isn't used.

    1. The log begins once the job has a node.
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
