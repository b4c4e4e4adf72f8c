"""One cluster that was found at two addresses, which is watched at one of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from eagleray.features.clusters.cluster_status import Seen

log = logging.getLogger(__name__)


class Twins:
    """Which address is left out for which other one; the one that stands first is kept."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def __contains__(self, address: str) -> bool:
        return address in self._of

    def of(self, address: str) -> str:
        """The address at which a cluster is watched."""
        return self._of.get(address, address)

    def forget(self, address: str) -> None:
        self._of.pop(address, None)

    def keep(self, wanted: Sequence[str]) -> None:
        """Forgets those of which one is not wanted any more."""
        every = {*wanted, *self._of}
        self._of = {twin: of for twin, of in self._of.items() if {twin, of} <= every}

    def same(self, address: str, seen: Iterable[Seen]) -> str:
        """The address at which the cluster is watched already, and `address` is left out from now on; else `address`."""
        sessions = {one.cluster: one.session for one in seen if one.state == "connected"}
        others = [other for other in sessions if other != address]
        self.find(sessions, [*others, address], lambda other: other != address)
        return self.of(address)

    def find(
        self, sessions: Mapping[str, str], wanted: Sequence[str], is_added: Callable[[str], bool]
    ) -> None:
        """Leaves out each address whose session is that of an earlier one; added ones always stay."""
        first: dict[str, str] = {}
        for address in wanted:
            session = sessions.get(address)
            same = first.setdefault(session, address) if session else address
            if same != address and not is_added(address):
                log.info("%s is the same cluster as %s", address, same)
                self._of[address] = same
