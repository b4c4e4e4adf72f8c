"""Decides which cluster gets which token and headers: credentials go only to clusters that the user chose."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from attrs import asdict, evolve

from eagleray.common.errors import EaglerayError
from eagleray.common.off_loop import off_loop
from eagleray.features.clusters.addresses import host_and_port, normalised, parse_address
from eagleray.features.clusters.job_head import is_loopback
from eagleray.features.clusters.model import ClusterProblem
from eagleray.features.clusters.stored_access import ClusterAccess, checked_headers, stored_access
from eagleray.ray.endpoint import Endpoint, FindEndpoint, HeaderSource, TokenSource
from eagleray.ray.errors import plain_text_credentials
from eagleray.ray.tokens import own_token, sendable
from eagleray.tools.processes import listener_uid, local_addresses

log = logging.getLogger(__name__)

Credentials = TypeVar("Credentials", str | None, Mapping[str, str])


class TokenRules:
    """Credentials that the user typed in, which stay in memory, those in the user's files, and the rules for both.

    Clusters are named by their ids, so that of two clusters behind one host each gets its own.  Files are read for each
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

        def token(look: bool) -> str | None:
            return self._noted(cluster, self.token_for(cluster, added=is_added(), look=look))

        return token

    def header_source(self, cluster: str) -> HeaderSource:
        """The header source of a dashboard: called for every request."""

        def headers(look: bool) -> Mapping[str, str]:
            return self._noted(cluster, self.headers_for(cluster, look=look))

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

    def token_for(self, cluster: str, *, added: bool, look: bool = True) -> str | None:
        """The token for a cluster, or None if it must not get one.

        `look` False: the listener of the last check counts, for connections that are open.

        1. None, if the listener is another user of this machine: an address of a shared machine
           that was the user's own yesterday can be another user's today.
        2. A token that was typed in or is stored for this cluster.
        3. Ray's own token, if the listener is a process of this user.
        4. Ray's own token, if the user added the cluster, wherever it is.
        5. None: it was only discovered.
        """
        owner = self._owner(cluster, look)
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

    def headers_for(self, cluster: str, *, look: bool = True) -> Mapping[str, str]:
        """The headers for this very cluster; none if the listener is another user of this machine."""
        given = (
            self._typed.get(cluster, ClusterAccess()).headers
            or self._stored_or_none(cluster).headers
        )
        if given and self._is_stranger(self._owner(cluster, look)):
            return {}
        return given

    def _owner(self, cluster: str, look: bool) -> int | None:
        """The uid that listens at an address of this machine; None if that is not visible."""
        if look or cluster not in self._owners:
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
