"""The requests of the feature `page` and their records, printed as `extension/page/messages.ts`."""

from __future__ import annotations

from types import NoneType

from attrs import frozen

from eagleray.wire.requests import Request


@frozen
class PageToExport:
    """A page to write into one file.

    `page` names its script and style in `dist`.  `messages` is a JSON list of those that draw the page.
    """

    path: str
    page: str
    title: str
    messages: str
    # The texts of the editor's language by their English ones, as JSON.
    translations: str = "{}"


EXPORT = Request("eagleray/page/export", PageToExport, NoneType)
