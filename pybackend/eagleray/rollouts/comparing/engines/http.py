"""HTTP requests to one inference server; every failure is mapped to the catalogue.

The key is sent to the server's own address only: no redirect is followed, no cookie stored, and no proxy of the
environment used.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
from attrs import field, frozen
from yarl import URL

from eagleray.rollouts.comparing import errors

# A long completion of a large model on a busy server.
REQUEST_S = 600.0
_CONNECT_S = 10.0
# Two logprobs for each token of a long prompt take a few megabytes.
_LARGEST = 256 * 2**20
_MOST_CONNECTIONS = 128
# Servers close a connection that is idle for 5 s (uvicorn, cpp-httplib), which a request in the same moment doesn't survive.
_IDLE_S = 2.0


@frozen
class EngineAddress:
    """A server by its name for the user; `url` may end with `/v1`."""

    name: str
    url: str
    key: str = field(default="", repr=False)


class RefusedRequest(Exception):
    """The server answered a request with an error status; callers may try another request."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text[:200]}")
        self.status = status
        self.text = text


class EngineHttp:
    """Requests to one server; used on one event loop, ended by `close`."""

    def __init__(self, server: EngineAddress) -> None:
        self.name = server.name
        base = URL(server.url)
        self._base = base.with_path(base.path.rstrip("/").removesuffix("/v1"))
        self._headers = {"Authorization": f"Bearer {server.key}"} if server.key else {}
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, path: str, seconds: float = REQUEST_S) -> Any:
        """The JSON of a GET; raises RefusedRequest for an error status, else errors of the catalogue."""
        return self._json(await self._request("GET", path, None, seconds, _LARGEST))

    async def get_text(self, path: str, seconds: float, largest: int) -> str:
        """The text of a GET of up to `largest` bytes; raises as `get` does."""
        body = await self._request("GET", path, None, seconds, largest)
        return body.decode("utf-8", "replace")

    async def post(self, path: str, body: Any, seconds: float = REQUEST_S) -> Any:
        """The JSON of a POST; raises as `get` does."""
        return self._json(await self._request("POST", path, body, seconds, _LARGEST))

    async def required(self, path: str, body: Any) -> Any:
        """As `post`, for a request without an alternative."""
        try:
            return await self.post(path, body)
        except RefusedRequest as refused:
            raise errors.engine_failed(self.name, refused.status, refused.text) from refused

    async def _request(
        self, method: str, path: str, body: Any, seconds: float, largest: int
    ) -> bytes:
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_S)
        try:
            async with self._opened().request(
                method,
                self._base.with_path(self._base.path.rstrip("/") + path),
                json=body,
                headers=self._headers,
                timeout=timeout,
                allow_redirects=False,
            ) as answer:
                return self._checked(answer.status, await self._read(answer, largest))
        except asyncio.TimeoutError as error:
            raise errors.engine_slow(self.name, seconds) from error
        except (aiohttp.ClientError, OSError) as error:
            why = f"{type(error).__name__}: {error}"
            raise errors.engine_unreachable(self.name, why) from error

    async def _read(self, answer: aiohttp.ClientResponse, largest: int) -> bytes:
        body = bytearray()
        async for chunk in answer.content.iter_any():
            body += chunk
            if len(body) > largest:
                raise errors.engine_unreadable(self.name, "the response is too large")
        return bytes(body)

    def _checked(self, status: int, body: bytes) -> bytes:
        if 300 <= status < 400:
            raise errors.engine_redirects(self.name)
        if status in (401, 403):
            raise errors.engine_refused_key(self.name)
        if status >= 400:
            raise RefusedRequest(status, body.decode("utf-8", "replace"))
        return body

    def _json(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise errors.engine_unreadable(self.name, str(error)) from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                connector=aiohttp.TCPConnector(limit=_MOST_CONNECTIONS, keepalive_timeout=_IDLE_S),
                trust_env=False,
            )
        return self._session
