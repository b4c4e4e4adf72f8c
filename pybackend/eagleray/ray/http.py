"""HTTP requests to a Ray dashboard, with limits; every failure is mapped to the catalogue.

Nothing is trusted: no redirect is followed, no cookie stored, no proxy of the environment used, a response
over the limit is dropped, and a token is only sent to a server that identifies itself as a Ray dashboard
which needs one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Literal

import aiohttp
from attrs import field, frozen
from yarl import URL

from eagleray.common.blocking_calls import off_loop
from eagleray.ray import errors
from eagleray.ray.connections import Connections, OpenSession, Secrets
from eagleray.ray.endpoint import FindEndpoint, TokenSource

MAX_ANSWER = 32 * 2**20
CONNECT_SECONDS = 4.0
# More would only wait in the dashboard, which has one thread for lists (2.60,
# RAY_DASHBOARD_STATE_HEAD_TPE_MAX_WORKERS).
AT_ONCE = 8
MODE = "/api/authentication_mode"

Query = Sequence[tuple[str, str]]
# Sends one request, with or without a token.
Send = Callable[[str, Query, "str | None"], Awaitable[aiohttp.ClientResponse]]


@frozen
class RequestSpec:
    """A request without its path: the method and the body.

    `start` requests a file from there on; a server that doesn't support that sends all of it.
    """

    method: str = "GET"
    body: bytes | None = field(default=None, repr=False)
    kind: str = ""
    start: int = 0


GET = RequestSpec()


@frozen
class Reply:
    """A response that was read completely; its status is none of 3xx, 401 and 429."""

    status: int
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", errors="replace")

    def json(self) -> Any:
        """Returns the value of the body; raises ValueError if it isn't JSON."""
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


