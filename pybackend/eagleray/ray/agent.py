"""The files below the logs of one node, from Ray's agent there: any part of one, and no head in between."""

from __future__ import annotations

from collections.abc import AsyncIterator

from eagleray.common.worker_errors import no_log
from eagleray.ray.endpoint import FindWay
from eagleray.ray.http import RayHttp

_WHOLE, _PART, _PAST_THE_END = 200, 206, 416


class RayAgent:
    """Owns its connections, which end with `close()`.

    It is sent no token ever: whoever listens at that port of a node is not known to be of the cluster.
    """

    def __init__(self, address: str, find_way: FindWay) -> None:
        self._http = RayHttp(address, lambda look: None, find_way)

    async def close(self) -> None:
        await self._http.close()

    async def log_bytes(self, filename: str, start: int) -> AsyncIterator[bytes]:
        """The bytes of a file from `start` on; first an empty piece if it begins anew instead.

        Raises `no-log`, or what the way there came to.
        """
        async with self._http.open(f"/logs/{filename}", seconds=None, start=start) as answer:
            if answer.status == _PAST_THE_END:
                return
            if answer.status not in (_WHOLE, _PART):
                raise no_log(filename)
            if start and answer.status == _WHOLE:
                yield b""
            async for piece in answer.content.iter_any():
                yield piece
