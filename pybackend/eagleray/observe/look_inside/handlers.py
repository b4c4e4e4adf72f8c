"""Handles the panel's requests about inspections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagleray.observe.look_inside import messages
from eagleray.observe.look_inside.errors import not_trusted
from eagleray.observe.look_inside.inspections import Inspections
from eagleray.observe.look_inside.model import OpenedInspection

if TYPE_CHECKING:
    from eagleray.wire.requests import ReportProgress, RequestServer


def register(server: RequestServer, inspections: Inspections, trusted: bool) -> None:
    """Answers the requests of this feature; in an untrusted workspace with an error."""

    async def open_(params: messages.OpenInspection, report: ReportProgress) -> OpenedInspection:
        if not trusted:
            raise not_trusted()
        return await inspections.open(params.target, params.workspace_folders, report)

    server.on_request(messages.OPEN, open_)
