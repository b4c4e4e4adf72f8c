"""Asking a Ray dashboard over HTTP within limits, with every failure mapped to the catalogue.

Nothing is trusted: no redirect is followed, no cookie kept, no proxy of the environment used, an answer
is dropped when it grows over the limit, and a token is only sent to a server that says of itself
that it is a Ray dashboard which wants one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
from attrs import frozen
from yarl import URL

from eagleray.common import errors

MAX_ANSWER = 32 * 2**20
CONNECT_SECONDS = 4.0

# Answers with the token, or None; asked with True when a connection is about to be made, and so
# whoever listens there is to be looked at anew.
TokenSource = Callable[[bool], str | None]
Query = Sequence[tuple[str, str]]


@frozen
class Reply:
    """An answer that was read wholly; its status may be any but 3xx, 401 and 429."""

    status: int
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", errors="replace")

    def json(self) -> Any:
        """The value of the body; ValueError if it is no JSON."""
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


class RayHttp:
    """The connections to one dashboard; used from one event loop, ended by `close`.

    `token_source` is asked for every request that needs a token, and once more before a connection is
    made for such a request: the listener may have become another one.
    """

    def __init__(self, address: str, token_source: TokenSource) -> None:
        self.address = address
        self._url = URL(address)
        self._token_source = token_source
        self._token_wanted = False
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def get(
        self, path: str, query: Query = (), *, seconds: float, limit: int = MAX_ANSWER
    ) -> Reply:
        """The answer to one GET; raises unless it came whole, within `seconds` and `limit` bytes."""
        async with self.open(path, query, seconds=seconds) as answer:
            return await self.read(answer, limit)

    @asynccontextmanager
    async def open(
        self, path: str, query: Query = (), *, seconds: float | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to one GET, to be read by the caller; `seconds` None: it may take for ever."""
        timeout = aiohttp.ClientTimeout(
            total=seconds, sock_connect=min(CONNECT_SECONDS, seconds or CONNECT_SECONDS)
        )
        try:
            answer = await self._ask(path, query, timeout)
            try:
                yield answer
            finally:
                # What was not read is thrown away with its connection: reading it out could take for ever.
                answer.close()
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError, ValueError) as error:
            raise self._mapped(error, seconds or CONNECT_SECONDS) from error

    async def read(self, answer: aiohttp.ClientResponse, limit: int) -> Reply:
        """All of an answer that was opened."""
        body = bytearray()
        async for chunk in answer.content.iter_any():
            body += chunk
            if len(body) > limit:
                raise errors.answer_too_large(self.address, max(limit, 2**20))
        return Reply(answer.status, bytes(body))

    async def _ask(
        self, path: str, query: Query, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        token = self._token_source(False) if self._token_wanted else None
        answer = await self._send(path, query, timeout, token)
        if answer.status == 401 and token is None:
            answer.close()
            token = await self._token_for(timeout)
            answer = await self._send(path, query, timeout, token)
        if answer.status == 401:
            answer.close()
            raise errors.token_refused(self.address)
        if answer.status == 403 and token is not None:
            await self._check_forbidden(answer)
        return answer

    async def _send(
        self, path: str, query: Query, timeout: aiohttp.ClientTimeout, token: str | None
    ) -> aiohttp.ClientResponse:
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        url = self._url.with_path(path).with_query(list(query))
        answer = await self._opened().get(
            url,
            headers=headers,
            timeout=timeout,
            allow_redirects=False,
            trace_request_ctx=token,
        )
        if 300 <= answer.status < 400:
            answer.close()
            raise errors.redirected(self.address)
        if answer.status == 429:
            answer.close()
            raise errors.dashboard_busy(self.address)
        return answer

    async def _token_for(self, timeout: aiohttp.ClientTimeout) -> str:
        """The token for a server that answered 401; raises if it is no Ray or must not get one."""
        answer = await self._send("/api/authentication_mode", (), timeout, None)
        try:
            mode = (await self.read(answer, 4096)).json()
        except ValueError as error:
            raise errors.not_ray(self.address, "it asks for credentials but not as Ray") from error
        finally:
            answer.close()
        if not isinstance(mode, Mapping) or "authentication_mode" not in mode:
            raise errors.not_ray(self.address, "it asks for credentials but not as Ray does")
        token = self._token_source(True)
        if token is None:
            raise errors.token_needed(self.address)
        self._token_wanted = True
        return token

    async def _check_forbidden(self, answer: aiohttp.ClientResponse) -> None:
        """A 403 of Ray is a refused token, or profiling that is switched off: only the body tells."""
        if "rofiling is disabled" not in (await self.read(answer, 64 * 1024)).text:
            raise errors.token_refused(self.address)

    async def _check_listener(
        self,
        session: aiohttp.ClientSession,
        request: SimpleNamespace,
        _: aiohttp.TraceConnectionCreateStartParams,
    ) -> None:
        token = request.trace_request_ctx
        if token is not None and self._token_source(True) != token:
            raise errors.token_needed(self.address)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            trace = aiohttp.TraceConfig()
            trace.on_connection_create_start.append(self._check_listener)
            self._session = aiohttp.ClientSession(
                trace_configs=[trace],
                connector=aiohttp.TCPConnector(limit=8),
                cookie_jar=aiohttp.DummyCookieJar(),
                # Unpacking is a way to make a small answer large, and the dashboard does not pack.
                headers={"Accept-Encoding": "identity", "User-Agent": "eagleray"},
                auto_decompress=False,
                trust_env=False,
            )
        return self._session

    def _mapped(self, error: BaseException, seconds: float) -> errors.EaglerayError:
        detail = f"{type(error).__name__}: {errors.printable(str(error))}"
        if isinstance(error, aiohttp.ConnectionTimeoutError | aiohttp.ClientConnectorError):
            return errors.cluster_unreachable(self.address, detail)
        if isinstance(error, asyncio.TimeoutError):
            return errors.cluster_slow(self.address, seconds)
        if isinstance(error, aiohttp.InvalidURL):
            return errors.bad_address(self.address)
        if isinstance(error, aiohttp.ClientResponseError | ValueError):
            return errors.not_ray(self.address, detail)
        return errors.cluster_unreachable(self.address, detail)
