"""The inference servers that the user added by their address, with their keys, in a file of mode 0600."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen

from eagleray.common.atomic_file import alone, check_replaceable, replace_text

VERSION = 1

log = logging.getLogger(__name__)


@frozen
class AddedServer:
    """A server that Eagleray doesn't start; `url` ends with `/v1`.

    `outcome`, `detail` and `model` describe the last request for a token; `outcome` is "" until there is one, and
    again once the server hasn't answered.
    """

    name: str
    url: str
    api_key: str = field(default="", repr=False)
    outcome: str = ""
    detail: str = ""
    model: str = ""


class AddedServers:
    """Reads the file each time, since several windows share it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def all(self) -> list[AddedServer]:
        try:
            value = json.loads(self._file.read_text("utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s can't be read: %s", self._file, error)
            return []
        entries = value.get("servers") if isinstance(value, dict) else None
        servers = (
            (_server(entry) for entry in entries if isinstance(entry, dict))
            if isinstance(entries, list)
            else ()
        )
        return [server for server in servers if server]

    def named(self, name: str) -> AddedServer | None:
        return next((server for server in self.all() if server.name == name), None)

    def add(self, server: AddedServer) -> None:
        """In place of one of that name."""
        self._change(lambda servers: [*(s for s in servers if s.name != server.name), server])

    def note(self, server: AddedServer) -> None:
        """Stores the outcome, unless its address or key has been changed or removed meanwhile."""

        def noted(stored: AddedServer) -> AddedServer:
            is_same = (stored.name, stored.url, stored.api_key) == (
                server.name,
                server.url,
                server.api_key,
            )
            return server if is_same else stored

        self._change(lambda servers: [noted(stored) for stored in servers])

    def remove(self, name: str) -> None:
        self._change(lambda servers: [s for s in servers if s.name != name])

    def _change(self, change: Any) -> None:
        with alone(self._file):
            check_replaceable(self._file, VERSION)
            servers: Sequence[AddedServer] = change(self.all())
            value = {"version": VERSION, "servers": [asdict(server) for server in servers]}
            replace_text(self._file, json.dumps(value, indent=1) + "\n")


def _server(entry: dict[str, Any]) -> AddedServer | None:
    names = ("name", "url", "api_key", "outcome", "detail", "model")
    values = [entry.get(name, "") for name in names]
    return (
        AddedServer(*values)
        if all(isinstance(value, str) for value in values) and values[0] and values[1]
        else None
    )
