"""A chat server whose answers the model's name decides: `delay=0.1,limit=4,status=400,content=,unique=1,finish=length,cut=1`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class FakeChat:
    """Computes as many requests as `limit` at once, and answers others with 429."""

    def __init__(self) -> None:
        self._computed = 0
        self._answers = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        settings = dict(part.split("=") for part in body["model"].split(","))
        if "status" in settings:
            return _refused(int(settings["status"]))
        if self._computed >= int(settings.get("limit", 1000)):
            return _refused(429)
        self._computed += 1
        try:
            await asyncio.sleep(float(settings.get("delay", 0.02)))
        finally:
            self._computed -= 1
        if body.get("stream"):
            return await _streamed(request, "cut" in settings)
        self._answers += 1
        own = f"Answer {self._answers} of this server, which no other request gets."
        content = own if "unique" in settings else settings.get("content", "42")
        message = {"role": "assistant", "content": content}
        choice = {"message": message, "finish_reason": settings.get("finish", "stop"), "index": 0}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        return web.json_response({"id": "chatcmpl-1", "choices": [choice], "usage": usage})


async def _streamed(request: web.Request, is_cut: bool) -> web.StreamResponse:
    """Seven tokens, one in an event; one that is cut closes the connection after three."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for number in range(7):
        choice = {"index": 0, "delta": {"content": f"w{number} "}, "finish_reason": None}
        await response.write(_event({"id": "chatcmpl-2", "choices": [choice]}))
        await asyncio.sleep(0.01)
        if is_cut and number == 2:
            assert request.transport is not None
            request.transport.close()
            return response
    last = {"index": 0, "delta": {}, "finish_reason": "stop"}
    await response.write(_event({"id": "chatcmpl-2", "choices": [last]}))
    await response.write(b"data: [DONE]\n\n")
    return response


def _event(values: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(values)}\n\n".encode()


def _refused(status: int) -> web.Response:
    return web.json_response({"error": {"message": "refused"}}, status=status)


@asynccontextmanager
async def fake_chat() -> AsyncIterator[str]:
    """The URL of the server, with `/v1`."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", FakeChat().answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()
