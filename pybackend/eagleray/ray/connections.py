"""The HTTP connections to one dashboard: its endpoint, found again after a failure, and a session over it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.client_exceptions import UnixClientConnectorError
from attrs import field, frozen

from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t
from eagleray.ray import errors
from eagleray.ray.endpoint import Endpoint, FindEndpoint, TokenSource

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.tracing import Trace

BeforeConnecting = Callable[
    [aiohttp.ClientSession, SimpleNamespace, aiohttp.TraceConnectionCreateStartParams],
    Awaitable[None],
]


@frozen
class Secrets:
    """The secrets of one request."""

    token: str | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


@frozen(eq=False)
class OpenSession:
    """A session and its endpoint."""

    endpoint: Endpoint
    session: aiohttp.ClientSession


class Connections:
    """Owned by one `RayHttp`, on one event loop; ended by `close`.

    Finding the endpoint outlasts the request that needed it, since the user may be asked for a code: the next
    request waits for the same result.  `token_source` is called once more before a connection is made for a
    request with secrets.
    """

    def __init__(
        self, address: str, find_endpoint: FindEndpoint, token_source: TokenSource
    ) -> None:
        self._address = address
        self._find_endpoint = find_endpoint
        self._token_source = token_source
        self._opened: OpenSession | None = None
        self._doubted = False
        self._opening: asyncio.Task[OpenSession] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def session(self, seconds: float) -> OpenSession:
        """Returns the session in use; raises `cluster-connecting` if the endpoint isn't found within `seconds`."""
        if self._opened is not None and not self._doubted:
            return self._opened
        if self._closed:
            raise errors.cluster_unreachable(self._address, t("it isn't watched any more"))
        if self._opening is None:
            self._opening = tasks.shared(self._open(), f"way to {self._address}")
        opening = self._opening
        done, _ = await asyncio.wait([opening], timeout=seconds)
        if not done:
            raise errors.cluster_connecting(self._address)
        if self._opening is opening:
            self._opening = None
        if opening.cancelled():
            raise errors.cluster_unreachable(self._address, t("it isn't watched any more"))
        return opening.result()

    def doubt(self, opened: OpenSession) -> bool:
        """Finds the endpoint again after a failure; returns whether a retry may help then."""
        if self._opened is not opened:
            return True  # Another endpoint was found since that request began.
        self._doubted = True
        return bool(opened.endpoint.socket)

    def reset(self) -> None:
        """Drops all connections; requests over them fail at once."""
        opened, self._opened = self._opened, None
        if opened is not None:
            self._end(opened)

    async def close(self) -> None:
        self._closed = True
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
        self.reset()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _open(self) -> OpenSession:
        endpoint = await self._find_endpoint()
        before = self._opened
        if before is not None and before.endpoint == endpoint:
            # The failed connection was one of many: the others, such as a followed log, stay.
            opened = OpenSession(endpoint, before.session)
        else:
            opened = OpenSession(endpoint, await self._session(endpoint))
            self.reset()
        self._opened, self._doubted = opened, False
        return opened

    async def _session(self, endpoint: Endpoint) -> aiohttp.ClientSession:
        secure = endpoint.url.startswith("https:")
        context = await off_loop(partial(trusting, endpoint.ca_file)) if secure else None
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_start.append(self._check_listener(endpoint))
        return aiohttp.ClientSession(
            trace_configs=[trace],
            connector=SocketConnector(endpoint.socket, context)
            if endpoint.socket
            else aiohttp.TCPConnector(limit=0, ssl=context or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A small compressed response could become large, and the dashboard doesn't compress.
            headers={"Accept-Encoding": "identity", "User-Agent": "eagleray"},
            auto_decompress=False,
            trust_env=False,
        )

    def _check_listener(self, endpoint: Endpoint) -> BeforeConnecting:
        async def check(
            session: aiohttp.ClientSession,
            request: SimpleNamespace,
            _: aiohttp.TraceConnectionCreateStartParams,
        ) -> None:
            secrets: Secrets = request.trace_request_ctx
            if secrets.token is not None:
                token = await off_loop(partial(self._token_source, True))
                if token != secrets.token:
                    raise errors.token_needed(self._address)
            if secrets.headers:
                headers = await off_loop(partial(endpoint.headers, True))
                if dict(headers) != dict(secrets.headers):
                    raise errors.headers_withheld(self._address)
            if secrets.token is not None or secrets.headers:
                await endpoint.check()

        return check

    def _end(self, opened: OpenSession) -> None:
        async def end() -> None:
            with contextlib.suppress(Exception):
                connector = opened.session.connector
                if connector is not None:
                    # A dead link never closes TLS, so don't wait for it.
                    await connector.close(abort_ssl=True)
                await opened.session.close()

        task = tasks.owned(end(), f"closing {self._address}", tasks.only_logged)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def trusting(ca_file: str) -> ssl.SSLContext:
    """Returns a context that trusts the system's authorities and the authorities of `ca_file`; raises `bad-ca-file`."""
    context = ssl.create_default_context()
    if ca_file:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise errors.bad_ca_file(
                ca_file, error.strerror or t("it holds no certificate")
            ) from error
    return context


class SocketConnector(aiohttp.UnixConnector):
    """Connects through a Unix socket, with TLS to the server behind it.

    aiohttp's own connector for Unix sockets (3.14) speaks plain HTTP whatever the URL says.  `context` verifies the
    server by the host of the URL, as on a direct connection.
    """

    def __init__(self, path: str, context: ssl.SSLContext | None) -> None:
        super().__init__(path, limit=0)
        self._context = context

    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        context = self._context if req.is_ssl() else None
        key = req.connection_key
        if req.is_ssl() and context is None:
            raise aiohttp.ClientConnectorError(key, OSError(t("no TLS was prepared")))
        host = (req.url.raw_host or "").rstrip(".") if context is not None else None
        connecting = self._loop.create_unix_connection(
            self._factory, self.path, ssl=context, server_hostname=host
        )
        try:
            _, protocol = await asyncio.wait_for(connecting, timeout.sock_connect)
        except ssl.SSLCertVerificationError as error:
            raise aiohttp.ClientConnectorCertificateError(key, error) from error
        except ssl.SSLError as error:
            raise aiohttp.ClientConnectorSSLError(key, error) from error
        except asyncio.TimeoutError:
            raise
        except OSError as error:
            raise UnixClientConnectorError(self.path, key, error) from error
        return protocol
