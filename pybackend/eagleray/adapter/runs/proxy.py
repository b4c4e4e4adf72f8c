"""The adapter at a debug proxy: how it is called, and the control connection to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from eagleray.common.errors import EaglerayError
from eagleray.common.route_errors import link_lost
from eagleray.injected.debug_proxy import request
from eagleray.injected.ed25519 import SecretKey
from eagleray.protocol import jsonlines
from eagleray.protocol.errors import (
    not_a_proxy,
    proxy_of_another_version,
    proxy_refused_signature,
    proxy_silent,
)
from eagleray.protocol.jsonlines import Json
from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

CONNECT_S = 5.0
# Where another route follows, a firewall is not waited for so long.
SOONER_S = 3.0
ANSWER_S = 10.0
# The node is reached, and nothing listens there.
REFUSED = frozenset({"port-refused", "far-port-refused"})
# Nobody there is a debug proxy of this run.
NOT_A_PROXY = frozenset({"gate-refused", "gate-of-another-version", "not-a-gate"})


@dataclass(frozen=True)
class ProxyClient:
    """Where a debug proxy is, and the key with which requests to it are signed."""

    run: str
    secret_key: SecretKey = field(repr=False)
    host: str
    port: int
    specs: Sequence[RouteSpec]

    async def call(self, routes: Routes, want: str, **more: object) -> tuple[Streams, Json]:
        """A connection with a signed request, and the proxy's answer; uses the first route that leads there.

        A listener that only poses as the debug proxy receives nothing that another debug proxy would accept.
        """
        order = routes.in_order(self.specs)
        problem: EaglerayError = not_a_proxy(self.host, self.port)
        for spec in order:
            limit_s = CONNECT_S if spec is order[-1] else SOONER_S
            try:
                streams = await routes.open_stream(spec, self.host, self.port, limit_s)
                answer = await self._introduce(streams, {"want": want, **more})
            except EaglerayError as error:
                log.debug("proxy %s:%d through %s: %s", self.host, self.port, spec.text, error.code)
                problem = error
                continue
            routes.note_reached(self.specs, spec)
            return streams, answer
        raise problem

    async def _introduce(self, streams: Streams, wish: Json) -> Json:
        reader, writer = streams
        try:
            return await asyncio.wait_for(self._converse(reader, writer, wish), ANSWER_S)
        except asyncio.TimeoutError as error:
            writer.close()
            raise proxy_silent(self.host, self.port, ANSWER_S) from error
        except (OSError, EOFError) as error:
            writer.close()
            raise link_lost("", "it was closed at once") from error
        except (ValueError, asyncio.LimitOverrunError) as error:
            writer.close()
            raise not_a_proxy(self.host, self.port) from error
        except BaseException:
            writer.close()
            raise

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wish: Json
    ) -> Json:
        nonce = await self._greeted(reader)
        address = (self.host, self.port)
        writer.write(request.signed(self.secret_key, self.run, address, nonce, wish))
        # A connection that is lost within the line doesn't make the debug proxy a stranger.
        answer = jsonlines.decode(await reader.readuntil())
        if answer.get("error") == "refused":
            raise proxy_refused_signature(self.host, self.port)
        return answer

    async def _greeted(self, reader: asyncio.StreamReader) -> bytes:
        """The nonce of the greeting."""
        expected = request.greeting(self.run).encode()
        # All versions begin in the same way and with the same length.
        greeting = await reader.readexactly(len(expected))
        if greeting == request.greeting(self.run, 1).encode():
            raise proxy_of_another_version(self.host, self.port)
        if greeting != expected:
            raise not_a_proxy(self.host, self.port)
        nonce = await reader.readexactly(2 * request.NONCE_SIZE + 2)
        return bytes.fromhex(nonce.decode("ascii"))
