"""Which cluster gets which token: credentials go to nobody whom the person did not choose."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping

from eagleray.clients.processes import listener_uid
from eagleray.clients.ray_way import TokenSource
from eagleray.clients.tokens import own_token, sendable
from eagleray.features.clusters.addresses import host_and_port

log = logging.getLogger(__name__)


class TokenRules:
    """The tokens that were typed in, kept in memory only, and the rules for Ray's own one."""

    def __init__(
        self,
        environ: Mapping[str, str],
        listener: Callable[[str, int], int | None] = listener_uid,
        uid: int | None = None,
    ) -> None:
        self._environ = environ
        self._listener = listener
        self._uid = os.getuid() if uid is None else uid
        self._typed: dict[str, str] = {}
        self._owners: dict[str, int | None] = {}

    def type_in(self, address: str, token: str) -> None:
        """Keeps what the person typed in for this cluster; nothing typed in takes it back."""
        self._typed.pop(address, None)
        if checked := sendable(token):
            self._typed[address] = checked

    def forget(self, address: str) -> None:
        self._typed.pop(address, None)

    def source(self, address: str, is_added: Callable[[], bool]) -> TokenSource:
        """For the dashboard at `address`: asked whenever it is to get a token."""
        return lambda look: self.token_for(address, added=is_added(), look=look)

    def token_for(self, address: str, *, added: bool, look: bool = True) -> str | None:
        """The token for a cluster, or None when it must not get one.

        `look` False: who listens there is taken from the last look, which is for open connections.

        1. None, if the listener is another user of this machine: an address of a shared machine
           that was one's own yesterday can be somebody else's today.
        2. A token that was typed in for this cluster.
        3. Ray's own token, if the listener is a process of this user.
        4. Ray's own token, if the person added the cluster.
        5. None: it was merely found.
        """
        if look or address not in self._owners:
            self._owners[address] = self._listener(*host_and_port(address))
        owner = self._owners[address]
        # Root listens for containers, and could read every token anyhow.
        if owner is not None and owner not in (self._uid, 0):
            log.info("no token for %s: its listener is uid %d", address, owner)
            return None
        if typed := self._typed.get(address):
            return typed
        if owner == self._uid or added:
            return own_token(self._environ)
        log.info("no token for %s: it was found, not added", address)
        return None
