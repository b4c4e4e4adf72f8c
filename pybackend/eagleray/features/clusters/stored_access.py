"""The credentials of clusters (token, headers, CA file) that the user stores for the command line.

The editor stores its own in SecretStorage.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from eagleray.ray.errors import bad_access_file, bad_header
from eagleray.ray.tokens import sendable

VARIABLE = "EAGLERAY_ACCESS"
LARGEST = 2**20

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# These frame the request or decide how its response is read.
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


@frozen
class ClusterAccess:
    """The credentials of one cluster; "" and no headers if none are stored."""

    token: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    ca_file: str = ""


def stored_access(environ: Mapping[str, str], file: Path | None) -> dict[str, ClusterAccess]:
    """The stored credentials by address, as the user wrote it.  Raises `bad-access-file` or `bad-header`.

    1. The variable EAGLERAY_ACCESS, if it is set.
    2. The file, if no other user can read it.

    Both hold JSON: `{"https://host/ray": {"token": …, "headers": {name: value}, "ca_file": path}}`.
    """
    if text := environ.get(VARIABLE, ""):
        return _parsed(text, VARIABLE)
    text = _private_text(file) if file else ""
    return _parsed(text, str(file)) if text else {}


def take_variable(environ: MutableMapping[str, str]) -> dict[str, str]:
    """Removes EAGLERAY_ACCESS from `environ` and returns it, as a mapping that is empty where it isn't set.

    Programs, jobs and the Ray that they start would inherit it, and Ray shows environments.
    """
    return {VARIABLE: environ.pop(VARIABLE)} if VARIABLE in environ else {}


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """`headers` without white space around the values; raises `bad-header` for ones that can't be sent unchanged."""
    checked = {}
    for name, value in headers.items():
        plain = sendable(value)
        if plain is None or not _NAME.fullmatch(name) or name.lower() in _OURS:
            raise bad_header(name)
        checked[name] = plain
    return checked


def _private_text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            info = os.fstat(opened.fileno())
            if info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o077:
                raise bad_access_file(str(file), "other users could read it")
            return opened.read(LARGEST).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise bad_access_file(str(file), error.strerror or "it cannot be read") from error


def _parsed(text: str, source: str) -> dict[str, ClusterAccess]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        # The text of the error could quote a secret.
        raise bad_access_file(source, "it is not JSON") from error
    if not isinstance(value, dict):
        raise bad_access_file(source, "it is not an object of clusters")
    return {address: _access(entry, source) for address, entry in value.items()}


def _access(entry: Any, source: str) -> ClusterAccess:
    fields = entry if isinstance(entry, dict) else {"": entry}
    headers = fields.get("headers", {})
    texts = [fields.get("token", ""), fields.get("ca_file", "")]
    if isinstance(headers, dict):
        texts += headers.values()
    fits = isinstance(headers, dict) and all(isinstance(text, str) for text in texts)
    if not fits or fields.keys() - {"token", "headers", "ca_file"}:
        raise bad_access_file(source, "a cluster has token, headers and ca_file, all of them text")
    try:
        ca_file = str(Path(texts[1]).expanduser()) if texts[1] else ""
    except (RuntimeError, ValueError) as error:
        raise bad_access_file(
            source, "a ca_file begins with the ~ of an unknown user, or isn't a path"
        ) from error
    return ClusterAccess(sendable(texts[0]) or "", checked_headers(headers), ca_file)