class RayHttp:
    """Sends requests to one dashboard; used on one event loop, ended by `close`.

    `address` is how errors name it.  `token_source` is asked for every request that needs a token, and once
    more before a connection is made for such a request: the listener may have become another one.
    """

    def __init__(
        self, address: str, token_source: TokenSource, find_endpoint: FindEndpoint
    ) -> None:
        self.address = address
        self._token_source = token_source
        self._connections = Connections(address, find_endpoint, token_source)
        self._token_wanted = False
        self._accepted: str | None = None
        self._places = asyncio.Semaphore(AT_ONCE)

    async def close(self) -> None:
        await self._connections.close()

    def reset(self) -> None:
        """Drops the connections because the endpoint has changed; requests in flight are sent again."""
        self._connections.reset()

    async def get(
        self, path: str, query: Query = (), *, seconds: float, limit: int = MAX_ANSWER
    ) -> Reply:
        """Returns the response to one GET; raises unless it is complete within `seconds` and `limit` bytes.

        Sends the request a second time if the connection broke and its endpoint can be found again.
        """
        async with self._places:
            with self._mapping(seconds):
                opened = await self._connections.session(seconds)
                try:
                    return await self._whole(opened, path, query, seconds, limit)
                except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
                    may_help = self._connections.doubt(opened)
                    if not (may_help and errors.is_broken_connection(error)):
                        raise
                opened = await self._connections.session(seconds)
                return await self._whole(opened, path, query, seconds, limit)

    async def send(
        self,
        method: Literal["POST", "PUT", "DELETE"],
        path: str,
        body: bytes | None = None,
        *,
        seconds: float,
        kind: str = "application/json",
    ) -> Reply:
        """Sends a request that changes the cluster, which is never sent a second time; returns the response."""
        spec = RequestSpec(method, body, kind)
        async with self._places:
            with self._mapping(seconds):
                opened = await self._connections.session(seconds)
                try:
                    return await self._whole(opened, path, (), seconds, 2**20, spec)
                except (aiohttp.ClientError, OSError, asyncio.TimeoutError):
                    self._connections.doubt(opened)
                    raise

    @asynccontextmanager
    async def open(
        self, path: str, query: Query = (), *, seconds: float | None, start: int = 0
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Opens the response to one GET, which the caller reads; no time limit if `seconds` is None."""
        with self._mapping(seconds or CONNECT_SECONDS):
            opened = await self._connections.session(seconds or CONNECT_SECONDS)
            try:
                async with self._answer(
                    opened, path, query, seconds, RequestSpec(start=start)
                ) as answer:
                    yield answer
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError):
                self._connections.doubt(opened)
                raise

    async def read(self, answer: aiohttp.ClientResponse, limit: int) -> Reply:
        """Reads all of an open response."""
        body = bytearray()
        async for chunk in answer.content.iter_any():
            body += chunk
            if len(body) > limit:
                raise errors.answer_too_large(self.address, max(limit, 2**20))
        return Reply(answer.status, bytes(body))

    async def _whole(
        self,
        opened: OpenSession,
        path: str,
        query: Query,
        seconds: float,
        limit: int,
        spec: RequestSpec = GET,
    ) -> Reply:
        async with self._answer(opened, path, query, seconds, spec) as answer:
            return await self.read(answer, limit)

    @asynccontextmanager
    async def _answer(
        self,
        opened: OpenSession,
        path: str,
        query: Query,
        seconds: float | None,
        spec: RequestSpec = GET,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        timeout = aiohttp.ClientTimeout(
            total=seconds, sock_connect=min(CONNECT_SECONDS, seconds or CONNECT_SECONDS)
        )

        async def send(path: str, query: Query, token: str | None) -> aiohttp.ClientResponse:
            # The request for the authentication mode changes nothing.
            sent = GET if path == MODE else spec
            return await self._send(opened, path, query, timeout, token, sent)

        answer = await self._ask(opened, path, query, send)
        try:
            yield answer
        finally:
            # An unread rest is dropped with its connection: reading it could take forever.
            answer.close()

    async def _ask(
        self, opened: OpenSession, path: str, query: Query, send: Send
    ) -> aiohttp.ClientResponse:
        token = None
        if self._token_wanted:
            token = await off_loop(partial(self._token_source, False))
        answer = await send(path, query, token)
        if answer.status == 401 and token is None:
            answer.close()
            token = await self._token_for(opened, send)
            answer = await send(path, query, token)
        if answer.status in (401, 403):
            await self._check_refusal(opened, answer, token)
        elif token is not None:
            self._accepted = token
        return answer

    async def _send(
        self,
        opened: OpenSession,
        path: str,
        query: Query,
        timeout: aiohttp.ClientTimeout,
        token: str | None,
        spec: RequestSpec,
    ) -> aiohttp.ClientResponse:
        headers = dict(await off_loop(partial(opened.endpoint.headers, False)))
        kind = {"Content-Type": spec.kind} if spec.kind else {}
        if spec.start:
            kind["Range"] = f"bytes={spec.start}-"
        url = URL(opened.endpoint.url)
        answer = await opened.session.request(
            spec.method,
            url.with_path(url.path.rstrip("/") + path).with_query(list(query)),
            headers=headers | kind | _of_token(token, headers),
            data=spec.body,
            timeout=timeout,
            allow_redirects=False,
            trace_request_ctx=Secrets(token, headers),
        )
        if 300 <= answer.status < 400:
            answer.close()
            raise errors.redirected(self.address)
        if answer.status == 429:
            answer.close()
            raise errors.dashboard_busy(self.address)
        return answer

    async def _token_for(self, opened: OpenSession, send: Send) -> str:
        """Returns the token for a server that answered 401; raises if it isn't Ray or must not get one."""
        answer = await send(MODE, (), None)
        try:
            mode = (await self.read(answer, 4096)).json()
        except ValueError:
            mode = None
        finally:
            answer.close()
        if not isinstance(mode, Mapping) or "authentication_mode" not in mode:
            refused = partial(
                errors.explain_foreign_server, self.address, opened.endpoint, answer.status
            )
            raise await off_loop(refused)
        token = await off_loop(partial(self._token_source, True))
        if token is None:
            raise errors.token_needed(self.address)
        # This connection was made for a request without secrets.
        await opened.endpoint.check()
        self._token_wanted = True
        return token

    async def _check_refusal(
        self, opened: OpenSession, answer: aiohttp.ClientResponse, token: str | None
    ) -> None:
        """Raises the error of a 401 or 403, unless Ray says that profiling is switched off."""
        text = (await self.read(answer, 64 * 1024)).text
        meaning = partial(
            errors.explain_refusal,
            self.address,
            opened.endpoint,
            answer.status,
            text,
            token,
            self._accepted,
        )
        refusal = await off_loop(meaning)
        if refusal is not None:
            answer.close()
            raise refusal

    @contextmanager
    def _mapping(self, seconds: float) -> Iterator[None]:
        try:
            yield
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError, ValueError) as error:
            raise errors.map_foreign(error, self.address, seconds) from error


def _of_token(token: str | None, others: Mapping[str, str]) -> dict[str, str]:
    """Returns the header with the token: Ray's own if a proxy uses the usual one (`http_token_authentication.py`)."""
    if token is None:
        return {}
    taken = any(name.lower() == "authorization" for name in others)
    return {"X-Ray-Authorization" if taken else "Authorization": f"Bearer {token}"}
