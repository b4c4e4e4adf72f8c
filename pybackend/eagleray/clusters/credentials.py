"""Credentials of clusters: those that the user typed in or stored, and the rules that decide who gets them.

They go only to clusters that the user chose, and never to a listener of another user.  The command line reads stored
ones; the editor stores its own in SecretStorage.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import stat
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from attrs import asdict, evolve, field, frozen

from eagleray.clusters.addresses import host_and_port, normalised, parse_address
from eagleray.clusters.job_head import is_loopback
from eagleray.clusters.model import ClusterProblem
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.ray.endpoint import CheckListener, Endpoint, FindEndpoint, HeaderSource, TokenSource
from eagleray.ray.errors import (
    bad_access_file,
    bad_header,
    plain_text_credentials,
    stranger_listens,
)
from eagleray.ray.tokens import own_token, sendable
from eagleray.remote.injected.outside_files import opened
from eagleray.tools.processes import (
    ACCESS_VARIABLE,
    Listener,
    listener_uid,
    local_addresses,
    of_table,
)

log = logging.getLogger(__name__)

Credentials = TypeVar("Credentials", str | None, Mapping[str, str])

LARGEST = 2**20

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# These frame the request or decide how its response is read.
_OURS = frozenset({
    "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "te",
    "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip


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
    if text := environ.get(ACCESS_VARIABLE, ""):
        return _parsed(text, ACCESS_VARIABLE)
    text = _private_text(file) if file else ""
    return _parsed(text, str(file)) if text else {}


def take_variable(environ: MutableMapping[str, str]) -> dict[str, str]:
    """Removes EAGLERAY_ACCESS from `environ` and returns it, as a mapping that is empty where it isn't set.

    Programs, jobs and the Ray that they start would inherit it, and Ray shows environments.
    """
    if ACCESS_VARIABLE not in environ:
        return {}
    return {ACCESS_VARIABLE: environ.pop(ACCESS_VARIABLE)}


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
        with opened(file) as content:
            info = os.fstat(content.fileno())
            if info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o077:
                raise bad_access_file(str(file), t("other users could read it"))
            return content.read(LARGEST).decode("utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise bad_access_file(str(file), error.strerror or t("it can't be read")) from error


def _parsed(text: str, source: str) -> dict[str, ClusterAccess]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        # The text of the error could quote a secret.
        raise bad_access_file(source, t("it is not JSON")) from error
    if not isinstance(value, dict):
        raise bad_access_file(source, t("it is not an object of clusters"))
    return {address: _access(entry, source) for address, entry in value.items()}


def _access(entry: Any, source: str) -> ClusterAccess:
    fields = entry if isinstance(entry, dict) else {"": entry}
    headers = fields.get("headers", {})
    texts = [fields.get("token", ""), fields.get("ca_file", "")]
    if isinstance(headers, dict):
        texts += headers.values()
    fits = isinstance(headers, dict) and all(isinstance(text, str) for text in texts)
    if not fits or fields.keys() - {"token", "headers", "ca_file"}:
        raise bad_access_file(
            source, t("a cluster has token, headers and ca_file, all of them text")
        )
    try:
        ca_file = str(Path(texts[1]).expanduser()) if texts[1] else ""
    except (RuntimeError, ValueError) as error:
        raise bad_access_file(
            source, t("a ca_file isn't a path, or begins with an unknown user's ~")
        ) from error
    return ClusterAccess(sendable(texts[0]) or "", checked_headers(headers), ca_file)


class TokenRules:
    """Credentials that the user typed in, which stay in memory, those in the user's files, and the rules for both.

    Clusters are named by their ids, so two clusters behind one host have separate credentials.  Files are read for each
    request; what reads them is called off the event loop.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        listener: Callable[[str, int], int | None] = listener_uid,
        uid: int | None = None,
        folder: Path | None = None,
    ) -> None:
        self._environ = environ
        self._listener = listener
        self._uid = os.getuid() if uid is None else uid
        self._file = folder / "access.json" if folder else None
        self._typed: dict[str, ClusterAccess] = {}
        self._owners: dict[str, int | None] = {}
        self._used: set[str] = set()

    def type_in(self, cluster: str, token: str) -> None:
        """Sets the token that the user typed in for this cluster; "" removes it."""
        self.set_access(cluster, token=token)

    def set_access(
        self,
        cluster: str,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
    ) -> None:
        """Sets the user's credentials for this cluster; None leaves a value as it is.  Raises `bad-header`."""
        access = self._typed.get(cluster, ClusterAccess())
        if token is not None:
            access = evolve(access, token=sendable(token) or "")
        if headers is not None:
            access = evolve(access, headers=checked_headers(headers))
        if ca_file is not None:
            access = evolve(access, ca_file=str(Path(ca_file).expanduser()) if ca_file else "")
        self._typed[cluster] = access

    def given(self, cluster: str) -> dict[str, Any]:
        """The credentials that another process of this user needs for a cluster, as `set_access` takes them.

        They are those typed in, otherwise the entry of the variable, which no process inherits.  The file is
        left to the other process, which reads it too.
        """
        typed = self._typed.get(cluster, ClusterAccess())
        if typed != ClusterAccess():
            return asdict(typed)
        return asdict(_entry(stored_access(self._environ, None), cluster))

    def forget(self, cluster: str) -> None:
        self._typed.pop(cluster, None)

    def source(self, cluster: str, is_added: Callable[[], bool]) -> TokenSource:
        """The token source of a dashboard: called whenever it may get a token."""

        def token(check: bool) -> str | None:
            return self._noted(cluster, self.token_for(cluster, added=is_added(), check=check))

        return token

    def header_source(self, cluster: str) -> HeaderSource:
        """The header source of a dashboard: called for every request."""

        def headers(check: bool) -> Mapping[str, str]:
            return self._noted(cluster, self.headers_for(cluster, check=check))

        return headers

    def problem(self, cluster: str) -> ClusterProblem | None:
        """The problem with how credentials were sent to this cluster, None if there is none."""
        address = parse_address(cluster)
        is_plain = address.is_direct and cluster in self._used and address.url.startswith("http://")
        host, _ = host_and_port(address.url)
        if not is_plain or is_loopback(host) or host in local_addresses():
            return None
        return ClusterProblem.of(plain_text_credentials(cluster))

    def _noted(self, cluster: str, credentials: Credentials) -> Credentials:
        """Remembers that credentials were sent; returns them."""
        if credentials:
            self._used.add(cluster)
        return credentials

    def find_endpoint(self, url: str) -> FindEndpoint:
        """The endpoint source of a dashboard that this machine reaches directly."""

        async def find() -> Endpoint:
            ca_file = await off_loop(partial(self.ca_file, url))
            return Endpoint(url, ca_file=ca_file, headers=self.header_source(url))

        return find

    def ca_file(self, cluster: str) -> str:
        """The file with the authorities that are trusted for this cluster too, or ""; raises `bad-access-file`."""
        given = self._typed.get(cluster, ClusterAccess()).ca_file
        return given or self._stored(cluster).ca_file

    def token_for(self, cluster: str, *, added: bool, check: bool = True) -> str | None:
        """The token for a cluster, or None if it must not get one.

        `check` False: the owner found by the last check counts, for connections that are open.

        1. None, if the listener is another user of this machine: an address of a shared machine
           that was the user's own yesterday can be another user's today.
        2. A token that was typed in or is stored for this cluster.
        3. Ray's own token, if the listener is a process of this user.
        4. Ray's own token, if the user added the cluster, wherever it is.
        5. None: it was only discovered.
        """
        owner = self._owner(cluster, check)
        if self._is_stranger(owner):
            log.info("no token for %s: its listener is uid %s", cluster, owner)
            return None
        if (
            given := self._typed.get(cluster, ClusterAccess()).token
            or self._stored_or_none(cluster).token
        ):
            return given
        if owner == self._uid or added:
            return own_token(self._environ)
        log.info("no token for %s: it was found, not added", cluster)
        return None

    def headers_for(self, cluster: str, *, check: bool = True) -> Mapping[str, str]:
        """The headers for this very cluster; none if the listener is another user of this machine."""
        given = (
            self._typed.get(cluster, ClusterAccess()).headers
            or self._stored_or_none(cluster).headers
        )
        if given and self._is_stranger(self._owner(cluster, check)):
            return {}
        return given

    def _owner(self, cluster: str, check: bool) -> int | None:
        """The uid that listens at an address of this machine; None if that is not visible."""
        if check or cluster not in self._owners:
            host, port = host_and_port(cluster)
            self._owners[cluster] = self._listener(host, port) if host else None
        return self._owners[cluster]

    def _is_stranger(self, owner: int | None) -> bool:
        # Root listens for containers, and could read every token anyhow.
        return owner is not None and owner not in (self._uid, 0)

    def _stored(self, cluster: str) -> ClusterAccess:
        return _entry(stored_access(self._environ, self._file), cluster)

    def _stored_or_none(self, cluster: str) -> ClusterAccess:
        try:
            return self._stored(cluster)
        except EaglerayError as error:
            # The user sees it where the endpoint is resolved.
            log.debug("%s", error)
            return ClusterAccess()


