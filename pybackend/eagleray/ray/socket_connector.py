"""Connections of aiohttp through a Unix socket, with TLS to what lies behind it.

aiohttp's own connector for Unix sockets speaks plain HTTP whatever the URL says.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.client_exceptions import UnixClientConnectorError

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.tracing import Trace


class SocketConnector(aiohttp.UnixConnector):
    """`context` verifies the server by the host of the URL, as on a direct connection."""

    def __init__(self, path: str, context: ssl.SSLContext | None) -> None:
        super().__init__(path, limit=0)
        self._context = context

    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        context = self._context if req.is_ssl() else None
        key = req.connection_key
        if req.is_ssl() and context is None:
            raise aiohttp.ClientConnectorError(key, OSError("no TLS was prepared"))
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
