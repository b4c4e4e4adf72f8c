"""A chat server whose answers the model's name decides: `delay=0.1,limit=4,status=400,content=,finish=length`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


class FakeChat:
    """Computes as many requests as `limit` at once, and answers others with 429."""

    def __init__(self) -> None:
        self._computed = 0

    async def answer(self, request: web.Request) -> web.Response:
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
        message = {"role": "assistant", "content": settings.get("content", "42")}
        choice = {"message": message, "finish_reason": settings.get("finish", "stop"), "index": 0}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        return web.json_response({"id": "chatcmpl-1", "choices": [choice], "usage": usage})


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