def _entry(stored: Mapping[str, ClusterAccess], cluster: str) -> ClusterAccess:
    for address, access in stored.items():
        if normalised(address) == cluster:
            return access
    return ClusterAccess()


# Prints the kernel's tables of the asking process and of all listeners.
TABLES_COMMAND = ("cat", "/proc/self/status", "/proc/net/tcp", "/proc/net/tcp6")

RunCommand = Callable[[str, Sequence[str]], Awaitable[CommandOutput]]


def owner_check(
    run: RunCommand, ssh: str, port: int, cluster: str, on_unknown: Callable[[bool], None]
) -> CheckListener:
    """A check for a dashboard on the host `ssh` itself, which raises `stranger-listens` if another user owns the port there.

    A host without these tables, such as a Mac, can't show who listens: `on_unknown` is called with True, and the
    check passes.  One check at a time: sshd allows ten sessions on a connection (man sshd_config).
    """
    lock = asyncio.Lock()

    async def check() -> None:
        async with lock:
            output = await run(ssh, TABLES_COMMAND)
        is_other = belongs_to_other_user(output.stdout, port)
        on_unknown(is_other is None)
        if is_other:
            raise stranger_listens(cluster, port)

    return check


def belongs_to_other_user(tables: str, port: int) -> bool | None:
    """Whether another user listens on `port`, by the output of `TABLES_COMMAND`; None if that doesn't show who listens.

    Root may listen: root can read every token anyway.
    """
    own = re.search(r"^Uid:\s+(\d+)", tables, re.MULTILINE)
    owners = [listener.uid for listener in _listeners(tables) if listener.port == port]
    if own is None or not owners:
        return None
    return any(uid not in (int(own[1]), 0) for uid in owners)


def _listeners(tables: str) -> list[Listener]:
    lines = [line for line in tables.splitlines() if re.match(r"\s*\d+: [0-9A-F]{8,32}:", line)]
    return [listener for _, listener in of_table("\n".join(["", *lines]))]
