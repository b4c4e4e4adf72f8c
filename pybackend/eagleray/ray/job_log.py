"""What a job writes, followed while it runs: its log file as the dashboard streams it, to the last byte.

The dashboard's own WebSocket for it looks once a second and ends seconds late, and is not asked.
"""

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

LOOK_S = 0.5
STREAM_S = 0.1
WHOLE = -1


async def follow(dashboard: Dashboard, job: str) -> AsyncGenerator[str, None]:
    """The text of a job from its beginning; ends when the job has ended and all of it was said.

    1. Until the job has a node its log is nowhere.
    2. Then its file is streamed; where that fails it is asked for whole again and again.
    3. When the job has ended, what the stream had not yet brought is taken from the whole.
    """
    said = 0
    state = await _begun(dashboard, job)
    ended = asyncio.create_task(_ended(dashboard, job))
    try:
        if not state.ended:
            async for text in _streamed(dashboard, job, state.driver_node_id, ended):
                said += len(text)
                yield text
        while True:
            is_last = ended.done()
            async for rest in _rest(dashboard, job, state.driver_node_id, said):
                said += len(rest)
                yield rest
            if is_last:
                return
            await asyncio.wait([ended], timeout=LOOK_S)
    finally:
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)


async def wait_ended(dashboard: Dashboard, job: str, look_s: float = LOOK_S) -> JobState:
    """Returns when the job has ended, however long that takes."""
    while True:
        state = await dashboard.job_api.state(job)
        if state.ended:
            return state
        await asyncio.sleep(look_s)


async def _begun(dashboard: Dashboard, job: str) -> JobState:
    while True:
        state = await dashboard.job_api.state(job)
        if state.ended or (state.driver_node_id and state.status == "RUNNING"):
            return state
        await asyncio.sleep(LOOK_S)


async def _ended(dashboard: Dashboard, job: str) -> None:
    """A dashboard that fails to answer now and then says nothing about the job."""
    while True:
        with contextlib.suppress(EaglerayError):
            await wait_ended(dashboard, job)
            return
        await asyncio.sleep(LOOK_S)


async def _rest(dashboard: Dashboard, job: str, node_id: str, said: int) -> AsyncIterator[str]:
    """What is there beyond the first `said` letters; a log that is too large for one answer comes piece by piece."""
    try:
        text = await dashboard.job_api.logs(job)
    except EaglerayError as error:
        if error.code != "answer-too-large" or not node_id:
            raise
    else:
        if text[said:]:
            yield text[said:]
        return
    passed = 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    async for piece in dashboard.log_bytes(node_id, f"job-driver-{job}.log"):
        text = decoder.decode(piece)
        new, passed = text[max(0, said - passed) :], passed + len(text)
        if new:
            yield new


async def _streamed(
    dashboard: Dashboard, job: str, node_id: str, ended: asyncio.Task[None]
) -> AsyncIterator[str]:
    """What the stream brings until the job has ended or the stream fails."""
    stream = dashboard.log_stream(node_id, f"job-driver-{job}.log", WHOLE, STREAM_S)
    try:
        while True:
            piece = asyncio.ensure_future(anext(stream))
            await asyncio.wait([piece, ended], return_when=asyncio.FIRST_COMPLETED)
            if not piece.done():
                piece.cancel()
                await asyncio.gather(piece, return_exceptions=True)
                return
            yield piece.result()
    except StopAsyncIteration:
        return
    except EaglerayError as error:
        log.info("the log of job %s is not streamed: %s %s", job, error, error.detail)
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
