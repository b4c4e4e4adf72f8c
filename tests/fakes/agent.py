"""Ray's agent of one node, as far as it serves the files of its logs: any part of one, by its own web server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


class FakeAgent:
    """Serves `files`; `cuts` says after how many bytes each next answer breaks off, 0: it does not."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.cuts: list[int] = []
        self.starts: list[int] = []
        self.port = 0

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        content = self.files.get(request.path.removeprefix("/logs/"))
        if content is None:
            return web.Response(status=404)
        asked = request.http_range
        start = asked.start or 0
        self.starts.append(start)
        answer = web.StreamResponse(status=206 if start else 200)
        answer.content_length = len(content) - start
        await answer.prepare(request)
        cut = self.cuts.pop(0) if self.cuts else 0
        await answer.write(content[start : start + cut] if cut else content[start:])
        if cut:
            assert request.transport is not None
            request.transport.close()
        return answer


@asynccontextmanager
async def agent_of(files: dict[str, bytes]) -> AsyncIterator[FakeAgent]:
    """An agent on a free port of 127.0.0.1."""
    agent = FakeAgent(files)
    application = web.Application()
    application.router.add_get("/{path:.*}", agent._answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    agent.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    try:
        yield agent
    finally:
        await runner.cleanup()
