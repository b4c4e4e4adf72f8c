"""Answers the editor's requests about its pages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eagleray.common.blocking_calls import off_loop
from eagleray.page import messages
from eagleray.page.exported_page import export

if TYPE_CHECKING:
    from eagleray.wire.requests import RequestServer


def register(server: RequestServer) -> None:
    """Answers the requests of this feature."""

    async def write(shown: messages.PageToExport) -> None:
        await off_loop(partial(export, shown))

    server.on_request(messages.EXPORT, write)
